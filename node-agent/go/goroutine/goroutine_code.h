/*
 * What a scan of goroutines needs to know about functions, by address: frame sizes, and
 * whether they belong to the runtime. Cached for one reading, as many goroutines stop at the
 * same few addresses. For one thread.
 */
#ifndef NODE_AGENT_GO_GOROUTINE_GOROUTINE_CODE_H
#define NODE_AGENT_GO_GOROUTINE_GOROUTINE_CODE_H

#include "common/base.h"
#include "node-agent/go/goroutine/goroutine_stack.h"
#include "node-agent/go/image/go_runtime.h"

#define GOROUTINE_CODE_MAX 65536u /* cached addresses; then the cache is emptied */

/* Who owns a goroutine, by its start function (isSystemGoroutine() in runtime/traceback.go). */
enum goroutine_owner {
	GOROUTINE_OF_PROGRAM,
	GOROUTINE_OF_RUNTIME,
	GOROUTINE_OF_FINALIZERS, /* the runtime's, except while it runs a finalizer or cleanup */
};

struct goroutine_code;

/*
 * `modules` are borrowed. After deadline_ns, on clock_effort_ns(), only cached functions are
 * found. Returns 0 or -ENOMEM.
 */
int goroutine_code_new(struct goroutine_code **ret, const struct go_module *modules,
		       size_t n_modules, uint64_t deadline_ns) MUST_CHECK;
void goroutine_code_free(struct goroutine_code *c);
DEFINE_CLEANUP(struct goroutine_code *, goroutine_code_free);

/*
 * Shares the owners of start functions in the first module with other processes that run the
 * same file. `notes` is borrowed. Has no effect if the module's tables were not read from the
 * file.
 */
void goroutine_code_share(struct goroutine_code *c, struct file_notes *notes, uint64_t bias);

/*
 * The `find` of struct goroutine_stack; ctx is a struct goroutine_code. Returns 0, -ENOENT if
 * there is no function, -ETIME after the deadline, -ENOMEM, or an error of
 * byte_source_read().
 */
int goroutine_code_find(void *ctx, uint64_t pc, struct stack_frame *ret) MUST_CHECK;

/*
 * Who owns a goroutine with this start_pc; the program if there is no such function. Returns
 * 0 or an error as above, but not -ENOENT.
 */
int goroutine_code_owner(struct goroutine_code *c, uint64_t start_pc,
			 enum goroutine_owner *ret) MUST_CHECK;

/* Whether all these functions are the runtime's. Functions that cannot be found count as such. */
bool goroutine_code_is_runtime(struct goroutine_code *c, const uint64_t *pcs, size_t n);

#endif /* NODE_AGENT_GO_GOROUTINE_GOROUTINE_CODE_H */
