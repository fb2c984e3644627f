/*
 * Why uploads are written in groups: each insert makes a part per table and an fsync for it,
 * and the engine merges parts in the background. A hundred nodes that upload at once would make
 * three hundred parts; as a group they make three. So the first upload waits up to max_delay_ns
 * for others, which is unnoticeable: a sender uploads once per interval.
 *
 * The pool has one thread, and a group is made by run() itself: it gets the first upload as its
 * job and takes the others from the queue. While a group is being written the next one
 * accumulates there, so groups grow with the load by themselves.
 *
 * Order matters: stacks before samples before quality. A crash between two tables leaves stacks
 * that no sample refers to, never a sample without its stack. n_tables of an upload counts how
 * far it got, so that a repetition continues there.
 *
 * A group has an id of its own, a hash over the ids of its uploads, and that is the token of
 * its inserts. A repetition meets other company and thus another token; upload_set.h catches it
 * instead, unless the agent was restarted in between.
 */
#include "cluster-agent/store/store_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cluster-agent/store/store.h"
#include "cluster-agent/store/store_frame.h"
#include "cluster-agent/store/upload_set.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/thread/worker_pool.h"

#define MAX_GROUP_UPLOADS 256
#define RESULT_PENDING 1
#define DEFAULT_QUEUED 1024
#define DEFAULT_QUEUED_BYTES (128 * MIB)
#define DEFAULT_DELAY_NS (200 * NS_PER_MS)
#define DEFAULT_GROUP_BYTES (32 * MIB)

struct upload {
	struct row_batch rows;
	size_t n_bytes; /* of rows */
	struct upload_id id;
	store_done_fn done;
	void *ctx;
	unsigned n_tables;   /* written so far, in the order of enum store_table */
	int result;          /* 0 or -EIO; RESULT_PENDING until then */
	struct upload *twin; /* an equal upload earlier in the group, whose result this one gets */
};

enum {
	STORED,
	DUPLICATE,
	FAILED,
	ROWS_STACKS,
	ROWS_SAMPLES,
	ROWS_QUALITY,
	GROUPS,
	INSERT_NS,
	QUEUED,
	QUEUED_BYTES,
	N_METRICS,
};

struct store_writer {
	struct store_writer_config cfg;
	struct worker_pool *pool;  /* one thread; of struct upload */
	_Atomic uint64_t n_bytes;  /* rows of uploads without a result */
	struct upload_set *recent; /* used by the thread alone */
	struct metric metrics[N_METRICS];
};

static uint64_t read_queued(void *ctx)
{
	return worker_pool_queued(((struct store_writer *)ctx)->pool);
}

static uint64_t read_queued_bytes(void *ctx)
{
	return atomic_load(&((struct store_writer *)ctx)->n_bytes);
}

#define UPLOADS "coroot_cluster_agent_store_uploads_total", .help = "Uploads, by result"
#define ROWS "coroot_cluster_agent_store_rows_total", .help = "Rows written, by table"

static const struct metric_def metric_defs[N_METRICS] = {
	[STORED] = {.name = UPLOADS, .labels = "result=\"stored\""},
	[DUPLICATE] = {.name = UPLOADS, .labels = "result=\"duplicate\""},
	[FAILED] = {.name = UPLOADS, .labels = "result=\"failed\""},
	[ROWS_STACKS] = {.name = ROWS, .labels = "table=\"stacks\""},
	[ROWS_SAMPLES] = {.name = ROWS, .labels = "table=\"samples\""},
	[ROWS_QUALITY] = {.name = ROWS, .labels = "table=\"quality\""},
	[GROUPS] = {.name = "coroot_cluster_agent_store_groups_total",
		    .help = "Groups of uploads written together"},
	[INSERT_NS] = {.name = "coroot_cluster_agent_store_insert_seconds_total",
		       .help = "Time spent in inserts",
		       .scale = 1e-9},
	[QUEUED] = {.name = "coroot_cluster_agent_store_queued_uploads",
		    .help = "Uploads that wait to be written",
		    .kind = METRIC_GAUGE,
		    .read = read_queued},
	[QUEUED_BYTES] = {.name = "coroot_cluster_agent_store_queued_bytes",
			  .help = "Bytes of rows that wait to be written or are being written",
			  .kind = METRIC_GAUGE,
			  .read = read_queued_bytes},
};
METRIC_TABLE(metric_table, metric_defs);

/* ---- on the writer's thread ---- */

struct group {
	struct upload *uploads[MAX_GROUP_UPLOADS];
	size_t n;
	size_t bytes;
	bool unavailable; /* the store could not be reached: do not try the rest */
};

