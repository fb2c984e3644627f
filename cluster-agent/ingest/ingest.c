/*
 * One upload, from its bytes to the log:
 *
 *	frames of rows (upload_rows.h) ─► upload_log.h ─► rows_done(): remember the stacks,
 *	                                                  answer the sender
 *
 * The frames are made on a thread of the pool, entirely in that thread's arena: a hostile profile
 * can use as much memory as the arena's limit, and all of it is freed with the arena. Only the
 * rows leave it.
 *
 * An upload is all or nothing: rows reach the log only after the whole profile was laid out,
 * and a stack is only remembered as known (seen_stacks.h) after its row is durable. Two uploads
 * with the same new stack that are under way at the same time therefore both send it; the table
 * keeps one.
 *
 * Every path ends in exactly one call of done(): in refuse() or in rows_done().
 */
#include "cluster-agent/ingest/ingest.h"

#include <errno.h>
#include <stdatomic.h>

#include "cluster-agent/ingest/clock_skews.h"
#include "cluster-agent/ingest/seen_stacks.h"
#include "cluster-agent/ingest/service_types.h"
#include "cluster-agent/ingest/upload_rows.h"
#include "cluster-agent/wal/upload_log.h"
#include "common/data/arena.h"
#include "common/data/table.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"
#include "common/thread/queue.h"
#include "common/thread/worker_pool.h"

#define MAX_THREADS 4u
#define DEFAULT_MAX_QUEUED 256u
#define SEEN_ENTRIES ((size_t)1 << 20)

enum {
	METRIC_STORED,
	METRIC_REPEATED,
	METRIC_STACKS,
	METRIC_STACKS_KNOWN,
	METRIC_SAMPLES,
	METRIC_QUEUE,
	METRIC_BYTES,
	METRIC_MOVED,
	METRIC_LEFT_OUT, /* by enum profile_loss */
	METRIC_MAX = METRIC_LEFT_OUT + PROFILE_LOSS_MAX,
};

struct ingest {
	struct ingest_config cfg;
	struct worker_pool *pool; /* of struct ingest_upload */
	struct seen_stacks *seen;
	struct service_types *types;
	struct queue *batches;          /* of struct row_batch, empty; one for each thread */
	_Atomic uint64_t give_up_at_ns; /* monotonic; uploads begun later are refused */
	struct metric metrics[METRIC_MAX];
};

static uint64_t read_queue_length(void *ctx)
{
	return worker_pool_queued(((struct ingest *)ctx)->pool);
}

#define PREFIX "coroot_cluster_agent_ingest_"
#define STACKS(sent) \
	PREFIX "stacks_total", "sent=\"" sent "\"", "Stacks of uploads, by whether a row was made"

#define LEFT_OUT(loss, name)                                                          \
	[METRIC_LEFT_OUT + (loss)] = {PREFIX "left_out_total", "reason=\"" name "\"", \
				      "Elements of stored uploads that were left out or changed"}

static const struct metric_def metric_defs[METRIC_MAX] = {
	[METRIC_STORED] = {PREFIX "profiles_stored_total", NULL, "Uploads whose rows are durable"},
	[METRIC_REPEATED] = {PREFIX "profiles_repeated_total", NULL,
			     "Uploads that were stored already, answered without decoding them"},
	[METRIC_STACKS] = {STACKS("yes")},
	[METRIC_STACKS_KNOWN] = {STACKS("known")},
	[METRIC_SAMPLES] = {PREFIX "sample_rows_total", NULL, "Rows of samples made from uploads"},
	[METRIC_QUEUE] = {PREFIX "queue_length", NULL, "Uploads that wait for a worker",
			  METRIC_GAUGE, .read = read_queue_length},
	[METRIC_BYTES] = {PREFIX "bytes_total", NULL, "Bytes of uploads as received"},
	[METRIC_MOVED] = {PREFIX "profiles_at_arrival_total", NULL,
			  "Profiles whose time was in the future or longer ago than profiles are "
			  "kept, and that are stored at the time of their arrival"},
	PROFILE_LOSSES(LEFT_OUT),
};
METRIC_TABLE(metric_table, metric_defs);

