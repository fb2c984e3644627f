/*
 * What the files of the write-ahead log share: its state, and who may touch what.
 */
#ifndef CLUSTER_AGENT_WAL_LOG_STATE_H
#define CLUSTER_AGENT_WAL_LOG_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cluster-agent/wal/committed_ids.h"
#include "cluster-agent/wal/id_set.h"
#include "cluster-agent/wal/log_segment.h"
#include "cluster-agent/wal/upload_log.h"
#include "common/base.h"
#include "common/data/table.h"
#include "common/telemetry/metrics.h"
#include "common/thread/condition.h"

/* Bytes that may wait for the disk. */
#define LOG_MAX_QUEUED_BYTES ((size_t)64 << 20)
/* How long appends are refused after the disk was full. */
#define LOG_FULL_PAUSE_NS (1000 * NS_PER_MS)

/* Who waits for the result of an append, besides the first one. */
struct log_waiter {
	upload_log_done_fn done;
	void *ctx;
	struct log_waiter *next;
};

/* An append under way. */
struct log_append {
	struct upload_id id;
	upload_log_done_fn done;
	void *ctx;
	struct log_waiter *waiters;
	uint8_t *payload;
	size_t len;
	uint64_t sum;
	uint64_t n_rows;
	uint64_t queued_ns;
	struct log_append *next; /* in the queue, or in the batch */
	UT_hash_handle hh;
};

void log_append_free(struct log_append *a);

enum log_metric {
	LOG_APPENDS,
	LOG_APPENDED_BYTES,
	LOG_REPETITIONS,
	LOG_FAILED_SPACE,
	LOG_FAILED_IO,
	LOG_REFUSED_FULL,
	LOG_REFUSED_QUEUE,
	LOG_REFUSED_DISK_FULL,
	LOG_REFUSED_TOO_LARGE,
	LOG_SYNCS,
	LOG_SYNC_NS,
	LOG_COMMITS,
	LOG_RECOVERED,
	LOG_TORN_BYTES,
	LOG_DAMAGED_SEGMENTS,
	LOG_LOST_RECORDS,
	LOG_DAMAGED_IDS,
	LOG_REFUSED_RECORDS,
	LOG_KEPT_ASIDE_DELETED,
	LOG_BYTES,
	LOG_SEGMENTS,
	LOG_OLDEST_NS,
	LOG_QUEUED_BYTES,
	LOG_IDS,
	LOG_FORGOTTEN_IDS,
	LOG_METRIC_MAX,
};

struct worker_thread;

struct upload_log {
	struct upload_log_config cfg;
	char *dir;
	struct record_dir files; /* of dir */
	int lock_fd;
	_Atomic uint64_t last_number; /* of files */
	struct metric metrics[LOG_METRIC_MAX];

	struct worker_thread *thread;

	pthread_mutex_t lock; /* of what follows */
	struct condition work;
	struct condition ready; /* a segment was closed, or the thread has ended */
	struct id_set *durable;
	struct log_append *under_way; /* by id */
	struct log_append *queue, *queue_last;
	size_t n_queued_bytes;
	uint64_t n_bytes;            /* of segments that are not committed */
	struct log_segment *closed;  /* oldest first */
	struct log_segment *current; /* open for appending */
	bool is_writing;             /* the thread works without the lock: current is its own */
	bool wants_close;            /* the reader waits for a segment */
	bool is_stopping;
	bool has_ended;
	uint64_t refuse_until_ns; /* the disk was full */

	/* of the log's thread while it writes, else under the lock */
	struct record_file file; /* of current */

	/* of the reader */
	struct committed_ids *ids;
};

/* log_writer.c: the log's thread. */
int log_writer_start(struct upload_log *l) MUST_CHECK;
/* Moves the open segment to the closed ones; the lock is held. */
void log_close_current(struct upload_log *l);

/* log_recovery.c: reads the directory at the start. */
int log_recover(struct upload_log *l, struct err *err) MUST_CHECK;

/* log_aside.c */

/* Counts and logs places of a segment that cannot be read. */
void log_report_damage(struct upload_log *l, uint64_t number, uint64_t n_lost);
/* A committed segment that is damaged is kept aside, any other removed. Returns 0 or -errno. */
int log_retire_segment(struct upload_log *l, uint64_t number, bool is_damaged) MUST_CHECK;
/* Counts the refused records of s and keeps them aside; if that fails, logs it. */
void log_keep_refused(struct upload_log *l, const struct log_segment *s, const bool *refused);

#endif /* CLUSTER_AGENT_WAL_LOG_STATE_H */