static void add_to_group(struct group *g, struct upload *u)
{
	g->uploads[g->n++] = u;
	g->bytes += u->n_bytes;
}

/* Adds what arrives within max_delay_ns after the first upload. */
static void collect_group(struct store_writer *w, struct upload *first, struct group *g)
{
	uint64_t deadline = clock_monotonic_ns() + w->cfg.max_delay_ns;

	*g = (struct group){0};
	add_to_group(g, first);
	while (g->n < MAX_GROUP_UPLOADS && g->bytes < w->cfg.max_group_bytes) {
		uint64_t now = clock_monotonic_ns();
		struct upload *u = worker_pool_take(w->pool, now < deadline ? deadline - now : 0);

		if (!u)
			break;
		add_to_group(g, u);
	}
}

static void format_token(char *ret, size_t size, struct upload_id id)
{
	snprintf(ret, size, "%016" PRIx64 "%016" PRIx64, id.high, id.low);
}

static int insert_rows(struct store_writer *w, enum store_table t, const char *token,
		       const struct row_batch *rows, struct err *err)
{
	CLEANUP(buf_fini) struct buf packed;
	const struct buf *raw = &rows->rows[t];
	struct store_frame frame;
	int r;

	buf_init(&packed, SIZE_MAX);
	if (raw->len == 0)
		return 0;
	r = store_frame_pack(&frame, &packed, raw->data, raw->len, rows->n_rows[t]);
	return r < 0 ? r : store_insert(w->cfg.store, t, token, &frame, 1, err);
}

/* Writes the tables from *n_tables on and advances it. */
static int insert(struct store_writer *w, const struct row_batch *rows, struct upload_id id,
		  unsigned *n_tables)
{
	char token[STORE_TOKEN_BYTES + 1];

	format_token(token, sizeof(token), id);
	for (; *n_tables < STORE_TABLE_MAX; (*n_tables)++) {
		enum store_table t = (enum store_table) * n_tables;
		uint64_t start = clock_monotonic_ns();
		struct err err = {0};
		int r = insert_rows(w, t, token, rows, &err);

		metric_add(&w->metrics[INSERT_NS], clock_monotonic_ns() - start);
		if (r < 0) {
			log_warn_limited("the store refused rows", "error=\"%s\"", err.msg);
			return r;
		}
		metric_add(&w->metrics[ROWS_STACKS + t], rows->n_rows[t]);
	}
	return 0;
}

static void settle(struct store_writer *w, struct upload *u, int r)
{
	/* if only the quality is missing, a repetition adds nothing else */
	bool has_samples = u->n_tables > STORE_SAMPLES;

	u->result = r < 0 ? -EIO : 0;
	metric_add(&w->metrics[r < 0 ? FAILED : STORED], 1);
	if (has_samples)
		upload_set_put(w->recent, u->id, u->n_tables);
}

/* Finds uploads that are stored already, and equal ones within the group. */
static void find_repetitions(struct store_writer *w, struct group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct upload *u = g->uploads[i];

		u->n_tables = upload_set_get(w->recent, u->id);
		if (u->n_tables >= STORE_TABLE_MAX)
			u->result = 0;
		for (size_t j = 0; j < i && !u->twin; j++) {
			if (memcmp(&g->uploads[j]->id, &u->id, sizeof(u->id)) == 0)
				u->twin = g->uploads[j];
		}
		if (u->result == 0 || u->twin)
			metric_add(&w->metrics[DUPLICATE], 1);
	}
}

static bool is_fresh(const struct upload *u)
{
	return u->result == RESULT_PENDING && !u->twin && u->n_tables == 0;
}

/* Inserts all fresh uploads, one insert per table. What fails is left to insert_singly(). */
static void insert_together(struct store_writer *w, struct group *g)
{
	CLEANUP(row_batch_fini) struct row_batch all;
	struct upload_id ids[MAX_GROUP_UPLOADS];
	unsigned n_tables = 0;
	size_t n_fresh = 0;
	XXH128_hash_t h;
	int r = 0;

	/* no table can have more bytes than all tables together */
	row_batch_init(&all, g->bytes);
	for (size_t i = 0; i < g->n && r == 0; i++) {
		if (!is_fresh(g->uploads[i]))
			continue;
		ids[n_fresh++] = g->uploads[i]->id;
		r = row_batch_append(&all, &g->uploads[i]->rows);
	}
	/* a single upload keeps its own id as token, which is recognized across a restart */
	if (r < 0 || n_fresh < 2)
		return;

	h = XXH3_128bits(ids, n_fresh * sizeof(ids[0]));
	r = insert(w, &all, (struct upload_id){h.low64, h.high64}, &n_tables);
	g->unavailable = r == -EAGAIN;
	for (size_t i = 0; i < g->n; i++) {
		if (!is_fresh(g->uploads[i]))
			continue;
		g->uploads[i]->n_tables = n_tables;
		if (r == 0)
			settle(w, g->uploads[i], 0);
	}
}

