/*
 * Group commit: uploads that arrive together become one insert per table.
 *
 * One thread of its own takes batches from a bounded queue, merges what arrives within a short
 * time, inserts stacks, then samples, then quality, and reports its result to each upload once
 * its rows are durable. If the engine refuses a group, its batches are inserted one by one, so
 * that only the bad one fails. If the engine cannot be reached, the whole group fails at once:
 * its senders retry.
 *
 * Repetitions: an upload whose id was stored recently (upload_set.h) is answered with 0 and not
 * stored again. The engine itself ignores a repeated insert by its token, also after a restart;
 * the token of an upload that was alone in its group is its id. Two cases remain in which
 * uploads count twice when they are sent again: those of a group of several that was stored but
 * not answered when the agent was killed, and those of a group that straddles midnight UTC and
 * failed on one side of it.
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
	size_t max_queued_bytes; /* rows of all uploads without a result; 0: 128 MiB */
	uint64_t max_delay_ns;   /* how long a group stays open; 0: 200 ms */
	size_t max_group_bytes;  /* a group is closed at this size; 0: 32 MiB */
};

/*
 * Called exactly once per upload, on the writer's thread. result is 0 if the rows are durable,
 * or -EIO if they are not; the upload may then be repeated.
 */
typedef void (*store_done_fn)(void *ctx, int result);

/* Returns 0, -ENOMEM, or -EAGAIN if the system has no thread left. */
int store_writer_new(struct store_writer **ret, const struct store_writer_config *cfg) MUST_CHECK;
/*
 * Commits what is queued, calls every done function, joins the thread. Its metrics can be read
 * until store_writer_free(). May be repeated; NULL is allowed.
 */
void store_writer_stop(struct store_writer *w);
/* Stops it first. NULL is allowed. */
void store_writer_free(struct store_writer *w);
DEFINE_CLEANUP(struct store_writer *, store_writer_free);

/* Counters coroot_cluster_agent_store_*; before threads start. The writer must outlive ms. */
int store_writer_register(struct store_writer *w, struct metrics *ms) MUST_CHECK;

/*
 * From any thread; never blocks. On success the content of batch moves to the writer, and batch
 * is left empty and still to be fini'ed. On failure batch is unchanged and done is not called:
 * -EAGAIN if too many uploads or bytes wait (a single upload is never too large), -EPIPE while
 * closing, -ENOMEM.
 */
int store_writer_submit(struct store_writer *w, struct upload_id id, struct row_batch *batch,
			store_done_fn done, void *ctx) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_WRITER_H */
