/*
 * What the functions of a process are to a walk over its goroutines, by address, kept for one
 * reading: many goroutines stand at few addresses. One thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_CODE_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_CODE_H

#include "common/base.h"
#include "node-agent/go/goroutine/goroutine_stack.h"
#include "node-agent/go/image/go_runtime.h"

#define GOROUTINE_CODE_MAX 65536u /* addresses; then they are forgotten, and sought anew */

/* Whose a goroutine is that starts with a function (isSystemGoroutine in runtime/traceback.go). */
enum goroutine_owner {
	GOROUTINE_OF_PROGRAM,
	GOROUTINE_OF_RUNTIME,
	GOROUTINE_OF_FINALIZERS, /* the runtime's, but while it calls what is not */
};

struct goroutine_code;

/* modules are borrowed; after deadline_ns, on clock_monotonic_ns(), nothing new is found. -ENOMEM. */
int goroutine_code_new(struct goroutine_code **ret, const struct go_module *modules,
		       size_t n_modules, uint64_t deadline_ns) MUST_CHECK;
void goroutine_code_free(struct goroutine_code *c);
DEFINE_CLEANUP(struct goroutine_code *, goroutine_code_free);

/* Whose goroutines are that start with functions of the first module is kept from one process of its file to the next. */
void goroutine_code_share(struct goroutine_code *c, struct go_file_notes *notes, uint64_t bias);

/*
 * As goroutine_stack wants it; ctx is a struct goroutine_code. 0; -ENOENT: no function; -ETIME: the deadline;
 * -ENOMEM; those of byte_source_read().
 */
int goroutine_code_find(void *ctx, uint64_t pc, struct stack_frame *ret) MUST_CHECK;

/* Whose a goroutine is with this start_pc. Results as above, but for -ENOENT: then it is the program's. */
int goroutine_code_owner(struct goroutine_code *c, uint64_t start_pc,
			 enum goroutine_owner *ret) MUST_CHECK;

/* Whether all these functions are the runtime's; those that cannot be found are. */
bool goroutine_code_is_runtime(struct goroutine_code *c, const uint64_t *pcs, size_t n);

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_CODE_H */
