/*
 * Names of the addresses of a stack, from whoever knows them: the seam between stacks with values
 * (stack_profile.h) and the tables of one language or of a symbolizer.
 *
 * An address is whatever the resolver understands, a return address in most cases. Equal addresses
 * of one profile have equal frames.
 */
#ifndef NODE_AGENT_PROFILE_FRAME_RESOLVER_H
#define NODE_AGENT_PROFILE_FRAME_RESOLVER_H

#include "common/base.h"

#define FRAMES_PER_ADDRESS_MAX 64u /* inlined calls */

/*
 * Compilers and runtimes make functions that a reader has no use for. A wrapper only passes a call
 * on and is hidden, unless the call failed and it called the runtime's panic instead.
 */
enum frame_role {
	FRAME_PLAIN,
	FRAME_WRAPPER,
	FRAME_PANIC,
};

/* Texts are borrowed until the profile is freed; equal texts are the same pointer. */
struct frame {
	const char *function;
	const char *file;
	uint32_t line;    /* 0: unknown */
	uint64_t address; /* of this frame in a list that has one address for each inlined call */
	enum frame_role role;
	bool inlined;        /* into the next one of the list: they are lines of one location */
	uint32_t start_line; /* of the function; 0: unknown */
};

struct frame_list {
	struct frame frames[FRAMES_PER_ADDRESS_MAX]; /* innermost first */
	size_t n;
	/* Where the code is, if the resolver has_places; all inlined into one. */
	uint64_t code_address; /* in the pprof */
	uint32_t mapping;      /* 1 + its number; 0: none */
};

struct frame_resolver {
	/*
	 * Stores the frames of the call before a return address: the innermost one, or all,
	 * with those that it is inlined into. None if the address says nothing to a reader.
	 * Returns 0, or a negative errno, which becomes the result of stack_profile_add(). An
	 * unknown address is no error; its frame says that it is unknown.
	 */
	int (*resolve)(void *ctx, uint64_t return_address, bool all, struct frame_list *ret);
	/*
	 * Whether the code at the address itself belongs to the language's runtime. NULL:
	 * nothing.
	 */
	bool (*is_runtime)(void *ctx, uint64_t address);
	void *ctx;
	bool has_places; /* resolve() sets code_address and mapping, too */
};

#endif /* NODE_AGENT_PROFILE_FRAME_RESOLVER_H */
