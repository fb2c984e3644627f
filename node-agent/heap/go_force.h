/*
 * Switching the memory profiler on in a Go process whose linker has switched it off.
 *
 * Since 1.17 the linker sets runtime.disableMemoryProfiling when the program does not refer to the
 * profiler, and the runtime then starts with a rate of 0. A rate written later is in force with the
 * next allocation of each processor (malloc.go, 1.17 to 1.27). A program that has set its rate to 0
 * by itself is left alone.
 *
 * One byte is written: 524288 has a single byte that is not 0, so there is no moment at which the
 * program could see another number. Before, everything is checked through the very descriptor that
 * is written to: it stays with the memory that it was opened for.
 */
#ifndef NODE_AGENT_HEAP_GO_FORCE_H
#define NODE_AGENT_HEAP_GO_FORCE_H

#include "common/base.h"
#include "node-agent/heap/go_executables.h"

#define GO_FORCE_RATE UINT64_C(524288) /* the runtime's default */
#define GO_FORCE_MINOR_MIN 17u
#define GO_FORCE_MINOR_MAX 27u /* newer releases are read only */

enum go_force_wish {
	GO_FORCE_ON,
	GO_FORCE_OFF, /* undo it */
};

/*
 * t and x of the process id, module its executable's. 1: written; 0: nothing to do, as it is so
 * already; -ENOTSUP: not a release that is known, or its variables are not where they must be;
 * -EALREADY: the program itself has chosen; -ESRCH: not that process any more; -errno of open(2),
 * pread(2) and pwrite(2).
 */
int go_force(const struct go_target *t, const struct go_process_id *id,
	     const struct go_executable *x, const struct go_module *module,
	     enum go_force_wish wish) MUST_CHECK;

#endif /* NODE_AGENT_HEAP_GO_FORCE_H */
