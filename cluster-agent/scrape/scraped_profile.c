/*
 * The steps of a conversion, each on the result of the one before: choose the types (columns)
 * to keep; merge equal stacks; subtract the baseline; build types and samples; drop functions
 * and locations that no sample uses any more. The last step matters most for the size: a heap
 * profile has all stacks since the start of the process, and few of them have allocated within
 * the last minute.
 *
 * The baseline is committed last, when nothing can fail any more.
 */
#include "cluster-agent/scrape/scraped_profile.h"

#include <errno.h>

#include "cluster-agent/scrape/merged_stacks.h"
#include "common/data/table.h"
#include "common/limits.h"
#include "common/pprof/unused_parts.h"
#include "common/system/clock.h"

#define MAX_NAME_BYTES 64u
/* No CPU profile takes longer; a server that claims so has a wrong clock. */
#define MAX_CPU_DURATION_NS (INT64_C(86400) * (int64_t)NS_PER_S)

/* The parts of the profile that are kept. A column is the index of a kept type. */
struct conversion {
	const struct scraped_profile_info *info;
	struct profile *profile;
	uint32_t types[LIMIT_PPROF_TYPES]; /* index in the profile, by column */
	bool left_out[LIMIT_PPROF_TYPES];
	uint32_t n_columns;
	uint32_t cumulative[LIMIT_PPROF_TYPES]; /* columns */
	struct cumulative_columns columns;      /* the same, for profile_baseline */
	struct merged_stacks stacks;
	struct err *err;
};

static bool is(const struct profile_string *s, const char *text)
{
	return s->len == strlen(text) && memcmp(s->data, text, s->len) == 0;
}

static bool equal(const struct profile_string *a, const struct profile_string *b)
{
	return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Whether the name may stand between two colons. */
static bool is_name(const struct profile_string *s)
{
	for (size_t i = 0; i < s->len; i++) {
		char c = s->data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    c != '_')
			return false;
	}
	return s->len > 0 && s->len <= MAX_NAME_BYTES;
}

static bool is_cumulative(enum profile_kind kind, const struct profile_string *type)
{
	switch (kind) {
	case PROFILE_KIND_HEAP:
		return is(type, "alloc_objects") || is(type, "alloc_space");
	case PROFILE_KIND_MUTEX:
	case PROFILE_KIND_BLOCK:
		return is(type, "contentions") || is(type, "delay");
	default:
		return false;
	}
}

static int add_column(struct conversion *c, uint32_t index)
{
	const struct profile_value_type *t = &c->profile->types[index];

	if (c->info->kind == PROFILE_KIND_CPU && is(&t->type, "samples"))
		return 0;
	if (!is_name(&t->type) || !is_name(&t->unit))
		return err_set(c->err, -EBADMSG,
			       "type or unit of sample type %u has characters besides letters, "
			       "digits and '_'",
			       index + 1);
	for (uint32_t i = 0; i < c->n_columns; i++)
		if (equal(&c->profile->types[c->types[i]].type, &t->type) &&
		    equal(&c->profile->types[c->types[i]].unit, &t->unit))
			return err_set(c->err, -EBADMSG, "sample type %s occurs twice",
				       t->type.data);
	if (is_cumulative(c->info->kind, &t->type)) {
		uint64_t h = c->columns.types_hash;

		h = XXH3_64bits_withSeed(t->type.data, t->type.len, h);
		c->columns.types_hash = XXH3_64bits_withSeed(t->unit.data, t->unit.len, h);
		c->cumulative[c->columns.n++] = c->n_columns;
	}
	c->types[c->n_columns++] = index;
	return 0;
}

static int choose_columns(struct conversion *c)
{
	const struct profile *p = c->profile;
	bool has_cpu = false;

	c->columns.columns = c->cumulative;
	for (uint32_t i = 0; i < p->n_types; i++) {
		int r = add_column(c, i);

		if (r < 0)
			return r;
		has_cpu |= is(&p->types[i].type, "cpu") && is(&p->types[i].unit, "nanoseconds");
	}
	if (c->info->kind == PROFILE_KIND_CPU && !has_cpu)
		return err_set(c->err, -EBADMSG,
			       "not a CPU profile: none of its types is cpu in nanoseconds");
	return 0;
}

static int make_types(struct conversion *c)
{
	struct profile *p = c->profile;
	const char *path = profile_kind_path(c->info->kind);
	struct profile_value_type *types = arena_calloc(p->arena, c->n_columns, sizeof(*types));
	uint32_t n = 0;

	if (!types)
		return arena_error(p->arena, c->n_columns * sizeof(*types));
	for (uint32_t i = 0; i < c->n_columns; i++) {
		const struct profile_value_type *t = &p->types[c->types[i]];
		char text[2 * MAX_NAME_BYTES + 32], *copy;
		int len;

		if (c->left_out[i])
			continue;
		len = snprintf(text, sizeof(text), "go:%s_%s:%s", path, t->type.data, t->unit.data);
		copy = arena_strndup(p->arena, text, (size_t)len);
		if (!copy)
			return arena_error(p->arena, (size_t)len);
		types[n++] = (struct profile_value_type){{copy, (size_t)len}, t->unit};
	}
	p->types = types;
	p->n_types = n;
	return 0;
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
	int64_t totals[LIMIT_PPROF_TYPES] = {0};
	uint32_t n = 0;

	if (!samples || !values)
		return arena_error(p->arena, (size_t)c->stacks.n * p->n_types * sizeof(*values));
	for (uint32_t row = 0; row < c->stacks.n; row++) {
		struct profile_sample s = p->samples[c->stacks.stacks[row].sample];

		if (!pick_values(c, row, values))
			continue;
		for (uint32_t t = 0; t < p->n_types; t++)
			if (__builtin_add_overflow(totals[t], values[t], &totals[t]))
				return err_set(c->err, -EBADMSG, "the values exceed 63 bits");
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

	if (info->kind == PROFILE_KIND_CPU) {
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
	for (uint32_t i = 0; i < c->columns.n; i++)
		c->left_out[c->cumulative[i]] = outcome == BASELINE_NONE;
	*ret_restarted = outcome == BASELINE_RESTARTED;
	return 0;
}

static int convert(struct conversion *c, struct profile_baseline *b, bool *ret_restarted)
{
	struct profile_baseline next;
	bool restarted = false;
	int r = choose_columns(c);

	if (r == 0)
		r = merged_stacks_make(&c->stacks, c->profile, c->types, c->n_columns, c->err);
	if (r == 0)
		r = subtract(c, b, &next, &restarted);
	if (r == 0)
		r = make_types(c);
	if (r == 0)
		r = make_samples(c);
	if (r == 0)
		r = unused_parts_remove(c->profile);
	if (r == 0 && c->columns.n > 0)
		r = profile_baseline_commit(b, &next);
	if (r == 0)
		*ret_restarted = restarted;
	return r;
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
	set_window(p, info);
	p->n_comments = 0;
	return 0;
}
