#include "node-agent/interpreter/hotspot/hotspot_names.h"
#include "node-agent/interpreter/hotspot/hotspot_numbers.h"
#include "test/lib/hotspot_image.h"
#include "test/lib/unit.h"

static struct hotspot_image image;
static struct hotspot_layout layout;
static struct interpreter_name name;
static const struct interpreter_memory memory = {hotspot_image_read, &image};

static int set_up(void **state)
{
	(void)state;
	hotspot_image_fill(&image);
	layout = hotspot_image_layout;
	return 0;
}

static int read_frame(struct interpreter_frame f)
{
	return hotspot_name_read(&layout, HOTSPOT_IMAGE_BASE, &memory, &f, &name);
}

static void check_name(const char *function, const char *file, uint32_t line, uint32_t start_line)
{
	assert_string_equal(name.function, function);
	assert_string_equal(name.file, file);
	assert_int_equal(name.line, line);
	assert_int_equal(name.start_line, start_line);
}

TEST_FIXTURE(a_place_in_compiled_code_has_a_method_and_a_line, set_up, NULL)
{
	assert_int_equal(read_frame(hotspot_image_frame(10, 0)), 0);
	check_name("shop.Cart.total", "shop/Cart", 21, 20);
	assert_int_equal(name.n_callers, 0);
	assert_false(name.is_root);
}

TEST_FIXTURE(methods_that_were_inlined_are_levels_of_one_frame, set_up, NULL)
{
	assert_int_equal(read_frame(hotspot_image_frame(20, 0)), 0);
	check_name("shop.Item.price", "shop/Item", 30, 30);
	assert_int_equal(name.n_callers, 1);
	assert_int_equal(read_frame(hotspot_image_frame(20, 1)), 0);
	check_name("shop.Cart.total", "shop/Cart", 21, 20);
	assert_int_equal(read_frame(hotspot_image_frame(20, 2)), -EBADMSG);
}

TEST_FIXTURE(a_place_that_nothing_is_said_of_is_in_the_method_that_was_compiled, set_up, NULL)
{
	assert_int_equal(read_frame(hotspot_image_frame(40, 0)), 0);
	check_name("shop.Cart.total", "shop/Cart", 20, 20);
	/* scopes that do not lead to it are not believed */
	hotspot_image_address(&image, HOTSPOT_IMAGE_METADATA, HOTSPOT_IMAGE_PRICE);
	assert_int_equal(read_frame(hotspot_image_frame(20, 0)), 0);
	check_name("shop.Cart.total", "shop/Cart", 20, 20);
	assert_int_equal(name.n_callers, 0);
}

TEST_FIXTURE(scopes_that_end_nowhere_are_followed_for_a_while, set_up, NULL)
{
	image.bytes[HOTSPOT_IMAGE_SCOPES + 4] = 5; /* its caller is itself */
	assert_int_equal(read_frame(hotspot_image_frame(20, 0)), 0);
	check_name("shop.Cart.total", "shop/Cart", 20, 20);
	assert_true(image.n_reads < 1000);
}

TEST_FIXTURE(until_jdk_18_compressed_numbers_are_as_they_are, set_up, NULL)
{
	static const uint8_t scopes[] = {0, 0, 1, 4};

	layout.byte_excess = 0;
	memcpy(image.bytes + HOTSPOT_IMAGE_SCOPES, scopes, sizeof(scopes));
	assert_int_equal(read_frame(hotspot_image_frame(10, 0)), 0);
	assert_string_equal(name.function, "shop.Cart.total");
}

TEST_FIXTURE(since_jdk_25_metadata_is_behind_relocations_elsewhere, set_up, NULL)
{
	layout.blob_mutable = 64;
	layout.blob_relocations = 72;
	layout.nmethod_immutable = 80;
	layout.scopes_pointer = false;
	hotspot_image_address(&image, 64, HOTSPOT_IMAGE_METADATA - 24);
	hotspot_image_put(&image, 72, 24, 4);
	hotspot_image_address(&image, 80, HOTSPOT_IMAGE_PCS - 8);
	hotspot_image_put(&image, 40, 8, 4);
	hotspot_image_put(&image, 44, 8 + 64, 4);
	hotspot_image_put(&image, 48, 8 + 64, 4);
	assert_int_equal(read_frame(hotspot_image_frame(20, 0)), 0);
	check_name("shop.Item.price", "shop/Item", 30, 30);
}

TEST_FIXTURE(code_that_was_replaced_is_not_named, set_up, NULL)
{
	hotspot_image_put(&image, 16, HOTSPOT_IMAGE_ID + 1, 4);
	assert_int_equal(read_frame(hotspot_image_frame(10, 0)), -ESTALE);
	hotspot_image_address(&image, HOTSPOT_IMAGE_TOTAL + 8, HOTSPOT_IMAGE_PRICE_CONST);
	assert_int_equal(read_frame(hotspot_image_interpreted(0)), -ESTALE);
	hotspot_image_put(&image, HOTSPOT_IMAGE_PRICE_CONST + 16, 1, 4); /* less than its code */
	assert_int_equal(read_frame(hotspot_image_interpreted(0)), -EBADMSG);
}

