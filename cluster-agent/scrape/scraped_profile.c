/*
 * The steps of a conversion, each on the result of the one before: give the types (columns) our
 * names; merge equal stacks; subtract the baseline; build samples; drop functions and locations
 * that no sample uses any more. The last step matters most for the size: a heap
 * profile has all stacks since the start of the process, and few of them have allocated within
 * the last minute.
 *
 * The baseline is committed last, when nothing can fail any more.
 */
#include "cluster-agent/scrape/scraped_profile.h"

#include <errno.h>

#include "cluster-agent/push/foreign_types.h"
#include "common/data/table.h"
#include "common/limits.h"
#include "common/pprof/merged_stacks.h"
#include "common/pprof/unused_parts.h"
#include "common/system/clock.h"

/* No CPU profile takes longer; a server that claims so has a wrong clock. */
#define MAX_CPU_DURATION_NS (INT64_C(86400) * (int64_t)NS_PER_S)

/* A column is the index of a type, once the types have our names. */
struct conversion {
	const struct scraped_profile_info *info;
	struct profile *profile;
	uint32_t all[LIMIT_PPROF_TYPES]; /* 0, 1, 2 … */
	bool left_out[LIMIT_PPROF_TYPES];
	uint32_t n_columns;
	uint32_t cumulative[LIMIT_PPROF_TYPES]; /* columns */
	struct cumulative_columns columns;      /* the same, for profile_baseline */
	bool keeps_baseline;                    /* as it was before this profile */
	struct merged_stacks stacks;
	struct err *err;
};

/*
 * Whether the values of a type are events: allocations or waiting for locks. (Objects in use,
 * goroutines and the like are levels.)
 */
static bool is_of_events(const struct profile_string *type)
{
	static const char *const parts[] = {":heap_alloc_", ":mutex_", ":block_", ":lock_"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (memmem(type->data, type->len, parts[i], strlen(parts[i])))
			return true;
	return false;
}

/*
 * Of the types as they were served: the name of the source depends on the stacks, and a profile
 * without any has none.
 */
static uint64_t hash_types(const struct profile *p)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < p->n_types; i++) {
		h = XXH3_64bits_withSeed(p->types[i].type.data, p->types[i].type.len, h);
		h = XXH3_64bits_withSeed(p->types[i].unit.data, p->types[i].unit.len, h);
	}
	return h;
}

/* Gives the types our names, by the table that pushed profiles are named by. */
static int name_types(struct conversion *c)
{
	static const char *const metrics[PROFILE_KIND_MAX] = {
		[PROFILE_KIND_MUTEX] = "mutex",
		[PROFILE_KIND_BLOCK] = "block",
		[PROFILE_KIND_DELTA_MUTEX] = "mutex",
		[PROFILE_KIND_DELTA_BLOCK] = "block",
	};
	const struct foreign_hints hints = {.metric = metrics[c->info->kind]};
	struct profile *p = c->profile;
	int r;

	c->columns.types_hash = hash_types(p);
	r = foreign_types_apply(p, &hints, c->err);
	if (r == 0 && p->n_types == 0)
		return err_set(c->err, -EBADMSG, "the types of the profile have no names");
	return r;
}

/*
 * An answer of godeltaprof has what is new since the one before, and the first one may have
 * everything since the process began: as with the others, that is no part of our interval.
 */
static void choose_columns(struct conversion *c)
{
	const struct profile *p = c->profile;
	enum profile_kind kind = c->info->kind;
	bool is_delta = profile_kind_whole(kind) != PROFILE_KIND_MAX;

	c->columns.columns = c->cumulative;
	c->n_columns = p->n_types;
	for (uint32_t i = 0; i < p->n_types; i++) {
		c->all[i] = i;
		if (profile_kind_is_timed(kind) || !is_of_events(&p->types[i].type))
			continue;
		if (is_delta)
			c->left_out[i] = c->info->previous_at_ns == 0;
		else
			c->cumulative[c->columns.n++] = i;
	}
}

static void drop_types(struct conversion *c)
{
	struct profile *p = c->profile;
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_columns; i++)
		if (!c->left_out[i])
			p->types[n++] = p->types[i];
	p->n_types = n;
}

