/*
 * Calls that may never return, like those on a file of a file system whose server hangs.
 *
 * A call runs on a thread of its own, for which deadline_call() waits until a deadline. Time
 * during which the process itself is stopped does not count, and a thread that waits for a CPU has
 * ten times as long. After the deadline the thread is
 * left alone with the call, and calls with the same key (a device, say) are refused for a
 * while. Up to DEADLINE_CALL_MAX_STUCK threads of the program may be stuck; beyond that all
 * calls are refused.
 *
 * One thread owns a caller and makes all calls.
 */
#ifndef COMMON_THREAD_DEADLINE_CALL_H
#define COMMON_THREAD_DEADLINE_CALL_H

#include "common/base.h"

#define DEADLINE_CALL_MAX_STUCK 32

struct deadline_caller;

/* What one call works on: the first member of a struct on the heap. */
struct deadline_job {
	void (*run)(struct deadline_job *j);  /* on the helper thread */
	void (*free)(struct deadline_job *j); /* on either thread */
	uint64_t key;
	/*
	 * Calls with the key of a stuck one are refused until that returns, and not for a while
	 * only: for things of which there are many, and that are looked at again and again.
	 */
	bool once;
};

/*
 * pause_ns is for how long calls with the key of a stuck one are refused. Returns 0 or -ENOMEM.
 */
int deadline_caller_new(struct deadline_caller **ret, uint64_t timeout_ns,
			uint64_t pause_ns) MUST_CHECK;
/* Does not wait for stuck calls. NULL is allowed. */
void deadline_caller_free(struct deadline_caller *c);
DEFINE_CLEANUP(struct deadline_caller *, deadline_caller_free);

/*
 * Returns 0 if j has run; it is then still the caller's. On failure j is freed, now or once it
 * returns: -ETIMEDOUT if it took too long, -EBUSY if it was refused, -ENOMEM or -EAGAIN if no
 * thread could be made.
 */
int deadline_call(struct deadline_caller *c, struct deadline_job *j) MUST_CHECK;

#endif /* COMMON_THREAD_DEADLINE_CALL_H */