/* What is needed of an upload once its rows are with the log. */
struct pending {
	struct ingest *in;
	struct ingest_upload *upload;
	struct upload_rows rows;
};

static void pending_free(struct pending *p)
{
	if (!p)
		return;
	free(p->rows.stacks);
	free(p);
}
DEFINE_CLEANUP(struct pending *, pending_free);

static enum ingest_outcome outcome_of(int error)
{
	switch (error) {
	case -EBADMSG:
		return INGEST_BAD_PROFILE;
	case -EFBIG:
		return INGEST_TOO_LARGE;
	case -EAGAIN:
		return INGEST_LOG_FULL;
	case -ENOSPC:
		return INGEST_DISK_FULL;
	case -EPIPE:
		return INGEST_BUSY;
	default:
		return INGEST_FAILED;
	}
}

static void refuse(struct ingest_upload *u, int error, const char *reason)
{
	static const char *const reasons[INGEST_OUTCOME_MAX] = {
		[INGEST_BAD_PROFILE] = "not a profile",
		[INGEST_TOO_LARGE] = "profile is too large",
		[INGEST_BUSY] = "shutting down",
		[INGEST_LOG_FULL] = "too many profiles are waiting to be stored",
		[INGEST_DISK_FULL] = "the receiver's disk is full",
		[INGEST_FAILED] = "out of memory",
	};
	enum ingest_outcome outcome = outcome_of(error);

	u->done(u->ctx, outcome, reason[0] ? reason : reasons[outcome]);
}

/* Called on the log's thread. From here on later uploads need not send these stacks. */
static void rows_done(void *ctx, int result)
{
	CLEANUP(pending_freep) struct pending *p = ctx;

	if (result < 0) {
		refuse(p->upload, result, result == -EIO ? "the receiver's disk failed" : "");
		return;
	}
	/* rows of a repetition were dropped, and those of the first may be of fewer stacks */
	if (result != UPLOAD_LOG_REPEATED)
		seen_stacks_add(p->in->seen, p->rows.stacks, p->rows.n_stacks,
				p->rows.last_seen_ns);
	metric_add(&p->in->metrics[METRIC_STORED], 1);
	if (result != UPLOAD_LOG_REPEATED)
		metric_add(&p->in->metrics[METRIC_MOVED], p->rows.n_moved);
	for (size_t i = 0; i < PROFILE_LOSS_MAX && result != UPLOAD_LOG_REPEATED; i++)
		metric_add(&p->in->metrics[METRIC_LEFT_OUT + i], p->rows.losses.n[i]);
	p->upload->done(p->upload->ctx, INGEST_STORED, p->rows.left_out);
}

static void hash_text(XXH3_state_t *state, const struct row_text *t)
{
	uint64_t len = t->len;

	/* the length keeps ("ab", "c") apart from ("a", "bc") */
	XXH3_128bits_update(state, &len, sizeof(len));
	XXH3_128bits_update(state, t->data, t->len);
}

/*
 * The seed keeps ids made of keys apart from those made of contents, so that no body can be made to
 * have the id that a key will have.
 */
static struct upload_id id_of_key(const char *key)
{
	XXH128_hash_t h = XXH3_128bits_withSeed(key, strlen(key), 1);

	return (struct upload_id){.low = h.low64, .high = h.high64};
}

static struct upload_id id_of(const struct ingest_upload *u)
{
	XXH3_state_t state;
	XXH128_hash_t h;

	if (u->key)
		return id_of_key(u->key);
	XXH3_128bits_reset(&state);
	hash_text(&state, &u->service);
	hash_text(&state, &u->source);
	for (size_t i = 0; i < u->n_labels; i++) {
		hash_text(&state, &u->labels[i].name);
		hash_text(&state, &u->labels[i].value);
	}
	XXH3_128bits_update(&state, u->body, u->len);
	h = XXH3_128bits_digest(&state);
	return (struct upload_id){.low = h.low64, .high = h.high64};
}

