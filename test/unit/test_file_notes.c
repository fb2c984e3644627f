#include <errno.h>

#include "node-agent/target/program_file_cache.h"
#include "test/lib/unit.h"

TEST(a_note_is_found_by_its_key_alone)
{
	struct file_notes n = {0};

	assert_int_equal(file_notes_get(&n, 0), 0);
	for (uint64_t key = 0; key < 10; key++)
		file_notes_add(&n, key, (uint8_t)(key + 1));
	for (uint64_t key = 0; key < 10; key++)
		assert_int_equal(file_notes_get(&n, key), key + 1);
	assert_int_equal(file_notes_get(&n, 10), 0);
	file_notes_clear(&n);
	assert_int_equal(file_notes_get(&n, 0), 0);
}

TEST(no_more_notes_than_the_limit_are_kept)
{
	struct file_notes n = {0};

	for (uint64_t key = 0; key < 10 * FILE_NOTES_MAX; key++)
		file_notes_add(&n, key, 1);
	for (uint64_t key = 0; key < 10 * FILE_NOTES_MAX; key++)
		assert_int_equal(file_notes_get(&n, key), key >= 9 * FILE_NOTES_MAX ? 1 : 0);
	file_notes_clear(&n);
}

static int add_one(void *arg)
{
	struct file_notes n = {0};
	bool kept;

	(void)arg;
	file_notes_add(&n, 5, 1);
	kept = file_notes_get(&n, 5) == 1;
	file_notes_clear(&n);
	return kept ? 0 : -ENOMEM;
}

TEST(a_note_without_memory_is_not_kept)
{
	check_oom(add_one, NULL);
}