TEST_FIXTURE(a_method_that_is_interpreted_has_a_line, set_up, NULL)
{
	assert_int_equal(read_frame(hotspot_image_interpreted(1)), 0);
	check_name("shop.Cart.total", "shop/Cart", 20, 20);
	assert_int_equal(read_frame(hotspot_image_interpreted(2)), 0);
	check_name("shop.Cart.total", "shop/Cart", 21, 20);
}

/* What is in the register may be no method: the one that is called has no frame yet. */
TEST_FIXTURE(a_method_that_is_about_to_be_called_is_named_if_it_is_one, set_up, NULL)
{
	struct interpreter_frame f = hotspot_image_interpreted(0);

	f.at = CHAIN_JVM_INTERPRETED;
	assert_int_equal(read_frame(f), 0);
	check_name("shop.Cart.total", "shop/Cart", 20, 20);
	f.code += 4;
	assert_int_equal(read_frame(f), -ENODATA);
}

TEST_FIXTURE(a_method_may_have_no_lines, set_up, NULL)
{
	hotspot_image_put(&image, HOTSPOT_IMAGE_TOTAL_CONST + 20, 0, 4);
	assert_int_equal(read_frame(hotspot_image_interpreted(2)), 0);
	check_name("shop.Cart.total", "shop/Cart", 0, 0);
}

TEST_FIXTURE(classes_lose_what_each_process_numbers_anew, set_up, NULL)
{
	const char text[] = "shop/Cart$$Lambda+0x00007f01", special[] = "a;b\n\xff";

	hotspot_image_address(&image, HOTSPOT_IMAGE_CART + 8,
			      hotspot_image_symbol(&image, 5, text));
	hotspot_image_symbol(&image, 0, special);
	assert_int_equal(read_frame(hotspot_image_interpreted(0)), 0);
	assert_memory_equal(name.function, "shop.Cart$$Lambda.a;b", 21);
	assert_string_equal(name.file, "shop/Cart");
}

TEST_FIXTURE(stubs_have_the_names_of_their_blobs, set_up, NULL)
{
	struct interpreter_frame f = hotspot_image_frame(0, 0);

	memcpy(image.bytes + HOTSPOT_IMAGE_KIND, "StubRoutines (1)", 17);
	assert_int_equal(read_frame(f), 0);
	check_name("StubRoutines (1)", "[jvm]", 0, 0);
	hotspot_image_word(&image, HOTSPOT_IMAGE_CALL_STUB, f.at);
	assert_int_equal(read_frame(f), 0);
	check_name("call_stub", "[jvm]", 0, 0);
	hotspot_image_word(&image, HOTSPOT_IMAGE_CALL_STUB, 0);
	memcpy(image.bytes + HOTSPOT_IMAGE_KIND, "I2C/C2I adapters(0xba)", 23);
	assert_int_equal(read_frame(f), 0);
	check_name("I2C/C2I adapters", "[jvm]", 0, 0);
	image.bytes[HOTSPOT_IMAGE_KIND] = '\0';
	assert_int_equal(read_frame(f), -EBADMSG);
}

TEST_FIXTURE(a_virtual_thread_ends_where_it_was_mounted, set_up, NULL)
{
	hotspot_image_address(&image, HOTSPOT_IMAGE_CART + 8,
			      hotspot_image_symbol(&image, 5, "jdk/internal/vm/Continuation"));
	hotspot_image_symbol(&image, 0, "enterSpecial");
	assert_int_equal(read_frame(hotspot_image_frame(10, 0)), 0);
	check_name("[virtual thread]", "[jvm]", 0, 0);
	assert_true(name.is_root);
	assert_int_equal(read_frame((struct interpreter_frame){.code = CHAIN_JVM_BARRIER}), 0);
	check_name("[virtual thread: frames in the heap]", "[jvm]", 0, 0);
	assert_true(name.is_root);
}

TEST_FIXTURE(memory_that_is_gone_is_an_error, set_up, NULL)
{
	image.n_bytes = HOTSPOT_IMAGE_SYMBOLS;
	assert_int_equal(read_frame(hotspot_image_frame(10, 0)), -EFAULT);
	assert_int_equal(read_frame(hotspot_image_interpreted(0)), -EFAULT);
}

static void check_numbers(const uint8_t *bytes, size_t n, uint8_t excess, uint32_t first,
			  uint32_t second)
{
	UNINITIALIZED struct hotspot_numbers s;

	memcpy(image.bytes, bytes, n);
	hotspot_numbers_begin(&s, &memory, HOTSPOT_IMAGE_BASE, HOTSPOT_IMAGE_BASE + n, excess);
	assert_int_equal(hotspot_numbers_read(&s), first);
	assert_int_equal(hotspot_numbers_read(&s), second);
	assert_int_equal(s.error, 0);
	assert_int_equal(hotspot_numbers_read(&s), 0);
	assert_int_equal(s.error, -ENODATA);
}

TEST_FIXTURE(numbers_have_up_to_five_bytes, set_up, NULL)
{
	static const uint8_t old[] = {191, 192, 1}, large[] = {255, 255, 255, 255, 252, 0};
	static const uint8_t new[] = {192, 1, 191};

	check_numbers(old, sizeof(old), 0, 191, 192 + (1 << 6));
	check_numbers(large, sizeof(large), 0,
		      255u + (255u << 6) + (255u << 12) + (255u << 18) + (252u << 24), 0);
	check_numbers(new, sizeof(new), 1, 191, 190);
}
