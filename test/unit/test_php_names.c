#include "node-agent/interpreter/php/php_names.h"
#include "test/lib/php_image.h"
#include "test/lib/unit.h"

static struct php_image image;
static struct interpreter_frame frame;
static struct interpreter_name name;

static int set_up(void **state)
{
	(void)state;
	php_image_fill(&image);
	frame = php_image_frame();
	return 0;
}

static int read_name(void)
{
	const struct interpreter_memory memory = {php_image_read, &image};

	return php_name_read(&php_image_layout, &memory, &frame, &name);
}

TEST_FIXTURE(a_method_has_its_class_file_and_line, set_up, NULL)
{
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, "Shop::pay");
	assert_string_equal(name.file, "/srv/shop.php");
	assert_int_equal(name.line, 42);
	assert_int_equal(name.start_line, 40);
}

TEST_FIXTURE(a_function_has_no_class, set_up, NULL)
{
	php_image_word(&image, 16, 0);
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, "pay");
}

/* The rest of its name, behind a 0, is where it was declared. */
TEST_FIXTURE(a_class_without_a_name_ends_at_the_0, set_up, NULL)
{
	php_image_string(&image, PHP_IMAGE_CLASS_NAME, 0, "class@anonymous\0/srv/a.php:3$0", 30);
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, "class@anonymous::pay");
}

TEST_FIXTURE(code_of_a_script_has_the_name_of_the_script, set_up, NULL)
{
	php_image_word(&image, 8, 0);
	frame.check = chain_check(222 << 20);
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, "shop.php");
	image.bytes[PHP_IMAGE_FUNCTION] = 4;
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, "eval");
}

TEST_FIXTURE(a_function_of_an_extension_has_no_file, set_up, NULL)
{
	image.bytes[PHP_IMAGE_FUNCTION] = 1;
	assert_int_equal(read_name(), 0);
	assert_string_equal(name.function, "Shop::pay");
	assert_string_equal(name.file, "");
	assert_int_equal(name.line, 0);
}

TEST_FIXTURE(an_instruction_of_the_engine_leaves_the_first_line, set_up, NULL)
{
	frame.at += 32;
	assert_int_equal(read_name(), 0);
	assert_int_equal(name.line, 40);
}

TEST_FIXTURE(another_function_at_the_address_is_noticed, set_up, NULL)
{
	php_image_word(&image, PHP_IMAGE_NAME + 8, 112);
	assert_int_equal(read_name(), -ESTALE);
}

TEST_FIXTURE(a_function_of_the_same_name_in_another_file_is_noticed, set_up, NULL)
{
	php_image_word(&image, PHP_IMAGE_FILE + 8, 223 << 20);
	assert_int_equal(read_name(), -ESTALE);
}

TEST_FIXTURE(one_string_alone_does_not_tell_which_function_it_is, set_up, NULL)
{
	const uint32_t checks[] = {chain_check(222 << 20), chain_check(111), 0};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		frame.check = checks[i];
		assert_int_equal(read_name(), -ESTALE);
	}
	/* a function of an extension has one */
	image.bytes[PHP_IMAGE_FUNCTION] = 1;
	frame.check = chain_check(111);
	assert_int_equal(read_name(), 0);
}

TEST_FIXTURE(what_is_no_function_has_no_name, set_up, NULL)
{
	image.bytes[PHP_IMAGE_FUNCTION] = 3;
	assert_int_equal(read_name(), -EBADMSG);
	image.bytes[PHP_IMAGE_FUNCTION] = 2;
	php_image_word(&image, PHP_IMAGE_NAME + 16, UINT64_MAX);
	assert_int_equal(read_name(), -EBADMSG);
	php_image_word(&image, 8, 3);
	frame.check = chain_check(222 << 20);
	assert_int_equal(read_name(), -EFAULT);
	frame.code = 0; /* a generator is resumed */
	assert_int_equal(read_name(), -ENODATA);
}
