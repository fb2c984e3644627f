/* Types of other profilers → ours. */
#include <errno.h>

#include "cluster-agent/push/foreign_part.h"
#include "cluster-agent/push/foreign_types.h"
#include "cluster-agent/query/read/profile_types.h"
#include "common/limits.h"
#include "test/lib/unit.h"

#define S(text) ((struct profile_string){(text), strlen(text)})

struct fixture {
	struct arena arena;
	struct profile profile;
	struct profile_value_type types[4];
	struct profile_sample samples[2];
	int64_t values[2][4];
	struct profile_function functions[2];
	struct profile_line lines[2];
	struct profile_location locations[2];
	uint32_t stacks[2][1];
	struct err err;
};

/* Two samples of one frame each, with values 1, 2, 3, 4 and 10, 20, 30, 40. */
static void setup(struct fixture *f)
{
	*f = (struct fixture){.values = {{1, 2, 3, 4}, {10, 20, 30, 40}}};
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	for (uint32_t i = 0; i < 2; i++) {
		f->functions[i] = (struct profile_function){S("main.leaf"), S("")};
		f->lines[i] = (struct profile_line){.function = i};
		f->locations[i] = (struct profile_location){.lines = &f->lines[i], .n_lines = 1};
		f->stacks[i][0] = i;
		f->samples[i] = (struct profile_sample){
			.locations = f->stacks[i], .n_locations = 1, .values = f->values[i]};
	}
	f->profile = (struct profile){
		.arena = &f->arena,
		.types = f->types,
		.functions = f->functions,
		.n_functions = 2,
		.locations = f->locations,
		.n_locations = 2,
		.samples = f->samples,
		.n_samples = 2,
		.period_type = {S(""), S("")},
	};
}

static void teardown(struct fixture *f)
{
	arena_fini(&f->arena);
}

static void add_type(struct fixture *f, const char *type, const char *unit)
{
	f->types[f->profile.n_types++] = (struct profile_value_type){S(type), S(unit)};
}

static void apply(struct fixture *f, const struct foreign_hints *hints)
{
	assert_true(foreign_types_present(&f->profile));
	if (foreign_types_apply(&f->profile, hints, &f->err) < 0)
		fail_msg("%s", f->err.msg);
}

static void expect(const struct fixture *f, uint32_t i, const char *type, int64_t second)
{
	assert_true(i < f->profile.n_types);
	assert_string_equal(f->profile.types[i].type.data, type);
	assert_string_equal(f->profile.types[i].unit.data, profile_type_unit(type));
	assert_int_equal(f->profile.samples[1].values[i], second);
}

TEST(counts_are_dropped_beside_a_time)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add_type(&f, "samples", "count");
	add_type(&f, "wall", "microseconds");
	add_type(&f, "cpu", "nanoseconds");
	apply(&f, &(struct foreign_hints){.source = FOREIGN_NODEJS});
	assert_int_equal(f.profile.n_types, 2);
	expect(&f, 0, "nodejs:wall:nanoseconds", 20000);
	expect(&f, 1, "nodejs:cpu:nanoseconds", 30);
	assert_int_equal(f.profile.samples[0].values[0], 2000);
}

TEST(counts_alone_become_time)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add_type(&f, "samples", "count");
	apply(&f, &(struct foreign_hints){.source = FOREIGN_RUBY, .period_ns = 7});
	assert_int_equal(f.profile.n_types, 1);
	expect(&f, 0, "ruby:cpu:nanoseconds", 70);
	assert_int_equal(f.profile.period, 7);
}

TEST(the_profile_says_of_what_time_samples_are)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add_type(&f, "samples", "count");
	f.profile.period_type = (struct profile_value_type){S("off_cpu"), S("microseconds")};
	f.profile.period = 3;
	apply(&f, &(struct foreign_hints){.source = FOREIGN_EBPF});
	expect(&f, 0, "ebpf:off_cpu:nanoseconds", 30000);
}

TEST(heaps_have_four_types)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.functions[0].file = S("/src/main.go");
	f.functions[1].file = S("lib.c");
	add_type(&f, "alloc_objects", "count");
	add_type(&f, "alloc_space", "bytes");
	add_type(&f, "inuse_objects", "count");
	add_type(&f, "inuse_space", "bytes");
	f.profile.period_type = (struct profile_value_type){S("space"), S("bytes")};
	f.profile.period = 524288;
	apply(&f, &(struct foreign_hints){0});
	expect(&f, 0, "go:heap_alloc_objects:count", 10);
	expect(&f, 1, "go:heap_alloc_space:bytes", 20);
	expect(&f, 2, "go:heap_inuse_objects:count", 30);
	expect(&f, 3, "go:heap_inuse_space:bytes", 40);
	assert_string_equal(f.profile.period_type.unit.data, "bytes");
	assert_int_equal(f.profile.period, 524288);
}

