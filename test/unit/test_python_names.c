#include "node-agent/interpreter/python/python_names.h"
#include "node-agent/interpreter/python/python_text.h"
#include "test/lib/python_image.h"
#include "test/lib/unit.h"

static struct python_image image;
static struct python_layout layout;
static struct interpreter_name name;

static int set_up(void **state)
{
	(void)state;
	python_image_fill(&image, &layout);
	return 0;
}

static int read_at(unsigned offset)
{
	const struct interpreter_memory memory = {python_image_read, &image};
	struct interpreter_frame f = python_image_frame(&layout, offset);

	return python_name_read(&layout, 0, &memory, &f, &name);
}

TEST_FIXTURE(a_frame_has_its_name_file_and_line, set_up, NULL)
{
	assert_int_equal(read_at(2), 0);
	assert_string_equal(name.function, "Shop.pay");
	assert_string_equal(name.file, "/srv/shop.py");
	assert_int_equal(name.line, 40);
	assert_int_equal(name.start_line, 40);
	assert_int_equal(read_at(4), 0);
	assert_int_equal(name.line, 42);
}

/* In front of the bytecode, or behind it: the frame is being made. */
TEST_FIXTURE(a_function_that_has_not_begun_is_at_its_first_line, set_up, NULL)
{
	assert_int_equal(read_at((unsigned)-2), 0);
	assert_int_equal(name.line, 40);
	assert_int_equal(read_at(20), 0);
	assert_int_equal(name.line, 40);
}

TEST_FIXTURE(a_table_of_lines_that_cannot_be_read_leaves_the_first_line, set_up, NULL)
{
	python_image_word(&image, IMAGE_CODE + layout.code_lines, 1);
	assert_int_equal(read_at(4), 0);
	assert_int_equal(name.line, 40);
}

/* An executable that has a copy of the library's variable. */
TEST_FIXTURE(a_type_at_another_address_is_known_by_its_name, set_up, NULL)
{
	layout.code_type += 8;
	layout.str_type += 8;
	layout.bytes_type += 8;
	assert_int_equal(read_at(4), 0);
	assert_int_equal(name.line, 42);
	python_image_type(&image, 0, "cod");
	assert_int_equal(read_at(4), -EBADMSG);
}

TEST_FIXTURE(what_is_no_code_object_has_no_name, set_up, NULL)
{
	python_image_word(&image, IMAGE_CODE + layout.object_type, layout.str_type);
	assert_int_equal(read_at(4), -EBADMSG);
	python_image_word(&image, IMAGE_CODE + layout.object_type, 3);
	assert_int_equal(read_at(4), -EBADMSG);
}

TEST_FIXTURE(another_object_at_the_address_is_noticed, set_up, NULL)
{
	python_image_word(&image, IMAGE_CODE + layout.code_check, UINT64_C(78) << 32);
	assert_int_equal(read_at(4), -ESTALE);
}

static void replace_code(struct python_image *i)
{
	if (i->n_reads == 4)
		python_image_word(i, IMAGE_CODE + layout.code_check, UINT64_C(78) << 32);
}

TEST_FIXTURE(an_object_that_is_replaced_while_it_is_read_is_noticed, set_up, NULL)
{
	image.on_read = replace_code;
	assert_int_equal(read_at(4), -ESTALE);
}

TEST_FIXTURE(code_that_the_interpreter_has_made_is_hidden, set_up, NULL)
{
	python_image_word(&image, IMAGE_CODE + layout.code_filename, python_image_at(IMAGE_NAME));
	python_image_word(&image, IMAGE_CODE + layout.code_name, python_image_at(IMAGE_NAME));
	assert_int_equal(read_at(4), -ENODATA);
}

/* Characters of 1, 2 and 4 bytes: é, 語, 𝒳, a surrogate, a control character. */
TEST_FIXTURE(text_of_all_kinds_is_utf_8, set_up, NULL)
{
	static const uint8_t latin[] = {'n', 0xe9, 7, 0x85};
	static const uint16_t wide[] = {'x', 0x8a9e, 0xd800};
	static const uint32_t wider[] = {'x', 0x1d4b3, 0x110000};
	uint8_t *at = image.bytes + IMAGE_NAME + layout.str_compact;

	python_image_word(&image, IMAGE_NAME + layout.str_length, 4);
	python_image_word(&image, IMAGE_NAME + layout.str_state, 1 << 2 | 1 << 5);
	memcpy(at, latin, sizeof(latin));
	assert_int_equal(read_at(4), 0);
	assert_string_equal(name.function, "n\xc3\xa9??");
	python_image_word(&image, IMAGE_NAME + layout.str_length, 3);
	python_image_word(&image, IMAGE_NAME + layout.str_state, 2 << 2 | 1 << 5);
	memcpy(at, wide, sizeof(wide));
	assert_int_equal(read_at(4), 0);
	assert_string_equal(name.function, "x\xe8\xaa\x9e?");
	python_image_word(&image, IMAGE_NAME + layout.str_state, 4 << 2 | 1 << 5);
	memcpy(at, wider, sizeof(wider));
	assert_int_equal(read_at(4), 0);
	assert_string_equal(name.function, "x\xf0\x9d\x92\xb3?");
	/* not compact: a pointer */
	python_image_word(&image, IMAGE_NAME + layout.str_state, 1 << 2);
	python_image_word(&image, IMAGE_NAME + layout.str_compact, python_image_at(3800));
	memcpy(image.bytes + 3800, "abc", 3);
	assert_int_equal(read_at(4), 0);
	assert_string_equal(name.function, "abc");
}

TEST_FIXTURE(lengths_that_cannot_be_cost_nothing, set_up, NULL)
{
	static const uint64_t lengths[] = {1 << 20, INT64_MAX, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		image.n_reads = 0;
		image.n_read = 0;
		python_image_word(&image, IMAGE_NAME + layout.str_length, lengths[i]);
		(void)!read_at(4);
		assert_true(strlen(name.function) < sizeof(name.function));
		assert_true(image.n_reads < 20 && image.n_read < 8192);
	}
	assert_int_equal(read_at(4), -EBADMSG);
}

TEST_FIXTURE(a_long_name_is_cut, set_up, NULL)
{
	char text[600];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	python_image_str(&image, IMAGE_FILE, &layout, text);
	python_image_word(&image, IMAGE_CODE + layout.code_qualname, python_image_at(IMAGE_FILE));
	assert_int_equal(read_at(4), 0);
	assert_int_equal(strlen(name.function), sizeof(name.function) - 1);
}

/* A thread's copy of the bytecode: {2, {its own, the copy}}. */
TEST_FIXTURE(an_instruction_may_be_in_a_copy_of_the_bytecode, set_up, NULL)
{
	const struct interpreter_memory memory = {python_image_read, &image};
	struct interpreter_frame f = python_image_frame(&layout, 0);

	layout.code_copies = 176;
	python_image_word(&image, IMAGE_CODE + 176, python_image_at(3700));
	python_image_word(&image, 3700, 2);
	python_image_word(&image, 3708, f.at);
	python_image_word(&image, 3716, 0x500000);
	f.at = 0x500004;
	assert_int_equal(python_name_read(&layout, 0, &memory, &f, &name), 0);
	assert_int_equal(name.line, 42);
	f.at = 0x600004;
	assert_int_equal(python_name_read(&layout, 0, &memory, &f, &name), 0);
	assert_int_equal(name.line, 40);
}

static int read_oom(void *arg)
{
	(void)arg;
	return read_at(4);
}

TEST_FIXTURE(survives_lack_of_memory, set_up, NULL)
{
	check_oom(read_oom, NULL);
}
