/*
 * The stacks of a service with their values: first the largest STACK_QUERY_MAX_STACKS with the
 * values of both sides, in one statement, so that totals and cut are consistent; then the frames
 * of those, in batches by hash. Frames are nearly all of the bytes, and what a hash stands for
 * never changes, so they need not be of the same statement. They pass through memory one batch at
 * a time and stay in a stack_dictionary.h, where 200,000 stacks need some 50 MiB, not the gigabyte
 * of their texts. A stack_cache.h keeps that for the next query.
 *
 * Two kinds of values. What adds up (CPU time, allocations) is summed over the profiles that
 * overlap the range. A level (memory in use, goroutines) is averaged over time: each value
 * counts for as long as its window overlaps the range, and the sum is divided by the time that
 * is covered by any profile of its side, which a query of its own finds out first.
 *
 * Of two sides, the borders of the ranges are moved to ends of profiles (profile_edges.h). Those of
 * other instances contain a border, and of them the part counts that is within the range, as on a
 * timeline: whole, an instance would have a profile more on one side than on the other, and its
 * functions would seem to have grown.
 *
 * The sides are read by a SELECT each and added up by stack. One SELECT with a condition on either
 * side would read what is between two distant ranges, too, and could not count a profile of both
 * twice.
 *
 * Frames that were stored without a name get it when they are in the dictionary (late_names.h).
 * What has none then may be at a debuginfod server: the answer waits for it, but not for long.
 *
 * At last, quality_query.h says for each side how complete it is.
 */
#include "cluster-agent/query/read/stack_query.h"

#include <errno.h>

#include "cluster-agent/query/read/late_names.h"
#include "cluster-agent/query/read/profile_edges.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/stack_cache.h"
#include "cluster-agent/query/read/stack_dictionary.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/store/rowbinary.h"
#include "common/data/hash.h"
#include "common/system/clock.h"

#define MAX_VALUES_BYTES ((size_t)16 << 20)
#define MAX_FRAMES_BYTES ((size_t)96 << 20)
/* servers take parameters of up to 128 KiB, and a hash has up to 21 characters */
#define PARAM_HASHES 5000u
#define N_PARAMS 5u
/* Long enough for a small file from a server nearby, and too short to be felt as a delay. */
#define NAMES_WAIT_NS (300 * NS_PER_MS)
#define BATCH_HASHES (N_PARAMS * PARAM_HASHES)
#define MIN_BATCH_HASHES 64u

/*
 * Every row carries the number and the sums of all stacks beside its own values, so that the cut is
 * consistent with the rows: rows that arrive between two queries would falsify it.
 */
#define SQL_SIDE_SUM "SELECT StackHash, sum(Value) AS v"
/* What has a value keeps one, as a function that is there must not seem to be gone. */
#define SQL_SIDE_SHARE                                                            \
	"SELECT StackHash, toInt64(round(sum(toFloat64(Value) * ${overlap_ns} / " \
	"${window_ns}))) AS w, if(w < 1 AND sum(Value) > 0, 1, w) AS v"
#define SQL_SIDE_AVG                                                               \
	"SELECT StackHash, toInt64(round(sum(toFloat64(Value) * ${overlap_ns}) / " \
	"{covered:UInt64})) AS v"
#define SQL_SIDE " FROM ${samples} WHERE ${which} GROUP BY StackHash HAVING v > 0"
#define SQL_ONE "SELECT StackHash AS h, v, toInt64(0) AS b FROM ("
#define SQL_TWO                                                                    \
	"SELECT h, sum(x) AS v, sum(y) AS b FROM (SELECT StackHash AS h, v AS x, " \
	"toInt64(0) AS y FROM ("
#define SQL_AND_BASE ") UNION ALL SELECT StackHash AS h, toInt64(0) AS x, v AS y FROM ("
#define SQL_TWO_END ")) GROUP BY h"
#define SQL_TOP_OF                                                            \
	"SELECT h, v, b, count() OVER () AS n, countIf(b > 0) OVER () AS m, " \
	"sum(v) OVER () AS total, sum(b) OVER () AS base FROM ("
#define SQL_TOP                                                                               \
	") ORDER BY greatest(v / greatest(total, 1), b / greatest(base, 1)) DESC, v DESC, h " \
	"LIMIT {max:UInt64}"

/* A stack is stored again on each day on which it was seen. */
#define SQL_FRAMES "SELECT Hash, Stack FROM ${stacks} WHERE "
#define SQL_FRAMES_OF_ONE \
	"${services} "    \
	"AND LastSeen > fromUnixTimestamp64Nano({from:Int64})"
