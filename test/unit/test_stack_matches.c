#include <errno.h>

#include "cluster-agent/query/tree/stack_matches.h"
#include "test/lib/random_stacks.h"
#include "test/lib/unit.h"

static struct random_stacks stacks;

static struct stack_match_totals matches_of(const char *search)
{
	CLEANUP(stack_matches_freep) struct stack_matches *m = NULL;
	struct err err = {""};

	assert_int_equal(stack_matches_new(&m, search, &err), 0);
	for (size_t i = 0; i < stacks.n; i++) {
		const struct random_stack *k = &stacks.items[i];

		assert_int_equal(stack_matches_add(m, k->frames, k->n, k->value), 0);
	}
	return stack_matches_get(m);
}

TEST(each_stack_counts_once)
{
	static const char *const searches[] = {"F1", "\"f1\"", "/^f1$/", "x1"};

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct stack_match_totals m;
		struct stack_value sum = {0};
		uint64_t n = 0;

		random_stacks_fill(&stacks, seed, seed % 2);
		for (size_t i = 0; i < stacks.n; i++) {
			const struct random_stack *k = &stacks.items[i];
			bool counts = k->value.value > 0 || k->value.base > 0;

			if (!counts || !random_stack_has(k, 1))
				continue;
			sum.value += k->value.value;
			sum.base += k->value.base;
			n++;
		}
		m = matches_of(searches[seed % ARRAY_SIZE(searches)]);
		assert_true(m.value.value == sum.value && m.value.base == sum.base);
		assert_true(m.n_stacks == n && m.n_functions == (n > 0));
	}
}

TEST(several_functions_match)
{
	struct stack_match_totals m;

	random_stacks_fill(&stacks, 7, true);
	m = matches_of("/[fx][0-9]/");
	assert_int_equal(m.n_functions, 7);
	assert_int_equal(matches_of("none").n_functions, 0);
}

TEST(errors_of_the_search_are_passed_on)
{
	static const struct flame_frame frame = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab :0", 43,
						 0};
	CLEANUP(stack_matches_freep) struct stack_matches *m = NULL;
	CLEANUP(stack_matches_freep) struct stack_matches *none = NULL;
	struct err err = {""};

	assert_int_equal(stack_matches_new(&none, "/(/", &err), -EINVAL);
	assert_int_equal(stack_matches_new(&m, "/(a+)+$/", &err), 0);
	assert_int_equal(stack_matches_add(m, &frame, 1, (struct stack_value){1, 0}), -EINVAL);
	assert_string_equal(err.msg, "search: the expression takes too many steps");
}