static void insert_singly(struct store_writer *w, struct group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct upload *u = g->uploads[i];
		int r = -EAGAIN;

		if (u->result != RESULT_PENDING || u->twin)
			continue;
		if (!g->unavailable)
			r = insert(w, &u->rows, u->id, &u->n_tables);
		g->unavailable = g->unavailable || r == -EAGAIN;
		settle(w, u, r);
	}
}

static void answer(struct store_writer *w, struct group *g)
{
	for (size_t i = 0; i < g->n; i++) {
		row_batch_fini(&g->uploads[i]->rows);
		atomic_fetch_sub(&w->n_bytes, g->uploads[i]->n_bytes);
	}
	for (size_t i = 0; i < g->n; i++) {
		struct upload *u = g->uploads[i];

		u->done(u->ctx, u->twin ? u->twin->result : u->result);
	}
	for (size_t i = 0; i < g->n; i++)
		free(g->uploads[i]);
}

/* The pool's run(): job is the first upload of a group. */
static void write_group(void *ctx, void *job, struct arena *arena)
{
	struct store_writer *w = ctx;
	struct group g;

	(void)arena;
	collect_group(w, job, &g);
	metric_add(&w->metrics[GROUPS], 1);
	find_repetitions(w, &g);
	insert_together(w, &g);
	insert_singly(w, &g);
	answer(w, &g);
}

/* ---- create, destroy, submit ---- */

int store_writer_new(struct store_writer **ret, const struct store_writer_config *cfg)
{
	CLEANUP(store_writer_freep) struct store_writer *w = calloc(1, sizeof(*w));
	struct worker_pool_config pool = {.n_threads = 1, .run = write_group, .ctx = w};
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;
	if (w->cfg.max_queued == 0)
		w->cfg.max_queued = DEFAULT_QUEUED;
	if (w->cfg.max_queued_bytes == 0)
		w->cfg.max_queued_bytes = DEFAULT_QUEUED_BYTES;
	if (w->cfg.max_delay_ns == 0)
		w->cfg.max_delay_ns = DEFAULT_DELAY_NS;
	if (w->cfg.max_group_bytes == 0)
		w->cfg.max_group_bytes = DEFAULT_GROUP_BYTES;
	pool.max_queued = w->cfg.max_queued;
	r = upload_set_new(&w->recent);
	if (r == 0)
		r = worker_pool_new(&w->pool, &pool);
	if (r == 0)
		r = worker_pool_start(w->pool);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void store_writer_stop(struct store_writer *w)
{
	if (w)
		worker_pool_stop(w->pool);
}

void store_writer_free(struct store_writer *w)
{
	if (!w)
		return;
	worker_pool_free(w->pool);
	upload_set_free(w->recent);
	free(w);
}

int store_writer_register(struct store_writer *w, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, w->metrics, w);
}

/* Counts n more bytes of rows if there is room for them. */
static bool reserve_bytes(struct store_writer *w, size_t n)
{
	uint64_t before = atomic_fetch_add(&w->n_bytes, n);

	if (before == 0 || before + n <= w->cfg.max_queued_bytes)
		return true;
	atomic_fetch_sub(&w->n_bytes, n);
	return false;
}

int store_writer_submit(struct store_writer *w, struct upload_id id, struct row_batch *batch,
			store_done_fn done, void *ctx)
{
	size_t n_bytes = row_batch_bytes(batch), limit = batch->rows[0].limit;
	struct upload *u = malloc(sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	*u = (struct upload){.rows = *batch,
			     .n_bytes = n_bytes,
			     .id = id,
			     .done = done,
			     .ctx = ctx,
			     .result = RESULT_PENDING};
	r = reserve_bytes(w, n_bytes) ? 0 : -EAGAIN;
	if (r == 0) {
		r = worker_pool_submit(w->pool, u);
		if (r < 0)
			atomic_fetch_sub(&w->n_bytes, n_bytes);
	}
	if (r < 0)
		free(u);
	else
		row_batch_init(batch, limit);
	return r;
}