/* ---- one upload ---- */

/* There are as many as threads, so there is one. */
static struct row_batch *take_batch(struct ingest *in)
{
	return queue_pop(in->batches);
}

static void give_batch_back(struct ingest *in, struct row_batch *b)
{
	row_batch_clear(b);
	/* the queue has room for all of them */
	if (queue_push(in->batches, b) < 0)
		abort();
}

/* On success the upload is answered by rows_done(). */
static int append(struct ingest *in, struct upload_id id, const struct row_batch *batch,
		  struct pending *pending)
{
	struct logged_frames *all;
	size_t n_all = 0, n = 0;
	int e;

	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		(void)row_batch_frames(batch, (enum store_table)t, &n);
		n_all += n;
	}
	if (n_all == 0) {
		/* an upload without profiles */
		rows_done(pending, 0);
		return 0;
	}
	all = calloc(n_all, sizeof(*all));
	if (!all)
		return -ENOMEM;
	n_all = 0;
	for (int t = 0; t < STORE_TABLE_MAX; t++) {
		const struct store_frame *frames = row_batch_frames(batch, (enum store_table)t, &n);

		for (size_t i = 0; i < n; i++)
			all[n_all++] = (struct logged_frames){(enum store_table)t, frames[i]};
	}
	e = (pending->upload->is_repeat ? upload_log_append_repeat : upload_log_append)(
		in->cfg.log, id, all, n_all, rows_done, pending);
	free(all);
	return e;
}

static void note_skews(struct ingest *in, const struct upload_rows *rows)
{
	for (size_t i = 0; in->cfg.clocks && i < rows->n_skews; i++)
		clock_skews_note(in->cfg.clocks, rows->skews[i].host, rows->skews[i].skew_ns,
				 CLOCK_SKEW_AT_ARRIVAL);
}

static int process(struct ingest *in, struct ingest_upload *u, struct upload_id id,
		   struct row_batch *batch, struct arena *arena, struct err *err)
{
	CLEANUP(pending_freep) struct pending *pending = calloc(1, sizeof(*pending));
	const struct upload upload = {
		.body = u->body,
		.len = u->len,
		.service = u->service,
		.host = u->host,
		.labels = u->labels,
		.n_labels = u->n_labels,
		.decode = u->decode,
		.decode_ctx = u->decode_ctx,
	};
	const struct upload_rows_config cfg = {
		.now_ns = (int64_t)clock_realtime_ns(),
		.max_age_ns = (int64_t)in->cfg.profiles_ttl_ns,
		.seen = in->seen,
		.types = in->types,
		.upload = id.low,
	};
	int e;

	if (!pending)
		return -ENOMEM;
	pending->in = in;
	pending->upload = u;
	e = upload_rows_make(&pending->rows, batch, &upload, &cfg, arena, err);
	if (e == 0)
		note_skews(in, &pending->rows);
	if (u->release)
		u->release(u->ctx);
	if (e < 0)
		return e;
	metric_add(&in->metrics[METRIC_STACKS], pending->rows.n_stacks);
	metric_add(&in->metrics[METRIC_STACKS_KNOWN], pending->rows.n_known);
	metric_add(&in->metrics[METRIC_SAMPLES], pending->rows.n_samples);
	e = append(in, id, batch, pending);
	if (e == 0)
		TAKE_PTR(pending);
	return e == -EFBIG ? err_set(err, e, "the profile's rows do not fit into the log") : e;
}

/* Refuses before the work of decoding, if the log would refuse after it. */
static int check_room(struct ingest *in, struct err *err)
{
	struct upload_log_state state;

	upload_log_state(in->cfg.log, &state);
	if (state.disk_full)
		return -ENOSPC;
	return state.full ? err_set(err, -EAGAIN,
				    "%llu MiB of profiles are waiting to be stored, the limit "
				    "of --max-wal-size",
				    (unsigned long long)(state.n_bytes / MIB))
			  : 0;
}

