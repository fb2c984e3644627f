/*
 * Calls that may never return, like those on a file of a file system whose server hangs.
 *
 * A call runs on a thread of its own and is waited for until a deadline, which moves on while the
 * process itself does not run; then the thread is left alone with it, and calls with the same key (a
 * device, say) are refused for a while. As many as DEADLINE_CALL_MAX_STUCK threads of the program may
 * be stuck; beyond, all calls are refused.
 *
 * One thread owns a caller and makes all calls.
 */
#ifndef COMMON_THREAD_DEADLINE_CALL_H
#define COMMON_THREAD_DEADLINE_CALL_H

#include "common/base.h"

#define DEADLINE_CALL_MAX_STUCK 8

struct deadline_caller;

/* What one call works on: first member of the caller's own struct, on the heap. */
struct deadline_job {
	void (*run)(struct deadline_job *j);  /* on the other thread */
	void (*free)(struct deadline_job *j); /* on either */
	uint64_t key;
};

/* pause_ns: how long calls with the key of one that got stuck are refused. -ENOMEM. */
int deadline_caller_new(struct deadline_caller **ret, uint64_t timeout_ns,
			uint64_t pause_ns) MUST_CHECK;
/* Does not wait for what is stuck. NULL is allowed. */
void deadline_caller_free(struct deadline_caller *c);
DEFINE_CLEANUP(struct deadline_caller *, deadline_caller_free);

/*
 * 0: j has run and is still the caller's. Else it is not, and is freed now or once it returns:
 * -ETIMEDOUT; -EBUSY: refused; -ENOMEM, -EAGAIN: no thread can be made.
 */
int deadline_call(struct deadline_caller *c, struct deadline_job *j) MUST_CHECK;

#endif /* COMMON_THREAD_DEADLINE_CALL_H */
