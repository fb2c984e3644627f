/*
 * The key of an upload: 128 random bits as 32 hex digits. It is made once, when a profile is
 * queued, and sent with every attempt as "Idempotency-Key"
 * (draft-ietf-httpapi-idempotency-key-header), so that a receiver recognises a profile that it has
 * stored before.
 */
#ifndef COMMON_UPLOAD_UPLOAD_KEY_H
#define COMMON_UPLOAD_UPLOAD_KEY_H

#include "common/base.h"

#define UPLOAD_KEY_DIGITS 32u

struct upload_key {
	char text[UPLOAD_KEY_DIGITS + 1];
};

/* Thread-safe. Cannot fail: see upload_key.c for when the system has no random bits yet. */
void upload_key_make(struct upload_key *ret);

/* Whether text is a key: 32 lower-case hex digits. Pure. */
bool upload_key_is_valid(const char *text, size_t len);

#endif /* COMMON_UPLOAD_UPLOAD_KEY_H */
