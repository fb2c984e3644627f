/* Stacks of a recording as pprofs. */
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "node-agent/java/profile/java_commands.h"
#include "node-agent/java/profile/java_stacks.h"
#include "test/lib/unit.h"

static const struct java_window window = {
	.start_ns = NS_PER_S,
	.end_ns = 2 * NS_PER_S,
	.settings = {.cpu_interval_ns = 10000000},
};

struct fixture {
	struct java_stacks *stacks;
	struct java_pprof pprof;
	struct arena arena;
	struct profile profile;
	struct jfr_frame frames[JFR_STACK_DEPTH_MAX];
};

static void setup(struct fixture *f)
{
	*f = (struct fixture){.stacks = NULL};
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(java_stacks_new(&f->stacks), 0);
}

static void teardown(struct fixture *f)
{
	java_stacks_free(f->stacks);
	java_pprof_fini(&f->pprof);
	arena_fini(&f->arena);
}

/* 10 ms of CPU time in a recursion. */
static void add(struct fixture *f, size_t n_frames, bool truncated)
{
	const struct jfr_stack stack = {
		.kind = JFR_CPU,
		.count = 1,
		.amount = 10000000,
		.frames = f->frames,
		.n_frames = n_frames,
		.truncated = truncated,
		.batch = 1,
	};

	for (size_t i = 0; i < n_frames; i++)
		f->frames[i] = (struct jfr_frame){
			.function = "a.B.c", .file = "a/B", .line = 7, .function_id = 3};
	assert_int_equal(java_stacks_add(f->stacks, &stack), 0);
}

static void finish(struct fixture *f)
{
	struct err err = {""};

	assert_int_equal(java_stacks_finish(f->stacks, JAVA_PROFILE_CPU, &window, &f->pprof), 0);
	assert_int_equal(
		pprof_decode(&f->profile, &f->arena, f->pprof.pprof.data, f->pprof.pprof.len, &err),
		0);
}

/* The name of a frame of a sample. */
static const char *name_at(const struct fixture *f, uint32_t sample, uint32_t frame)
{
	const struct profile *p = &f->profile;
	const struct profile_location *l = &p->locations[p->samples[sample].locations[frame]];

	return p->functions[l->lines[0].function].name.data;
}

TEST(test_a_whole_stack_has_its_frames_only)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	add(&f, JAVA_STACK_DEPTH - 1, false);
	finish(&f);
	assert_int_equal(f.profile.n_samples, 1);
	assert_int_equal(f.profile.samples[0].n_locations, JAVA_STACK_DEPTH - 1);
	assert_string_equal(name_at(&f, 0, JAVA_STACK_DEPTH - 2), "a.B.c");
}

TEST(test_missing_roots_are_marked)
{
	static const struct {
		size_t n_frames, n_kept;
		bool truncated;
	} cases[] = {
		{2, 2, true},
		{JAVA_STACK_DEPTH, JAVA_STACK_DEPTH, false},
		{JFR_STACK_DEPTH_MAX, STACK_PROFILE_DEPTH_MAX - 1, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(teardown) struct fixture f;
		uint32_t n = (uint32_t)cases[i].n_kept;

		setup(&f);
		add(&f, cases[i].n_frames, cases[i].truncated);
		finish(&f);
		assert_int_equal(f.profile.samples[0].n_locations, n + 1);
		assert_string_equal(name_at(&f, 0, n - 1), "a.B.c");
		assert_string_equal(name_at(&f, 0, n), "[truncated]");
		assert_int_equal(f.profile.samples[0].values[0], 10000000);
	}
}
