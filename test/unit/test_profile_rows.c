#include <errno.h>

#include "cluster-agent/ingest/profile_rows.h"
#include "common/data/hash.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define S ((int64_t)NS_PER_S)
#define NOW (INT64_C(1700000000) * S)
#define TEXT(s)                    \
	{                          \
		(s), sizeof(s) - 1 \
	}

static const struct profile_rows_limits limits = {
	.now_ns = NOW,
	.max_age_ns = 7 * 86400 * S,
	.max_hash_bytes = 1 << 20,
};

/* Two functions, three locations: work, main, and main with work inlined. */
static struct profile_function functions[] = {
	{TEXT("work"), TEXT("w.c")},
	{TEXT("main loop"), TEXT("")},
	{TEXT("[truncated]"), TEXT("")},
};
static struct profile_line lines[] = {{0, 7}, {1, 0}, {0, -1}, {1, 12}, {2, 0}};
static struct profile_location locations[] = {
	{&lines[0], 1, 0}, {&lines[1], 1, 0}, {&lines[2], 2, 0},
	{&lines[4], 1, 0}, {NULL, 0, 0xffff}, /* no symbol */
};
static const uint32_t plain[] = {0, 1};
static const uint32_t inlined[] = {2};
static const uint32_t cut[] = {0, 3};
static const uint32_t nameless[] = {4};

struct fixture {
	struct arena arena;
	struct profile_value_type types[2];
	struct profile_sample samples[8];
	int64_t values[8][2];
	struct profile profile;
};

static void sample(struct fixture *f, const uint32_t *stack, uint32_t n, int64_t a, int64_t b)
{
	uint32_t i = f->profile.n_samples++;

	f->values[i][0] = a;
	f->values[i][1] = b;
	f->samples[i] = (struct profile_sample){stack, n, f->values[i]};
}

static void setup(struct fixture *f)
{
	*f = (struct fixture){
		.types = {{TEXT("ebpf:cpu:nanoseconds"), TEXT("nanoseconds")},
			  {TEXT("go:heap_inuse_space:bytes"), TEXT("bytes")}},
		.profile = {.n_types = 2,
			    .functions = functions,
			    .n_functions = ARRAY_SIZE(functions),
			    .locations = locations,
			    .n_locations = ARRAY_SIZE(locations),
			    .time_ns = NOW - S,
			    .duration_ns = 10 * S},
	};
	arena_init(&f->arena, 1 << 20);
	f->profile.arena = &f->arena;
	f->profile.types = f->types;
	f->profile.samples = f->samples;
}

static void teardown(struct fixture *f)
{
	arena_fini(&f->arena);
}

static uint64_t hash_of(const char *text)
{
	return fnv1a64(FNV1A64_INIT, text, strlen(text));
}

static void assert_frames(const struct profile_rows *r, uint32_t stack, const char *expected)
{
	struct row_text frames[8];
	char text[256] = "";
	size_t n, at = 0;

	assert_true(r->max_frames <= ARRAY_SIZE(frames));
	n = profile_rows_frames(r, stack, frames);
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s;", (int)frames[i].len,
				       frames[i].data);
	assert_string_equal(text, expected);
}

TEST(frames_are_leaf_first_and_hash_as_coroot_does)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	sample(&f, plain, 2, 5, 0);
	sample(&f, inlined, 1, 6, 1);
	sample(&f, nameless, 1, 7, 1);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_stacks, 3);
	assert_frames(&r, 0, "work w.c:7;main loop :0;");
	assert_frames(&r, 1, "work w.c:-1:inlined;main loop :12;");
	assert_frames(&r, 2, "");
	assert_true(r.stacks[0].hash == hash_of("work w.c:7main loop :0"));
	assert_true(r.stacks[1].hash == hash_of("work w.c:-1:inlinedmain loop :12"));
	assert_true(r.stacks[2].hash == UINT64_C(14695981039346656037));
	assert_true(r.window.end_ns == NOW - S && r.window.start_ns == NOW - 11 * S);
}

