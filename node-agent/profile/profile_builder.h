/*
 * Stacks of frames, one after the other → struct profile, equal stacks merged.
 *
 * Pure. The arena is the caller's; frames are borrowed until the profile has
 * been encoded. A failed add loses that stack and nothing else.
 */
#ifndef NODE_AGENT_PROFILE_PROFILE_BUILDER_H
#define NODE_AGENT_PROFILE_PROFILE_BUILDER_H

#include "common/base.h"
#include "common/data/arena.h"
#include "common/pprof/profile.h"

struct symbol_frame;
struct profile_builder;

/* -ENOMEM. Free the builder before the arena: its tables point into it. */
int profile_builder_new(struct profile_builder **ret, struct arena *arena) MUST_CHECK;
void profile_builder_free(struct profile_builder *b);
DEFINE_CLEANUP(struct profile_builder *, profile_builder_free);

/*
 * frames leaf first; equal frames are the same pointer, as a symbolizer gives them. 0, -ENOMEM,
 * or -EFBIG over the limits of a pprof.
 */
int profile_builder_add(struct profile_builder *b, const struct symbol_frame *const *frames,
			size_t n_frames, int64_t value) MUST_CHECK;

/* Stacks, functions and locations; types, times and comments are the caller's to set. */
int profile_builder_finish(struct profile_builder *b, struct profile *ret) MUST_CHECK;

#endif /* NODE_AGENT_PROFILE_PROFILE_BUILDER_H */
