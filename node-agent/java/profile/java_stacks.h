/*
 * Stacks of a recording → pprofs, one for each kind of profile. Pure.
 */
#ifndef NODE_AGENT_JAVA_PROFILE_JAVA_STACKS_H
#define NODE_AGENT_JAVA_PROFILE_JAVA_STACKS_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/jfr/jfr_stacks.h"
#include "node-agent/profile/stack_profile.h"

enum java_profile {
	JAVA_PROFILE_CPU,
	JAVA_PROFILE_ALLOC,
	JAVA_PROFILE_LOCK,
	JAVA_PROFILE_WALL,
	JAVA_PROFILES,
};

/* What was counted in total. */
struct java_totals {
	uint64_t alloc_bytes;
	uint64_t alloc_objects;
	uint64_t lock_contentions;
	uint64_t lock_ns;
};

struct java_stacks;

/* -ENOMEM is the only failure. */
int java_stacks_new(struct java_stacks **ret) MUST_CHECK;
void java_stacks_free(struct java_stacks *s);
DEFINE_CLEANUP(struct java_stacks *, java_stacks_free);

/*
 * For jfr_stacks_config.stack; ctx is the struct java_stacks. Stacks beyond the limits are counted
 * (java_stacks_n_lost()). Returns 0 or -ENOMEM.
 */
int java_stacks_add(void *ctx, const struct jfr_stack *stack);

/* Events whose stacks did not fit. */
uint64_t java_stacks_n_lost(const struct java_stacks *s);
const struct java_totals *java_stacks_totals(const struct java_stacks *s);

/* A finished profile; empty if there was nothing to report. All zero is empty. */
struct java_pprof {
	struct buf pprof;
	struct stack_profile_parts more;
};
void java_pprof_fini(struct java_pprof *p);

/* The window that a profile covers, since the Unix epoch, and how it was sampled. */
struct java_window {
	int64_t start_ns;
	int64_t end_ns;
	struct jfr_settings settings;
};

/*
 * Once per kind. The content of ret is the caller's. Returns 0, or an error of
 * stack_profile_finish().
 */
int java_stacks_finish(struct java_stacks *s, enum java_profile kind, const struct java_window *w,
		       struct java_pprof *ret) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_PROFILE_JAVA_STACKS_H */