TEST(a_known_stack_has_its_hash_and_need_not_be_sent)
{
	static const uint32_t outer[] = {0}, both[] = {0, 1};
	CLEANUP(seen_stacks_freep) struct seen_stacks *seen = NULL;
	CLEANUP(teardown) struct fixture f;
	struct profile_rows_known a = {.service = TEXT("/a")}, b = {.service = TEXT("/b")};
	struct profile_rows first, again, other;
	struct seen_stack stack;

	assert_int_equal(seen_stacks_new(&seen, 8), 0);
	a.seen = b.seen = seen;
	setup(&f);
	sample(&f, outer, 1, 5, 0);
	sample(&f, both, 2, 6, 1);
	assert_int_equal(profile_rows_make(&first, &f.profile, &limits, &a, NULL), 0);
	assert_false(first.stacks[0].known || first.stacks[1].known);
	stack = (struct seen_stack){first.stacks[1].key, first.stacks[1].hash};
	seen_stacks_add(seen, &stack, 1, NOW);

	assert_int_equal(profile_rows_make(&again, &f.profile, &limits, &a, NULL), 0);
	assert_int_equal(again.n_stacks, 2);
	assert_false(again.stacks[0].known);
	assert_true(again.stacks[1].known);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(again.stacks[i].hash == first.stacks[i].hash);
	assert_int_equal(profile_rows_make(&other, &f.profile, &limits, &b, NULL), 0);
	assert_false(other.stacks[1].known);
	assert_true(other.stacks[1].hash == first.stacks[1].hash);

	/* the hash is not computed again: whatever the cache has is taken */
	stack.hash = 42;
	seen_stacks_add(seen, &stack, 1, NOW);
	assert_int_equal(profile_rows_make(&again, &f.profile, &limits, &a, NULL), 0);
	assert_true(again.stacks[1].hash == 42);
}

/* The same frames, once with a location in between that has none. */
TEST(a_stack_is_known_however_its_frames_are_distributed)
{
	static struct profile_location two_ways[] = {
		{&lines[0], 1, 0}, {&lines[1], 1, 0}, {NULL, 0, 0}};
	static const uint32_t with_empty[] = {0, 2, 1};
	CLEANUP(seen_stacks_freep) struct seen_stacks *seen = NULL;
	CLEANUP(teardown) struct fixture f;
	struct profile_rows_known known = {.service = TEXT("/a")};
	struct seen_stack stack;
	struct profile_rows r;

	assert_int_equal(seen_stacks_new(&seen, 8), 0);
	known.seen = seen;
	setup(&f);
	f.profile.locations = two_ways;
	f.profile.n_locations = ARRAY_SIZE(two_ways);
	sample(&f, plain, 2, 5, 0);
	sample(&f, with_empty, 3, 6, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(profile_rows_make(&r, &f.profile, &limits, &known, NULL), 0);
		assert_int_equal(r.n_stacks, 1);
		assert_true(r.types[0].sum == 11);
		assert_int_equal(r.stacks[0].known, i);
		stack = (struct seen_stack){r.stacks[0].key, r.stacks[0].hash};
		seen_stacks_add(seen, &stack, 1, NOW);
	}
}

TEST(a_call_that_is_inlined_makes_another_stack)
{
	static struct profile_line inlined_lines[] = {{0, 7}, {0, 8}, {1, 0}};
	static struct profile_location two_ways[] = {
		{&lines[0], 1, 0}, {&lines[1], 1, 0}, {inlined_lines, 3, 0}};
	static const uint32_t one[] = {2};
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	f.profile.locations = two_ways;
	f.profile.n_locations = ARRAY_SIZE(two_ways);
	sample(&f, plain, 2, 5, 0);
	sample(&f, one, 1, 6, 1);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_stacks, 2);
	assert_frames(&r, 0, "work w.c:7;main loop :0;");
	assert_frames(&r, 1, "work w.c:7:inlined;work w.c:8:inlined;main loop :0;");
}

TEST(equal_stacks_are_merged_per_type)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	sample(&f, plain, 2, 5, 100);
	sample(&f, inlined, 1, 1, 0);
	sample(&f, plain, 2, 7, 11);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_stacks, 2);
	assert_int_equal(r.n_types, 2);
	assert_int_equal(r.types[0].values[0], 12);
	assert_int_equal(r.types[0].values[1], 1);
	assert_int_equal(r.types[1].values[0], 111);
	assert_true(profile_rows_has(&r.types[1], 0));
	assert_false(profile_rows_has(&r.types[1], 1));
}

TEST(a_type_without_values_still_has_one_row)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	sample(&f, plain, 2, 5, 0);
	sample(&f, inlined, 1, 5, 0);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_true(profile_rows_has(&r.types[1], 0));
	assert_false(profile_rows_has(&r.types[1], 1));

	f.profile.n_samples = 0;
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_stacks, 1);
	assert_true(r.stacks[0].hash == UINT64_C(14695981039346656037));
	assert_frames(&r, 0, "");
	assert_true(profile_rows_has(&r.types[0], 0));
}

TEST(a_nameless_type_is_skipped)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	f.types[0].type = (struct profile_string)TEXT("");
	sample(&f, plain, 2, 5, 8);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_types, 1);
	assert_string_equal(r.types[0].type.data, "go:heap_inuse_space:bytes");
	assert_int_equal(r.types[0].values[0], 8);
}

