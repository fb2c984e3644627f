/*
 * Takes segments from the log and inserts them into the store: one thread, one segment after the
 * other, in the order in which they were written.
 *
 * While the store cannot be reached, uploads stay in the log, and the drain tries again with
 * back-off for as long as it takes. A record that the store refuses is put aside by
 * upload_log_commit() and logged, so that it does not hold up the others.
 *
 * Pace: if the last insert was more than pace_ns ago, what is in the log is inserted at once, so a
 * lone upload can be queried about 100 ms after it was answered. Otherwise the drain waits, so that
 * under load one insert takes the uploads of a whole pace_ns: each insert makes a part in each
 * table, and parts must be merged. After an insert of many uploads it waits five times as long:
 * with 64 uploads a second, five seconds instead of one save 40 % of the CPU time. A backlog is
 * inserted without a pause.
 */
#ifndef CLUSTER_AGENT_WAL_LOG_DRAIN_H
#define CLUSTER_AGENT_WAL_LOG_DRAIN_H

#include "cluster-agent/wal/upload_log.h"
#include "common/base.h"

struct log_drain;
struct metrics;
struct store;

struct log_drain_config {
	struct upload_log *log; /* borrowed */
	struct store *store;    /* borrowed */
	uint64_t pace_ns;       /* 0: 1 s */
	uint64_t retry_min_ns;  /* 0: 500 ms */
	uint64_t retry_max_ns;  /* 0: 30 s */
	uint64_t claim_wait_ns; /* drain_claims.c; 0: 150 s, and an insert must not take longer */
	uint64_t backlog_bytes; /* of the log; from there on there is no pause; 0: 8 MiB */
	void (*refused)(void *ctx); /* on the drain's thread, after records were refused or
					could not be read; or NULL */
	void *ctx;
};

struct log_drain_state {
	bool failing;        /* the last insert failed and is tried again */
	struct err error;    /* why, if failing */
	uint64_t failing_ns; /* for how long */
};

/* Starts the thread. Returns 0, -ENOMEM, or -EAGAIN if the system has no thread left. */
int log_drain_new(struct log_drain **ret, const struct log_drain_config *cfg) MUST_CHECK;
/*
 * Inserts what is in the log until it is empty, the store fails, or timeout_ns have passed; what is
 * left stays in the log for the next start. Joins the thread; an insert that a server keeps waiting
 * is ended in time, and looked for at the next start. Call upload_log_stop() first. Metrics can be
 * read until log_drain_free().
 */
void log_drain_stop(struct log_drain *d, uint64_t timeout_ns);
/* Stops it first. NULL is allowed. */
void log_drain_free(struct log_drain *d);
DEFINE_CLEANUP(struct log_drain *, log_drain_free);

/* coroot_cluster_agent_store_…; before threads start that write metrics. It must outlive ms. */
int log_drain_register(struct log_drain *d, struct metrics *ms) MUST_CHECK;

/* From any thread. */
void log_drain_state(struct log_drain *d, struct log_drain_state *ret);

#endif /* CLUSTER_AGENT_WAL_LOG_DRAIN_H */
