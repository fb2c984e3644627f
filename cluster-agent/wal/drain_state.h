/*
 * What the files of the drain share: its state, and what a failure does.
 */
#ifndef CLUSTER_AGENT_WAL_DRAIN_STATE_H
#define CLUSTER_AGENT_WAL_DRAIN_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster-agent/wal/log_drain.h"
#include "common/base.h"
#include "common/err.h"
#include "common/http/backoff.h"
#include "common/telemetry/metrics.h"

struct drain_job;
struct worker_thread;

enum drain_metric {
	DRAIN_ROWS_STACKS,
	DRAIN_ROWS_SAMPLES,
	DRAIN_ROWS_QUALITY,
	DRAIN_UPLOADS_STORED,
	DRAIN_UPLOADS_REFUSED,
	DRAIN_UPLOADS_FOUND,
	DRAIN_UPLOADS_EXPIRED,
	DRAIN_CLAIMED,
	DRAIN_BATCHES,
	DRAIN_INSERTS,
	DRAIN_RETRIES,
	DRAIN_INSERT_NS,
	DRAIN_METRIC_MAX,
};

struct log_drain {
	struct log_drain_config cfg;
	struct worker_thread *thread;   /* NULL once joined */
	struct worker_thread *self;     /* the same, for the thread itself */
	_Atomic uint64_t give_up_at_ns; /* monotonic; UINT64_MAX until log_drain_stop() */
	struct backoff backoff;
	size_t last_uploads;         /* in the last segment that was inserted */
	struct drain_job *postponed; /* drain_job.h */
	pthread_mutex_t lock;
	bool failing;        /* under lock, as the next two */
	uint64_t failing_at; /* monotonic */
	struct err error;
	struct metric metrics[DRAIN_METRIC_MAX];
};

/*
 * Called after a failure; waits before the next attempt. Returns 0, or -EPIPE if there shall be
 * none because the drain is stopping.
 */
int drain_wait_to_retry(struct log_drain *d, int error, const struct err *err) MUST_CHECK;
/* Ends what drain_wait_to_retry() began. */
void drain_succeeded(struct log_drain *d);
/* True from log_drain_stop() on. */
bool drain_is_stopping(const struct log_drain *d);
/* True once the time to stop has passed. */
bool drain_is_over(const struct log_drain *d);

/*
 * Inserts a segment and commits it. Returns 0, also if the segment will come again, or -EPIPE if
 * it gave up because the drain is stopping.
 */
int drain_segment(struct log_drain *d, struct log_segment *s) MUST_CHECK;
/* Frees what is known of segments that are postponed. */
void drain_forget_postponed(struct log_drain *d);

#endif /* CLUSTER_AGENT_WAL_DRAIN_STATE_H */
