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
