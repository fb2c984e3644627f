/* Keys in the Authorization header. Pure; the header is untrusted. */
#ifndef COMMON_ACCESS_CREDENTIALS_H
#define COMMON_ACCESS_CREDENTIALS_H

#include "common/base.h"

/* with the NUL */
#define CREDENTIALS_KEY_BYTES 512u

/*
 * The key of "Bearer <key>", or the password of "Basic <base64 of user:password>". Returns 0,
 * -EINVAL if the header is neither, -EFBIG if the key is too long, or -ENOMEM.
 */
int credentials_parse(const char *authorization, char ret[static CREDENTIALS_KEY_BYTES]) MUST_CHECK;

#endif /* COMMON_ACCESS_CREDENTIALS_H */