TEST(observations_are_values_by_period)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	f.profile.period = 10101010;
	f.profile.period_type = (struct profile_value_type){TEXT("cpu"), TEXT("nanoseconds")};
	sample(&f, plain, 2, INT64_C(10101010) * 7, 5);
	sample(&f, cut, 2, INT64_C(10101010) * 3, 5);
	sample(&f, inlined, 1, 0, 5);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.types[0].n_samples, 10);
	assert_int_equal(r.types[0].n_truncated, 3);
	assert_int_equal(r.types[0].sum, INT64_C(10101010) * 10);
	/* the period has another unit, so the samples of the pprof are counted */
	assert_int_equal(r.types[1].n_samples, 3);
	assert_int_equal(r.types[1].n_truncated, 1);
}

TEST(losses_come_from_the_comments)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_string comments[] = {
		TEXT("lost:ring_full=12"), TEXT("hello"),  TEXT("lost:=3"),
		TEXT("lost:x=y"),          TEXT("lost:x"), TEXT("lost:no_stack=0")};
	struct profile_rows r;

	setup(&f);
	f.profile.comments = comments;
	f.profile.n_comments = ARRAY_SIZE(comments);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_lost, 2);
	assert_memory_equal(r.lost[0].name.data, "ring_full", r.lost[0].name.len);
	assert_int_equal(r.lost[0].count, 12);
	assert_int_equal(r.lost[1].count, 0);
}

TEST(states_of_programs_come_from_the_comments)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_string comments[50] = {
		TEXT("runtime:java:profiled=3"),
		TEXT("runtime:java:off=0"),
		TEXT("runtime:java=1"),
		TEXT("runtime:java:<b>=1"),
		TEXT("runtime:java:a:b=1"),
		TEXT("runtime:java:=1"),
		TEXT("runtime::off=1"),
		TEXT("runtime:java:profiled=4"),
		TEXT("runtime:java:off=1000001"),
		TEXT("runtime:java:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1"),
	};
	char many[40][32];
	struct profile_rows r;

	setup(&f);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		comments[10 + i] =
			(struct profile_string){many[i], (size_t)snprintf(many[i], sizeof(many[i]),
									  "runtime:toy:s%zu=1", i)};
	f.profile.comments = comments;
	f.profile.n_comments = ARRAY_SIZE(comments);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_runtimes, PROFILE_ROWS_MAX_RUNTIMES);
	assert_int_equal(r.runtimes[0].name.len, strlen("java:profiled"));
	assert_memory_equal(r.runtimes[0].name.data, "java:profiled", r.runtimes[0].name.len);
	assert_int_equal(r.runtimes[0].count, 3);
	assert_memory_equal(r.runtimes[1].name.data, "toy:s0", 6);
}

TEST(ends_of_walks_come_from_the_comments)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_string comments[110] = {
		TEXT("unwind:no_table:lib:foo.so=3"),
		TEXT("unwind:complete=7"),
		TEXT("unwind:complete=8"),
		TEXT("unwind:none=0"),
		TEXT("unwind:Upper=1"),
		TEXT("unwind::a=1"),
		TEXT("unwind:jit:=1"),
		TEXT("unwind:=1"),
		TEXT("unwind:jit"),
		TEXT("unwind:seen:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa=1"),
	};
	char many[100][32];
	struct profile_rows r;

	setup(&f);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		comments[10 + i] =
			(struct profile_string){many[i], (size_t)snprintf(many[i], sizeof(many[i]),
									  "unwind:seen:s%zu=1", i)};
	f.profile.comments = comments;
	f.profile.n_comments = ARRAY_SIZE(comments);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.n_unwinding, PROFILE_ROWS_MAX_UNWINDING);
	assert_memory_equal(r.unwinding[0].name.data, "no_table:lib:foo.so", 19);
	assert_int_equal(r.unwinding[0].name.len, 19);
	assert_int_equal(r.unwinding[0].count, 3);
	assert_memory_equal(r.unwinding[1].name.data, "complete", r.unwinding[1].name.len);
	assert_int_equal(r.unwinding[1].count, 7);
	assert_memory_equal(r.unwinding[2].name.data, "seen:s0", r.unwinding[2].name.len);
}

static void refuses(const struct profile *p, const char *reason)
{
	struct profile_rows r;
	struct err err = {""};

	assert_int_equal(profile_rows_make(&r, p, &limits, NULL, &err), -EBADMSG);
	assert_string_equal(err.msg, reason);
}

