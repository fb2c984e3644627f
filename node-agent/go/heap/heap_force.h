/*
 * Switches the memory profiler on in a Go program whose linker switched it off, and off again.
 *
 * Since 1.17 the linker sets runtime.disableMemoryProfiling when the program does not refer
 * to the profiler, and the runtime then starts with MemProfileRate 0. A rate written later
 * takes effect with the next allocation of each P (malloc.go, 1.17 to 1.27). A program that
 * set its rate to 0 itself is left alone.
 */
#ifndef NODE_AGENT_GO_HEAP_HEAP_FORCE_H
#define NODE_AGENT_GO_HEAP_HEAP_FORCE_H

#include "common/base.h"
#include "node-agent/go/image/go_runtime.h"

#define HEAP_FORCE_RATE UINT64_C(524288) /* the runtime's default; only its third byte is not 0 */
#define HEAP_FORCE_MINOR_MIN 17u

enum heap_force_wish {
	HEAP_FORCE_ON,
	HEAP_FORCE_OFF, /* undo HEAP_FORCE_ON */
};

/*
 * Returns 1 if the rate was written, 0 if it had that value already, -ENOTSUP if the release
 * is unknown or the linker's flag cannot be found, -EALREADY if the program chose a rate of
 * its own, or an error of go_write_word() or go_runtime_find().
 */
int heap_force(struct go_runtime *rt, const struct program_id *id,
	       enum heap_force_wish wish) MUST_CHECK;

#endif /* NODE_AGENT_GO_HEAP_HEAP_FORCE_H */
