/*
 * Code objects that are gone when their names are read: the images of memory that the readers of
 * names are tested with, emptied behind what BPF has taken of them.
 */
#include "node-agent/interpreter/process/kept_codes.h"

#include <errno.h>

#include "node-agent/interpreter/php/php_names.h"
#include "node-agent/interpreter/python/python_names.h"
#include "test/lib/made_code.h"
#include "test/lib/php_image.h"
#include "test/lib/python_image.h"
#include "test/lib/unit.h"

#define PID 7u

static struct python_image image;
static const struct interpreter_memory memory = {python_image_read, &image};
static struct python_layout layout;
static struct interpreter_frame frame;
static struct interpreter_name name;
static struct kept_memory kept;
static const struct interpreter_memory excerpt = {kept_memory_read, &kept};

static int set_up(void **state)
{
	uint16_t texts[CHAIN_TEXTS];

	(void)state;
	python_image_fill(&image, &layout);
	frame = python_image_frame(&layout, 4);
	texts[0] = layout.code_qualname;
	texts[1] = layout.code_filename;
	texts[2] = layout.code_lines;
	kept = (struct kept_memory){made_code(PID, &frame, texts, &memory), &memory, 0};
	return 0;
}

static void check_python_name(void)
{
	assert_int_equal(python_name_read(&layout, 0, &excerpt, &frame, &name), 0);
	assert_string_equal(name.function, "Shop.pay");
	assert_string_equal(name.file, "/srv/shop.py");
	assert_int_equal(name.line, 42);
	assert_int_equal(name.start_line, 40);
}

TEST_FIXTURE(code_of_python_that_is_gone_has_its_name_and_line, set_up, NULL)
{
	check_python_name();
	memset(image.bytes, 0x55, sizeof(image.bytes));
	assert_true(python_name_read(&layout, 0, &memory, &frame, &name) < 0);
	check_python_name();
	image.n_bytes = 0;
	check_python_name();
}

TEST_FIXTURE(of_a_process_that_has_exited_names_are_read_as_well, set_up, NULL)
{
	kept.below = NULL;
	kept.error = -ESRCH;
	check_python_name();
	kept.code.n_bytes[2] = 0; /* its file was not in memory */
	assert_int_equal(python_name_read(&layout, 0, &excerpt, &frame, &name), -ESRCH);
}

TEST_FIXTURE(another_object_is_not_taken_for_what_was_kept, set_up, NULL)
{
	frame.check ^= 1;
	assert_int_equal(python_name_read(&layout, 0, &excerpt, &frame, &name), -ESTALE);
}

TEST(code_of_php_that_is_gone_has_its_name_and_line)
{
	static struct php_image php;
	const struct interpreter_memory of_php = {php_image_read, &php};
	const uint16_t texts[CHAIN_TEXTS] = {8, php_image_layout.filename, CHAIN_TEXT_AT};
	const struct interpreter_frame f = php_image_frame();

	php_image_fill(&php);
	php_image_word(&php, 16, 0); /* no class */
	kept = (struct kept_memory){made_code(PID, &f, texts, &of_php), NULL, -ESRCH};
	assert_int_equal(php_name_read(&php_image_layout, &excerpt, &f, &name), 0);
	assert_string_equal(name.function, "pay");
	assert_string_equal(name.file, "/srv/shop.php");
	assert_int_equal(name.line, 42);
}

/* What is longer than a piece. */
TEST_FIXTURE(what_goes_beyond_a_piece_is_read_if_it_is_still_the_same, set_up, NULL)
{
	uint8_t bytes[64];
	const uint64_t at = python_image_at(IMAGE_NAME), end = at + 32;

	kept.code.n_bytes[1] = 32;
	kept.code.n_bytes[0] = 0; /* pieces overlap in the image */
	assert_int_equal(interpreter_read(&excerpt, at, bytes, 32), 0);
	assert_int_equal(interpreter_read(&excerpt, at, bytes, 33), 0);
	assert_int_equal(interpreter_read(&excerpt, end, bytes, 8), 0);
	assert_memory_equal(bytes, image.bytes + IMAGE_NAME + 32, 8);
	image.bytes[IMAGE_NAME + 31] ^= 1;
	assert_int_equal(interpreter_read(&excerpt, at, bytes, 32), 0);
	assert_int_equal(interpreter_read(&excerpt, at, bytes, 33), -ESTALE);
	assert_int_equal(interpreter_read(&excerpt, end, bytes, 8), 0);
	image.n_bytes = 0;
	assert_int_equal(interpreter_read(&excerpt, at, bytes, 33), -EFAULT);
	kept.below = NULL;
	kept.error = -ESRCH;
	assert_int_equal(interpreter_read(&excerpt, at, bytes, 33), -ESRCH);
	assert_int_equal(interpreter_read(&excerpt, UINT64_MAX - 3, bytes, 8), -ESRCH);
}

TEST_FIXTURE(the_newest_of_a_process_and_a_check_word_counts, set_up, NULL)
{
	CLEANUP(kept_codes_freep) struct kept_codes *k = NULL;
	struct interpreter_frame other = frame;
	struct code_event e = kept.code;

	assert_int_equal(kept_codes_new(&k), 0);
	assert_false(kept_codes_find(k, PID, &frame, &e));
	kept_codes_add(k, &kept.code);
	kept.code.words[1][0]++;
	kept_codes_add(k, &kept.code);
	assert_true(kept_codes_find(k, PID, &frame, &e));
	assert_int_equal(e.words[1][0], kept.code.words[1][0]);
	assert_false(kept_codes_find(k, PID + 1, &frame, &e));
	other.check++;
	assert_false(kept_codes_find(k, PID, &other, &e));
	other = frame;
	other.at++; /* elsewhere in the same code */
	assert_true(kept_codes_find(k, PID, &other, &e));
	e.header.tgid = PID + 1;
	for (unsigned i = 0; i < 1000; i++)
		kept_codes_add(k, &e);
	assert_false(kept_codes_find(k, PID, &frame, &e));
}
