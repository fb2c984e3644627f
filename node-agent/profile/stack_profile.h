/*
 * Stacks of addresses, with values → one pprof. Pure.
 *
 * The one aggregator of the agent: CPU profiles and the profiles of language runtimes differ in the
 * resolver that names addresses (frame_resolver.h), in types, and in what they hide. Equal stacks
 * are one sample, except that of tens of thousands of stacks some may come twice, since not all are
 * kept until the end. Memory is limited.
 *
 * A profile that would reach a receiver's limits (LIMIT_PART_…) becomes several pprofs of the same
 * window: their values add up, and since they have the same times, whoever counts profiles by their
 * start counts one.
 */
#ifndef NODE_AGENT_PROFILE_STACK_PROFILE_H
#define NODE_AGENT_PROFILE_STACK_PROFILE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/pprof/pprof_writer.h"
#include "node-agent/profile/frame_resolver.h"
#include "node-agent/profile/stack_table.h"

#define STACK_PROFILE_MAX_PARTS 64u

/* The second and later pprofs. */
struct stack_profile_parts {
	struct buf bufs[STACK_PROFILE_MAX_PARTS - 1];
	size_t n;
};

/* For CLEANUP(), too. All zero is empty. */
void stack_profile_parts_fini(struct stack_profile_parts *p);

#define STACK_PROFILE_DEPTH_MAX 2048u /* frames; those further away from the leaf are left out */

struct stack_profile_config {
	struct frame_resolver resolver;
	const char *types[STACK_VALUES_MAX]; /* "go:mutex_delay:nanoseconds"; static texts */
	const char *units[STACK_VALUES_MAX];
	size_t n_types;
	const char *period_type;
	const char *period_unit;
	const char *const *comments; /* borrowed until stack_profile_finish() */
	size_t n_comments;
	enum pprof_level level; /* 0: PPROF_LEVEL_FAST */
	bool tentative;   /* stack_profile_forget() will follow: all stacks are kept until then */
	size_t max_bytes; /* of memory for stacks, and as much for addresses and names */
	struct buf *out;  /* borrowed; the pprof is appended; without one, out stays as it was */
	struct stack_profile_parts *more; /* borrowed, empty; NULL: a single pprof or -ENOBUFS */
	size_t part_text_bytes;           /* 0: LIMIT_PART_TEXT_BYTES */
	size_t part_samples;              /* 0: LIMIT_PART_SAMPLES */
};

/* What an address stands for when calls were inlined. */
enum stack_profile_inlined {
	/* One frame; the last address of a stack may stand for more (heap profiles of Go). */
	STACK_PROFILE_LOGICAL,
	/*
	 * All its frames, up to the one that the next address belongs to: Go's runtime lists the
	 * frames of a leaf one by one if it has left out others of the same function. Wrappers that
	 * something is inlined into are left out.
	 */
	STACK_PROFILE_PHYSICAL,
	/* The same without any wrapper, as an unwinder of Go shows a stack. */
	STACK_PROFILE_UNWOUND,
};

struct stack_profile_stack {
	const uint64_t *addresses; /* leaf first */
	size_t n;
	enum stack_profile_inlined inlined;
	bool hide_runtime;  /* at the leaf, unless the whole stack is the runtime's */
	const char *reason; /* a frame in front of the leaf; NULL: none */
	const char *root;   /* a frame after the last one; NULL: none */
};

struct stack_profile;

/* -ENOMEM is the only failure. */
int stack_profile_new(struct stack_profile **ret,
		      const struct stack_profile_config *cfg) MUST_CHECK;
void stack_profile_free(struct stack_profile *p);
DEFINE_CLEANUP(struct stack_profile *, stack_profile_free);

/*
 * Adds values to those of the stack. A stack without a frame to show is left out. Returns 0,
 * -ENOMEM, -ENOBUFS if a limit is reached, or an error of the resolver. A stack that failed is not
 * in the profile; those before it are.
 */
int stack_profile_add(struct stack_profile *p, const struct stack_profile_stack *stack,
		      const struct stack_values *values) MUST_CHECK;

/*
 * Sets the values of these types to 0, first to last, in all stacks added so far. For a tentative
 * profile, once.
 */
void stack_profile_forget(struct stack_profile *p, size_t first, size_t last);

/*
 * Replaces the comments of the configuration, for texts that depend on the stacks. Borrowed until
 * stack_profile_finish().
 */
void stack_profile_set_comments(struct stack_profile *p, const char *const *comments, size_t n);

/* What the resolver's places refer to. Borrowed until stack_profile_finish(). */
void stack_profile_set_mappings(struct stack_profile *p, const struct profile_mapping *mappings,
				size_t n);

struct stack_profile_times {
	int64_t end_ns; /* since the Unix epoch */
	int64_t duration_ns;
	int64_t period;
};

/*
 * Appends the pprof of all stacks that have a value, and the others to more, and stores the number
 * of samples. If that is 0, nothing was appended. Once per profile. Results as above.
 */
int stack_profile_finish(struct stack_profile *p, const struct stack_profile_times *times,
			 size_t *ret_samples) MUST_CHECK;

#endif /* NODE_AGENT_PROFILE_STACK_PROFILE_H */
