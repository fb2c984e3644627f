#include "node-agent/interpreter/ruby/ruby_names.h"
#include "test/lib/ruby_image.h"
#include "test/lib/unit.h"

static struct ruby_image image;
static struct ruby_layout layout;
static struct interpreter_frame frame;
static struct interpreter_name name;

static int set_up(void **state)
{
	(void)state;
	ruby_image_fill(&image);
	layout = ruby_image_layout;
	frame = ruby_image_frame();
	return 0;
}

static int read_name(void)
{
	const struct interpreter_memory memory = {ruby_image_read, &image};

	return ruby_name_read(&layout, RUBY_IMAGE_BASE, &memory, &frame, &name);
}

static void check_name(const char *function)
{
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, function);
}

static uint32_t line_at(unsigned index)
{
	frame.check = chain_check_at(index, ruby_image_at(RUBY_IMAGE_BODY));
	assert_int_equal(read_name(), 0);
	return name.line;
}

TEST_FIXTURE(a_block_has_the_class_and_method_that_it_is_in, set_up, NULL)
{
	check_name("block in Shop#pay");
	assert_string_equal(name.file, "/srv/shop.rb");
	assert_int_equal(name.line, 12);
	assert_int_equal(name.start_line, 9);
}

TEST_FIXTURE(code_outside_methods_keeps_its_label, set_up, NULL)
{
	frame.at = 0;
	check_name("block in pay");
	ruby_image_string(&image, RUBY_IMAGE_LABEL, "<main>");
	check_name("<main>");
	/* some do not end with the name */
	frame.at = ruby_image_at(RUBY_IMAGE_METHOD);
	check_name("<main>");
}

TEST_FIXTURE(a_method_of_a_class_itself_has_a_dot, set_up, NULL)
{
	ruby_image_word(&image, RUBY_IMAGE_METHOD + 8, ruby_image_at(RUBY_IMAGE_SINGLETON));
	check_name("block in Shop.pay");
	/* of an object that is none: its class */
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON + 32 + 96, 8);
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON + 16, ruby_image_at(RUBY_IMAGE_CLASS));
	check_name("block in Shop#pay");
}

/* The bit is another one since 3.4. */
TEST_FIXTURE(a_singleton_is_known_by_its_bit, set_up, NULL)
{
	layout.singleton = 13;
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON, 2 | 1 << 13);
	ruby_image_word(&image, RUBY_IMAGE_METHOD + 8, ruby_image_at(RUBY_IMAGE_SINGLETON));
	check_name("block in Shop.pay");
}

TEST_FIXTURE(a_module_that_is_included_has_its_own_name, set_up, NULL)
{
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON, 0x1c);
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON + 8, ruby_image_at(RUBY_IMAGE_CLASS));
	ruby_image_word(&image, RUBY_IMAGE_CLASS, 3);
	ruby_image_word(&image, RUBY_IMAGE_METHOD + 8, ruby_image_at(RUBY_IMAGE_SINGLETON));
	check_name("block in Shop#pay");
}

TEST_FIXTURE(classes_had_names_in_a_table, set_up, NULL)
{
	ruby_image_variables(&image);
	layout.class_names = RUBY_CLASS_VARIABLES;
	check_name("block in Shop#pay");
	ruby_image_word(&image, RUBY_IMAGE_METHOD + 8, ruby_image_at(RUBY_IMAGE_SINGLETON));
	check_name("block in Shop.pay");
}

TEST_FIXTURE(the_shape_of_a_class_says_where_its_name_is, set_up, NULL)
{
	ruby_image_shapes(&image);
	layout.class_names = RUBY_CLASS_SHAPES;
	check_name("block in pay"); /* the machine is not known */
	layout.machine = RUBY_IMAGE_MACHINE;
	check_name("block in Shop#pay");
	ruby_image_word(&image, RUBY_IMAGE_METHOD + 8, ruby_image_at(RUBY_IMAGE_SINGLETON));
	check_name("block in Shop.pay");
}

TEST_FIXTURE(shapes_that_lead_nowhere_end, set_up, NULL)
{
	ruby_image_shapes(&image);
	layout.class_names = RUBY_CLASS_SHAPES;
	layout.machine = RUBY_IMAGE_MACHINE;
	ruby_image_word(&image, RUBY_IMAGE_CLASS, UINT64_MAX << 32 | 2);
	check_name("block in pay");
	ruby_image_word(&image, RUBY_IMAGE_CLASS, UINT64_C(1) << 32 | 2);
	check_name("block in pay"); /* @name is no name of the class */
	/* a shape that is its own parent */
	ruby_image_word(&image, RUBY_IMAGE_SHAPES + 32 + 24, UINT64_C(1) << 32 | 1);
	check_name("block in pay");
	ruby_image_shapes(&image);
	check_name("block in Shop#pay");
	ruby_image_word(&image, RUBY_IMAGE_MACHINE + 56, 0); /* there are no shapes */
	check_name("block in pay");
}

/* 4.0: its fields begin earlier, and its superclass is among them. */
TEST_FIXTURE(a_class_of_4_0_has_its_fields_elsewhere, set_up, NULL)
{
	layout.class_names = RUBY_CLASS_BOXED;
	check_name("block in Shop#pay"); /* the name is where it was */
	ruby_image_word(&image, RUBY_IMAGE_METHOD + 8, ruby_image_at(RUBY_IMAGE_SINGLETON));
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON + 16, 0);
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON + 32, ruby_image_at(RUBY_IMAGE_CLASS));
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON + 136, 8);
	check_name("block in Shop#pay");
	ruby_image_word(&image, RUBY_IMAGE_SINGLETON + 136, ruby_image_at(RUBY_IMAGE_CLASS));
	check_name("block in Shop.pay");
}

