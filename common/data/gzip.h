/* Gzip and zlib of whole buffers, by libdeflate. Pure. */
#ifndef COMMON_DATA_GZIP_H
#define COMMON_DATA_GZIP_H

#include "common/base.h"
#include "common/data/buf.h"

/* Returns whether data begins with gzip's magic number. */
bool gzip_detect(const void *data, size_t len);

/*
 * Inflates all members of data and appends them to out, which is unchanged on failure. Returns
 * 0, -EBADMSG if data is corrupt, truncated or followed by anything else, -EFBIG if out's limit
 * would be exceeded, or -ENOMEM.
 */
int gzip_inflate(const void *data, size_t len, struct buf *out) MUST_CHECK;

/* As gzip_inflate(), of one zlib stream, or of deflate without any header. */
int zlib_inflate(const void *data, size_t len, struct buf *out) MUST_CHECK;

/*
 * Appends data to out as one member. level is 1 (fast) to 12. Returns 0, -EFBIG as above, or
 * -ENOMEM.
 */
int gzip_deflate(const void *data, size_t len, int level, struct buf *out) MUST_CHECK;

#endif /* COMMON_DATA_GZIP_H */