#define SQL_FRAMES_OF_TWO                                           \
	"ServiceName IN ({service:String}, {base_service:String}) " \
	"AND LastSeen > fromUnixTimestamp64Nano(least({from:Int64}, {base_from:Int64}))"
#define SQL_FRAMES_WHICH                                                                         \
	" AND Hash ${in} (SELECT arrayJoin(arrayConcat({a:Array(UInt64)}, "                      \
	"{b:Array(UInt64)}, {c:Array(UInt64)}, {d:Array(UInt64)}, {e:Array(UInt64)}))) LIMIT 1 " \
	"BY Hash"

struct entry {
	uint64_t hash;
	struct stack_value value;
};

/* The state of one query. */
struct stack_work {
	struct store *store;
	const struct query_filter *f;
	const struct query_filter *base; /* or NULL */
	bool by_share;
	struct stack_dictionary *stacks;
	struct entry *entries; /* largest first */
	size_t n_entries;
	bool full;                  /* stacks has no room for the frames of all */
	struct flame_frame *frames; /* scratch */
	size_t max_frames;
};

static const char *base_service(const struct stack_work *w)
{
	return w->base && strcmp(w->base->service, w->f->service) != 0 ? w->base->service : "";
}

static void stack_work_fini(struct stack_work *w)
{
	if (w->full)
		stack_dictionary_free(w->stacks);
	else
		stack_cache_put(w->f->stacks, w->f->service, base_service(w), w->stacks);
	free(w->entries);
	free(w->frames);
}

static bool is_sum(const struct stack_work *w)
{
	return profile_type_get(w->f->type)->aggregation == PROFILE_AGGREGATION_SUM;
}

/* ---- values ---- */

/* Of a long range, whose borders do not move either, the profiles at them are next to nothing. */
static bool by_share(const struct stack_work *w, const struct query_filter *f)
{
	return (w->by_share || w->base) && f->to_ns - f->from_ns <= PROFILE_EDGES_LONGEST_NS;
}

static int add_side(struct stack_work *w, struct bound_query *q, bool base, struct err *err)
{
	const struct query_filter *f = base ? w->base : w->f;
	double covered_ns = 0;
	int r = is_sum(w) ? 0 : timeline_query_covered(w->store, f, &covered_ns, err);

	if (r < 0)
		return r;
	bound_query_use_side(q, base);
	if (base)
		bound_query_bind(q, f);
	if (!is_sum(w))
		bound_query_add_uint(q, "covered", covered_ns > 1 ? (uint64_t)covered_ns : 1);
	bound_query_add_sql(q, f,
			    !is_sum(w)       ? SQL_SIDE_AVG
			    : by_share(w, f) ? SQL_SIDE_SHARE
					     : SQL_SIDE_SUM);
	bound_query_add_sql(q, f, SQL_SIDE);
	bound_query_use_side(q, false);
	return 0;
}

static int add_values(struct stack_work *w, struct bound_query *q, struct err *err)
{
	int r;

	bound_query_add_uint(q, "max", STACK_QUERY_MAX_STACKS);
	bound_query_add_sql(q, w->f, w->base ? SQL_TOP_OF SQL_TWO : SQL_TOP_OF SQL_ONE);
	r = add_side(w, q, false, err);
	if (r < 0)
		return r;
	if (w->base) {
		bound_query_add_sql(q, w->f, SQL_AND_BASE);
		r = add_side(w, q, true, err);
		if (r < 0)
			return r;
	}
	bound_query_add_sql(q, w->f, w->base ? SQL_TWO_END SQL_TOP : ")" SQL_TOP);
	return 0;
}

static int read_values(struct stack_work *w, const struct bound_query *q,
		       struct stack_query_result *ret, struct err *err)
{
	struct rowbinary_reader r;

	w->entries = calloc(STACK_QUERY_MAX_STACKS, sizeof(*w->entries));
	if (!w->entries)
		return -ENOMEM;
	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r) && w->n_entries < STACK_QUERY_MAX_STACKS) {
		struct entry *e = &w->entries[w->n_entries++];

		e->hash = rowbinary_get_u64(&r);
		e->value.value = rowbinary_get_i64(&r);
		e->value.base = rowbinary_get_i64(&r);
		ret->n_stacks = rowbinary_get_u64(&r);
		ret->n_base_stacks = rowbinary_get_u64(&r);
		ret->total.value = rowbinary_get_i64(&r);
		ret->total.base = rowbinary_get_i64(&r);
	}
	return bound_query_check(&r, err);
}