/* Copies the row's values of the columns that are kept. Returns whether any is not 0. */
static bool pick_values(const struct conversion *c, uint32_t row, int64_t *values)
{
	const int64_t *all = c->stacks.values + (size_t)row * c->n_columns;
	bool any = false;

	for (uint32_t i = 0; i < c->n_columns; i++) {
		if (c->left_out[i])
			continue;
		any |= all[i] != 0;
		*values++ = all[i];
	}
	return any;
}

static int make_samples(struct conversion *c)
{
	struct profile *p = c->profile;
	struct profile_sample *samples = arena_calloc(p->arena, c->stacks.n, sizeof(*samples));
	int64_t *values = arena_calloc(p->arena, (size_t)c->stacks.n * p->n_types, sizeof(*values));
	uint32_t n = 0;

	if (!samples || !values)
		return arena_error(p->arena, (size_t)c->stacks.n * p->n_types * sizeof(*values));
	for (uint32_t row = 0; row < c->stacks.n; row++) {
		struct profile_sample s = p->samples[c->stacks.stacks[row].sample];

		if (!pick_values(c, row, values))
			continue;
		s.values = values;
		values += p->n_types;
		samples[n++] = s;
	}
	p->samples = samples;
	p->n_samples = n;
	return 0;
}

static void set_window(struct profile *p, const struct scraped_profile_info *info)
{
	int64_t duration = info->scraped_at_ns - info->previous_at_ns;
	bool known = info->previous_at_ns > 0 && duration > 0;

	if (profile_kind_is_timed(info->kind)) {
		duration = p->duration_ns;
		known = duration > 0 && duration <= MAX_CPU_DURATION_NS;
	}
	p->duration_ns = known ? duration : info->interval_ns;
	/* Go stores the start of a CPU profile here; besides, the clocks of nodes differ */
	p->time_ns = info->scraped_at_ns;
}

/* Replaces cumulative columns by differences, or drops them if there is no baseline. */
static int subtract(struct conversion *c, const struct profile_baseline *b,
		    struct profile_baseline *ret_next, bool *ret_restarted)
{
	enum baseline_outcome outcome;
	int r = profile_baseline_subtract(b, &c->stacks, &c->columns, c->profile->arena, ret_next,
					  &outcome);

	if (r < 0)
		return r;
	/*
	 * other types mean another program, and the process is new if its container has
	 * restarted
	 */
	if (outcome == BASELINE_NONE && b->valid && c->info->restarted)
		outcome = BASELINE_RESTARTED;
	/* a negative value counts as 0, which is less than before without a restart */
	c->keeps_baseline = outcome == BASELINE_RESTARTED && !c->info->restarted &&
			    c->profile->losses.n[PROFILE_LOSS_NEGATIVE_VALUES] +
					    c->stacks.losses.n[PROFILE_LOSS_NEGATIVE_VALUES] >
				    0;
	if (c->keeps_baseline)
		outcome = BASELINE_NONE;
	for (uint32_t i = 0; i < c->columns.n; i++)
		c->left_out[c->cumulative[i]] = outcome == BASELINE_NONE;
	*ret_restarted = outcome == BASELINE_RESTARTED;
	return 0;
}

static int convert(struct conversion *c, struct profile_baseline *b, bool *ret_restarted)
{
	struct profile_baseline next;
	bool restarted = false;
	int r = name_types(c);

	if (r < 0)
		return r;
	choose_columns(c);
	r = merged_stacks_make(&c->stacks, c->profile, c->all, c->n_columns);
	if (r == 0)
		r = subtract(c, b, &next, &restarted);
	if (r < 0)
		return r;
	drop_types(c);
	r = make_samples(c);
	if (r < 0)
		return r;
	r = unused_parts_remove(c->profile);
	if (r < 0)
		return r;
	if (c->columns.n > 0 && !c->keeps_baseline)
		r = profile_baseline_commit(b, &next);
	if (r < 0)
		return r;
	*ret_restarted = restarted;
	return 0;
}

int scraped_profile_convert(struct profile *p, struct profile_baseline *b,
			    const struct scraped_profile_info *info, bool *ret_restarted,
			    struct err *err)
{
	struct conversion c = {.info = info, .profile = p, .err = err};
	int r = convert(&c, b, ret_restarted);

	if (r == -EFBIG)
		return err_set(err, r, "the profile takes more than %zu bytes of memory",
			       p->arena->limit_bytes);
	if (r < 0)
		return r;
	profile_losses_add(&p->losses, &c.stacks.losses);
	set_window(p, info);
	p->n_comments = 0;
	return 0;
}
