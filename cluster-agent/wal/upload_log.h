/*
 * The write-ahead log of accepted uploads: what makes an answer of 200 true.
 *
 * An upload is appended as the rows that it became, encoded and compressed, so that recovery
 * depends on nothing that may have changed since: not on the clock, not on options, not on which
 * stacks were known. Appends of many threads share one fdatasync(2); a lone one does not wait for
 * company. Only then is its done function called.
 *
 * The log is a directory of segments. A segment is also the unit of insertion: all of it becomes
 * one batch, whose rows the store recognises by the segment's token if it is inserted again. One
 * segment is open for appending. It is closed when the reader asks for the next one, so that
 * batches are small when there is time and grow under load, or at its limits.
 *
 *	append ─► open segment ─ fdatasync ─► done(0)
 *	              │ closed
 *	              ▼
 *	upload_log_next() ─► insert ─► upload_log_commit(): ids are kept, the rows are deleted
 *
 * A committed segment leaves a small file with the ids of its uploads. The newest ids are in
 * memory, those of a killed agent are read again at the start, so an upload that is sent again is
 * answered with 200 and not stored again.
 *
 * After a crash: a record that is cut off at the end of a segment was never answered and is
 * dropped. Damage elsewhere loses the records that it hits: they are counted, all others are
 * inserted, and the file is kept aside (".damaged").
 *
 * Thread-safe, except that upload_log_next() and what follows it belong to one thread.
 */
#ifndef CLUSTER_AGENT_WAL_UPLOAD_LOG_H
#define CLUSTER_AGENT_WAL_UPLOAD_LOG_H

#include "cluster-agent/store/store.h"
#include "cluster-agent/wal/upload_id.h"
#include "common/base.h"
#include "common/err.h"

/* An upload of more is refused: it would have to be in memory as a whole. */
#define UPLOAD_LOG_MAX_RECORD_BYTES ((size_t)64 << 20)

struct metrics;
struct upload_log;
struct log_segment;

struct upload_log_config {
	const char *dir;        /* created with mode 0700 if absent; locked while open */
	uint64_t lock_wait_ns;  /* how long to wait for a process that has it */
	uint64_t max_bytes;     /* of all segments; beyond, uploads are refused; 0: 1 GiB */
	uint64_t segment_bytes; /* compressed; a segment is closed at this size; 0: 16 MiB;
				   256 MiB at most */
	uint64_t segment_rows;  /* likewise; 0: 500,000 */
	size_t max_ids;         /* remembered ids, 16 bytes each and as much again; 0: 1,000,000 */
};

/*
 * Recovers what the last process left. Returns 0, or with a sentence in err: -EBUSY if another
 * process has the directory, -EPROTONOSUPPORT if a newer release has left something, or another
 * -errno of the file system.
 */
int upload_log_open(struct upload_log **ret, const struct upload_log_config *cfg,
		    struct err *err) MUST_CHECK;
/* Syncs and answers what was appended; appends are refused from now on. May be repeated. */
void upload_log_stop(struct upload_log *l);
/* Stops it first. What was not committed stays for the next start. NULL is allowed. */
void upload_log_close(struct upload_log *l);
DEFINE_CLEANUP(struct upload_log *, upload_log_close);

/* coroot_cluster_agent_wal_…; before threads start. The log must outlive ms. */
int upload_log_register(struct upload_log *l, struct metrics *ms) MUST_CHECK;

/* Another append of the same id has made the upload durable; these frames were dropped. */
#define UPLOAD_LOG_REPEATED 1

/*
 * Called exactly once for each append that returned 0, on the log's thread or, for a repetition, on
 * that of the caller. result is 0 if the upload is durable, UPLOAD_LOG_REPEATED, or else -ENOSPC or
 * -EIO: nothing of it is in the log, and it may be sent again.
 */
typedef void (*upload_log_done_fn)(void *ctx, int result);

/* A frame of a table; see store_insert(). The log keeps every field of it. */
struct logged_frames {
	enum store_table table;
	struct store_frame frame;
};

/*
 * Appends an upload; frames are copied. A repetition of one that is durable or under way is not
 * appended, and done gets UPLOAD_LOG_REPEATED or the error of the first one. Blocks only to copy,
 * never for the disk. Returns 0, -EAGAIN if max_bytes is reached or too much waits for the disk,
 * -ENOSPC if the disk was full a moment ago, -EPIPE if stopped, -EFBIG if it can never fit, or
 * -ENOMEM.
 */
int upload_log_append(struct upload_log *l, struct upload_id id, const struct logged_frames *frames,
		      size_t n_frames, upload_log_done_fn done, void *ctx) MUST_CHECK;

/*
 * The same for an upload that its sender has sent before and got no answer to: another receiver of
 * the same store may have it in its log, or in the store already. Every record says whether it is
 * such a repeat.
 */
int upload_log_append_repeat(struct upload_log *l, struct upload_id id,
			     const struct logged_frames *frames, size_t n_frames,
			     upload_log_done_fn done, void *ctx) MUST_CHECK;

/* True if the upload is durable. Cheap: asked before a profile is decoded. */
bool upload_log_has(struct upload_log *l, struct upload_id id);

/*
 * The oldest segment that is not committed. Closes the open one if there is no other and it has
 * records. Waits up to timeout_ns for one. Returns NULL at the timeout or once stopped and empty.
 * A segment that is not committed comes again, so the same call retries it.
 */
struct log_segment *upload_log_next(struct upload_log *l, uint64_t timeout_ns);

/*
 * The segment comes again when at_ns (monotonic) has passed, and those after it before. What
 * log_segment_read() has read of it is freed.
 */
void upload_log_postpone(struct upload_log *l, struct log_segment *s, uint64_t at_ns);

/* Frames in the order in which they were appended, with the record that each is part of. */
struct log_frame {
	struct logged_frames data; /* borrowed from the segment */
	uint32_t record;           /* index into ids */
};

struct log_segment_content {
	char token[33];              /* lower-case hex; of this segment, always the same */
	bool recovered;              /* of an earlier process, or its commit failed: it may have
					been inserted, at least in part */
	bool damaged;                /* not all of it can be read; if recovered, an earlier process
					may have inserted other pieces under the same tokens */
	const struct upload_id *ids; /* by record */
	const bool *is_repeat;       /* likewise: upload_log_append_repeat() */
	size_t n_records;
	const struct log_frame *frames;
	size_t n_frames;
};

/* Reads the segment. ret is borrowed until it is committed, or upload_log_next() is called. */
int log_segment_read(struct log_segment *s, struct log_segment_content *ret,
		     struct err *err) MUST_CHECK;

/*
 * All of it is in the store, but for the records for which refused is set (NULL: none). Those are
 * kept aside (".refused") and counted; their ids are remembered all the same. Frees the segment.
 * Returns 0 or -errno; it then comes again, as recovered.
 */
int upload_log_commit(struct upload_log *l, struct log_segment *s, const bool *refused,
		      struct err *err) MUST_CHECK;

struct upload_log_state {
	uint64_t n_bytes;       /* of segments that are not committed */
	uint64_t n_records;     /* in them, and under way to them */
	uint64_t oldest_age_ns; /* of the oldest record that is not postponed; 0: none */
	uint64_t max_bytes;
	bool full;      /* less than 1/16 of max_bytes is left */
	bool disk_full; /* it was full a moment ago */
};
void upload_log_state(struct upload_log *l, struct upload_log_state *ret);

#endif /* CLUSTER_AGENT_WAL_UPLOAD_LOG_H */