static int query_values(struct stack_work *w, struct stack_query_result *ret, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	int r;

	bound_query_init(&q, w->store, w->f, MAX_VALUES_BYTES);
	r = add_values(w, &q, err);
	if (r < 0)
		return r;
	r = bound_query_run(&q, err);
	return r == 0 ? read_values(w, &q, ret, err) : r;
}

/* ---- frames ---- */

static int read_frames(struct stack_work *w, struct rowbinary_reader *r, size_t *ret_n)
{
	uint64_t n = rowbinary_get_count(r);

	if (n > w->max_frames) {
		void *moved = realloc(w->frames, n * sizeof(*w->frames));

		if (!moved)
			return -ENOMEM;
		w->frames = moved;
		w->max_frames = n;
	}
	for (uint64_t i = 0; i < n; i++)
		w->frames[i].text = rowbinary_get_string(r, &w->frames[i].len);
	*ret_n = n;
	return 0;
}

static int read_batch(struct stack_work *w, const struct bound_query *q, struct err *err)
{
	struct rowbinary_reader r;

	rowbinary_reader_init(&r, q->answer.data, q->answer.len);
	while (rowbinary_has_more(&r)) {
		uint64_t hash = rowbinary_get_u64(&r);
		size_t n = 0;
		int e = read_frames(w, &r, &n);

		if (e == 0 && rowbinary_reader_finish(&r) < 0)
			break;
		if (e == 0)
			e = stack_dictionary_add(w->stacks, hash, w->frames, n);
		if (e == -EFBIG)
			w->full = true;
		else if (e < 0)
			return e;
	}
	return bound_query_check(&r, err);
}

