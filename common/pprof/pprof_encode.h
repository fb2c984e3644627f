/* struct profile → gzipped pprof. Pure. */
#ifndef COMMON_PPROF_PPROF_ENCODE_H
#define COMMON_PPROF_PPROF_ENCODE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/pprof/profile.h"

/* Appends to out. 0; -ENOMEM; -EFBIG when out's limit is exceeded. */
int pprof_encode(const struct profile *p, struct buf *out) MUST_CHECK;

#endif /* COMMON_PPROF_PPROF_ENCODE_H */
