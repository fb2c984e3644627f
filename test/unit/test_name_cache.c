#include "node-agent/interpreter/process/name_cache.h"

#include <errno.h>

#include "test/lib/unit.h"

static const struct cached_name name = {"Worker.run", "/srv/app.py", 12, 10, 0};

TEST(a_frame_is_known_by_its_process_its_code_and_its_place)
{
	struct process_snapshot s = {.pid = 7, .start_time = 100, .start_stack = 0x7ff0};
	struct interpreter_frame f = {.code = 0x1000, .check = 5, .at = 20};
	uint64_t key = name_cache_key(&s, &f);

	assert_int_equal(name_cache_key(&s, &f), key);
	f.at++;
	assert_int_not_equal(name_cache_key(&s, &f), key);
	f.at--;
	f.check++;
	assert_int_not_equal(name_cache_key(&s, &f), key);
	f.check--;
	s.start_stack++; /* it executes another program */
	assert_int_not_equal(name_cache_key(&s, &f), key);
}

TEST(names_are_kept_and_why_there_are_none)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	const struct cached_name lost = {"", "", 0, 0, -ESRCH};
	struct cached_name found;

	assert_int_equal(name_cache_new(&c, 100, 1000), 0);
	assert_false(name_cache_find(c, 1, &found));
	assert_int_equal(name_cache_add(c, 1, &name), 0);
	assert_int_equal(name_cache_add(c, 2, &lost), 0);
	assert_true(name_cache_find(c, 1, &found));
	assert_string_equal(found.function, "Worker.run");
	assert_string_equal(found.file, "/srv/app.py");
	assert_int_equal(found.line, 12);
	assert_int_equal(found.start_line, 10);
	assert_int_equal(found.error, 0);
	assert_true(name_cache_find(c, 2, &found));
	assert_int_equal(found.error, -ESRCH);
	/* what is known stays as it is */
	assert_int_equal(name_cache_add(c, 1, &lost), 0);
	assert_int_equal(name_cache_count(c), 2);
}

TEST(what_could_not_be_read_is_tried_again_in_the_next_interval)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	const struct cached_name lost = {"", "", 0, 0, -EBADMSG}, hidden = {"", "", 0, 0, -ENODATA};
	struct cached_name found;

	assert_int_equal(name_cache_new(&c, 100, 1000), 0);
	assert_int_equal(name_cache_add(c, 1, &name), 0);
	assert_int_equal(name_cache_add(c, 2, &lost), 0);
	assert_int_equal(name_cache_add(c, 3, &hidden), 0);
	assert_true(name_cache_end_cycle(c));
	assert_true(name_cache_find(c, 1, &found));
	assert_string_equal(found.function, "Worker.run");
	assert_false(name_cache_find(c, 2, &found));
	assert_true(name_cache_find(c, 3, &found));
	assert_false(name_cache_end_cycle(c));
}

TEST(another_try_replaces_what_could_not_be_read)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	const struct cached_name lost = {"", "", 0, 0, -ESTALE};
	struct cached_name found;

	assert_int_equal(name_cache_new(&c, 2, 1000), 0);
	assert_int_equal(name_cache_add(c, 1, &lost), 0);
	assert_int_equal(name_cache_add(c, 1, &lost), 0);
	assert_int_equal(name_cache_add(c, 1, &name), 0);
	assert_int_equal(name_cache_count(c), 1);
	assert_true(name_cache_find(c, 1, &found));
	assert_int_equal(found.error, 0);
	assert_string_equal(found.function, "Worker.run");
	assert_false(name_cache_end_cycle(c)); /* nothing is left that has failed */
}

TEST(that_a_frame_is_native_or_not_to_be_shown_is_no_failure)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	const struct cached_name native = {"", "", 0, 0, -ENXIO}, hidden = {"", "", 0, 0, -ENODATA};
	struct cached_name found;

	assert_int_equal(name_cache_new(&c, 10, 1000), 0);
	assert_int_equal(name_cache_add(c, 1, &native), 0);
	assert_int_equal(name_cache_add(c, 2, &hidden), 0);
	assert_false(name_cache_end_cycle(c));
	assert_true(name_cache_find(c, 1, &found));
	assert_int_equal(found.error, -ENXIO);
	assert_true(name_cache_find(c, 2, &found));
	assert_int_equal(found.error, -ENODATA);
	/* nor is it replaced */
	assert_int_equal(name_cache_add(c, 1, &name), 0);
	assert_true(name_cache_find(c, 1, &found));
	assert_int_equal(found.error, -ENXIO);
}

