/*
 * How deep a stack may be is the one difference from runtime/pprof. Before 1.23 a record
 * holds up to 32 frames, inlined ones among them, and runtime/pprof shows those and what the
 * last one is inlined into. Since 1.23 a record holds up to profstackdepth (GODEBUG; 128 by
 * default) addresses of functions plus 7, each of which stands for all frames inlined into
 * it, and runtime/pprof shows the first profstackdepth frames of these (expandInlinedFrames),
 * plus what the last is inlined into.
 *
 * We show all frames that were recorded. The extra ones are true callers nearer to the root.
 * The depth that is in force cannot be known: it is a variable of the process without a fixed
 * place, so cutting at the default would take frames away from programs that asked for more.
 */
#include "node-agent/go/lock/lock_profile.h"

#include <errno.h>

#define MINOR_WITH_PHYSICAL_STACKS 23u
#define MAX_VALUE 9.2e18 /* fits into an int64_t */

struct lock_profile {
	struct lock_profile_config cfg;
	struct stack_profile *stacks;
};

int lock_profile_new(struct lock_profile **ret, const struct lock_profile_config *cfg)
{
	bool is_mutex = cfg->kind == LOCK_MUTEX;
	const struct stack_profile_config stacks = {
		.resolver = cfg->resolver,
		.types = {is_mutex ? "go:mutex_contentions:count" : "go:block_contentions:count",
			  is_mutex ? "go:mutex_delay:nanoseconds" : "go:block_delay:nanoseconds"},
		.units = {"count", "nanoseconds"},
		.n_types = 2,
		.period_type = "contentions",
		.period_unit = "count",
		.max_bytes = cfg->max_bytes,
		.out = cfg->out,
		.more = cfg->more,
	};
	CLEANUP(lock_profile_freep) struct lock_profile *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->cfg = *cfg;
	r = stack_profile_new(&p->stacks, &stacks);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

void lock_profile_free(struct lock_profile *p)
{
	if (!p)
		return;
	stack_profile_free(p->stacks);
	free(p);
}

static int64_t to_value(double value)
{
	return value < MAX_VALUE ? (int64_t)value : INT64_MAX;
}

int lock_profile_add(struct lock_profile *p, const struct go_bucket *b,
		     const struct lock_counts *since)
{
	bool has_mark = b->n_stack > 0 && b->stack[0] == GO_BUCKET_LOGICAL;
	const struct stack_profile_stack stack = {
		.addresses = b->stack + has_mark,
		.n = b->n_stack - has_mark,
		/* a stack behind a mark is logical; its frames show that too, so this is enough */
		.inlined = p->cfg.minor < MINOR_WITH_PHYSICAL_STACKS ? STACK_PROFILE_LOGICAL
								     : STACK_PROFILE_PHYSICAL,
		.reason = b->n_stack == has_mark ? "[unknown]" : NULL,
	};
	double factor = (double)p->cfg.factor;
	const struct stack_values values = {
		{to_value((double)since->waits * factor),
		 to_value((double)since->ticks * p->cfg.ns_per_tick * factor)}};

	if (since->waits == 0 && since->ticks == 0)
		return 0;
	return stack_profile_add(p->stacks, &stack, &values);
}

int lock_profile_finish(struct lock_profile *p, int64_t end_ns, int64_t duration_ns,
			size_t *ret_samples)
{
	const struct stack_profile_times times = {end_ns, duration_ns, 1};

	return stack_profile_finish(p->stacks, &times, ret_samples);
}

/* ---- counts ---- */

#define MINOR_WITH_FLOATS 17u
#define MINOR_WITH_SCALED_MUTEXES 20u
#define MAX_WAITS (UINT64_C(1) << 53) /* a double represents all integers up to this exactly */

int lock_counts_decode(const struct go_bucket *b, unsigned minor, struct lock_counts *ret)
{
	uint64_t waits = b->words[0], ticks = b->words[1];

	if (minor >= MINOR_WITH_FLOATS) {
		double d;

		memcpy(&d, &b->words[0], sizeof(d));
		/* written so that NaN fails too */
		if (!(d >= 0 && d <= (double)MAX_WAITS))
			return -EAGAIN;
		waits = (uint64_t)d; /* truncated, as MutexProfile and BlockProfile do */
	}
	if (waits > MAX_WAITS || ticks > INT64_MAX)
		return -EAGAIN;
	*ret = (struct lock_counts){waits, ticks};
	return 0;
}

uint64_t lock_counts_factor(enum lock_kind kind, unsigned minor, uint64_t rate)
{
	/* an implausible rate is not used */
	bool missing = kind == LOCK_MUTEX && minor < MINOR_WITH_SCALED_MUTEXES && rate > 1 &&
		       rate <= INT32_MAX;

	return missing ? rate : 1;
}