TEST(bad_types_are_refused)
{
	static const struct profile_string bad[] = {TEXT("cpu"),  TEXT("a:b"),     TEXT("a:b:c:d"),
						    TEXT("::"),   TEXT("a::c"),    TEXT(":b:c"),
						    TEXT("a:b:"), TEXT("a b:c:d"), TEXT("a:b:c\n")};
	CLEANUP(teardown) struct fixture f;

	setup(&f);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct profile_rows r;

		f.types[1].type = bad[i];
		assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), -EBADMSG);
	}
	f.types[1].type = (struct profile_string)TEXT("samples");
	refuses(&f.profile, "sample type \"samples\" is not \"source:name:unit\"");
	f.profile.n_types = 0;
	refuses(&f.profile, "no sample type has a name");
}

TEST(a_time_of_0_is_now)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	f.profile.time_ns = 0;
	f.profile.duration_ns = 2 * S;
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_true(r.window.end_ns == NOW && r.window.start_ns == NOW - 2 * S);
}

TEST(an_impossible_duration_is_ignored_and_counted)
{
	static const int64_t durations[] = {-1, INT64_MIN, INT64_MAX};
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		f.profile.time_ns = NOW;
		f.profile.duration_ns = durations[i];
		assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
		assert_true(r.window.end_ns == NOW && r.window.start_ns == NOW);
		assert_int_equal(r.losses.n[PROFILE_LOSS_BAD_TIMES], 1);
	}
}

TEST(negative_values_count_as_0)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	sample(&f, plain, 2, 5, -1);
	sample(&f, inlined, 1, 6, 3);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_int_equal(r.types[0].sum, 11);
	assert_int_equal(r.types[1].sum, 3);
	assert_int_equal(r.losses.n[PROFILE_LOSS_NEGATIVE_VALUES], 1);
}

/* The small values beside them stay as they are. */
TEST(the_largest_values_are_reduced_to_63_bits_together)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	setup(&f);
	sample(&f, plain, 2, INT64_MAX, INT64_MAX);
	sample(&f, inlined, 1, 7, 0);
	sample(&f, cut, 2, INT64_MAX, 0);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), 0);
	assert_true(r.types[0].values[0] == INT64_MAX / 4);
	assert_true(r.types[0].values[1] == 7);
	assert_true(r.types[0].values[2] == INT64_MAX / 4);
	assert_true(r.types[1].values[0] == INT64_MAX);
	assert_int_equal(r.losses.n[PROFILE_LOSS_CLAMPED_VALUES], 2);
}

TEST(text_to_hash_is_bounded)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows_limits small = limits;
	struct profile_rows r;

	setup(&f);
	sample(&f, plain, 2, 5, 1);
	small.max_hash_bytes = strlen("work w.c:7main loop :0");
	assert_int_equal(profile_rows_make(&r, &f.profile, &small, NULL, NULL), 0);
	small.max_hash_bytes--;
	assert_int_equal(profile_rows_make(&r, &f.profile, &small, NULL, NULL), -EFBIG);
	/* a profile that exceeds the arena is too large, too */
	arena_fini(&f.arena);
	arena_init(&f.arena, 512);
	assert_int_equal(profile_rows_make(&r, &f.profile, &limits, NULL, NULL), -EFBIG);
}

/* -ENOMEM would make the sender repeat for ever what can never be stored. */
TEST(a_profile_that_exceeds_the_arena_is_never_taken_for_a_lack_of_memory)
{
	static struct profile_sample samples[5000];
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;
	size_t n_fitted = 0;

	setup(&f);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		samples[i] = (struct profile_sample){plain, 2, f.values[0]};
	f.profile.samples = samples;
	f.profile.n_samples = ARRAY_SIZE(samples);
	for (size_t limit = 4096; limit < 1 << 20; limit += 4096) {
		int result;

		arena_fini(&f.arena);
		arena_init(&f.arena, limit);
		result = profile_rows_make(&r, &f.profile, &limits, NULL, NULL);
		assert_int_equal(result, n_fitted > 0 || result == 0 ? 0 : -EFBIG);
		n_fitted += result == 0;
	}
	assert_true(n_fitted > 0);
}

static int make_rows(void *arg)
{
	CLEANUP(teardown) struct fixture f;
	struct profile_rows r;

	(void)arg;
	setup(&f);
	sample(&f, plain, 2, 5, 1);
	sample(&f, inlined, 1, 5, 1);
	return profile_rows_make(&r, &f.profile, &limits, NULL, NULL);
}

TEST(survives_every_failed_allocation)
{
	check_oom(make_rows, NULL);
}
