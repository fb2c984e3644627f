/*
 * Removes functions and locations that no sample refers to: a profile of Go covers everything
 * since the start of the process, while little of it happened in the last minute. Pure.
 */
#ifndef COMMON_PPROF_UNUSED_PARTS_H
#define COMMON_PPROF_UNUSED_PARTS_H

#include "common/base.h"
#include "common/pprof/profile.h"

/*
 * Works in p->arena; order, stacks and values of samples are unchanged. Returns 0, -EFBIG if
 * the arena's limit is exceeded, or -ENOMEM.
 */
int unused_parts_remove(struct profile *p) MUST_CHECK;

#endif /* COMMON_PPROF_UNUSED_PARTS_H */
