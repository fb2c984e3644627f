/*
 * Uploads → rows in the store: worker threads that inflate, decode and lay out
 * what receive/ hands them, and answer each upload once its rows are durable.
 *
 * Uploads are untrusted. A profile is stored whole or not at all; what is
 * refused is counted by outcome. A full queue refuses at once.
 */
#ifndef CLUSTER_AGENT_INGEST_INGEST_H
#define CLUSTER_AGENT_INGEST_INGEST_H

#include "cluster-agent/store/row_batch.h"
#include "common/base.h"

struct ingest;
struct metrics;
struct store_writer;

enum ingest_outcome {
	INGEST_STORED,
	INGEST_BAD_PROFILE, /* no use in sending it again */
	INGEST_TOO_LARGE,   /* likewise */
	INGEST_BUSY,        /* try again later: a queue is full or we are stopping */
	INGEST_FAILED,      /* try again later: out of memory, or the store refused */
	INGEST_OUTCOME_MAX,
};

/* On any thread; reason is one line, "" when stored, valid during the call. */
typedef void (*ingest_done_fn)(void *ctx, enum ingest_outcome outcome, const char *reason);

/* All of it is borrowed until done is called. */
struct ingest_upload {
	const void *body; /* pprof, gzipped or not */
	size_t len;
	struct row_text service;
	struct row_text host; /* "" when unknown */
	const struct row_label *labels;
	size_t n_labels;
	ingest_done_fn done;
	void *ctx;
};

struct ingest_config {
	struct store_writer *writer; /* borrowed; outlives the ingest's threads */
	uint64_t profiles_ttl_ns;    /* older profiles are refused */
	unsigned n_threads;          /* 0: one per CPU, at most 4 */
	size_t max_queued;           /* uploads that wait for a thread; 0: 256 */
};

int ingest_new(struct ingest **ret, const struct ingest_config *cfg) MUST_CHECK;
/*
 * No more uploads; works on those that wait for at most timeout_ns, refuses
 * the rest, and joins the threads. What went to the writer is answered by it.
 */
void ingest_stop(struct ingest *in, uint64_t timeout_ns);
/* After the writer is gone, as the answers of the writer end up here. Stops if that was not done. */
void ingest_free(struct ingest *in);
DEFINE_CLEANUP(struct ingest *, ingest_free);

/* Counters coroot_cluster_agent_ingest_*; before the first upload. The ingest must outlive ms. */
int ingest_register(struct ingest *in, struct metrics *ms) MUST_CHECK;

/* 0, and done is called exactly once; -EAGAIN when the queue is full; -EPIPE when stopped. */
int ingest_submit(struct ingest *in, struct ingest_upload *u) MUST_CHECK;

#endif /* CLUSTER_AGENT_INGEST_INGEST_H */
