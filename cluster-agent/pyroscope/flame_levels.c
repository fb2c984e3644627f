/*
 * The view has its nodes in preorder, so the bars of each level come from left to right. Children
 * begin where the parent's own part ends.
 */
#include "cluster-agent/pyroscope/flame_levels.h"

#include <errno.h>

#include "common/text/utf8.h"

#define SINGLE_NUMBERS 4u
#define DIFF_NUMBERS 7u

/* One level while bars are added to it, by side. */
struct level {
	Querier__V1__Level *to;
	int64_t next[2]; /* where the next bar begins */
	int64_t end[2];  /* where the bar before it has ended */
};

struct work {
	const struct flame_view *v;
	struct arena *arena;
	struct level *levels;
	uint32_t n_levels;
	unsigned n_sides;
	int64_t max_self;
};

char *flame_levels_text(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_strndup(arena, text, len);

	if (!copy)
		return NULL;
	for (size_t i = 0; i < len; i++)
		if (!copy[i])
			copy[i] = '?';
	utf8_repair(copy, len);
	return copy;
}

static int copy_names(struct work *w, size_t *ret_n, char ***ret)
{
	const struct flame_view *v = w->v;
	char **names = arena_calloc(w->arena, v->n_names, sizeof(*names));

	if (!names)
		return arena_error(w->arena, v->n_names * sizeof(*names));
	for (uint32_t i = 0; i < v->n_names; i++) {
		names[i] = flame_levels_text(w->arena, v->names[i], v->name_lens[i]);
		if (!names[i])
			return arena_error(w->arena, v->name_lens[i] + 1);
	}
	*ret_n = v->n_names;
	*ret = names;
	return 0;
}

/* Makes room for the bars of each level. */
static int alloc_level(struct work *w, uint32_t depth, size_t n_bars)
{
	size_t n = n_bars * (w->n_sides == 1 ? SINGLE_NUMBERS : DIFF_NUMBERS);
	Querier__V1__Level *to = arena_calloc(w->arena, 1, sizeof(*to));

	if (!to)
		return arena_error(w->arena, sizeof(*to));
	querier__v1__level__init(to);
	to->values = arena_calloc(w->arena, n, sizeof(*to->values));
	if (!to->values)
		return arena_error(w->arena, n * sizeof(*to->values));
	w->levels[depth].to = to;
	return 0;
}

static int alloc_levels(struct work *w)
{
	const struct flame_view *v = w->v;
	AUTO_FREE size_t *n_bars = NULL;
	int r = 0;

	for (uint32_t i = 0; i < v->n_nodes; i++)
		if (v->node_depth[i] >= w->n_levels)
			w->n_levels = v->node_depth[i] + 1;
	/* one more, as each bar says where those above it begin */
	w->levels = arena_calloc(w->arena, w->n_levels + 1, sizeof(*w->levels));
	if (!w->levels)
		return arena_error(w->arena, (w->n_levels + 1) * sizeof(*w->levels));
	n_bars = calloc((size_t)w->n_levels + 1, sizeof(*n_bars));
	if (!n_bars)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n_nodes; i++)
		n_bars[v->node_depth[i]]++;
	for (uint32_t d = 0; r == 0 && d < w->n_levels; d++)
		r = alloc_level(w, d, n_bars[d]);
	return r;
}

/* Wraps, as sums of hostile values saturate and then add up to more. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_side(struct work *w, uint32_t depth, unsigned side, int64_t total, int64_t self)
{
	struct level *l = &w->levels[depth];
	int64_t x = l->next[side], *to = l->to->values + l->to->n_values;

	to[0] = (int64_t)((uint64_t)x - (uint64_t)l->end[side]);
	to[1] = total;
	to[2] = self;
	l->to->n_values += 3;
	l->next[side] = l->end[side] = plus(x, total);
	w->levels[depth + 1].next[side] = plus(x, self);
	if (self > w->max_self)
		w->max_self = self;
}

static void add_bars(struct work *w)
{
	const struct flame_view *v = w->v;

	for (uint32_t i = 0; i < v->n_nodes; i++) {
		uint32_t depth = v->node_depth[i];
		Querier__V1__Level *to = w->levels[depth].to;

		if (w->n_sides == 2)
			add_side(w, depth, 0, v->node_base_total[i], v->node_base_self[i]);
		add_side(w, depth, w->n_sides - 1, v->node_total[i], v->node_self[i]);
		to->values[to->n_values++] = v->node_name[i];
	}
}

static int make(struct work *w, size_t *ret_n, Querier__V1__Level ***ret)
{
	Querier__V1__Level **levels;
	int r = alloc_levels(w);

	if (r < 0)
		return r;
	add_bars(w);
	levels = arena_calloc(w->arena, w->n_levels, sizeof(*levels));
	if (!levels)
		return arena_error(w->arena, w->n_levels * sizeof(*levels));
	for (uint32_t d = 0; d < w->n_levels; d++)
		levels[d] = w->levels[d].to;
	*ret_n = w->n_levels;
	*ret = levels;
	return 0;
}

int flame_levels_single(const struct flame_view *v, struct arena *arena,
			Querier__V1__FlameGraph *ret)
{
	struct work w = {.v = v, .arena = arena, .n_sides = 1};
	int r = copy_names(&w, &ret->n_names, &ret->names);

	if (r == 0)
		r = make(&w, &ret->n_levels, &ret->levels);
	ret->total = v->node_total[0];
	ret->max_self = w.max_self;
	return r;
}

int flame_levels_diff(const struct flame_view *v, struct arena *arena,
		      Querier__V1__FlameGraphDiff *ret)
{
	struct work w = {.v = v, .arena = arena, .n_sides = 2};
	int r = copy_names(&w, &ret->n_names, &ret->names);

	if (r == 0)
		r = make(&w, &ret->n_levels, &ret->levels);
	ret->leftticks = v->node_base_total[0];
	ret->rightticks = v->node_total[0];
	if (__builtin_add_overflow(ret->leftticks, ret->rightticks, &ret->total))
		ret->total = INT64_MAX;
	ret->max_self = w.max_self;
	return r;
}
