/*
 * Group commit: uploads that arrive together become one insert per table.
 *
 * One thread of its own takes batches from a bounded queue, merges what arrives within a short
 * time, inserts stacks, then samples, then quality, and tells each upload its result once its rows
 * are durable. A batch that the engine refuses is found by inserting the group's batches one by
 * one, so it fails alone.
 *
 * Repetitions: an upload whose id was stored lately (upload_set.h) is answered with 0 and not
 * stored again. The engine itself ignores a repeated insert by its token, also after a restart;
 * the token of an upload that was alone in its group is its id. What remains: uploads of one group
 * of several, stored but not answered when the agent was killed, count twice when they are sent
 * again; so do those of a group that straddles midnight UTC and failed on one side of it.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_WRITER_H
#define CLUSTER_AGENT_STORE_STORE_WRITER_H

#include "cluster-agent/store/row_batch.h"
#include "common/base.h"

struct metrics;
struct store;
struct store_writer;

/* XXH3-128 over the upload's query string and body: equal uploads have equal ids. */
struct upload_id {
	uint64_t low;
	uint64_t high;
};

struct store_writer_config {
	struct store *store;     /* borrowed; must outlive the writer */
	size_t max_queued;       /* uploads waiting; 0: 1024 */
	size_t max_queued_bytes; /* rows of all uploads not answered; 0: 128 MiB */
	uint64_t max_delay_ns;   /* how long a group stays open; 0: 200 ms */
	size_t max_group_bytes;  /* a group is closed at that size; 0: 32 MiB */
};

/* On the writer's thread, exactly once per upload. 0: durable; -EIO: not stored, may be repeated. */
typedef void (*store_done_fn)(void *ctx, int result);

int store_writer_new(struct store_writer **ret, const struct store_writer_config *cfg) MUST_CHECK;
/* Commits what is queued, calls every done function, joins the thread. */
void store_writer_free(struct store_writer *w);
DEFINE_CLEANUP(struct store_writer *, store_writer_free);

/* Counters coroot_cluster_agent_store_*; before threads start. The writer must outlive ms. */
int store_writer_register(struct store_writer *w, struct metrics *ms) MUST_CHECK;

/*
 * From any thread; never blocks. On success the content of batch moves to the writer and batch is
 * left empty (still to be fini'ed). -EAGAIN when too many uploads or bytes wait (an upload that is
 * alone is never too large), -EPIPE while closing, -ENOMEM: batch unchanged and done is not called.
 */
int store_writer_submit(struct store_writer *w, struct upload_id id, struct row_batch *batch,
			store_done_fn done, void *ctx) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_WRITER_H */
