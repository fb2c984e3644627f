/* Base64 with '+', '/' and padding (RFC 4648, section 4). Pure. */
#ifndef COMMON_TEXT_BASE64_H
#define COMMON_TEXT_BASE64_H

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Append to out. White space is skipped, files being broken into lines; padding must be whole,
 * and the odd bits in front of it are not looked at. -EBADMSG: something else; -EFBIG: beyond
 * out's limit; -ENOMEM. On failure out is unchanged.
 */
int base64_decode(const char *s, size_t len, struct buf *out) MUST_CHECK;

/* Appends to out. -EFBIG; -ENOMEM. */
int base64_encode(const void *data, size_t len, struct buf *out) MUST_CHECK;

#endif /* COMMON_TEXT_BASE64_H */