static int query_batch(struct stack_work *w, const uint64_t *hashes, size_t n, struct err *err)
{
	CLEANUP(bound_query_fini) struct bound_query q;
	static const char *const names[N_PARAMS] = {"a", "b", "c", "d", "e"};
	int r;

	bound_query_init(&q, w->store, w->f, MAX_FRAMES_BYTES);
	if (w->base) {
		bound_query_use_side(&q, true);
		bound_query_bind(&q, w->base);
		bound_query_use_side(&q, false);
	}
	for (size_t i = 0, at = 0; i < N_PARAMS; i++) {
		size_t n_now = n - at < PARAM_HASHES ? n - at : PARAM_HASHES;

		bound_query_add_uints(&q, names[i], hashes + at, n_now);
		at += n_now;
	}
	bound_query_add_sql(&q, w->f,
			    w->base ? SQL_FRAMES SQL_FRAMES_OF_TWO SQL_FRAMES_WHICH
				    : SQL_FRAMES SQL_FRAMES_OF_ONE SQL_FRAMES_WHICH);
	r = bound_query_run(&q, err);
	return r == 0 ? read_batch(w, &q, err) : r;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Adds the frames that the dictionary lacks. A batch whose frames exceed the memory for an answer,
 * ours or that of an engine in a small container, is asked for in smaller ones.
 */
static int add_frames(struct stack_work *w, struct err *err)
{
	AUTO_FREE uint64_t *hashes = calloc(w->n_entries + 1, sizeof(*hashes));
	size_t n = 0, n_batch = BATCH_HASHES;

	if (!hashes)
		return -ENOMEM;
	for (size_t i = 0; i < w->n_entries; i++)
		if (!stack_dictionary_has(w->stacks, w->entries[i].hash))
			hashes[n++] = w->entries[i].hash;
	/* the table is in this order, so that a batch reads one piece of it */
	qsort(hashes, n, sizeof(*hashes), by_number);
	for (size_t at = 0; at < n && !w->full;) {
		size_t n_now = n - at < n_batch ? n - at : n_batch;
		int r = query_batch(w, hashes + at, n_now, err);

		if ((r == -EFBIG || r == -ENOMEM) && n_now > MIN_BATCH_HASHES) {
			n_batch = n_now / 2;
			continue;
		}
		if (r < 0)
			return r;
		at += n_now;
	}
	return 0;
}

/*
 * The dictionary of earlier queries may be full of stacks that this one does not need. If they
 * exceed an empty one, too, the larger half of them is tried: frames arrive in the order of hashes,
 * so that what has fitted is no better than what has not.
 */
static int query_frames(struct stack_work *w, struct err *err)
{
	bool had_some;
	int r = stack_cache_take(w->f->stacks, w->f->service, base_service(w), &w->stacks);

	if (r < 0)
		return r;
	had_some = stack_dictionary_count(w->stacks) > 0;
	r = add_frames(w, err);
	while (r == 0 && w->full && (had_some || w->n_entries > 1)) {
		w->n_entries = had_some ? w->n_entries : w->n_entries / 2;
		had_some = false;
		stack_dictionary_free(TAKE_PTR(w->stacks));
		w->full = false;
		r = stack_dictionary_new(&w->stacks, NULL);
		if (r == 0)
			r = add_frames(w, err);
	}
	return r;
}

/* ---- names ---- */

/* What each text of the dictionary counts for: the values of the stacks that it is in. */
static int weigh_texts(struct stack_work *w, uint64_t *weights)
{
	for (size_t i = 0; i < w->n_entries; i++) {
		const struct stack_value *v = &w->entries[i].value;
		const struct flame_frame *frames = NULL;
		size_t n = 0;
		int r = stack_dictionary_get(w->stacks, w->entries[i].hash, &frames, &n);

		if (r < 0 && r != -ENOENT)
			return r;
		for (size_t k = 0; k < n; k++) {
			weights[frames[k].id - 1] += (uint64_t)(v->value > 0 ? v->value : 0);
			weights[frames[k].id - 1] += (uint64_t)(v->base > 0 ? v->base : 0);
		}
	}
	return 0;
}

static int weigh(struct stack_work *w, uint64_t **ret)
{
	free(*ret);
	*ret = calloc((size_t)stack_dictionary_texts(w->stacks) + 1, sizeof(**ret));
	return *ret ? weigh_texts(w, *ret) : -ENOMEM;
}

/* Asks for what has no name, and says which builds these are. */
static int query_names(struct stack_work *w, struct missing_names *ret)
{
	AUTO_FREE uint64_t *weights = NULL;
	struct symbol_store *symbols = w->f->symbols;
	int r = late_names_add(symbols, w->stacks);

	if (r < 0 || !missing_names_matter(symbols))
		return r;
	r = weigh(w, &weights);
	if (r == 0)
		r = missing_names_ask(symbols, w->stacks, weights, NAMES_WAIT_NS);
	if (r == 0)
		r = late_names_add(symbols, w->stacks);
	if (r == 0)
		r = weigh(w, &weights);
	return r == 0 ? missing_names_explain(symbols, w->stacks, weights, ret) : r;
}

/* ---- delivery ---- */

static int deliver(struct stack_work *w, stack_query_fn fn, void *ctx,
		   struct stack_query_result *ret)
{
	static const struct flame_frame missing = {.text = STACK_QUERY_MISSING,
						   .len = sizeof(STACK_QUERY_MISSING) - 1};
	uint64_t n_delivered = 0;

	ret->cut = ret->total;
	for (size_t i = 0; i < w->n_entries; i++) {
		const struct entry *e = &w->entries[i];
		const struct flame_frame *frames = NULL;
		size_t n = 0;
		int r = stack_dictionary_get(w->stacks, e->hash, &frames, &n);
		bool absent = n == 0 && e->hash != FNV1A64_INIT;

		if (r < 0 && r != -ENOENT)
			return r;
		if (absent && w->full)
			continue;
		r = fn(ctx, absent ? &missing : frames, absent ? 1 : n, e->value);
		if (r < 0)
			return r;
		n_delivered++;
		ret->cut.value -= e->value.value;
		ret->cut.base -= e->value.base;
	}
	ret->n_stacks_cut = ret->n_stacks - n_delivered;
	return 0;
}

/* Asks for the work's sides, whose ranges begin and end where profiles do. */
static int query_sides(struct stack_work *w, stack_query_fn fn, void *ctx,
		       struct stack_query_result *ret, struct err *err)
{
	int r = query_values(w, ret, err);

	if (r == 0)
		r = query_frames(w, err);
	if (r == 0)
		r = query_names(w, &ret->missing);
	if (r == 0)
		r = quality_query(w->store, w->f, &ret->quality, err);
	if (r == 0 && w->base)
		r = quality_query(w->store, w->base, &ret->base_quality, err);
	return r == 0 ? deliver(w, fn, ctx, ret) : r;
}

int stack_query(struct store *store, struct query_sides sides, stack_query_fn fn, void *ctx,
		struct stack_query_result *ret, struct err *err)
{
	struct query_filter f = *sides.selection, base = {0};
	CLEANUP(stack_work_fini)
	struct stack_work w = {.store = store, .f = &f, .by_share = sides.by_share};
	int r = 0;

	*ret = (struct stack_query_result){0};
	if (sides.base) {
		base = *sides.base;
		w.base = &base;
		r = profile_edges_snap(store, &f, err);
		if (r == 0)
			r = profile_edges_snap(store, &base, err);
	}
	if (r == 0)
		r = query_sides(&w, fn, ctx, ret, err);
	ret->ranges[0] = (struct stack_range){f.from_ns, f.to_ns};
	ret->ranges[1] = (struct stack_range){base.from_ns, base.to_ns};
	return r;
}
