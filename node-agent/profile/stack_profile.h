/*
 * Stacks of return addresses of a Go process, with values, → one pprof. Pure.
 *
 * What is at an address comes from struct frame_resolver. Equal stacks are one sample; of tens of thousands of stacks some may come
 * twice, since not all are kept until the end. Memory is limited.
 */
#ifndef NODE_AGENT_PROFILE_STACK_PROFILE_H
#define NODE_AGENT_PROFILE_STACK_PROFILE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "node-agent/profile/frame_resolver.h"
#include "node-agent/profile/stack_values.h"

#define STACK_PROFILE_DEPTH_MAX 2048u /* frames; what is further away from the leaf is left out */

struct stack_profile_config {
	struct frame_resolver resolver;
	const char *types[STACK_VALUES_MAX]; /* "go:mutex_delay:nanoseconds"; static texts */
	const char *units[STACK_VALUES_MAX];
	size_t n_types;
	const char *period_type;
	const char *period_unit;
	bool tentative; /* values of a type may have to be forgotten: all stacks are kept until then */
	size_t max_bytes; /* of memory for stacks, and as much for addresses and names */
	struct buf *out; /* borrowed; the pprof is appended, and if there is none it is as before */
};

enum stack_profile_inlined {
	STACK_PROFILE_LOGICAL, /* one frame per address; the last may stand for more (of heap profiles) */
	/*
	 * All frames of each address, unless the next address is the one of the next frame: the runtime lists frames of the
	 * function at the leaf one by one when it has left others of it out. Wrappers that others are inlined into are left
	 * out.
	 */
	STACK_PROFILE_PHYSICAL,
	STACK_PROFILE_UNWOUND, /* the same without any wrapper, as the runtime unwinds */
};

struct stack_profile_stack {
	const uint64_t *addresses; /* leaf first */
	size_t n;
	enum stack_profile_inlined inlined;
	bool hide_runtime;  /* at the leaf, unless all is the runtime's */
	const char *reason; /* NULL, or a frame in front of the leaf */
	const char *root;   /* NULL, or a frame behind the last one */
};

struct stack_profile;

int stack_profile_new(struct stack_profile **ret,
		      const struct stack_profile_config *cfg) MUST_CHECK;
void stack_profile_free(struct stack_profile *p);
DEFINE_CLEANUP(struct stack_profile *, stack_profile_free);

/*
 * Adds values to those of the stack, unless there is nothing in it to show. 0; -ENOMEM; -ENOBUFS over a limit; what resolve
 * returned. After an error the profile is of no use.
 */
int stack_profile_add(struct stack_profile *p, const struct stack_profile_stack *stack,
		      const struct stack_values *values) MUST_CHECK;

/* Of a tentative one, once: all stacks that were added have 0 of the types from first to last. Results as above. */
int stack_profile_forget(struct stack_profile *p, size_t first, size_t last) MUST_CHECK;

struct stack_profile_times {
	int64_t end_ns; /* since the Unix epoch */
	int64_t duration_ns;
	int64_t period;
};

/*
 * The pprof is that of the stacks that have a value. *ret_samples 0: none has, and nothing was appended.
 * Once per profile. Results as of stack_profile_add().
 */
int stack_profile_finish(struct stack_profile *p, const struct stack_profile_times *times,
			 size_t *ret_samples) MUST_CHECK;

#endif /* NODE_AGENT_PROFILE_STACK_PROFILE_H */
