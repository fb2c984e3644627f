#include "node-agent/interpreter/v8/v8_names.h"

#include <errno.h>

#include "test/lib/unit.h"
#include "test/lib/v8_image.h"

static struct v8_image image;
static struct v8_layout layout;
static struct interpreter_frame frame;
static struct interpreter_name name;

static int set_up(void **state)
{
	(void)state;
	v8_image_fill(&image);
	layout = v8_image_layout;
	frame = v8_image_frame(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	script_lines_fini(&image.lines);
	return 0;
}

static int read_name(void)
{
	const struct interpreter_memory memory = {v8_image_read, &image, &image.lines};

	return v8_name_read(&layout, V8_IMAGE_BASE, &memory, &frame, &name);
}

static void check_name(const char *function, uint32_t line)
{
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, function);
	assert_int_equal(name.line, line);
}

static void set_code(uint32_t kind, unsigned data, unsigned positions)
{
	memcpy(image.bytes + V8_IMAGE_CODE + 52, &kind, sizeof(kind));
	v8_image_word(&image, V8_IMAGE_CODE + 8, v8_image_object(data));
	v8_image_word(&image, V8_IMAGE_CODE + 16, v8_image_object(positions));
}

TEST_FIXTURE(bytecode_has_function_script_and_line, set_up, tear_down)
{
	check_name("total", 2);
	assert_string_equal(name.file, "/srv/shop.mjs");
	assert_int_equal(name.start_line, 2);
	assert_int_equal(name.n_callers, 0);
	frame = v8_image_frame(4);
	check_name("total", 2);
	frame = v8_image_frame(5);
	check_name("total", 3);
}

static int read_exited(void *ctx, uint64_t at, void *to, size_t n)
{
	unsigned *n_left = ctx;

	if (*n_left == 0)
		return -ESRCH;
	--*n_left;
	return v8_image_read(&image, at, to, n);
}

TEST_FIXTURE(a_process_that_has_exited_is_no_code_of_v8, set_up, tear_down)
{
	const unsigned levels[] = {0, 1, 2, 5};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		unsigned n_left = levels[i];
		const struct interpreter_memory memory = {read_exited, &n_left, &image.lines};

		frame = v8_image_frame(0);
		assert_int_equal(v8_name_read(&layout, V8_IMAGE_BASE, &memory, &frame, &name),
				 -ESRCH);
		n_left = levels[i];
		frame = (struct interpreter_frame){.at = v8_image_at(V8_IMAGE_START) + 64};
		assert_int_equal(v8_name_read(&layout, V8_IMAGE_BASE, &memory, &frame, &name),
				 -ESRCH);
	}
}

TEST_FIXTURE(optimised_code_has_the_functions_that_are_inlined_there, set_up, tear_down)
{
	frame.at = v8_image_at(V8_IMAGE_START) + 4;
	check_name("total", 2);
	assert_int_equal(name.n_callers, 0);
	frame.at = v8_image_at(V8_IMAGE_START) + 20;
	check_name("small", 4);
	assert_int_equal(name.n_callers, 1);
	frame.level = 1;
	check_name("total", 2);
	assert_int_equal(name.n_callers, 0);
	frame.level = 2;
	assert_int_equal(read_name(), -EBADMSG);
}

/* Node.js 24: what V8 would do after a call says where that is. */
TEST_FIXTURE(code_of_maglev_has_the_lines_of_its_calls, set_up, tear_down)
{
	v8_image_maglev(&image);
	frame.at = v8_image_at(V8_IMAGE_START) + 11; /* in front of the return address */
	check_name("total", 3);
	assert_int_equal(name.n_callers, 0);
	frame.at = v8_image_at(V8_IMAGE_START) + 23;
	check_name("small", 3);
	assert_int_equal(name.n_callers, 1);
	frame.level = 1;
	check_name("total", 2);
	assert_int_equal(name.n_callers, 0);
}

TEST_FIXTURE(what_is_no_call_in_code_of_maglev_is_at_the_start, set_up, tear_down)
{
	static const uint8_t others[] = {12, 23, 31, 40};

	v8_image_maglev(&image);
	/* operations do not lead there: they are those of another release */
	v8_image_word(&image, V8_IMAGE_DEOPT + 16 + 16 * 8, v8_image_integer(11));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		frame.at = v8_image_at(V8_IMAGE_START) + others[i];
		check_name("total", 2);
		assert_int_equal(name.n_callers, 0);
	}
	v8_image_word(&image, V8_IMAGE_DEOPT + 16 + 16 * 8, v8_image_integer(12));
	layout.release = 1401;
	frame.at = v8_image_at(V8_IMAGE_START) + 23;
	check_name("total", 2);
}

