/* Views of trees with two sides, against naive sums over the stacks that they were made of. */
#include "common/flame/flame_tree.h"
#include "common/flame/path_key.h"
#include "test/lib/random_stacks.h"
#include "test/lib/unit.h"

#define ROUNDS 60

static struct random_stacks stacks;

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static struct flame_tree *build(uint64_t seed)
{
	struct flame_tree *t = NULL;

	random_stacks_fill(&stacks, seed, seed % 2 == 0);
	assert_int_equal(flame_tree_new(&t, NULL), 0);
	for (size_t i = 0; i < stacks.n; i++) {
		const struct random_stack *k = &stacks.items[i];

		assert_int_equal(flame_tree_add(t, k->frames, k->n, k->value), 0);
	}
	return t;
}

/* Functions from the root down to node i; returns their number, or -1 below an "other". */
static int path_of(const struct flame_view *v, uint32_t i, int ret[static RANDOM_STACKS_DEPTH])
{
	int n = (int)v->node_depth[i];

	for (int64_t at = i, d = n; d > 0; at--) {
		if ((int64_t)v->node_depth[at] != d)
			continue;
		if (strncmp(v->names[v->node_name[at]], "other", 5) == 0)
			return -1;
		ret[--d] = v->names[v->node_name[at]][1] - '0';
	}
	return n;
}

struct expected {
	struct stack_value total, self;
	bool inlined;
};

static struct expected expect(const int *path, int n)
{
	struct expected e = {.inlined = n > 0};

	for (size_t i = 0; i < stacks.n; i++) {
		const struct random_stack *k = &stacks.items[i];
		bool on = (size_t)n <= k->n && (k->value.value > 0 || k->value.base > 0);

		for (int d = 0; on && d < n; d++)
			on = k->function[k->n - 1 - (size_t)d] == path[d];
		if (!on)
			continue;
		e.total.value += k->value.value;
		e.total.base += k->value.base;
		if ((size_t)n == k->n) {
			e.self.value += k->value.value;
			e.self.base += k->value.base;
		}
		e.inlined &= n > 0 && k->inlined[k->n - (size_t)n];
	}
	return e;
}

static void assert_node(const struct flame_view *v, uint32_t i, const struct expected *e)
{
	bool inlined = false;

	for (uint32_t k = 0; k < v->n_inlined; k++)
		inlined |= v->node_inlined[k] == i;
	assert_int_equal(compare(v->node_total[i], e->total.value), 0);
	assert_int_equal(compare(v->node_self[i], e->self.value), 0);
	assert_int_equal(compare(v->node_base_total[i], e->total.base), 0);
	assert_int_equal(compare(v->node_base_self[i], e->self.base), 0);
	assert_int_equal(inlined, e->inlined);
}

/* Checks every node that is no "other", and that the children and self of each are its total. */
static void assert_nodes(const struct flame_view *v)
{
	for (uint32_t i = 0; i < v->n_nodes; i++) {
		int64_t rest = v->node_total[i] - v->node_self[i];
		int64_t base = v->node_base_total[i] - v->node_base_self[i];
		int path[RANDOM_STACKS_DEPTH], n = path_of(v, i, path);

		if (n >= 0) {
			struct expected e = expect(path, n);

			assert_node(v, i, &e);
		}
		for (uint32_t c = i + 1; c < v->n_nodes && v->node_depth[c] > v->node_depth[i];
		     c++) {
			if (v->node_depth[c] != v->node_depth[i] + 1)
				continue;
			rest -= v->node_total[c];
			base -= v->node_base_total[c];
		}
		assert_true(rest == 0 && base == 0);
	}
}

static void assert_functions(const struct flame_view *v)
{
	for (uint32_t i = 0; i < v->n_functions; i++) {
		const struct flame_function *f = &v->functions[i];
		int id = v->names[f->name][1] - '0';
		struct stack_value self = {0}, total = {0};

		for (size_t s = 0; s < stacks.n; s++) {
			const struct random_stack *k = &stacks.items[s];
			bool leaf = k->n > 0 && k->function[0] == id;

			self.value += leaf ? k->value.value : 0;
			self.base += leaf ? k->value.base : 0;
			total.value += random_stack_has(k, id) ? k->value.value : 0;
			total.base += random_stack_has(k, id) ? k->value.base : 0;
		}
		assert_true(f->self == self.value && f->base_self == self.base);
		assert_true(f->total == total.value && f->base_total == total.base);
	}
}

