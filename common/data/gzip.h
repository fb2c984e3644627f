/* Whole buffers, by libdeflate. Pure. */
#ifndef COMMON_DATA_GZIP_H
#define COMMON_DATA_GZIP_H

#include "common/base.h"
#include "common/data/buf.h"

/* True when data begins with gzip's magic. */
bool gzip_detect(const void *data, size_t len);

/*
 * Appends all members of data to out, which is unchanged on failure. -EBADMSG:
 * corrupt, cut, or followed by anything else; -EFBIG: would exceed out's limit;
 * -ENOMEM.
 */
int gzip_inflate(const void *data, size_t len, struct buf *out) MUST_CHECK;

/* One member. level 1 (fast) … 12. -EFBIG as above; -ENOMEM. */
int gzip_deflate(const void *data, size_t len, int level, struct buf *out) MUST_CHECK;

#endif /* COMMON_DATA_GZIP_H */
