#include <errno.h>

#include "node-agent/go/target/go_layouts.h"
#include "test/lib/unit.h"

static const struct file_version one = {{1, 2, 3, 4}, 5};

static void test_only_the_very_same_file_is_known(void **state)
{
	const struct file_version others[] = {
		{{9, 2, 3, 4}, 5}, {{1, 9, 3, 4}, 5}, {{1, 2, 9, 4}, 5},
		{{1, 2, 3, 9}, 5}, {{1, 2, 3, 4}, 9},
	};
	CLEANUP(go_layouts_freep) struct go_layouts *l = NULL;
	const struct go_known_file known = {false, {.entry = 77}};

	(void)state;
	assert_int_equal(go_layouts_new(&l), 0);
	assert_null(go_layouts_find(l, &one));
	assert_int_equal(go_layouts_add(l, &one, &known), 0);
	assert_non_null(go_layouts_find(l, &one));
	assert_int_equal(go_layouts_find(l, &one)->layout.entry, 77);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_null(go_layouts_find(l, &others[i]));
}

static void test_a_full_table_is_forgotten(void **state)
{
	CLEANUP(go_layouts_freep) struct go_layouts *l = NULL;
	const struct go_known_file known = {0};
	struct file_version file = one;

	(void)state;
	assert_int_equal(go_layouts_new(&l), 0);
	for (uint64_t i = 0; i < GO_LAYOUTS_MAX; i++) {
		file.id.ino = i;
		assert_int_equal(go_layouts_add(l, &file, &known), 0);
	}
	file.id.ino = 0;
	assert_non_null(go_layouts_find(l, &file));
	file.id.ino = GO_LAYOUTS_MAX;
	assert_int_equal(go_layouts_add(l, &file, &known), 0);
	assert_non_null(go_layouts_find(l, &file));
	file.id.ino = 0;
	assert_null(go_layouts_find(l, &file));
}

static void test_notes_are_those_of_the_key_or_none(void **state)
{
	struct go_file_notes n = {0};
	size_t n_kept = 0;

	(void)state;
	assert_int_equal(go_file_notes_get(&n, 0), 0);
	for (uint64_t i = 0; i < 4; i++) { /* that would all have the same place */
		assert_int_equal(go_file_notes_get(&n, 77 + i * GO_FILE_NOTES), 0);
		go_file_notes_add(&n, 77 + i * GO_FILE_NOTES, (uint8_t)(i + 1));
	}
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(go_file_notes_get(&n, 77 + i * GO_FILE_NOTES), i + 1);
	for (uint64_t key = 1000; key < 1000 + 10 * GO_FILE_NOTES; key++)
		go_file_notes_add(&n, key, (uint8_t)(key % 7 + 1));
	for (uint64_t key = 1000; key < 1000 + 10 * GO_FILE_NOTES; key++) {
		uint8_t note = go_file_notes_get(&n, key);

		assert_true(note == 0 || note == key % 7 + 1);
		n_kept += note != 0;
	}
	assert_in_range(n_kept, GO_FILE_NOTES / 2, GO_FILE_NOTES);
}

static int add_one(void *arg)
{
	CLEANUP(go_layouts_freep) struct go_layouts *l = NULL;
	const struct go_known_file known = {0};
	int r = go_layouts_new(&l);

	(void)arg;
	return r == 0 ? go_layouts_add(l, &one, &known) : r;
}

static void test_failed_allocations_are_survived(void **state)
{
	(void)state;
	check_oom(add_one, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_very_same_file_is_known),
		cmocka_unit_test(test_a_full_table_is_forgotten),
		cmocka_unit_test(test_notes_are_those_of_the_key_or_none),
		cmocka_unit_test(test_failed_allocations_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
