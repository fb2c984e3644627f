#include <errno.h>

#include "common/limits.h"
#include "node-agent/profile/profile_builder.h"
#include "node-agent/symbol/symbolizer.h"
#include "test/lib/unit.h"

static const struct symbol_frame frame_main = {"main", "[app]"};
static const struct symbol_frame frame_read = {"read", "[libc.so.6]"};
static const struct symbol_frame frame_comm = {"app", ""};

static void equal_stacks_are_one_sample(void **state)
{
	const struct symbol_frame *const deep[] = {&frame_read, &frame_main, &frame_comm};
	const struct symbol_frame *const flat[] = {&frame_main, &frame_comm};
	CLEANUP(arena_fini) struct arena arena = {0};
	CLEANUP(profile_builder_freep) struct profile_builder *b = NULL;
	struct profile p;

	(void)state;
	arena_init(&arena, MIB);
	assert_int_equal(profile_builder_new(&b, &arena), 0);
	assert_int_equal(profile_builder_add(b, deep, 3, 10), 0);
	assert_int_equal(profile_builder_add(b, flat, 2, 1), 0);
	assert_int_equal(profile_builder_add(b, deep, 3, 32), 0);
	assert_int_equal(profile_builder_finish(b, &p), 0);

	assert_int_equal(p.n_functions, 3);
	assert_int_equal(p.n_locations, 3);
	assert_int_equal(p.n_samples, 2);
	assert_int_equal(p.samples[0].values[0], 42);
	assert_int_equal(p.samples[1].values[0], 1);
	assert_int_equal(p.samples[0].n_locations, 3);
	/* leaf first */
	assert_string_equal(p.functions[p.samples[0].locations[0]].name.data, "read");
	assert_string_equal(p.functions[p.samples[0].locations[0]].file.data, "[libc.so.6]");
	assert_string_equal(p.functions[p.samples[0].locations[2]].name.data, "app");
	assert_int_equal(p.samples[0].locations[1], p.samples[1].locations[0]);
}

static void a_stack_over_the_limit_is_refused_and_the_rest_kept(void **state)
{
	static const struct symbol_frame *deep[LIMIT_PPROF_STACK_DEPTH + 1];
	CLEANUP(arena_fini) struct arena arena = {0};
	CLEANUP(profile_builder_freep) struct profile_builder *b = NULL;
	struct profile p;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(deep); i++)
		deep[i] = &frame_main;
	arena_init(&arena, MIB);
	assert_int_equal(profile_builder_new(&b, &arena), 0);
	assert_int_equal(profile_builder_add(b, deep, ARRAY_SIZE(deep), 1), -EFBIG);
	assert_int_equal(profile_builder_add(b, deep, 0, 1), -EFBIG);
	assert_int_equal(profile_builder_add(b, deep, ARRAY_SIZE(deep) - 1, 1), 0);
	assert_int_equal(profile_builder_finish(b, &p), 0);
	assert_int_equal(p.n_samples, 1);
}

static int build_one(void *arg)
{
	CLEANUP(arena_fini) struct arena arena = {0};
	CLEANUP(profile_builder_freep) struct profile_builder *b = NULL;
	struct profile p;
	int r;

	(void)arg;
	arena_init(&arena, MIB);
	r = profile_builder_new(&b, &arena);
	for (int i = 0; r == 0 && i < 100; i++) {
		static const struct symbol_frame different[100] = {[0 ... 99] = {"f", ""}};
		const struct symbol_frame *const frames[] = {&different[i], &frame_comm};

		r = profile_builder_add(b, frames, 2, 1);
	}
	return r == 0 ? profile_builder_finish(b, &p) : r;
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(build_one, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_one_sample),
		cmocka_unit_test(a_stack_over_the_limit_is_refused_and_the_rest_kept),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
