/*
 * Functions that a program made while it runs: where they are and what they are called. Pure.
 *
 * Code moves and memory is used again, so ranges overlap; the function that was added last has an
 * address. Memory is limited: if it is too little, the oldest functions are dropped.
 */
#ifndef NODE_AGENT_SYMBOL_JIT_FUNCTIONS_H
#define NODE_AGENT_SYMBOL_JIT_FUNCTIONS_H

#include "common/base.h"

/* No function is larger; one that covers all addresses would name everything. */
#define JIT_FUNCTION_BYTES (UINT64_C(256) << 20)
#define JIT_FUNCTION_TEXT_BYTES ((size_t)64 * 1024)

struct jit_functions;

struct jit_function {
	uint64_t start;
	uint64_t size_bytes;
	const char *name; /* not NUL-terminated */
	size_t name_len;
	const char *extra; /* whatever is known besides, as bytes */
	size_t extra_len;
};

/* max_bytes: of memory, at least 64 KiB. -ENOMEM is the only failure. */
int jit_functions_new(struct jit_functions **ret, size_t max_bytes) MUST_CHECK;
void jit_functions_free(struct jit_functions *m);
DEFINE_CLEANUP(struct jit_functions *, jit_functions_free);

/*
 * Adds a function, unless its range or its texts are larger than one can be. f may be one that was
 * found here only if its texts are copied before. Returns 0 or -ENOMEM.
 */
int jit_functions_add(struct jit_functions *m, const struct jit_function *f) MUST_CHECK;

/*
 * Finds the function that has the address; valid until the next call. Returns 0, -ENOENT, or
 * -ENOMEM.
 */
int jit_functions_find(struct jit_functions *m, uint64_t address,
		       struct jit_function *ret) MUST_CHECK;

/*
 * The function that was added last of those that is_it says yes to, likewise valid; false: there is
 * none. Each that is asked about takes one of *steps; without any left, the search ends.
 */
bool jit_functions_find_newest(const struct jit_functions *m,
			       bool (*is_it)(void *ctx, const struct jit_function *f), void *ctx,
			       uint32_t *steps, struct jit_function *ret);

size_t jit_functions_bytes(const struct jit_functions *m);
/* Whether functions were dropped for lack of memory. */
bool jit_functions_is_cut(const struct jit_functions *m);

#endif /* NODE_AGENT_SYMBOL_JIT_FUNCTIONS_H */
