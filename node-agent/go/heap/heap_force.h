/*
 * Switching the memory profiler on in a Go process whose linker has switched it off.
 *
 * Since 1.17 the linker sets runtime.disableMemoryProfiling when the program does not refer to the
 * profiler, and the runtime then starts with a rate of 0. A rate written later is in force with the
 * next allocation of each processor (malloc.go, 1.17 to 1.27). A program that has set its rate to 0
 * by itself is left alone.
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_FORCE_H
#define NODE_AGENT_GO_HEAP_HEAP_FORCE_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

#define HEAP_FORCE_RATE UINT64_C(524288) /* the runtime's default; its third byte alone is not 0 */
#define HEAP_FORCE_MINOR_MIN 17u

enum heap_force_wish {
	HEAP_FORCE_ON,
	HEAP_FORCE_OFF, /* undo it */
};

/*
 * 1: written; 0: nothing to do, as it is so already; -ENOTSUP: not a release that is known, or the linker's
 * byte cannot be found; -EALREADY: the program itself has chosen; others of go_write_word() and go_runtime_find().
 */
int heap_force(struct go_runtime *rt, const struct program_id *id,
	       enum heap_force_wish wish) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_FORCE_H */
