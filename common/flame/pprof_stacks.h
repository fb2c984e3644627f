/*
 * The samples of a decoded pprof as stacks of stored frames ("name file:line"), which all writers
 * of this folder take. Pure.
 */
#ifndef COMMON_FLAME_PPROF_STACKS_H
#define COMMON_FLAME_PPROF_STACKS_H

#include "common/base.h"
#include "common/flame/flame_tree.h"
#include "common/pprof/profile.h"

/* frames are leaf first, and valid during the call. Not 0 ends the walk. */
typedef int pprof_stacks_fn(void *ctx, const struct flame_frame *frames, size_t n_frames,
			    struct stack_value value);

/*
 * Calls fn for each sample whose value of this type is not 0. Texts of frames are put into the
 * arena of p. Returns 0, what fn returned, -ENOMEM, or -EFBIG if the arena is full.
 */
int pprof_stacks_each(const struct profile *p, uint32_t type, pprof_stacks_fn *fn,
		      void *ctx) MUST_CHECK;

#endif /* COMMON_FLAME_PPROF_STACKS_H */