/* A request has ended before its script's frame was read; the next one is at the same address. */
TEST(a_function_that_was_read_once_names_its_other_places)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	const struct process_snapshot s = {.pid = 1}, other = {.pid = 2};
	const struct cached_name lost = {"", "", 0, 0, -ESTALE};
	const struct interpreter_frame f = {.code = 64, .check = 7, .at = 1},
				       late = {.code = 64, .check = 7, .at = 2},
				       never = {.code = 64, .check = 7, .at = 3},
				       replaced = {.code = 64, .check = 8, .at = 1};
	struct cached_name found;

	assert_int_equal(name_cache_new(&c, 100, 1000), 0);
	assert_int_equal(name_cache_add_frame(c, &s, &late, &lost), 0);
	assert_true(name_cache_find_frame(c, &s, &late, &found));
	assert_int_equal(found.error, -ESTALE);
	assert_int_equal(name_cache_add_frame(c, &s, &f, &name), 0);
	assert_true(name_cache_find_frame(c, &s, &f, &found));
	assert_int_equal(found.line, name.line);
	assert_true(name_cache_find_frame(c, &s, &late, &found));
	assert_string_equal(found.function, "Worker.run");
	assert_int_equal(found.line, name.start_line);
	assert_true(name_cache_find_frame(c, &s, &never, &found));
	assert_false(name_cache_find_frame(c, &s, &replaced, &found));
	assert_false(name_cache_find_frame(c, &other, &f, &found));
}

/* Without a check, another function may be there by now. */
TEST(a_function_without_a_check_names_one_place)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	const struct process_snapshot s = {.pid = 1};
	const struct interpreter_frame f = {.code = 64, .at = 1}, late = {.code = 64, .at = 2};
	struct cached_name found;

	assert_int_equal(name_cache_new(&c, 100, 1000), 0);
	assert_int_equal(name_cache_add_frame(c, &s, &f, &name), 0);
	assert_true(name_cache_find_frame(c, &s, &f, &found));
	assert_false(name_cache_find_frame(c, &s, &late, &found));
}

TEST(a_place_that_others_are_inlined_at_is_not_that_of_the_function_alone)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	const struct process_snapshot s = {.pid = 7, .start_time = 100, .start_stack = 0x7ff0};
	const struct interpreter_frame f = {.code = 0x1000, .check = 5, .at = 20};
	const struct interpreter_frame late = {.code = 0x1000, .check = 5, .at = 30};
	struct interpreter_frame caller = f;
	struct cached_name inlined = name, found;

	caller.level = 1;
	inlined.n_callers = 1;
	inlined.is_root = true;
	assert_int_equal(name_cache_new(&c, 100, 1000), 0);
	assert_int_equal(name_cache_add_frame(c, &s, &f, &inlined), 0);
	assert_int_equal(name_cache_add_frame(c, &s, &caller, &name), 0);
	assert_true(name_cache_find_frame(c, &s, &f, &found));
	assert_int_equal(found.n_callers, 1);
	assert_true(found.is_root);
	assert_true(name_cache_find_frame(c, &s, &caller, &found));
	assert_int_equal(found.n_callers, 0);
	assert_false(name_cache_find_frame(c, &s, &late, &found));
}

TEST(limits_are_kept)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL, *texts = NULL;

	assert_int_equal(name_cache_new(&c, 2, 1000), 0);
	assert_int_equal(name_cache_add(c, 1, &name), 0);
	assert_int_equal(name_cache_add(c, 2, &name), 0);
	assert_int_equal(name_cache_add(c, 3, &name), -ENOBUFS);
	assert_int_equal(name_cache_new(&texts, 100, 15), 0);
	assert_int_equal(name_cache_add(texts, 1, &name), -ENOBUFS);
}

TEST(a_full_cache_forgets_what_two_intervals_did_without)
{
	CLEANUP(name_cache_freep) struct name_cache *c = NULL;
	struct cached_name found;

	assert_int_equal(name_cache_new(&c, 10, 1000), 0);
	for (uint64_t key = 1; key <= 4; key++)
		assert_int_equal(name_cache_add(c, key, &name), 0);
	assert_false(name_cache_end_cycle(c)); /* it is not filling */
	for (uint64_t key = 5; key <= 8; key++)
		assert_int_equal(name_cache_add(c, key, &name), 0);
	assert_true(name_cache_find(c, 2, &found));
	assert_true(name_cache_end_cycle(c));
	assert_int_equal(name_cache_count(c), 8);
	assert_true(name_cache_end_cycle(c));
	assert_int_equal(name_cache_count(c), 5);
	assert_false(name_cache_find(c, 1, &found));
	assert_true(name_cache_find(c, 2, &found));
	assert_string_equal(found.function, "Worker.run");
	assert_true(name_cache_bytes(c) > 0);
}
