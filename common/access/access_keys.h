/*
 * Keys of one kind, given as an option or in a file with a key per line: all of its lines are
 * valid, so that keys can be exchanged one after the other. A directory stands for all files in it
 * (key_sources.h). Files are read again when they change; while one is missing or unusable, the
 * last keys stay valid. Any thread.
 */
#ifndef COMMON_ACCESS_ACCESS_KEYS_H
#define COMMON_ACCESS_ACCESS_KEYS_H

#include "common/base.h"
#include "common/err.h"

#define ACCESS_KEYS_MAX 256u
#define ACCESS_KEY_BYTES 512u

struct access_keys;

/*
 * At most one of key and file is given; NULL and "" are none. Returns 0, -ENOMEM, -EINVAL for a key
 * that no header can have, or -errno of reading the file, with a sentence.
 */
int access_keys_new(struct access_keys **ret, const char *key, const char *file,
		    struct err *err) MUST_CHECK;
void access_keys_free(struct access_keys *k);
DEFINE_CLEANUP(struct access_keys *, access_keys_free);

/* Whether there are any. It does not change. NULL has none. */
bool access_keys_exist(const struct access_keys *k);

/*
 * Calls is_it for each key, always for all of them, and returns whether one call was true. It must
 * neither block nor call these functions.
 */
bool access_keys_any(struct access_keys *k, bool (*is_it)(void *ctx, const char *key), void *ctx);

/* Whether given, which may be NULL, is one of the keys. In constant time. */
bool access_keys_have(struct access_keys *k, const char *given);

/*
 * Parses the content of a file: a key per line, of printable ASCII, trimmed; empty lines are
 * skipped. Calls add for each; stops at its first negative result and returns that. Returns the
 * number of keys, or -EINVAL with a sentence. Pure.
 */
int access_keys_parse(const char *text, size_t len, int (*add)(void *ctx, const char *key),
		      void *ctx, struct err *err) MUST_CHECK;

#endif /* COMMON_ACCESS_ACCESS_KEYS_H */