TEST_FIXTURE(optimised_code_says_whose_it_is, set_up, tear_down)
{
	frame = (struct interpreter_frame){.at = v8_image_at(V8_IMAGE_START) + 4};
	check_name("total", 2);
	frame.at = v8_image_at(V8_IMAGE_START) + 64;
	assert_int_equal(read_name(), -ENXIO);
}

TEST_FIXTURE(baseline_code_is_where_its_bytecode_is, set_up, tear_down)
{
	/* before the first bytecode 4 bytes of code; for each of three 8 */
	v8_image_byte_array(&image, V8_IMAGE_SPARE, "\x04\x08\x08\x08", 4);
	set_code(10, V8_IMAGE_BYTECODE, V8_IMAGE_SPARE);
	frame.at = v8_image_at(V8_IMAGE_START) + 4;
	check_name("total", 2);
	frame.at += 8; /* at 3 */
	check_name("total", 2);
	frame.at += 8; /* at 5 */
	check_name("total", 3);
	layout.n_bytecodes = 0;
	check_name("total", 2);
}

TEST_FIXTURE(a_regular_expression_is_one, set_up, tear_down)
{
	set_code(3, V8_IMAGE_DEOPT, V8_IMAGE_POSITIONS);
	frame.at = v8_image_at(V8_IMAGE_START) + 4;
	check_name("(regular expression)", 0);
}

TEST_FIXTURE(a_name_that_v8_has_inferred_has_more_of_it, set_up, tear_down)
{
	v8_image_string(&image, V8_IMAGE_SPARE, "Shop.total");
	v8_image_word(&image, V8_IMAGE_SCOPE + 64, v8_image_object(V8_IMAGE_SPARE));
	check_name("Shop.total", 2);
	v8_image_string(&image, V8_IMAGE_SPARE, "Shop.subtotal");
	check_name("total", 2);
	v8_image_string(&image, V8_IMAGE_NAME, "");
	check_name("Shop.subtotal", 2);
	v8_image_word(&image, V8_IMAGE_SCOPE + 64, 0);
	check_name("(anonymous)", 2);
}

TEST_FIXTURE(lines_are_those_that_v8_has_counted, set_up, tear_down)
{
	v8_image_type(&image, V8_IMAGE_SPARE, V8_TYPE_ARRAY);
	v8_image_word(&image, V8_IMAGE_SPARE + 8, v8_image_integer(2));
	v8_image_word(&image, V8_IMAGE_SPARE + 16, v8_image_integer(1));
	v8_image_word(&image, V8_IMAGE_SPARE + 24, v8_image_integer(5));
	v8_image_word(&image, V8_IMAGE_SCRIPT + 56, v8_image_object(V8_IMAGE_SPARE));
	check_name("total", 3);
}

TEST_FIXTURE(all_ends_of_lines_count, set_up, tear_down)
{
	frame = v8_image_frame(5);
	v8_image_string(&image, V8_IMAGE_SOURCE, "a\r\nb\rc\n\rd.......................");
	check_name("total", 5);
}

TEST_FIXTURE(strings_of_all_kinds_are_read, set_up, tear_down)
{
	static const uint16_t wide[] = {0xe9, 0x20ac, 0xd83d, 0xde00};
	uint32_t length = 9;

	v8_image_type(&image, V8_IMAGE_SPARE, V8_TYPE_CONS);
	memcpy(image.bytes + V8_IMAGE_SPARE + 12, &length, sizeof(length));
	v8_image_word(&image, V8_IMAGE_SPARE + 16, v8_image_object(V8_IMAGE_NAME));
	v8_image_word(&image, V8_IMAGE_SPARE + 24, v8_image_object(V8_IMAGE_SPARE + 64));
	v8_image_type(&image, V8_IMAGE_SPARE + 64, V8_TYPE_WIDE);
	length = 4;
	memcpy(image.bytes + V8_IMAGE_SPARE + 64 + 12, &length, sizeof(length));
	memcpy(image.bytes + V8_IMAGE_SPARE + 64 + 16, wide, sizeof(wide));
	v8_image_word(&image, V8_IMAGE_SCOPE + 48, v8_image_object(V8_IMAGE_SPARE));
	check_name("totalé€😀", 2);
	/* of itself */
	v8_image_word(&image, V8_IMAGE_SPARE + 16, v8_image_object(V8_IMAGE_SPARE));
	(void)!read_name();
}

TEST_FIXTURE(another_function_at_its_address_is_not_it, set_up, tear_down)
{
	frame.check ^= 1;
	assert_int_equal(read_name(), -ESTALE);
	frame.check = 0;
	check_name("total", 2);
}

TEST_FIXTURE(builtins_are_shown_as_native_frames, set_up, tear_down)
{
	v8_image_word(&image, V8_IMAGE_SFI + 40, v8_image_integer(0));
	assert_int_equal(read_name(), -ENXIO);
	frame.code = v8_image_at(V8_IMAGE_NAME) & ~7ULL;
	assert_int_equal(read_name(), -ENXIO);
}
