#include "node-agent/interpreter/lua/lua_names.h"
#include "test/lib/lua_image.h"
#include "test/lib/unit.h"

static const char *const releases[] = {"Lua 5.1.5", "Lua 5.2.4", "Lua 5.3.6", "Lua 5.4.6",
				       "Lua 5.5.1"};

static struct lua_image image;
static struct interpreter_name name;

static int read_frame(const struct interpreter_frame *f)
{
	const struct interpreter_memory memory = {lua_image_read, &image};

	return lua_name_read(&image.release->layout, &memory, f, &name);
}

static int read_called(unsigned at)
{
	const struct interpreter_frame f = lua_image_frame(&image, at);

	return read_frame(&f);
}

static void check_name(const char *function)
{
	assert_string_equal(name.function, function);
	assert_string_equal(name.file, "/srv/shop.lua");
	assert_int_equal(name.line, LUA_IMAGE_LINE);
	assert_int_equal(name.start_line, LUA_IMAGE_START);
}

TEST(a_function_has_the_name_that_its_caller_calls_it)
{
	static const struct {
		unsigned at;
		const char *function;
	} cases[] = {
		{LUA_IMAGE_FIELD, "Shop.total"}, {LUA_IMAGE_LOCAL, "burn"},
		{LUA_IMAGE_METHOD, "total"},     {LUA_IMAGE_UPVALUE, "up"},
		{LUA_IMAGE_ADD, "__add"},        {LUA_IMAGE_ITERATOR, "for iterator"},
	};

	for (size_t r = 0; r < ARRAY_SIZE(releases); r++) {
		lua_image_fill(&image, releases[r]);
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			assert_int_equal(read_called(cases[i].at), 0);
			check_name(cases[i].function);
		}
	}
}

TEST(a_function_that_nobody_calls_by_a_name_has_its_place)
{
	for (size_t r = 0; r < ARRAY_SIZE(releases); r++) {
		struct interpreter_frame f;

		lua_image_fill(&image, releases[r]);
		f = lua_image_frame(&image, LUA_IMAGE_FIELD);
		f.at |= CHAIN_AT_TAIL;
		assert_int_equal(read_frame(&f), 0);
		check_name("function <shop.lua:40>");
		f = lua_image_frame(&image, LUA_IMAGE_FIELD);
		f.caller_at = CHAIN_AT_NATIVE;
		assert_int_equal(read_frame(&f), 0);
		check_name("function <shop.lua:40>");
		f.caller_code = f.caller_at = 0;
		assert_int_equal(read_frame(&f), 0);
		check_name("function <shop.lua:40>");
	}
}

TEST(a_c_function_has_a_name_only_by_its_caller)
{
	struct interpreter_frame f;

	lua_image_fill(&image, "Lua 5.4.6");
	f = lua_image_frame(&image, LUA_IMAGE_FIELD);
	f.code = 0x400000;
	f.at = CHAIN_AT_NATIVE;
	f.check = 0;
	assert_int_equal(read_frame(&f), 0);
	assert_string_equal(name.function, "Shop.total");
	assert_string_equal(name.file, "");
	f.caller_code = 0;
	assert_int_equal(read_frame(&f), -ENODATA);
}

TEST(code_of_a_file_has_the_name_of_the_file)
{
	for (size_t r = 0; r < ARRAY_SIZE(releases); r++) {
		lua_image_fill(&image, releases[r]);
		lua_image_put(&image, LUA_IMAGE_TOTAL + image.release->layout.first_line, 0, 4);
		assert_int_equal(read_called(LUA_IMAGE_FIELD), 0);
		assert_string_equal(name.function, "shop.lua");
		lua_image_text(&image, FILE_NAME, "=stdin");
		assert_int_equal(read_called(LUA_IMAGE_FIELD), 0);
		assert_string_equal(name.function, "stdin");
		lua_image_text(&image, FILE_NAME, "return 1");
		assert_int_equal(read_called(LUA_IMAGE_FIELD), 0);
		assert_string_equal(name.function, "[string \"return 1\"]");
	}
}

TEST(a_field_of_a_local_variable_is_named_alone)
{
	lua_image_fill(&image, "Lua 5.3.6");
	lua_image_put(&image, LUA_IMAGE_LOCALS + 8, 1, 4); /* register 0 has a name */
	lua_image_put(&image, LUA_IMAGE_LOCALS + 12, 2, 4);
	assert_int_equal(read_called(LUA_IMAGE_FIELD), 0);
	check_name("total");
}

TEST(behind_a_condition_nothing_is_known_of_a_register)
{
	lua_image_fill(&image, "Lua 5.3.6");
	/* instruction 0 jumps behind instruction 1 */
	lua_image_put(&image, LUA_IMAGE_MAIN_CODE, 30 | (0x1ffffu + 1) << 14, 4);
	assert_int_equal(read_called(LUA_IMAGE_FIELD), 0);
	check_name("function <shop.lua:40>");
}

TEST(another_function_at_the_address_is_noticed)
{
	struct interpreter_frame f;

	lua_image_fill(&image, "Lua 5.4.6");
	f = lua_image_frame(&image, LUA_IMAGE_FIELD);
	lua_image_put(&image, LUA_IMAGE_TOTAL + image.release->layout.first_line, 50, 4);
	assert_int_equal(read_frame(&f), -ESTALE);
	image.bytes[LUA_IMAGE_TOTAL + 8] = 4;
	assert_int_equal(read_frame(&f), -EBADMSG);
	f.code = 0x400000;
	assert_int_equal(read_frame(&f), -EFAULT);
}

TEST(releases_that_are_not_known_have_none)
{
	assert_null(lua_release_of("Lua 5.0.3"));
	assert_null(lua_release_of("Lua 5.3.2"));
	assert_null(lua_release_of("Lua 5.6.0"));
	assert_null(lua_release_of("LuaJIT 2.1"));
	assert_int_equal(lua_release_of("$LuaVersion: Lua 5.3.3  Copyright")->layout.minor, 3);
}
