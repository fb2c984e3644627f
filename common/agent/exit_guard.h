/*
 * Ends the process if its stop takes too long: something that it waits for may never return, such
 * as a call of a library. What must survive is on disk by then, as after a kill.
 */
#ifndef COMMON_AGENT_EXIT_GUARD_H
#define COMMON_AGENT_EXIT_GUARD_H

#include <pthread.h>

#include "common/base.h"
#include "common/thread/condition.h"

struct exit_guard {
	pthread_t thread;
	pthread_mutex_t lock;
	struct condition changed;
	uint64_t deadline_ns;
	bool has_thread;
	bool over; /* there was no need */
};

/*
 * From deadline_ns (monotonic) on, the process logs a line and ends with status 0. If there can be
 * no thread for it, nothing guards the stop.
 */
void exit_guard_start(struct exit_guard *g, uint64_t deadline_ns);
/* Does nothing if it was not started. */
void exit_guard_stop(struct exit_guard *g);

#endif /* COMMON_AGENT_EXIT_GUARD_H */
