#include <errno.h>

#include "common/pprof/merged_stacks.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

static const uint32_t both[] = {0, 1};

static void setup(struct arena *arena)
{
	arena_init(arena, 1 << 20);
}

static struct merged_stacks merge(const struct profile *p)
{
	struct merged_stacks m;

	assert_int_equal(merged_stacks_make(&m, p, both, 2), 0);
	return m;
}

TEST(equal_stacks_are_added_in_all_dimensions)
{
	static const struct made_sample samples[] = {
		{{1, 2}, 2, {1, 100}},
		{{3}, 1, {5, 50}},
		{{1, 2}, 2, {0, 7}},
		{{1, 2}, 2, {2, 0}},
	};
	CLEANUP(arena_fini) struct arena arena;
	struct merged_stacks m;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", samples, ARRAY_SIZE(samples));
	m = merge(&p);
	assert_int_equal(m.n, 2);
	assert_int_equal(m.stacks[0].sample, 0);
	assert_int_equal(m.stacks[1].sample, 1);
	assert_int_equal(m.values[0], 3);
	assert_int_equal(m.values[1], 107);
	assert_int_equal(m.values[2], 5);
	assert_int_equal(m.values[3], 50);
}

TEST(other_columns_are_not_read)
{
	static const struct made_sample samples[] = {{{1}, 1, {-1, 5}}, {{1}, 1, {-1, 6}}};
	static const uint32_t second[] = {1};
	CLEANUP(arena_fini) struct arena arena;
	struct merged_stacks m;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", samples, ARRAY_SIZE(samples));
	assert_int_equal(merged_stacks_make(&m, &p, second, 1), 0);
	assert_int_equal(m.n, 1);
	assert_int_equal(m.values[0], 11);
}

TEST(order_depth_and_leaf_make_stacks_differ)
{
	static const struct made_sample samples[] = {
		{{1, 2}, 2, {1}}, {{2, 1}, 2, {1}},    {{1}, 1, {1}},
		{{2}, 1, {1}},    {{1, 1}, 2, {1}},    {{1, 1, 1}, 3, {1}},
		{{0}, 0, {1}},    {{1, 2, 3}, 3, {1}}, {{1, 3, 2}, 3, {1}},
	};
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", samples, ARRAY_SIZE(samples));
	assert_int_equal(merge(&p).n, ARRAY_SIZE(samples));
}

TEST(name_file_and_line_are_what_counts_and_not_the_address)
{
	static const struct made_sample samples[] = {
		{{0}, 1, {1}}, {{1}, 1, {1}}, {{2}, 1, {1}}, {{3}, 1, {1}}, {{4}, 1, {1}}};
	CLEANUP(arena_fini) struct arena arena;
	struct profile_line line;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", samples, ARRAY_SIZE(samples));
	/* 1 is another address of 0; 2, 3 and 4 differ from it in name, file and line */
	p.locations[1].lines = p.locations[0].lines;
	for (uint32_t i = 2; i < 5; i++)
		p.functions[i] = p.functions[0];
	p.functions[2].name = p.functions[9].name;
	p.functions[3].file = p.functions[9].file;
	for (uint32_t i = 2; i < 4; i++) {
		struct profile_line *l = arena_alloc(&arena, sizeof(*l));

		assert_non_null(l);
		*l = (struct profile_line){i, 10};
		p.locations[i].lines = l;
	}
	line = (struct profile_line){4, 11};
	p.locations[4].lines = &line;
	assert_int_equal(merge(&p).n, 4);
}

TEST(inlined_frames_are_frames)
{
	/* location 9 is frame 1 inlined into frame 2 */
	static const struct made_sample samples[] = {
		{{1, 2, 3}, 3, {1}}, {{9, 3}, 2, {2}}, {{2, 1, 3}, 3, {4}}};
	static const struct profile_line lines[] = {{1, 11}, {2, 12}};
	CLEANUP(arena_fini) struct arena arena;
	struct merged_stacks m;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", samples, ARRAY_SIZE(samples));
	p.locations[9] = (struct profile_location){lines, 2, 1};
	m = merge(&p);
	assert_int_equal(m.n, 2);
	assert_int_equal(m.values[0], 3);
	assert_int_equal(m.values[2], 4);
}

TEST(a_location_without_lines_is_its_address)
{
	static const struct made_sample samples[] = {{{1}, 1, {1}}, {{2}, 1, {1}}, {{3}, 1, {1}}};
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", samples, ARRAY_SIZE(samples));
	for (uint32_t i = 1; i <= 3; i++)
		p.locations[i].n_lines = 0;
	p.locations[3].address = p.locations[1].address;
	assert_int_equal(merge(&p).n, 2);
}

TEST(negative_values_are_0_and_sums_have_63_bits)
{
	static const struct made_sample negative[] = {{{1}, 1, {0, -1}}, {{1}, 1, {0, 3}}};
	static const struct made_sample large[] = {{{1}, 1, {0, INT64_MAX}}, {{1}, 1, {0, 1}}};
	static const struct made_sample just[] = {{{1}, 1, {0, INT64_MAX - 1}}, {{1}, 1, {0, 1}}};
	CLEANUP(arena_fini) struct arena arena;
	struct merged_stacks m;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", negative, 2);
	m = merge(&p);
	assert_int_equal(m.values[1], 3);
	assert_int_equal(m.losses.n[PROFILE_LOSS_NEGATIVE_VALUES], 1);
	p = made_profile(&arena, "a/count b/bytes", large, 2);
	m = merge(&p);
	assert_true(m.values[1] == INT64_MAX);
	assert_int_equal(m.losses.n[PROFILE_LOSS_CLAMPED_VALUES], 1);
	p = made_profile(&arena, "a/count b/bytes", just, 2);
	m = merge(&p);
	assert_true(m.values[1] == INT64_MAX);
	assert_false(profile_losses_any(&m.losses));
}

TEST(a_full_arena_differs_from_lack_of_memory)
{
	static const struct made_sample samples[] = {{{1}, 1, {1, 1}}};
	CLEANUP(arena_fini) struct arena arena;
	struct merged_stacks m;
	struct profile p;

	setup(&arena);
	p = made_profile(&arena, "a/count b/bytes", samples, 1);
	arena.limit_bytes = arena.used_bytes;
	p.n_samples = 1 << 20; /* never read */
	p.n_locations = 1 << 20;
	assert_int_equal(merged_stacks_make(&m, &p, both, 2), -EFBIG);
}
