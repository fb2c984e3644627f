/*
 * The key that we send to a receiver, from an option or from a file that is read again when it
 * changes. If the file has several keys, the first is sent until the receiver refuses it, then the
 * next: so keys can be exchanged in any order at both ends. One thread.
 */
#ifndef COMMON_ACCESS_SENT_KEY_H
#define COMMON_ACCESS_SENT_KEY_H

#include "common/base.h"
#include "common/err.h"

struct sent_key;

/* As access_keys_new(). Without a key and a file, nothing is sent. */
int sent_key_new(struct sent_key **ret, const char *key, const char *file,
		 struct err *err) MUST_CHECK;
void sent_key_free(struct sent_key *k);
DEFINE_CLEANUP(struct sent_key *, sent_key_free);

/*
 * Returns "X-Api-Key: <key>", valid until the next call, or NULL if there is none (or no memory).
 * *ret_no is for sent_key_refused(). k may be NULL.
 */
const char *sent_key_header(struct sent_key *k, unsigned *ret_no);
/* The receiver answered 401 to key number no. */
void sent_key_refused(struct sent_key *k, unsigned no);
/* Whether another key may be sent later without a restart. */
bool sent_key_may_change(const struct sent_key *k);

#endif /* COMMON_ACCESS_SENT_KEY_H */
