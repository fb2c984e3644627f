#include "node-agent/interpreter/erlang/erlang_names.h"
#include "test/lib/erlang_image.h"
#include "test/lib/unit.h"

#define IN_PAY (ERLANG_IMAGE_PAY + 70)

static struct erlang_image image;
static struct interpreter_name name;

static int set_up(void **state)
{
	(void)state;
	erlang_image_fill(&image);
	return 0;
}

static int read_frame(const struct interpreter_frame *f)
{
	const struct interpreter_memory memory = {erlang_image_read, &image};

	return erlang_name_read(&erlang_image_layout, ERLANG_IMAGE_BIAS, &memory, f, &name);
}

static int read_at(unsigned place)
{
	const struct interpreter_frame f = erlang_image_frame(&image, place);

	return read_frame(&f);
}

static void check(const char *function, const char *file, uint32_t line)
{
	assert_string_equal(name.function, function);
	assert_string_equal(name.file, file);
	assert_int_equal(name.line, line);
	assert_int_equal(name.start_line, 0);
}

TEST_FIXTURE(a_function_has_its_module_arity_file_and_line, set_up, NULL)
{
	assert_int_equal(read_at(IN_PAY), 0);
	check("shop:pay/1", ERLANG_IMAGE_FILE, ERLANG_IMAGE_LINE);
	assert_int_equal(read_at(ERLANG_IMAGE_PAY + 63), 0);
	check("shop:pay/1", ERLANG_IMAGE_FILE, 41);
	assert_int_equal(read_at(ERLANG_IMAGE_SHARED - 1), 0);
	check("shop:größe/0", ERLANG_IMAGE_FILE, 50);
}

TEST_FIXTURE(where_a_function_begins_it_may_have_no_line, set_up, NULL)
{
	assert_int_equal(read_at(ERLANG_IMAGE_PAY), 0);
	check("shop:pay/1", "", 0);
	assert_int_equal(read_at(ERLANG_IMAGE_SIZE + 63), 0);
	check("shop:größe/0", "", 0);
}

TEST_FIXTURE(a_place_has_the_number_of_its_file, set_up, NULL)
{
	erlang_image_lines(&image, 4);
	erlang_image_half(&image, ERLANG_IMAGE_PLACES + 4,
			  1u << ERLANG_PLACE_FILE_SHIFT | ERLANG_IMAGE_LINE);
	erlang_image_word(&image, ERLANG_IMAGE_FILES, 0x3b);
	erlang_image_text(&image, ERLANG_IMAGE_FILES + 8, 3, "shop.hrl");
	assert_int_equal(read_at(IN_PAY), 0);
	check("shop:pay/1", "shop.hrl", ERLANG_IMAGE_LINE);
}

TEST_FIXTURE(a_module_may_have_no_lines, set_up, NULL)
{
	erlang_image_word(&image, ERLANG_IMAGE_MODULE + ERLANG_CODE_LINES, 0);
	assert_int_equal(read_at(IN_PAY), 0);
	check("shop:pay/1", "", 0);
	erlang_image_address(&image, ERLANG_IMAGE_MODULE + ERLANG_CODE_LINES, ERLANG_IMAGE_LINES);
	erlang_image_half(&image, ERLANG_IMAGE_PLACES, 0);
	assert_int_equal(read_at(IN_PAY), 0);
	check("shop:pay/1", "", 0);
}

TEST_FIXTURE(code_that_belongs_to_no_function_is_no_frame, set_up, NULL)
{
	assert_int_equal(read_at(ERLANG_IMAGE_SHARED), -ENODATA);
	assert_int_equal(read_at(ERLANG_IMAGE_MODULE), -ENODATA);
	assert_int_equal(read_at(ERLANG_IMAGE_MODULE_END), -ENODATA);
	assert_int_equal(read_at(0), -ENODATA);
}

TEST_FIXTURE(other_code_at_the_address_is_noticed, set_up, NULL)
{
	const struct interpreter_frame f = erlang_image_frame(&image, IN_PAY);

	image.bytes[IN_PAY] ^= 1;
	assert_int_equal(read_frame(&f), -ESTALE);
}

TEST_FIXTURE(tables_that_were_replaced_while_they_were_read_do_not_count, set_up, NULL)
{
	for (unsigned i = 2; i < 8; i++) {
		erlang_image_fill(&image);
		image.index_changes_at = i;
		assert_int_equal(read_at(IN_PAY), -ESTALE);
	}
}

