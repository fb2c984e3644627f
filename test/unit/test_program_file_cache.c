#include <errno.h>

#include "node-agent/target/program_file_cache.h"
#include "test/lib/unit.h"

static const struct file_version one = {{1, 2, 3, 4}, 5};

TEST(only_the_same_version_of_a_file_is_found)
{
	const struct file_version others[] = {
		{{9, 2, 3, 4}, 5}, {{1, 9, 3, 4}, 5}, {{1, 2, 9, 4}, 5},
		{{1, 2, 3, 9}, 5}, {{1, 2, 3, 4}, 9},
	};
	CLEANUP(program_file_cache_freep) struct program_file_cache *l = NULL;
	const struct program_file_facts known = {false, {.entry = 77}};

	assert_int_equal(program_file_cache_new(&l), 0);
	assert_null(program_file_cache_find(l, &one));
	assert_int_equal(program_file_cache_add(l, &one, &known), 0);
	assert_non_null(program_file_cache_find(l, &one));
	assert_int_equal(program_file_cache_find(l, &one)->layout.entry, 77);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(program_file_cache_find(l, &others[i]));
}

TEST(a_full_cache_is_emptied)
{
	CLEANUP(program_file_cache_freep) struct program_file_cache *l = NULL;
	const struct program_file_facts known = {0};
	struct file_version file = one;

	assert_int_equal(program_file_cache_new(&l), 0);
	for (uint64_t i = 0; i < PROGRAM_FILE_CACHE_MAX; i++) {
		file.id.ino = i;
		assert_int_equal(program_file_cache_add(l, &file, &known), 0);
	}
	file.id.ino = 0;
	assert_non_null(program_file_cache_find(l, &file));
	file.id.ino = PROGRAM_FILE_CACHE_MAX;
	assert_int_equal(program_file_cache_add(l, &file, &known), 0);
	assert_non_null(program_file_cache_find(l, &file));
	file.id.ino = 0;
	assert_null(program_file_cache_find(l, &file));
}

static int add_one(void *arg)
{
	CLEANUP(program_file_cache_freep) struct program_file_cache *l = NULL;
	const struct program_file_facts known = {0};
	int r = program_file_cache_new(&l);

	(void)arg;
	return r == 0 ? program_file_cache_add(l, &one, &known) : r;
}

TEST(failed_allocations_are_reported)
{
	check_oom(add_one, NULL);
}
