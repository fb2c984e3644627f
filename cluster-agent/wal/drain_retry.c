/*
 * What a drain does when the store does not take its rows: it says so once, waits longer each time,
 * and ends when it is told to. Failures that pass by themselves are repeated soon; those that
 * somebody has to repair, at the longest interval.
 */
#include <errno.h>

#include "cluster-agent/wal/drain_job.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/worker_thread.h"

bool drain_is_stopping(const struct log_drain *d)
{
	return atomic_load(&d->give_up_at_ns) != UINT64_MAX;
}

bool drain_is_over(const struct log_drain *d)
{
	return clock_monotonic_ns() >= atomic_load(&d->give_up_at_ns);
}

/* Passes by itself, or waits for a person. */
static bool is_passing(int error)
{
	return error == -EAGAIN || error == -ENOMEM;
}

int drain_wait_to_retry(struct log_drain *d, int error, const struct err *err)
{
	uint64_t delay_ns = backoff_next_ns(&d->backoff);
	bool was_failing;

	/* the store ends queries before the drain is stopped */
	if (drain_is_stopping(d) || error == -EPIPE)
		return -EPIPE;
	metric_add(&d->metrics[DRAIN_RETRIES], 1);
	pthread_mutex_lock(&d->lock);
	was_failing = d->failing && strcmp(d->error.msg, err->msg) == 0;
	if (!d->failing)
		d->failing_at = clock_monotonic_ns();
	d->failing = true;
	d->error = *err;
	pthread_mutex_unlock(&d->lock);
	if (!was_failing && is_passing(error))
		log_warn_limited("cannot store uploads yet; they stay in the log, retrying",
				 "error=%s", LOG_QUOTED(err->msg));
	else if (!was_failing)
		log_error("cannot store uploads until this is repaired; they stay in the log",
			  "error=%s", LOG_QUOTED(err->msg));
	worker_thread_wait(d->self, is_passing(error) ? delay_ns : d->cfg.retry_max_ns);
	return 0;
}

void drain_succeeded(struct log_drain *d)
{
	uint64_t since_ns;
	bool was_failing;

	pthread_mutex_lock(&d->lock);
	was_failing = d->failing;
	since_ns = d->failing_at;
	d->failing = false;
	pthread_mutex_unlock(&d->lock);
	backoff_reset(&d->backoff);
	if (was_failing)
		log_info("storing uploads recovered", "after_s=%llu",
			 (unsigned long long)((clock_monotonic_ns() - since_ns) / NS_PER_S));
}

int drain_insist(struct drain_job *j, int (*step)(struct drain_job *j, struct err *err))
{
	for (;;) {
		struct err err = {""};
		int r = step(j, &err);

		if (r == 0)
			return 0;
		r = drain_wait_to_retry(j->drain, r, &err);
		if (r < 0)
			return r;
	}
}
