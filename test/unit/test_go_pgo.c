#include <errno.h>

#include "common/pprof/go_pgo.h"
#include "test/lib/unit.h"

#define TEXT(s)                    \
	{                          \
		(s), sizeof(s) - 1 \
	}

enum { KERNEL, LEAF, C_CODE, MAIN, PROGRAM };

static struct profile_function functions[] = {
	[KERNEL] = {TEXT("do_syscall_64"), TEXT("[kernel]"), 0},
	[LEAF] = {TEXT("main.leaf"), TEXT("main.go"), 10},
	[C_CODE] = {TEXT("callback"), TEXT("x.c"), 0},
	[MAIN] = {TEXT("main.main"), TEXT("main.go"), 30},
	[PROGRAM] = {TEXT("program"), TEXT(""), 0},
};
static struct profile_line lines[] = {
	{KERNEL, 0}, {LEAF, 12}, {C_CODE, 5}, {MAIN, 33}, {PROGRAM, 0}};
static struct profile_location locations[] = {
	{&lines[0], 1, 0}, {&lines[1], 1, 0}, {&lines[2], 1, 0},
	{&lines[3], 1, 0}, {&lines[4], 1, 0},
};

static struct profile make(struct arena *arena, struct profile_sample *samples, uint32_t n)
{
	static struct profile_value_type type = {TEXT("ebpf:cpu:nanoseconds"), TEXT("nanoseconds")};
	struct profile p = {
		.arena = arena,
		.types = &type,
		.n_types = 1,
		.functions = functions,
		.n_functions = ARRAY_SIZE(functions),
		.locations = locations,
		.n_locations = ARRAY_SIZE(locations),
		.n_samples = n,
		.period = 10,
	};

	p.samples = arena_calloc(arena, n, sizeof(*samples));
	assert_non_null(p.samples);
	memcpy(p.samples, samples, n * sizeof(*samples));
	return p;
}

static const char *name_of(const struct profile *p, uint32_t sample, uint32_t i)
{
	const struct profile_location *l = &p->locations[p->samples[sample].locations[i]];

	return p->functions[l->lines[0].function].name.data;
}

TEST(frames_outside_go_are_left_out_but_not_between)
{
	static const uint32_t stack[] = {KERNEL, LEAF, C_CODE, MAIN, PROGRAM};
	static const uint32_t no_go[] = {KERNEL, C_CODE, PROGRAM};
	static const int64_t values[] = {30, 0, 14};
	struct profile_sample samples[] = {{stack, 5, &values[0], false},
					   {no_go, 3, &values[0], false},
					   {stack, 5, &values[1], false},
					   {stack + 1, 1, &values[2], false}};
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	arena_init(&arena, 1 << 20);
	p = make(&arena, samples, ARRAY_SIZE(samples));
	assert_int_equal(go_pgo_make(&p, 0, NULL), 0);
	assert_int_equal(p.n_samples, 2);
	assert_int_equal(p.samples[0].n_locations, 3);
	assert_string_equal(name_of(&p, 0, 0), "main.leaf");
	assert_string_equal(name_of(&p, 0, 1), "callback");
	assert_string_equal(name_of(&p, 0, 2), "main.main");
	assert_int_equal(p.samples[0].values[0], 3);
	assert_int_equal(p.samples[0].values[1], 30);
	assert_int_equal(p.samples[1].values[0], 1);
	assert_int_equal(p.samples[1].values[1], 14);
	assert_int_equal(p.n_types, 2);
	assert_string_equal(p.types[0].type.data, "samples");
	assert_string_equal(p.types[1].unit.data, "nanoseconds");
	/* what nothing refers to is gone, and start lines are where they were */
	assert_int_equal(p.n_functions, 3);
	assert_int_equal(p.functions[0].start_line, 10);
}

TEST(without_a_function_of_go_it_is_an_error)
{
	static const uint32_t no_go[] = {KERNEL, C_CODE, PROGRAM};
	static const int64_t value = 30;
	struct profile_sample sample = {no_go, 3, &value, false};
	CLEANUP(arena_fini) struct arena arena;
	struct err err = {""};
	struct profile p;

	arena_init(&arena, 1 << 20);
	p = make(&arena, &sample, 1);
	assert_int_equal(go_pgo_make(&p, 0, &err), -ENODATA);
	assert_non_null(strstr(err.msg, "Go 1.20"));
}
