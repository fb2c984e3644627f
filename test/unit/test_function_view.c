/* Views of a function, against naive sums over the stacks that they were made of. */
#include "cluster-agent/query/tree/function_view.h"
#include "test/lib/random_stacks.h"
#include "test/lib/unit.h"

#define TARGET 2

static struct random_stacks stacks;

static struct function_view *build(uint64_t seed)
{
	struct function_view *v = NULL;

	random_stacks_fill(&stacks, seed, seed % 2);
	assert_int_equal(function_view_new(&v, "f2", "x2"), 0);
	for (size_t i = 0; i < stacks.n; i++) {
		const struct random_stack *k = &stacks.items[i];

		assert_int_equal(function_view_add(v, k->frames, k->n, k->value), 0);
	}
	return v;
}

static void add(struct stack_value *sum, struct stack_value v, bool condition)
{
	sum->value += condition ? v.value : 0;
	sum->base += condition ? v.base : 0;
}

static void assert_value(struct stack_value a, struct stack_value b)
{
	assert_true(a.value == b.value && a.base == b.base);
}

static void assert_line(const struct function_line *l)
{
	struct stack_value self = {0}, total = {0};

	for (size_t i = 0; i < stacks.n; i++) {
		const struct random_stack *k = &stacks.items[i];
		bool any = false, leaf = false;

		for (size_t j = 0; j < k->n; j++) {
			bool here = k->function[j] == TARGET && k->line[j] == l->line &&
				    k->inlined[j] == l->inlined;

			any |= here;
			leaf |= here && j == 0;
		}
		add(&self, k->value, leaf);
		add(&total, k->value, any);
	}
	assert_value(l->self, self);
	assert_value(l->total, total);
}

TEST(values_and_lines_are_those_of_the_stacks)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		CLEANUP(function_view_freep) struct function_view *v = build(seed);
		struct stack_value self = {0}, total = {0}, of_lines = {0};
		const struct function_line *lines;
		size_t n;

		for (size_t i = 0; i < stacks.n; i++) {
			const struct random_stack *k = &stacks.items[i];

			add(&self, k->value, k->n > 0 && k->function[0] == TARGET);
			add(&total, k->value, random_stack_has(k, TARGET));
		}
		assert_value(function_view_self(v), self);
		assert_value(function_view_total(v), total);
		lines = function_view_lines(v, &n);
		assert_true(n <= 6);
		for (size_t i = 0; i < n; i++) {
			assert_line(&lines[i]);
			assert_true(i == 0 || lines[i - 1].self.value >= lines[i].self.value);
			add(&of_lines, lines[i].self, true);
		}
		assert_value(of_lines, self);
	}
}

/* Index of the outermost call, or -1. */
static int outermost(const struct random_stack *k)
{
	for (int j = (int)k->n - 1; j >= 0; j--)
		if (k->function[j] == TARGET)
			return j;
	return -1;
}

/* Whether frames next to the outermost call, in the direction step, are those of the path. */
static bool is_on(const struct random_stack *k, int step, const int *path, int n)
{
	int at = outermost(k);

	if (at < 0)
		return false;
	for (int d = 0; d < n; d++) {
		int j = at + step * (d + 1);

		if (j < 0 || j >= (int)k->n || k->function[j] != path[d])
			return false;
	}
	return true;
}

static void assert_tree(struct flame_tree *t, int step, struct stack_value total)
{
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	const struct flame_view_limits limits = {UINT32_MAX, UINT32_MAX, 0};
	int path[RANDOM_STACKS_DEPTH + 1];

	assert_int_equal(flame_tree_view(t, &limits, &v), 0);
	assert_string_equal(v.names[0], "f2");
	assert_string_equal(v.files[v.node_file[0]], "x2");
	assert_true(v.node_total[0] == total.value && v.node_base_total[0] == total.base);
	for (uint32_t i = 0; i < v.n_nodes; i++) {
		struct stack_value sum = {0};
		int n = (int)v.node_depth[i];

		if (n > 0)
			path[n - 1] = v.names[v.node_name[i]][1] - '0';
		for (size_t k = 0; k < stacks.n; k++)
			add(&sum, stacks.items[k].value, is_on(&stacks.items[k], step, path, n));
		assert_true(v.node_total[i] == sum.value && v.node_base_total[i] == sum.base);
	}
}

TEST(callers_and_callees_are_those_of_the_outermost_call)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		CLEANUP(function_view_freep) struct function_view *v = build(seed);
		struct stack_value total = function_view_total(v);

		assert_tree(function_view_callers(v), 1, total);
		assert_tree(function_view_callees(v), -1, total);
	}
}

TEST(lines_beyond_the_limit_are_line_0)
{
	CLEANUP(function_view_freep) struct function_view *v = NULL;
	const struct function_line *lines;
	int64_t sum = 0;
	size_t n;

	assert_int_equal(function_view_new(&v, "f", "x"), 0);
	for (unsigned i = 1; i <= FUNCTION_VIEW_MAX_LINES + 100; i++) {
		char text[32];
		struct flame_frame frame = {.text = text};

		frame.len = (size_t)snprintf(text, sizeof(text), "f x:%u%s", i,
					     i % 2 ? ":inlined" : "");
		assert_int_equal(function_view_add(v, &frame, 1, (struct stack_value){1, 0}), 0);
	}
	lines = function_view_lines(v, &n);
	assert_int_equal(n, FUNCTION_VIEW_MAX_LINES + 2);
	for (size_t i = 0; i < n; i++)
		sum += lines[i].self.value;
	assert_int_equal(sum, FUNCTION_VIEW_MAX_LINES + 100);
	assert_int_equal(lines[0].line, 0);
	assert_int_equal(lines[0].self.value, 50);
}

static int build_and_view(void *arg)
{
	static const struct flame_frame frames[] = {
		{"a x:1", 5, 0}, {"f x:2", 5, 0}, {"b x:3", 5, 0}};
	CLEANUP(function_view_freep) struct function_view *v = NULL;
	CLEANUP(flame_view_fini) struct flame_view view = {0};
	const struct flame_view_limits limits = {10, 10, 0};
	int r = function_view_new(&v, "f", "x");

	(void)arg;
	if (r == 0)
		r = function_view_add(v, frames, 3, (struct stack_value){1, 1});
	return r == 0 ? flame_tree_view(function_view_callers(v), &limits, &view) : r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(build_and_view, NULL);
}