/* define_method(:pay) { } in a class */
TEST_FIXTURE(a_method_that_is_a_block_has_its_own_name, set_up, NULL)
{
	ruby_image_string(&image, RUBY_IMAGE_BASE_LABEL, "<class:Shop>");
	ruby_image_string(&image, RUBY_IMAGE_LABEL, "block in <class:Shop>");
	ruby_image_word(&image, RUBY_IMAGE_DEFINITION, 4);
	check_name("block in Shop#pay");
}

/* The method that owned a frame is another one by now. */
TEST_FIXTURE(a_method_with_another_name_is_not_believed, set_up, NULL)
{
	ruby_image_string(&image, RUBY_IMAGE_NAME, "sell");
	check_name("block in pay");
	ruby_image_word(&image, RUBY_IMAGE_METHOD, 0x101a);
	check_name("block in pay");
	frame.at = 3;
	check_name("block in pay");
}

TEST_FIXTURE(a_c_function_has_its_class_and_no_file, set_up, NULL)
{
	frame = ruby_image_method_frame();
	check_name("Shop#pay");
	assert_string_equal(name.file, "");
	ruby_image_word(&image, RUBY_IMAGE_CLASS + 32 + 120, 0); /* it has no name */
	check_name("pay");
	frame.check++;
	assert_int_equal(read_name(), -ESTALE);
	frame.check = 0;
	layout.ids = 0;
	assert_int_equal(read_name(), -ENODATA);
}

/* Operators are numbers: "+" is 43. */
TEST_FIXTURE(an_operator_has_a_name, set_up, NULL)
{
	frame = ruby_image_method_frame();
	ruby_image_word(&image, RUBY_IMAGE_DEFINITION + 32, 43);
	ruby_image_array(&image, RUBY_IMAGE_SOME, 1024, RUBY_IMAGE_ELEMENTS - 46 * 8);
	check_name("Shop#pay");
}

TEST_FIXTURE(lines_are_those_of_the_index, set_up, NULL)
{
	assert_int_equal(line_at(1), 10);
	assert_int_equal(line_at(5), 10);
	assert_int_equal(line_at(6), 12);
	assert_int_equal(line_at(54), 12);
	assert_int_equal(line_at(60), 12);
	assert_int_equal(line_at(61), 14);
	assert_int_equal(line_at(118), 14);
	assert_int_equal(line_at(0), 9);   /* compiled code has not said where it is */
	assert_int_equal(line_at(201), 9); /* behind the code */
}

TEST_FIXTURE(the_first_line_was_an_object, set_up, NULL)
{
	layout.fixnum_line = true;
	ruby_image_word(&image, RUBY_IMAGE_BODY + 88, 9 * 2 + 1);
	assert_int_equal(read_name(), 0);
	assert_int_equal(name.start_line, 9);
}

TEST_FIXTURE(strings_may_be_short_or_elsewhere, set_up, NULL)
{
	ruby_image_string(&image, RUBY_IMAGE_LABEL, "");
	ruby_image_word(&image, RUBY_IMAGE_LABEL, 5 | 1 << 13);
	ruby_image_word(&image, RUBY_IMAGE_LABEL + 16, 4);
	ruby_image_word(&image, RUBY_IMAGE_LABEL + 24, ruby_image_at(RUBY_IMAGE_REAL + 24 + 5));
	check_name("shop");
	/* until 3.1 the length of a short one is in its flags */
	layout.string_length = false;
	frame.at = 0;
	for (unsigned at = RUBY_IMAGE_BASE_LABEL; at <= RUBY_IMAGE_REAL; at += 64) {
		ruby_image_word(&image, at, 5 | 2 << 14);
		memcpy(image.bytes + at + 16, "abc", 4);
	}
	check_name("ab");
	assert_string_equal(name.file, "ab");
}

TEST_FIXTURE(the_path_is_the_real_one_if_there_is_one, set_up, NULL)
{
	ruby_image_word(&image, RUBY_IMAGE_PATH + 24, 8); /* nil: eval() */
	check_name("block in Shop#pay");
	assert_string_equal(name.file, "shop.rb");
	ruby_image_word(&image, RUBY_IMAGE_BODY + 64, ruby_image_at(RUBY_IMAGE_FILE));
	check_name("block in Shop#pay");
	assert_string_equal(name.file, "shop.rb");
}

TEST_FIXTURE(other_code_at_the_address_is_noticed, set_up, NULL)
{
	ruby_image_word(&image, RUBY_IMAGE_CODE + 16, ruby_image_at(RUBY_IMAGE_BODY) + 16);
	assert_int_equal(read_name(), -ESTALE);
	ruby_image_word(&image, RUBY_IMAGE_CODE, 0x301a);
	assert_int_equal(read_name(), -EBADMSG);
}

TEST_FIXTURE(what_c_code_is_called_for_is_not_shown, set_up, NULL)
{
	ruby_image_word(&image, RUBY_IMAGE_CODE, 0x401a);
	assert_int_equal(read_name(), -ENODATA);
	frame.code = 0;
	assert_int_equal(read_name(), -ENODATA);
}

TEST_FIXTURE(what_is_no_object_has_no_name, set_up, NULL)
{
	ruby_image_word(&image, RUBY_IMAGE_BODY + 80, 3);
	assert_int_equal(read_name(), -EBADMSG);
	ruby_image_word(&image, RUBY_IMAGE_BODY + 80, 16);
	assert_int_equal(read_name(), -EFAULT);
	ruby_image_word(&image, RUBY_IMAGE_BODY + 80, ruby_image_at(RUBY_IMAGE_LABEL));
	ruby_image_word(&image, RUBY_IMAGE_LABEL + 16, UINT64_MAX);
	assert_int_equal(read_name(), -EBADMSG);
}
