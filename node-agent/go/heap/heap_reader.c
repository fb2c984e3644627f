/*
 * Go's memory profiler keeps one record per stack and object size, with counters since the
 * start of the process. A heap profile of an interval needs the increase of these counters,
 * so every round walks all records (bucket_history.h), compares each with the previous
 * committed round and feeds one pprof (heap_profile.h). A round counts only once its profile
 * is complete: if anything fails, nothing is committed, and the next round reports the
 * increase of both.
 *
 * Nothing can be read while MemProfileRate is 0. With `force`, a rate that the linker set to
 * 0 is switched on first; such a process has no records yet, so that reading ends without a
 * profile.
 */
#include "node-agent/go/heap/heap_reader.h"

#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/go/heap/heap_profile.h"
#include "node-agent/go/heap/heap_variables.h"
#include "node-agent/go/image/go_write.h"

/* The round in progress. */
struct heap_round {
	struct go_bucket_format format;
	struct heap_profile *profile;
	uint64_t rate;
	struct heap_reading *reading; /* the caller's */
};

int heap_history_new(struct bucket_history **ret, enum bucket_history_start start)
{
	const struct bucket_history_config cfg = {
		.start = start,
		.n_counters = 1,
		.max_buckets = HEAP_READER_MAX_BUCKETS,
	};

	return bucket_history_new(ret, &cfg);
}

static void count_allocs(struct heap_round *d, struct heap_growth allocs, uint64_t size)
{
	struct heap_amount alloc = heap_scale_growth(allocs, size, d->rate);

	d->reading->alloc_objects += (uint64_t)alloc.objects;
	d->reading->alloc_bytes += (uint64_t)alloc.bytes;
}

static int on_bucket(void *ctx, const struct go_bucket *b, const uint64_t *before, uint64_t *now)
{
	struct heap_round *d = ctx;
	struct heap_counts counts;
	struct heap_growth allocs;
	int r;

	r = heap_counts_decode(b, d->format.n_words, &counts);
	if (r < 0)
		return r;
	*now = counts.active.allocs + counts.future.allocs;
	/*
	 * counters only grow; one that fell was read in the middle of a change that decode
	 * missed
	 */
	if (before && *now < *before) {
		d->reading->n_backwards++;
		*now = *before;
	}
	allocs = (struct heap_growth){before ? *before : *now, *now};
	count_allocs(d, allocs, b->size);
	return heap_profile_add(d->profile, b, &counts, allocs);
}

/* Returns 1 if the profiler is on and *rate is set, 0 if there is nothing to read, or -errno. */
static int switch_on(struct go_runtime *rt, const struct program_id *id,
		     const struct heap_reader_config *cfg, uint64_t *rate, struct heap_reading *ret)
{
	uint64_t address = 0;
	int r;

	if (cfg->force) {
		r = heap_force(rt, id, HEAP_FORCE_ON);
		ret->forced = r == 1;
		ret->is_ours = r >= 0;
		ret->write_refused = r == -EROFS;
		/* if the profiler cannot be forced on, the program is read as it is */
		if (r == 1 || (r < 0 && r != -ENOTSUP && r != -EALREADY && r != -EROFS))
			return r < 0 ? r : 0;
	}
	r = heap_variables_rate(rt, &address);
	if (r == 0)
		r = byte_source_read(rt->image.memory, address, rate, sizeof(*rate));
	if (r < 0)
		return r;
	ret->off = *rate == 0 || *rate > INT64_MAX;
	return !ret->off;
}

static int read_round(struct go_runtime *rt, struct heap_round *d, struct bucket_history *history,
		      struct heap_profile_config *cfg)
{
	struct bucket_round round = {
		.windows = rt->windows,
		.format = &d->format,
		.deadline_ns = clock_effort_ns() + HEAP_READER_MAX_NS,
	};
	int r;

	r = heap_variables_buckets(rt, &d->format, &round.head_address);
	if (r < 0)
		return r;
	r = go_runtime_resolver(rt, &cfg->resolver);
	if (r < 0)
		return r;
	r = heap_profile_new(&d->profile, cfg);
	if (r < 0)
		return r;
	return bucket_history_round(history, &round, on_bucket, d, &d->reading->round);
}

int heap_reader_read(struct go_runtime *rt, const struct heap_subject *subject,
		     const struct heap_reader_config *cfg, struct buf *out,
		     struct heap_reading *ret)
{
	struct heap_profile_config profile = {.raw = cfg->raw,
					      .max_bytes = HEAP_READER_PROFILE_BYTES,
					      .out = out,
					      .more = cfg->more};
	struct heap_round d = {
		.format = {GO_BUCKET_MEMORY, heap_counts_words(rt->image.minor), rt->text,
			   rt->n_modules},
		.reading = ret,
	};
	int r;

	*ret = (struct heap_reading){0};
	r = switch_on(rt, subject->id, cfg, &profile.rate, ret);
	if (r <= 0)
		return r;
	d.rate = profile.rate;
	r = read_round(rt, &d, subject->history, &profile);
	if (r == 0)
		r = heap_profile_finish(d.profile, (int64_t)clock_realtime_ns(),
					subject->duration_ns, &ret->n_samples);
	if (r == 0)
		bucket_history_commit(subject->history);
	heap_profile_free(d.profile);
	return r;
}

/* ---- switching the profiler on ---- */

static int find(struct go_runtime *rt, struct go_write *w)
{
	int r = heap_variables_rate(rt, &w->address);

	return r == 0 ? heap_variables_disabled(rt, &w->guard_address) : r;
}

/*
 * The cached address may come from another process of the same executable. Before writing, the
 * variable is searched for in this very process; that is slow, so only when a write is due.
 */
int heap_force(struct go_runtime *rt, const struct program_id *id, enum heap_force_wish wish)
{
	uint64_t to = wish == HEAP_FORCE_ON ? HEAP_FORCE_RATE : 0;
	struct go_write w = {.from = HEAP_FORCE_RATE - to, .to = to, .guard_value = 1};
	uint64_t now;
	int r;

	if (rt->image.minor < HEAP_FORCE_MINOR_MIN)
		return -ENOTSUP;
	r = find(rt, &w);
	if (r == 0)
		r = byte_source_read(rt->image.memory, w.address, &now, sizeof(now));
	if (r == 0 && now == w.from) {
		rt->uncached = true;
		r = find(rt, &w);
		rt->uncached = false;
	}
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	return go_write_word(rt, id, &w);
}