TEST_FIXTURE(what_is_no_table_is_noticed, set_up, NULL)
{
	const unsigned n = ERLANG_IMAGE_TABLES + ERLANG_RANGES_BYTES + ERLANG_RANGES_N;

	erlang_image_word(&image, n, UINT64_MAX);
	assert_int_equal(read_at(IN_PAY), -EBADMSG);
	erlang_image_word(&image, n, 3);
	erlang_image_word(&image, ERLANG_IMAGE_MODULE, UINT64_MAX - 1);
	assert_int_equal(read_at(IN_PAY), -EBADMSG);
	erlang_image_word(&image, ERLANG_IMAGE_MODULE, 2);
	erlang_image_half(&image, ERLANG_IMAGE_CODE_INDEX, ERLANG_CODE_INDICES);
	assert_int_equal(read_at(IN_PAY), -EBADMSG);
}

TEST_FIXTURE(what_is_no_function_has_no_name, set_up, NULL)
{
	erlang_image_word(&image, ERLANG_IMAGE_PAY + ERLANG_FUNCTION_ARITY, 256);
	assert_int_equal(read_at(IN_PAY), -EBADMSG);
	erlang_image_word(&image, ERLANG_IMAGE_PAY + ERLANG_FUNCTION_ARITY, 255);
	assert_int_equal(read_at(IN_PAY), 0);
	assert_string_equal(name.function, "shop:pay/255");
	erlang_image_word(&image, ERLANG_IMAGE_PAY + ERLANG_FUNCTION_NAME, 0x2f);
	assert_int_equal(read_at(IN_PAY), -EBADMSG);
	assert_string_equal(name.function, "");
}

/* Its cells may lie anywhere, also at the end of memory. */
TEST_FIXTURE(a_files_name_is_a_list, set_up, NULL)
{
	image.n_bytes = ERLANG_IMAGE_CELLS + strlen(ERLANG_IMAGE_FILE) * 16;
	assert_int_equal(read_at(IN_PAY), 0);
	check("shop:pay/1", ERLANG_IMAGE_FILE, ERLANG_IMAGE_LINE);
	image.n_bytes--;
	assert_int_equal(read_at(IN_PAY), 0);
	check("shop:pay/1", "", 0);
	erlang_image_fill(&image);
	/* without an end */
	erlang_image_address(&image, ERLANG_IMAGE_CELLS + 8, ERLANG_IMAGE_CELLS + ERLANG_LIST);
	assert_int_equal(read_at(IN_PAY), 0);
	assert_int_equal(strlen(name.file), INTERPRETER_FILE_BYTES - 1);
	/* with something else */
	erlang_image_word(&image, ERLANG_IMAGE_CELLS, erlang_image_term(ERLANG_IMAGE_SHOP));
	assert_int_equal(read_at(IN_PAY), 0);
	check("shop:pay/1", "", 0);
}

/* Cells are at multiples of 8 bytes: one may begin where others that were read have ended. */
TEST_FIXTURE(a_list_goes_anywhere, set_up, NULL)
{
	static const unsigned seconds[] = {31 * 16 + 8, 31 * 16, 32 * 16, 8, (unsigned)-8};

	for (size_t i = 0; i < ARRAY_SIZE(seconds); i++) {
		unsigned second = ERLANG_IMAGE_CELLS + seconds[i];

		erlang_image_fill(&image);
		erlang_image_word(&image, ERLANG_IMAGE_CELLS,
				  (uint64_t)'a' << ERLANG_SMALL_SHIFT | ERLANG_SMALL);
		erlang_image_address(&image, ERLANG_IMAGE_CELLS + 8, second + ERLANG_LIST);
		if (seconds[i] > 8 && seconds[i] < ERLANG_IMAGE_BYTES) {
			erlang_image_word(&image, second,
					  (uint64_t)'b' << ERLANG_SMALL_SHIFT | ERLANG_SMALL);
			erlang_image_word(&image, second + 8, 0x3b);
		}
		assert_int_equal(read_at(IN_PAY), 0);
		if (seconds[i] > 8 && seconds[i] < ERLANG_IMAGE_BYTES)
			check("shop:pay/1", "ab", ERLANG_IMAGE_LINE);
		else
			check("shop:pay/1", "", 0);
	}
}
