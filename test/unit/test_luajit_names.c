#include "test/lib/luajit_image.h"
#include "test/lib/unit.h"

static struct luajit_image image;
static struct interpreter_name name;

static int read_frame(const struct interpreter_frame *f)
{
	const struct interpreter_memory memory = {luajit_image_read, &image};

	return lua_name_read(&luajit_image_layout, &memory, f, &name);
}

static int read_called(unsigned at)
{
	const struct interpreter_frame f = luajit_image_frame(&image, at);

	return read_frame(&f);
}

static void check_name(const char *function)
{
	assert_string_equal(name.function, function);
	assert_string_equal(name.file, "/srv/shop.lua");
	assert_int_equal(name.line, LUAJIT_IMAGE_LINE);
	assert_int_equal(name.start_line, LUAJIT_IMAGE_START);
}

TEST(a_function_of_luajit_has_the_name_that_its_caller_calls_it)
{
	static const struct {
		unsigned at;
		const char *function;
	} cases[] = {
		{LUAJIT_IMAGE_FIELD, "Shop.total"},
		{LUAJIT_IMAGE_LOCAL, "burn"},
		{LUAJIT_IMAGE_UPVALUE, "up"},
		{LUAJIT_IMAGE_ADD, "__add"},
		{LUAJIT_IMAGE_ITERATOR, "for iterator"},
	};

	luajit_image_fill(&image);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_called(cases[i].at), 0);
		check_name(cases[i].function);
	}
}

TEST(a_trace_has_the_place_that_it_was_made_from)
{
	struct interpreter_frame f;

	luajit_image_fill(&image);
	f = luajit_image_frame(&image, LUAJIT_IMAGE_FIELD);
	f.at |= CHAIN_AT_TRACE;
	assert_int_equal(read_frame(&f), 0);
	check_name("(trace shop.lua:42)");
}

TEST(lines_of_long_functions_have_more_bytes)
{
	luajit_image_fill(&image);
	luajit_image_put(&image, LUAJIT_IMAGE_TOTAL + 76, 300, 4);
	luajit_image_put(&image, LUAJIT_IMAGE_LINES + 2, 260, 2);
	assert_int_equal(read_called(LUAJIT_IMAGE_FIELD), 0);
	assert_int_equal(name.line, 300);
	luajit_image_put(&image, LUAJIT_IMAGE_TOTAL + 76, 70000, 4);
	luajit_image_put(&image, LUAJIT_IMAGE_LINES + 4, 66000, 4);
	assert_int_equal(read_called(LUAJIT_IMAGE_FIELD), 0);
	assert_int_equal(name.line, 66040);
	/* a line beyond the last one */
	luajit_image_put(&image, LUAJIT_IMAGE_LINES + 4, 70001, 4);
	assert_int_equal(read_called(LUAJIT_IMAGE_FIELD), 0);
	assert_int_equal(name.line, 0);
}

TEST(a_function_that_was_stripped_has_its_first_line)
{
	luajit_image_fill(&image);
	luajit_image_put(&image, LUAJIT_IMAGE_TOTAL + 80, 0, 8);
	luajit_image_put(&image, LUAJIT_IMAGE_MAIN + 88, 0, 8);
	assert_int_equal(read_called(LUAJIT_IMAGE_UPVALUE), 0);
	assert_string_equal(name.function, "function <shop.lua:40>");
	assert_int_equal(name.line, LUAJIT_IMAGE_START);
}

TEST(another_object_at_the_address_is_noticed)
{
	struct interpreter_frame f;

	luajit_image_fill(&image);
	f = luajit_image_frame(&image, LUAJIT_IMAGE_FIELD);
	luajit_image_put(&image, LUAJIT_IMAGE_TOTAL + 72, 50, 4);
	assert_int_equal(read_frame(&f), -ESTALE);
	image.bytes[LUAJIT_IMAGE_TOTAL + 9] = 4;
	assert_int_equal(read_frame(&f), -EBADMSG);
	f.code = 0x400000;
	assert_int_equal(read_frame(&f), -EFAULT);
}
