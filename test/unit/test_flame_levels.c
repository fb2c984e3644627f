/* Bars of levels, put together again, are the nodes of the view that they were made of. */
#include <errno.h>

#include "cluster-agent/pyroscope/flame_levels.h"
#include "test/lib/random_stacks.h"
#include "test/lib/unit.h"

#define ROUNDS 40

static struct random_stacks stacks;

static struct flame_tree *build(uint64_t seed)
{
	struct flame_tree *t = NULL;

	random_stacks_fill(&stacks, seed, false);
	assert_int_equal(flame_tree_new(&t, NULL), 0);
	for (size_t i = 0; i < stacks.n; i++)
		assert_int_equal(flame_tree_add(t, stacks.items[i].frames, stacks.items[i].n,
						stacks.items[i].value),
				 0);
	return t;
}

/* Where a bar is, as absolute numbers. */
struct bar {
	int64_t x, total, self;
};

static struct bar read_bar(const int64_t *at, int64_t *end)
{
	struct bar b = {*end + at[0], at[1], at[2]};

	*end = b.x + b.total;
	return b;
}

/* The number of bars before node i on its level. */
static size_t place_of(const struct flame_view *v, uint32_t i)
{
	size_t n = 0;

	for (uint32_t k = 0; k < i; k++)
		n += v->node_depth[k] == v->node_depth[i];
	return n;
}

/* The bar of a node on one side; at is where its three numbers are within a bar. */
static struct bar bar_of(const struct flame_view *v, Querier__V1__Level *const *levels,
			 size_t n_numbers, size_t at, uint32_t i)
{
	const Querier__V1__Level *l = levels[v->node_depth[i]];
	size_t place = place_of(v, i);
	struct bar b = {0, 0, 0};
	int64_t end = 0;

	assert_true((place + 1) * n_numbers <= l->n_values);
	for (size_t k = 0; k <= place; k++)
		b = read_bar(l->values + k * n_numbers + at, &end);
	return b;
}

static uint32_t parent_of(const struct flame_view *v, uint32_t i)
{
	uint32_t p = i;

	while (v->node_depth[p] != v->node_depth[i] - 1)
		p--;
	return p;
}

static void check_side(const struct flame_view *v, Querier__V1__Level *const *levels,
		       size_t n_numbers, size_t at, bool base)
{
	for (uint32_t i = 0; i < v->n_nodes; i++) {
		struct bar b = bar_of(v, levels, n_numbers, at, i), p;

		assert_int_equal(b.total, base ? v->node_base_total[i] : v->node_total[i]);
		assert_int_equal(b.self, base ? v->node_base_self[i] : v->node_self[i]);
		if (v->node_depth[i] == 0)
			continue;
		p = bar_of(v, levels, n_numbers, at, parent_of(v, i));
		assert_true(b.x >= p.x && b.x + b.total <= p.x + p.total);
	}
}

static void check_names(const struct flame_view *v, char *const *names,
			Querier__V1__Level *const *levels, size_t n_numbers)
{
	assert_string_equal(names[levels[0]->values[n_numbers - 1]], "total");
	for (uint32_t i = 0; i < v->n_nodes; i++) {
		const int64_t *bar = levels[v->node_depth[i]]->values + place_of(v, i) * n_numbers;
		uint32_t name = v->node_name[i];

		assert_int_equal(bar[n_numbers - 1], name);
		assert_int_equal(strlen(names[name]), v->name_lens[name]);
		assert_memory_equal(names[name], v->names[name], v->name_lens[name]);
	}
}

TEST(bars_are_the_nodes_within_their_parents)
{
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		const struct flame_view_limits limits = {.max_nodes = 1 + (uint32_t)seed * 40};
		Querier__V1__FlameGraph graph = QUERIER__V1__FLAME_GRAPH__INIT;
		Querier__V1__FlameGraphDiff diff = QUERIER__V1__FLAME_GRAPH_DIFF__INIT;
		struct flame_tree *t = build(seed);
		struct flame_view v = {0};
		struct arena arena;

		arena_init(&arena, (size_t)16 << 20);
		assert_int_equal(flame_tree_view(t, &limits, &v), 0);
		assert_int_equal(flame_levels_single(&v, &arena, &graph), 0);
		assert_int_equal(flame_levels_diff(&v, &arena, &diff), 0);
		check_side(&v, graph.levels, 4, 0, false);
		check_side(&v, diff.levels, 7, 0, true);
		check_side(&v, diff.levels, 7, 3, false);
		check_names(&v, graph.names, graph.levels, 4);
		check_names(&v, diff.names, diff.levels, 7);
		assert_int_equal(graph.total, v.node_total[0]);
		assert_int_equal(diff.total, v.node_total[0] + v.node_base_total[0]);
		assert_int_equal(diff.leftticks, v.node_base_total[0]);
		flame_view_fini(&v);
		flame_tree_free(t);
		arena_fini(&arena);
	}
}

TEST(names_that_are_no_utf8_are_repaired)
{
	const struct flame_frame frame = {.text = "a\xff\0b :0", .len = 7};
	const struct flame_view_limits limits = {.max_nodes = 10};
	Querier__V1__FlameGraph graph = QUERIER__V1__FLAME_GRAPH__INIT;
	struct flame_tree *t = NULL;
	struct flame_view v = {0};
	struct arena arena;

	arena_init(&arena, 65536);
	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(flame_tree_add(t, &frame, 1, (struct stack_value){1, 0}), 0);
	assert_int_equal(flame_tree_view(t, &limits, &v), 0);
	assert_int_equal(flame_levels_single(&v, &arena, &graph), 0);
	assert_string_equal(graph.names[1], "a??b");
	flame_view_fini(&v);
	flame_tree_free(t);
	arena_fini(&arena);
}

TEST(a_graph_beyond_the_limit_is_refused)
{
	const struct flame_view_limits limits = {.max_nodes = 1000};
	Querier__V1__FlameGraph graph = QUERIER__V1__FLAME_GRAPH__INIT;
	struct flame_tree *t = build(7);
	struct flame_view v = {0};
	struct arena arena;

	arena_init(&arena, 300);
	assert_int_equal(flame_tree_view(t, &limits, &v), 0);
	assert_int_equal(flame_levels_single(&v, &arena, &graph), -EFBIG);
	flame_view_fini(&v);
	flame_tree_free(t);
	arena_fini(&arena);
}
