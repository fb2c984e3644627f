/* Moves a pprof in time without decoding it. Pure. */
#ifndef COMMON_PPROF_PPROF_TIME_H
#define COMMON_PPROF_PPROF_TIME_H

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Appends the pprof (gzipped or not) with shift_ns added to its time_nanos, gzipped, but with no
 * time later than max_ns. Returns 0, -ENODATA if the pprof has no time or the sum is none, -EBADMSG
 * if it is damaged, -EFBIG, or -ENOMEM; out is then undefined.
 */
int pprof_time_shift(const void *body, size_t len, int64_t shift_ns, int64_t max_ns,
		     struct buf *out) MUST_CHECK;

#endif /* COMMON_PPROF_PPROF_TIME_H */
