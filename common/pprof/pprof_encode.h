/* Encodes a struct profile as gzipped pprof. Pure. */
#ifndef COMMON_PPROF_PPROF_ENCODE_H
#define COMMON_PPROF_PPROF_ENCODE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/pprof/profile.h"

/* Appends to out. Returns 0, -ENOMEM, or -EFBIG if out's limit is exceeded. */
int pprof_encode(const struct profile *p, struct buf *out) MUST_CHECK;

#endif /* COMMON_PPROF_PPROF_ENCODE_H */
