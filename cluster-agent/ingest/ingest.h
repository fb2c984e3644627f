/*
 * Uploads → rows in the write-ahead log: worker threads that inflate and decode uploads and make
 * rows of them, and answer each upload once its rows are durable in the log.
 *
 * Uploads are untrusted. What decoders leave out of one is counted by reason and named in the
 * answer (profile_losses.h); the rest is stored as a whole or not at all, and refusals are counted
 * by outcome. A full queue refuses at once. An upload that the log has already is answered without
 * being decoded.
 */
#ifndef CLUSTER_AGENT_INGEST_INGEST_H
#define CLUSTER_AGENT_INGEST_INGEST_H

#include "cluster-agent/ingest/upload_parts.h"
#include "cluster-agent/store/row_batch.h"
#include "common/base.h"

struct clock_skews;
struct ingest;
struct metrics;
struct upload_log;

enum ingest_outcome {
	INGEST_STORED,
	INGEST_BAD_PROFILE, /* permanent */
	INGEST_TOO_LARGE,   /* permanent */
	INGEST_BUSY,        /* retry later: a queue is full, or the agent is stopping */
	INGEST_LOG_FULL,    /* retry later: the log is at its limit, as the store takes nothing */
	INGEST_DISK_FULL,   /* retry later: the file system of the log is full */
	INGEST_FAILED,      /* retry later: out of memory, or the disk failed */
	INGEST_OUTCOME_MAX,
};

/*
 * Called on any thread. reason is one line, valid during the call: why the upload was refused, or
 * of one that is stored what was left out of it, "" if nothing was.
 */
typedef void (*ingest_done_fn)(void *ctx, enum ingest_outcome outcome, const char *reason);

/* Everything in it is borrowed until done is called. */
struct ingest_upload {
	const void *body; /* pprof, gzipped or not; or what decode reads */
	size_t len;
	struct row_text service; /* of a pprof; with decode, as source */
	struct row_text host;    /* "" if unknown */
	const struct row_label *labels;
	size_t n_labels;
	/* NULL: the body is a pprof with types of ours */
	upload_decode_fn *decode;
	const void *decode_ctx;
	/*
	 * Called with ctx once nothing that decode returned is in use, before done, which may come
	 * much later. NULL: not wanted.
	 */
	void (*release)(void *ctx);
	/*
	 * What else decides about the result, such as the query string, or "". Equal bodies of an
	 * equal service, labels and source are one upload that is repeated.
	 */
	struct row_text source;
	const char *key; /* what the sender says identifies it: "Idempotency-Key"; may be NULL */
	bool is_repeat;  /* the sender got no answer to an earlier attempt: "Idempotency-Repeat" */
	ingest_done_fn done;
	void *ctx;
};

struct ingest_config {
	struct upload_log *log;     /* borrowed; stopped before the ingest is freed */
	uint64_t profiles_ttl_ns;   /* older profiles are stored at the time of their arrival */
	struct clock_skews *clocks; /* borrowed; NULL: hosts are not listed */
	unsigned n_threads;         /* 0: one per CPU, at most 4 */
	size_t max_queued;          /* uploads that wait for a thread; 0: 256 */
};

int ingest_new(struct ingest **ret, const struct ingest_config *cfg) MUST_CHECK;
/*
 * Refuses further uploads, works on those that wait for at most timeout_ns, refuses the rest,
 * and joins the threads. Uploads whose rows are with the log are answered by the log.
 */
void ingest_stop(struct ingest *in, uint64_t timeout_ns);
/* Stop the log first, as it answers to this ingest. Stops if that was not done. */
void ingest_free(struct ingest *in);
DEFINE_CLEANUP(struct ingest *, ingest_free);

/* Counters coroot_cluster_agent_ingest_*; before the first upload. The ingest must outlive ms. */
int ingest_register(struct ingest *in, struct metrics *ms) MUST_CHECK;

/*
 * Returns 0, and done is called exactly once, or already has been; -EAGAIN if the queue is
 * full; -EPIPE if stopped.
 */
int ingest_submit(struct ingest *in, struct ingest_upload *u) MUST_CHECK;

/*
 * Forgets which stacks are known, so that they are sent again: rows of some that were in the log
 * did not get into the store. From any thread.
 */
void ingest_forget_stacks(struct ingest *in);

#endif /* CLUSTER_AGENT_INGEST_INGEST_H */