static void check_contention(const char *leaf, const char *metric, const char *type)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.functions[0].name = f.functions[1].name = S(leaf);
	f.functions[0].file = S("a.go");
	add_type(&f, "contentions", "count");
	add_type(&f, "delay", "nanoseconds");
	apply(&f, &(struct foreign_hints){.metric = metric});
	expect(&f, 1, type, 20);
}

TEST(mutexes_are_told_from_blocking)
{
	check_contention("sync.(*Mutex).Unlock", NULL, "go:mutex_delay:nanoseconds");
	check_contention("sync.(*Mutex).Lock", NULL, "go:block_delay:nanoseconds");
	check_contention("runtime.unlock", "", "go:mutex_delay:nanoseconds");
	check_contention("sync.(*Mutex).Lock", "mutex", "go:mutex_delay:nanoseconds");
	check_contention("sync.(*Mutex).Unlock", "block", "go:block_delay:nanoseconds");
}

/*
 * A small upload: all samples share one location, all of its lines one function, and that a long
 * name. Looking through all of it would take an hour.
 */
TEST(long_names_are_not_searched_for_each_sample)
{
	enum { N_SAMPLES = 200000, N_LINES = 256, N_NAME = 65536 };
	static const uint32_t stack[] = {0};
	static char name[N_NAME];
	static struct profile_line lines[N_LINES];
	static int64_t values[] = {1, 2};
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	memset(name, 'n', sizeof(name));
	f.functions[0] = (struct profile_function){{name, N_NAME}, S("a.go")};
	f.locations[0] = (struct profile_location){.lines = lines, .n_lines = N_LINES};
	f.profile.samples = arena_alloc(&f.arena, N_SAMPLES * sizeof(*f.profile.samples));
	assert_non_null(f.profile.samples);
	f.profile.n_samples = N_SAMPLES;
	for (uint32_t i = 0; i < N_SAMPLES; i++)
		f.profile.samples[i] = (struct profile_sample){
			.locations = stack, .n_locations = 1, .values = values};
	add_type(&f, "contentions", "count");
	add_type(&f, "delay", "nanoseconds");
	apply(&f, &(struct foreign_hints){0});
	expect(&f, 1, "go:block_delay:nanoseconds", 2);
}

static void check_node_name(const struct profile_string *name, const struct profile_string *file,
			    size_t len)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_function function = {*name, *file};

	setup(&f);
	assert_int_equal(node_name_shorten(&function, &f.arena), 0);
	assert_int_equal(function.name.len, len);
}

TEST(long_names_of_node_are_left)
{
	enum { N_NAME = 65536 };
	static char name[N_NAME], file[N_NAME];
	const struct profile_string short_file = S("/app/a.js");

	check_node_name(&S("./app/a.js:run:12"), &short_file, strlen("run"));
	check_node_name(&S("node:internal/timers:listOnTimeout:569"), &S("node:internal/timers"),
			strlen("listOnTimeout"));
	memset(name, ':', sizeof(name));
	memset(file, ':', sizeof(file));
	name[N_NAME - 1] = '1';
	file[N_NAME - 1] = 'x';
	for (int i = 0; i < 1000; i++)
		check_node_name(&(struct profile_string){name, N_NAME},
				&(struct profile_string){file, N_NAME}, N_NAME);
}

TEST(equal_types_are_added)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add_type(&f, "alloc_in_new_tlab_bytes", "bytes");
	add_type(&f, "alloc_outside_tlab_bytes", "bytes");
	apply(&f, &(struct foreign_hints){.source = FOREIGN_JAVA});
	assert_int_equal(f.profile.n_types, 1);
	expect(&f, 0, "java:heap_alloc_space:bytes", 30);
}

