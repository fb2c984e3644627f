/*
 * Go's mutex and block profilers have one record per stack with counters since the process
 * started, and both are off by default. A reading reports the increase of each record since
 * the previous committed reading (bucket_history.h), in nanoseconds (tick_clock.h), as one
 * pprof.
 *
 * Switching a profiler on writes to the process (lock_variables.h), so we must know whether a rate
 * is ours to reset. A rate that has our value at the first reading, in a process that may be
 * older than this agent, was left by an agent that could not clean up. Later the two kinds
 * differ: SetBlockProfileRate() returns nothing, so a block rate that is no longer our value
 * was set by the program. SetMutexProfileFraction() returns the previous rate, so a program
 * may save our value, set its own for a while and put ours back: a mutex rate that was once
 * ours is treated as ours from then on. Restoring only ever replaces our own value, so a rate
 * that the program chose is safe.
 */
#include "node-agent/go/lock/lock_reader.h"

#include <errno.h>

#include "common/system/clock.h"
#include "node-agent/go/lock/lock_profile.h"
#include "node-agent/go/lock/lock_variables.h"

/* The round in progress. */
struct lock_round {
	struct go_bucket_format format;
	struct lock_profile *profile;
	unsigned minor;
	struct lock_reading *reading; /* the caller's */
};

void lock_session_init(struct lock_session *s, enum lock_kind kind, enum bucket_history_start start,
		       uint64_t now_ns)
{
	*s = (struct lock_session){.kind = kind, .start = start, .reported_ns = now_ns};
}

void lock_session_fini(struct lock_session *s)
{
	bucket_history_free(s->history);
	s->history = NULL;
}

void lock_session_forget(struct lock_session *s, enum bucket_history_start start)
{
	lock_session_fini(s);
	s->start = start;
}

size_t lock_session_bytes(const struct lock_session *s)
{
	return s->history ? bucket_history_bytes(s->history) : 0;
}

/* ---- read the records ---- */

/* The increase of a counter; one that fell counts as unchanged. */
static uint64_t increase(uint64_t before, uint64_t *now, bool *is_backwards)
{
	if (*now >= before)
		return *now - before;
	*is_backwards = true;
	*now = before;
	return 0;
}

static int on_bucket(void *ctx, const struct go_bucket *b, const uint64_t *before, uint64_t *now)
{
	struct lock_counts counts, since = {0};
	struct lock_round *d = ctx;
	bool is_backwards = false;
	int r;

	r = lock_counts_decode(b, d->minor, &counts);
	if (r < 0)
		return r;
	now[0] = counts.waits;
	now[1] = counts.ticks;
	if (before) {
		since.waits = increase(before[0], &now[0], &is_backwards);
		since.ticks = increase(before[1], &now[1], &is_backwards);
	}
	d->reading->n_backwards += is_backwards;
	return lock_profile_add(d->profile, b, &since);
}

static int make_history(struct lock_session *s)
{
	const struct bucket_history_config cfg = {
		.start = s->start,
		.n_counters = 2,
		.max_buckets = LOCK_READER_MAX_BUCKETS,
	};

	return s->history ? 0 : bucket_history_new(&s->history, &cfg);
}

static int read_list(struct lock_session *s, const struct lock_turn *t, struct lock_round *d,
		     uint64_t rate, struct buf *out)
{
	struct go_runtime *rt = t->runtime;
	struct lock_profile_config cfg = {
		.kind = s->kind,
		.minor = rt->image.minor,
		.factor = lock_counts_factor(s->kind, rt->image.minor, rate),
		.ns_per_tick = tick_clock_ns_per_tick(t->clock, rt->image.layout->machine),
		.max_bytes = LOCK_READER_PROFILE_BYTES,
		.out = out,
		.more = t->more,
	};
	struct bucket_round round = {
		.windows = rt->windows,
		.format = &d->format,
		.deadline_ns = clock_effort_ns() + LOCK_READER_MAX_NS,
	};
	int r;

	if (!(cfg.ns_per_tick > 0))
		return -ENOTSUP;
	r = make_history(s);
	if (r < 0)
		return r;
	r = lock_variables_buckets(rt, s->kind, &round.head_address);
	if (r < 0)
		return r;
	r = go_runtime_resolver(rt, &cfg.resolver);
	if (r < 0)
		return r;
	r = lock_profile_new(&d->profile, &cfg);
	if (r < 0)
		return r;
	return bucket_history_round(s->history, &round, on_bucket, d, &d->reading->round);
}

static int report(struct lock_session *s, const struct lock_turn *t, uint64_t rate, struct buf *out,
		  struct lock_reading *ret)
{
	const struct go_runtime *rt = t->runtime;
	struct lock_round d = {
		.format = {s->kind == LOCK_MUTEX ? GO_BUCKET_MUTEX : GO_BUCKET_BLOCK,
			   LOCK_COUNTS_WORDS, rt->text, rt->n_modules},
		.minor = rt->image.minor,
		.reading = ret,
	};
	int r = read_list(s, t, &d, rate, out);

	if (r == 0)
		r = lock_profile_finish(d.profile, (int64_t)clock_realtime_ns(),
					(int64_t)(t->now_ns - s->reported_ns), &ret->n_samples);
	if (r == 0) {
		bucket_history_commit(s->history);
		s->reported_ns = t->now_ns;
	}
	lock_profile_free(d.profile);
	return r;
}

/* ---- switch on and off ---- */

/* Decides whether the rate that was read is ours; see the top of this file. */
static void update_owner(struct lock_session *s, uint64_t rate)
{
	bool is_our_value = rate == lock_rate_value(s->kind);

	if (!s->was_read)
		s->is_ours = is_our_value && s->start == BUCKET_HISTORY_FROM_NOW;
	else if (s->kind == LOCK_BLOCK)
		s->is_ours &= is_our_value;
}

static void switch_on(struct lock_session *s, const struct lock_turn *t, struct lock_reading *ret)
{
	int r = lock_rate_switch(t->runtime, t->id, s->kind, LOCK_RATE_ON);

	ret->switched_on = r == 1;
	ret->write_refused = r == -EROFS;
	s->is_ours = r >= 0;
	/* -EALREADY: the program just chose a rate itself, which is fine */
	if (r < 0 && r != -EALREADY && r != -EROFS)
		ret->switch_error = r;
}

int lock_session_restore(struct lock_session *s, struct go_runtime *rt, const struct program_id *id)
{
	int r = 0;

	if (s->is_ours)
		r = lock_rate_switch(rt, id, s->kind, LOCK_RATE_OFF);
	if (r == -EALREADY)
		r = 0;
	if (r >= 0)
		s->is_ours = false;
	return r;
}

int lock_session_read(struct lock_session *s, const struct lock_turn *t, struct buf *out,
		      struct lock_reading *ret)
{
	bool is_turn = t->when == LOCK_READING_TURN;
	uint64_t rate = 0;
	int r;

	*ret = (struct lock_reading){0};
	r = lock_rate_read(t->runtime, s->kind, &rate);
	if (r < 0)
		return r;
	update_owner(s, rate);
	if (!is_turn) {
		/* before reading, so that nothing is counted after the last report */
		int e = lock_session_restore(s, t->runtime, t->id);

		ret->restored = e == 1;
		ret->switch_error = e < 0 ? e : 0;
	}
	r = report(s, t, rate, out, ret);
	if (r < 0)
		return r;
	if (is_turn && !t->read_only && rate == 0 && (s->kind == LOCK_BLOCK || !s->was_read))
		switch_on(s, t, ret);
	if (ret->switch_error == 0)
		s->was_read = true;
	return 0;
}
