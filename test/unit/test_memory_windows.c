#include <errno.h>

#include "node-agent/target/memory_windows.h"
#include "test/lib/unit.h"

#define WORDS (MEMORY_WINDOW_BYTES / sizeof(uint64_t))
#define MEMORY_WORDS (2 * WORDS + 8) /* two windows and a part of a third */

struct fixture {
	uint64_t memory[MEMORY_WORDS];
	struct byte_source source;
	struct memory_windows *windows;
};

static int set_up(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	for (size_t i = 0; i < MEMORY_WORDS; i++)
		f->memory[i] = i;
	byte_source_from_memory(&f->source, f->memory, sizeof(f->memory));
	assert_int_equal(memory_windows_new(&f->windows), 0);
	memory_windows_begin(f->windows, &f->source, 1 << 20);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	memory_windows_free(f->windows);
	free(f);
	return 0;
}

TEST_FIXTURE(test_words_lie_in_one_window, set_up, tear_down)
{
	struct fixture *f = *state;
	const uint64_t *words = memory_windows_words(f->windows, 8 * (WORDS - 3), 3);

	assert_non_null(words);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(words[i], WORDS - 3 + i);
	assert_null(memory_windows_words(f->windows, 8 * (WORDS - 3), 4));
	words = memory_windows_words(f->windows, 8 * WORDS, WORDS);
	assert_non_null(words);
	assert_int_equal(words[WORDS - 1], 2 * WORDS - 1);
	assert_null(memory_windows_words(f->windows, 8 * WORDS, WORDS + 1));
	/* its window cannot be read whole */
	assert_null(memory_windows_words(f->windows, 8 * 2 * WORDS, 1));
}

TEST_FIXTURE(test_all_that_is_readable_is_read, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t words[MEMORY_WORDS];

	for (size_t from = 0; from < MEMORY_WORDS; from += 100) {
		for (size_t n = 1; from + n <= MEMORY_WORDS; n = n * 5 + 1) {
			memset(words, 0, sizeof(words));
			assert_int_equal(memory_windows_read(f->windows, 8 * from, words, 8 * n),
					 0);
			assert_memory_equal(words, f->memory + from, 8 * n);
			memory_windows_begin(f->windows, &f->source, 1 << 20);
		}
	}
	assert_int_equal(memory_windows_read(f->windows, 8 * (MEMORY_WORDS - 1), words, 16),
			 -ENODATA);
}

TEST_FIXTURE(test_windows_keep_old_content_and_read_now_returns_the_current, set_up, tear_down)
{
	struct fixture *f = *state;
	uint64_t word = 0;

	assert_int_equal(memory_windows_read(f->windows, 80, &word, 8), 0);
	f->memory[10] = 7;
	assert_int_equal(memory_windows_read(f->windows, 80, &word, 8), 0);
	assert_int_equal(word, 10);
	assert_int_equal(memory_windows_read_now(f->windows, 80, &word, 8), 0);
	assert_int_equal(word, 7);
	memory_windows_begin(f->windows, &f->source, MEMORY_WINDOW_BYTES);
	assert_int_equal(memory_windows_read(f->windows, 80, &word, 8), 0);
	assert_int_equal(word, 7);
	assert_int_equal(memory_windows_read(f->windows, 8 * WORDS, &word, 8), -EFBIG);
}