TEST(every_node_is_the_sum_of_its_stacks)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		CLEANUP(flame_tree_freep) struct flame_tree *t = build(seed);
		CLEANUP(flame_view_fini) struct flame_view v = {0};
		struct flame_view_limits limits = {UINT32_MAX, UINT32_MAX, 0};

		if (seed % 3 > 0)
			limits.max_nodes = 1 + (uint32_t)random_below(&stacks, 200);
		if (seed % 5 == 0)
			limits.max_functions = 3;
		assert_int_equal(flame_tree_view(t, &limits, &v), 0);
		assert_nodes(&v);
		assert_functions(&v);
		assert_false(v.zoomed);
		assert_true(seed % 5 > 0 || v.n_functions + v.functions_cut <= 7);
	}
}

static uint64_t key_of(const struct flame_view *v, uint32_t i)
{
	int path[RANDOM_STACKS_DEPTH], n = path_of(v, i, path);
	struct path_key key = path_key_root();

	for (int d = 0; d < n; d++) {
		char name[8], file[8];

		snprintf(name, sizeof(name), "f%d", path[d]);
		snprintf(file, sizeof(file), "x%d", path[d]);
		key = path_key_child(key, path_key_of_name(name, 2), path_key_of_file(file, 2));
	}
	return path_key_number(key);
}

/* The number of nodes at and below i. */
static uint32_t subtree(const struct flame_view *v, uint32_t i)
{
	uint32_t n = 1;

	while (i + n < v->n_nodes && v->node_depth[i + n] > v->node_depth[i])
		n++;
	return n;
}

TEST(a_zoom_has_ancestors_and_subtree_with_their_totals)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		CLEANUP(flame_tree_freep) struct flame_tree *t = build(seed);
		CLEANUP(flame_view_fini) struct flame_view all = {0};
		CLEANUP(flame_view_fini) struct flame_view v = {0};
		struct flame_view_limits limits = {UINT32_MAX, UINT32_MAX, 0};
		uint32_t i, n_real = 0;

		assert_int_equal(flame_tree_view(t, &limits, &all), 0);
		if (all.n_nodes == 1)
			continue;
		i = 1 + (uint32_t)random_below(&stacks, (int)all.n_nodes - 1);
		limits.zoom = key_of(&all, i);
		assert_int_equal(flame_tree_view(t, &limits, &v), 0);
		assert_true(v.zoomed);
		assert_nodes(&v);
		assert_functions(&v);
		for (uint32_t k = 0; k < v.n_nodes; k++)
			n_real += strcmp(v.names[v.node_name[k]], "other") != 0;
		assert_int_equal(n_real, all.node_depth[i] + subtree(&all, i));
		/* nothing of what was asked for is missing */
		assert_true(v.other_nodes == 0 && v.other_value == 0 && v.other_base == 0);
	}
}

TEST(a_zoom_nowhere_shows_everything)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = build(4);
	CLEANUP(flame_view_fini) struct flame_view all = {0};
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	struct flame_view_limits limits = {UINT32_MAX, UINT32_MAX, 0};

	assert_int_equal(flame_tree_view(t, &limits, &all), 0);
	limits.zoom = 12345;
	assert_int_equal(flame_tree_view(t, &limits, &v), 0);
	assert_false(v.zoomed);
	assert_int_equal(v.n_nodes, all.n_nodes);
}

TEST(what_is_large_on_either_side_is_kept)
{
	static const struct flame_frame news = {"new n:1", 7, 0}, gone = {"gone g:1", 8, 0};
	static const struct flame_frame both = {"both b:1", 8, 0};
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	const struct flame_view_limits limits = {3, 10, 0};

	assert_int_equal(flame_tree_new(&t, NULL), 0);
	/* the base is a hundred times smaller */
	assert_int_equal(flame_tree_add(t, &news, 1, (struct stack_value){6000, 0}), 0);
	assert_int_equal(flame_tree_add(t, &gone, 1, (struct stack_value){0, 50}), 0);
	assert_int_equal(flame_tree_add(t, &both, 1, (struct stack_value){4000, 40}), 0);
	assert_int_equal(flame_tree_view(t, &limits, &v), 0);
	assert_int_equal(v.n_nodes, 4);
	assert_string_equal(v.names[v.node_name[1]], "gone");
	assert_string_equal(v.names[v.node_name[2]], "new");
	assert_string_equal(v.names[v.node_name[3]], "other");
	assert_true(v.node_total[3] == 4000 && v.node_base_total[3] == 40);
	assert_true(v.other_value == 4000 && v.other_base == 40);
}