TEST(nothing_is_lost_that_the_table_lacks)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add_type(&f, "page faults", "count");
	add_type(&f, "cpu", "furlongs/s");
	add_type(&f, "java:lock_delay:nanoseconds", "nanoseconds");
	add_type(&f, "", "");
	apply(&f, &(struct foreign_hints){0});
	assert_int_equal(f.profile.n_types, 3);
	expect(&f, 0, "pprof:page_faults:count", 10);
	expect(&f, 1, "pprof:cpu:furlongs_s", 20);
	expect(&f, 2, "java:lock_delay:nanoseconds", 30);
}

TEST(values_beyond_63_bits_are_the_largest)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.values[1][0] = INT64_MAX / 2;
	add_type(&f, "cpu", "microseconds");
	apply(&f, &(struct foreign_hints){0});
	assert_true(f.profile.samples[0].values[0] == 1000);
	assert_true(f.profile.samples[1].values[0] == INT64_MAX);
	assert_int_equal(f.profile.losses.n[PROFILE_LOSS_CLAMPED_VALUES], 1);
}

/* As "go tool pprof" scales them, and more. */
TEST(units_have_many_names)
{
	static const struct {
		const char *unit, *type;
		int64_t factor;
	} cases[] = {
		{"ns", "pprof:x:nanoseconds", 1},
		{"nanosecond", "pprof:x:nanoseconds", 1},
		{"Nanoseconds", "pprof:x:nanoseconds", 1},
		{"us", "pprof:x:nanoseconds", 1000},
		{"\xc2\xb5s", "pprof:x:nanoseconds", 1000},
		{"\xce\xbcs", "pprof:x:nanoseconds", 1000},
		{"microsecond", "pprof:x:nanoseconds", 1000},
		{"ms", "pprof:x:nanoseconds", 1000000},
		{"millisecond", "pprof:x:nanoseconds", 1000000},
		{"milliseconds", "pprof:x:nanoseconds", 1000000},
		{"s", "pprof:x:nanoseconds", 1000000000},
		{"sec", "pprof:x:nanoseconds", 1000000000},
		{"secs", "pprof:x:nanoseconds", 1000000000},
		{"second", "pprof:x:nanoseconds", 1000000000},
		{"minutes", "pprof:x:nanoseconds", INT64_C(60000000000)},
		{"hour", "pprof:x:nanoseconds", INT64_C(3600000000000)},
		{"hrs", "pprof:x:nanoseconds", INT64_C(3600000000000)},
		{"days", "pprof:x:nanoseconds", INT64_C(86400000000000)},
		{"B", "pprof:x:bytes", 1},
		{"byte", "pprof:x:bytes", 1},
		{"kB", "pprof:x:bytes", 1024},
		{"KB", "pprof:x:bytes", 1024},
		{"kilobytes", "pprof:x:bytes", 1024},
		{"KiB", "pprof:x:bytes", 1024},
		{"MB", "pprof:x:bytes", 1048576},
		{"MiB", "pprof:x:bytes", 1048576},
		{"mbytes", "pprof:x:bytes", 1048576},
		{"GiBy", "pprof:x:bytes", 1073741824},
		{"TB", "pprof:x:bytes", INT64_C(1) << 40},
		{"petabytes", "pprof:x:bytes", INT64_C(1) << 50},
		{"Count", "pprof:x:count", 1},
		{"objects", "pprof:x:count", 1},
		/* none of ours: values stay what they are */
		{"cycles", "pprof:x:cycles", 1},
		{"seconds_per_meter_and_more", "pprof:x:seconds_per_meter_and_more", 1},
		{"bs", "pprof:x:bs", 1},
		{"\xce\xbc", "pprof:x:__", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(teardown) struct fixture f;

		setup(&f);
		add_type(&f, "x", cases[i].unit);
		apply(&f, &(struct foreign_hints){0});
		assert_string_equal(f.profile.types[0].type.data, cases[i].type);
		assert_true(f.profile.samples[1].values[0] == 10 * cases[i].factor);
	}
}

static void set_period(struct fixture *f, const char *type, const char *unit, int64_t period)
{
	f->profile.period_type = (struct profile_value_type){S(type), S(unit)};
	f->profile.period = period;
}

TEST(counts_of_what_is_no_time_remain_counts)
{
	static const struct {
		const char *type, *unit, *expected;
	} cases[] = {
		{"samples", "count", "pprof:samples:count"},
		{"cpu", "count", "pprof:cpu:count"},
		{"cpu", "cycles", "pprof:cpu:cycles"},
		{"cycles", "cycles", "pprof:cycles:cycles"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(teardown) struct fixture f;

		setup(&f);
		add_type(&f, cases[i].type, cases[i].unit);
		set_period(&f, "cpu", "cycles", 1000000);
		apply(&f, &(struct foreign_hints){0});
		expect(&f, 0, cases[i].expected, 10);
		assert_int_equal(f.profile.period, 1000000);
		assert_string_equal(f.profile.period_type.unit.data, "cycles");
	}
}

/* The period in any unit of time; without one, 10 ms. */
TEST(counts_of_a_time_are_scaled_by_its_unit)
{
	static const struct {
		const char *unit;
		int64_t period, expected;
	} cases[] = {
		{"nanoseconds", 1000000, 10000000},   {"ms", 4, 40000000},
		{"seconds", 1, INT64_C(10000000000)}, {"", 0, 100000000},
		{"nanoseconds", 0, 100000000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(teardown) struct fixture f;

		setup(&f);
		add_type(&f, "samples", "count");
		set_period(&f, cases[i].unit[0] ? "cpu" : "", cases[i].unit, cases[i].period);
		apply(&f, &(struct foreign_hints){0});
		expect(&f, 0, "pprof:cpu:nanoseconds", cases[i].expected);
	}
}

TEST(own_types_are_not_foreign)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add_type(&f, "", "count");
	add_type(&f, "ebpf:cpu:nanoseconds", "nanoseconds");
	assert_false(foreign_types_present(&f.profile));
}

TEST(sources_have_many_names)
{
	assert_int_equal(foreign_source_find("gospy", 5), FOREIGN_GO);
	assert_int_equal(foreign_source_find("cpython", 7), FOREIGN_PYTHON);
	assert_int_equal(foreign_source_find("nodejs", 6), FOREIGN_NODEJS);
	assert_int_equal(foreign_source_find("nodejs", 4), FOREIGN_NODEJS);
	assert_int_equal(foreign_source_find("cobol", 5), FOREIGN_ANY);
	assert_int_equal(foreign_source_find("", 0), FOREIGN_ANY);
}

static void check_guess(const char *a, const char *b, enum foreign_source expected)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	f.functions[0].file = S(a);
	f.functions[1].file = S(b);
	assert_int_equal(foreign_source_guess(&f.profile), expected);
}

TEST(files_tell_the_language)
{
	check_guess("/usr/lib/libc.c", "src/main.rs", FOREIGN_RUST);
	check_guess("node:internal/timers", "", FOREIGN_NODEJS);
	check_guess("app.py", "app.py", FOREIGN_PYTHON);
	check_guess("app.rb", ".rb", FOREIGN_RUBY);
	check_guess("", "vmlinux", FOREIGN_ANY);
}

TEST(times_are_the_end)
{
	struct profile p = {.time_ns = 100, .duration_ns = 10};

	foreign_times_set(&p, 1000);
	assert_int_equal(p.time_ns, 110);
	p.time_ns = 995;
	foreign_times_set(&p, 1000);
	assert_int_equal(p.time_ns, 1000);
	p.time_ns = 2000;
	foreign_times_set(&p, 1000);
	assert_int_equal(p.time_ns, 2000);
	p = (struct profile){.time_ns = INT64_MAX, .duration_ns = 10};
	foreign_times_set(&p, 1000);
	assert_int_equal(p.time_ns, INT64_MAX);
}

/* What the page has a title for, and what it says of it, must be the types that are made. */
TEST(the_registry_has_every_type_of_the_table)
{
	size_t n;
	const struct foreign_type *table = foreign_types(&n);

	for (size_t i = 0; i < n; i++) {
		for (int s = 0; s < FOREIGN_SOURCE_MAX; s++) {
			char type[128];

			if (table[i].source != FOREIGN_ANY && (int)table[i].source != s)
				continue;
			/* Go's own names; and nobody samples a whole machine's heaps */
			if (table[i].source == FOREIGN_ANY && s == FOREIGN_GO &&
			    !strstr(table[i].type, "heap_"))
				continue;
			if (s == FOREIGN_EBPF && !strstr(table[i].type, "cpu"))
				continue;
			if (s == FOREIGN_JAVA && strstr(table[i].type, "off_cpu"))
				continue;
			snprintf(type, sizeof(type), "%s:%s",
				 foreign_source_name((enum foreign_source)s), table[i].type);
			if (!profile_type_find(type))
				fail_msg("%s is not registered", type);
		}
	}
}
