#include <errno.h>

#include "node-agent/record/record_report.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define F(s)                       \
	{                          \
		(s), sizeof(s) - 1 \
	}

static const struct made_sample none[] = {{{1}, 1, {1, 1}}};

static struct record_type type_of(struct arena *arena, const char *types)
{
	struct profile p = made_profile(arena, types, none, 1);
	struct record_type type;

	record_type_find(&p, &type);
	return type;
}

TEST(the_type_that_people_look_at_is_shown)
{
	CLEANUP(arena_fini) struct arena arena;
	char text[FLAME_SVG_VALUE_BYTES];
	struct record_type type;

	arena_init(&arena, 1 << 20);
	type = type_of(&arena, "samples/count cpu/nanoseconds");
	assert_int_equal(type.index, 1);
	assert_true(type.is_cpu);
	type.format(1234567890, text);
	assert_string_equal(text, "1.23 s");
	type = type_of(&arena, "go_runtime:heap_inuse_objects:count/count "
			       "go_runtime:heap_inuse_space:bytes/bytes");
	type.format(3 << 20, text);
	assert_string_equal(text, "3.0 MiB");
	type = type_of(&arena, "else/count");
	assert_int_equal(type.index, 0);
}

TEST(stacks_are_counted_by_what_became_of_them)
{
	struct profile_string comments[] = {
		{"lost:ring_full=3", 16},   {"unwind:complete=90", 18},
		{"unwind:guessed=4", 16},   {"unwind:no_table=5", 17},
		{"unwind:gone=1", 13},      {"unwind:no_table:libc.so=5", 25},
		{"unwind:seen:libc=70", 19}};
	const struct profile p = {.comments = comments, .n_comments = ARRAY_SIZE(comments)};
	struct record_stacks s;

	record_stacks_count(&p, &s);
	assert_int_equal(s.n, 100);
	assert_int_equal(s.n_cut, 6);
	assert_int_equal(s.n_guessed, 4);
}

TEST(a_row_fits_into_the_terminal)
{
	static const struct flame_frame stack[] = {
		F("a_function_with_a_name_that_is_longer_than_its_place src/deep/a.c:3"),
		F("main src/main.c:0")};
	const struct flame_view_limits limits = {1000, 1000, 0};
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf out;
	struct record_type type;

	arena_init(&arena, 1 << 20);
	buf_init(&out, 10000);
	type = type_of(&arena, "samples/count cpu/nanoseconds");
	assert_int_equal(flame_tree_new(&t, NULL), 0);
	assert_int_equal(flame_tree_add(t, stack, 2, (struct stack_value){3000000000, 0}), 0);
	assert_int_equal(flame_tree_add(t, stack + 1, 1, (struct stack_value){1000000000, 0}), 0);
	assert_int_equal(flame_tree_view(t, &limits, &v), 0);
	assert_int_equal(record_report_write(&out, &v, &type, 80), 0);
	assert_string_equal(
		out.data,
		"      self               total          function\n"
		"    3.00 s   75.0%      3.00 s   75.0%  a_function_with_a_name_that_is_longer_..\n"
		"    1.00 s   25.0%      4.00 s  100.0%  main  main.c\n");
}