static int ingest_one(struct ingest *in, struct ingest_upload *u, struct arena *arena,
		      struct err *err)
{
	struct upload_id id = id_of(u);
	struct row_batch *batch;
	int e;

	if (upload_log_has(in->cfg.log, id)) {
		metric_add(&in->metrics[METRIC_REPEATED], 1);
		u->done(u->ctx, INGEST_STORED, "");
		return 0;
	}
	e = check_room(in, err);
	if (e < 0)
		return e;
	batch = take_batch(in);
	e = process(in, u, id, batch, arena, err);
	give_batch_back(in, batch);
	return e;
}

static void run(void *ctx, void *job, struct arena *arena)
{
	struct ingest *in = ctx;
	struct ingest_upload *u = job;
	struct err err = {""};
	int e;

	if (clock_monotonic_ns() > atomic_load(&in->give_up_at_ns)) {
		refuse(u, -EPIPE, "");
		return;
	}
	metric_add(&in->metrics[METRIC_BYTES], u->len);
	e = ingest_one(in, u, arena, &err);
	if (e < 0)
		refuse(u, e, err.msg);
}

/* ---- create, destroy, submit ---- */

static unsigned n_workers(unsigned wanted)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = wanted ? wanted : n_cpus > 0 ? (unsigned)n_cpus : 1;

	return n < MAX_THREADS ? n : MAX_THREADS;
}

static int make_batches(struct ingest *in, unsigned n)
{
	int r = queue_new(&in->batches, n);

	for (unsigned i = 0; i < n && r == 0; i++) {
		struct row_batch *b = malloc(sizeof(*b));

		if (!b)
			return -ENOMEM;
		row_batch_init(b, LIMIT_PROFILE_PACKED_BYTES, LIMIT_PROFILE_ROWS_BYTES);
		r = queue_push(in->batches, b);
	}
	return r;
}

static void free_batches(struct queue *batches)
{
	struct row_batch *b;

	if (!batches)
		return;
	while ((b = queue_pop_timeout(batches, 0))) {
		row_batch_fini(b);
		free(b);
	}
	queue_free(batches);
}

int ingest_new(struct ingest **ret, const struct ingest_config *cfg)
{
	CLEANUP(ingest_freep) struct ingest *in = calloc(1, sizeof(*in));
	const struct worker_pool_config pool = {
		.n_threads = n_workers(cfg->n_threads),
		.max_queued = cfg->max_queued ? cfg->max_queued : DEFAULT_MAX_QUEUED,
		.arena_bytes = LIMIT_PPROF_ARENA_BYTES,
		.run = run,
		.ctx = in,
	};
	int r;

	if (!in)
		return -ENOMEM;
	in->cfg = *cfg;
	atomic_init(&in->give_up_at_ns, UINT64_MAX);
	r = seen_stacks_new(&in->seen, SEEN_ENTRIES);
	if (r == 0)
		r = service_types_new(&in->types, (uint32_t)(cfg->profiles_ttl_ns / NS_PER_S));
	if (r == 0)
		r = make_batches(in, pool.n_threads);
	if (r == 0)
		r = worker_pool_new(&in->pool, &pool);
	if (r == 0)
		r = worker_pool_start(in->pool);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(in);
	return 0;
}

void ingest_stop(struct ingest *in, uint64_t timeout_ns)
{
	if (!in->pool)
		return;
	atomic_store(&in->give_up_at_ns, clock_monotonic_ns() + timeout_ns);
	worker_pool_stop(in->pool);
}

void ingest_free(struct ingest *in)
{
	if (!in)
		return;
	ingest_stop(in, 0);
	worker_pool_free(in->pool);
	free_batches(in->batches);
	seen_stacks_free(in->seen);
	service_types_free(in->types);
	free(in);
}

int ingest_register(struct ingest *in, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, in->metrics, in);
}

int ingest_submit(struct ingest *in, struct ingest_upload *u)
{
	return worker_pool_submit(in->pool, u);
}

void ingest_forget_stacks(struct ingest *in)
{
	seen_stacks_clear(in->seen);
}
