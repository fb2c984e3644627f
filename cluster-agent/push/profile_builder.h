/*
 * Builds a struct profile out of stacks of named frames, for formats that have no tables of
 * functions and locations of their own. Pure.
 *
 * Equal frames are one location. Everything lives in the arena; the limits are those of pprof
 * (common/limits.h).
 */
#ifndef CLUSTER_AGENT_PUSH_PROFILE_BUILDER_H
#define CLUSTER_AGENT_PUSH_PROFILE_BUILDER_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/data/number_index.h"
#include "common/err.h"
#include "common/pprof/profile.h"

struct profile_builder {
	struct profile profile; /* the result; types are left to the caller */
	struct number_index by_frame;
	uint64_t *hashes;    /* of name, file and line of each location */
	uint32_t max_frames; /* allocated, of hashes, functions and locations */
	uint32_t max_samples;
	struct err *err; /* borrowed; may be NULL */
};

struct frame_source {
	struct profile_string name; /* not NUL-terminated, as is file */
	struct profile_string file; /* "" if unknown */
	int64_t line;               /* 0: unknown */
};

/* n_types is that of all samples to come. Returns 0, -EFBIG or -ENOMEM, as all below. */
int profile_builder_init(struct profile_builder *b, struct arena *arena, uint32_t n_types,
			 struct err *err) MUST_CHECK;

/*
 * Copies the texts; those beyond the limit are cut, which the profile's losses count. *ret_location
 * is for the stacks that have the frame.
 */
int profile_builder_add_frame(struct profile_builder *b, const struct frame_source *frame,
			      uint32_t *ret_location) MUST_CHECK;

/* Copies locations, leaf first, and n_types values. -EFBIG also for too deep a stack. */
int profile_builder_add_sample(struct profile_builder *b, const uint32_t *locations,
			       uint32_t n_locations, const int64_t *values) MUST_CHECK;

#endif /* CLUSTER_AGENT_PUSH_PROFILE_BUILDER_H */
