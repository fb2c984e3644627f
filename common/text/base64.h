/* Base64 with '+', '/' and padding (RFC 4648, section 4). Pure. */
#ifndef COMMON_TEXT_BASE64_H
#define COMMON_TEXT_BASE64_H

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Appends the bytes to out. White space is skipped, since files are broken into lines. Padding is
 * complete or missing as a whole; the unused bits before it are ignored. Returns 0, -EBADMSG if s
 * is not base64, -EFBIG if the bytes exceed out's limit, or -ENOMEM. On failure out is unchanged.
 */
int base64_decode(const char *s, size_t len, struct buf *out) MUST_CHECK;

/* Appends the text to out. Returns 0, -EFBIG if it exceeds out's limit, or -ENOMEM. */
int base64_encode(const void *data, size_t len, struct buf *out) MUST_CHECK;

#endif /* COMMON_TEXT_BASE64_H */
