#include "node-agent/interpreter/perl/perl_names.h"
#include "test/lib/perl_image.h"
#include "test/lib/unit.h"

#define EVAL_BLOCK (PERL_CONTEXT_EVAL | PERL_CONTEXT_BLOCK_FLAG)

static struct perl_image image;
static struct perl_layout layout;
static struct interpreter_name name;

static int set_up(void **state)
{
	(void)state;
	perl_image_fill(&image);
	layout = perl_image_layout;
	return 0;
}

static int read_frame(const struct interpreter_frame *f)
{
	const struct interpreter_memory memory = {perl_image_read, &image};

	return perl_name_read(&layout, &memory, f, &name);
}

static int read_code(unsigned place)
{
	const struct interpreter_frame f = perl_image_frame(&image, place, 0);

	return read_frame(&f);
}

static int read_kind(uint64_t code)
{
	const struct interpreter_frame f = perl_image_frame(&image, PERL_IMAGE_END, code);

	return read_frame(&f);
}

static void check_place(const char *file, uint32_t line)
{
	assert_string_equal(name.file, file);
	assert_int_equal(name.line, line);
	assert_int_equal(name.start_line, 0);
}

TEST_FIXTURE(a_sub_has_its_package_file_and_line, set_up, NULL)
{
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	assert_string_equal(name.function, "Shop::pay");
	check_place("/srv/Shop.pm", PERL_IMAGE_LINE);
}

/* It has no GV as long as nothing refers to it by name. */
TEST_FIXTURE(so_has_a_sub_that_is_named_itself, set_up, NULL)
{
	assert_int_equal(read_code(PERL_IMAGE_CV), 0);
	assert_string_equal(name.function, "Shop::pay");
	check_place("/srv/Shop.pm", PERL_IMAGE_LINE);
}

TEST_FIXTURE(a_lexical_sub_has_no_package, set_up, NULL)
{
	perl_image_half(&image, PERL_IMAGE_CV_BODY + PERL_CV_FLAGS,
			PERL_CV_NAMED | PERL_CV_LEXICAL);
	assert_int_equal(read_code(PERL_IMAGE_CV), 0);
	assert_string_equal(name.function, "pay");
}

TEST_FIXTURE(a_sub_whose_name_is_gone_has_none, set_up, NULL)
{
	perl_image_half(&image, PERL_IMAGE_CV_BODY + PERL_CV_FLAGS, 0);
	assert_int_equal(read_code(PERL_IMAGE_CV), 0);
	assert_string_equal(name.function, "__ANON__");
}

TEST_FIXTURE(before_5_36_the_name_of_a_package_is_behind_its_array, set_up, NULL)
{
	layout.name_in_body = false;
	perl_image_word(&image, PERL_IMAGE_STASH_BODY + PERL_HV_BODY_BYTES, 0);
	perl_image_address(&image, PERL_IMAGE_STASH_ARRAY + 64, PERL_IMAGE_PACKAGE);
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	assert_string_equal(name.function, "Shop::pay");
}

TEST_FIXTURE(a_package_may_have_several_names, set_up, NULL)
{
	const unsigned aux = PERL_IMAGE_STASH_BODY + PERL_HV_BODY_BYTES;

	perl_image_address(&image, aux, PERL_IMAGE_NAMES);
	perl_image_half(&image, aux + PERL_AUX_NAME_COUNT, 2);
	perl_image_address(&image, PERL_IMAGE_NAMES, PERL_IMAGE_PACKAGE);
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	assert_string_equal(name.function, "Shop::pay");
	/* the first one is gone */
	perl_image_half(&image, aux + PERL_AUX_NAME_COUNT, (uint32_t)-2);
	perl_image_word(&image, PERL_IMAGE_NAMES, 0);
	perl_image_address(&image, PERL_IMAGE_NAMES + 8, PERL_IMAGE_PACKAGE);
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	assert_string_equal(name.function, "Shop::pay");
}

TEST_FIXTURE(a_sub_may_outlive_its_package, set_up, NULL)
{
	perl_image_half(&image, PERL_IMAGE_STASH + PERL_SV_FLAGS, PERL_TYPE_HV);
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	assert_string_equal(name.function, "__ANON__::pay");
}

TEST_FIXTURE(without_threads_a_file_is_a_gv, set_up, NULL)
{
	layout.threaded = false;
	perl_image_address(&image, PERL_IMAGE_COP + PERL_COP_FILE, PERL_IMAGE_FILE_GV);
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	check_place("/srv/Shop.pm", PERL_IMAGE_LINE);
}

TEST_FIXTURE(code_of_a_file_has_the_name_of_the_file, set_up, NULL)
{
	assert_int_equal(read_kind(0), 0);
	assert_string_equal(name.function, "Shop.pm");
	check_place("/srv/Shop.pm", PERL_IMAGE_LINE);
	assert_int_equal(read_kind(chain_code_of_kind(PERL_CONTEXT_EVAL, 1)), 0);
	assert_string_equal(name.function, "Shop.pm");
}

TEST_FIXTURE(what_is_evaluated_is_told_from_what_sort_calls, set_up, NULL)
{
	assert_int_equal(read_kind(chain_code_of_kind(EVAL_BLOCK, 0)), 0);
	assert_string_equal(name.function, "(eval)");
	check_place("/srv/Shop.pm", PERL_IMAGE_LINE);
	assert_int_equal(read_kind(chain_code_of_kind(PERL_CONTEXT_EVAL, 0)), 0);
	assert_string_equal(name.function, "(eval)");
	assert_int_equal(read_kind(chain_code_of_kind(PERL_CONTEXT_NULL, 0)), 0);
	assert_string_equal(name.function, "(sort)");
	/* of a block of sort() the mark says nothing */
	assert_int_equal(read_kind(chain_code_of_kind(PERL_CONTEXT_NULL, 1)), 0);
	assert_string_equal(name.function, "(sort)");
}

/* A file that is being compiled has one statement, PL_compiling, for all its lines. */
TEST_FIXTURE(what_is_being_compiled_has_a_file_and_no_line, set_up, NULL)
{
	perl_image_half(&image, PERL_IMAGE_COP + PERL_COP_TYPE_LINE, 0);
	assert_int_equal(read_kind(0), 0);
	check_place("/srv/Shop.pm", 0);
}

TEST_FIXTURE(a_statement_that_is_gone_leaves_the_name, set_up, NULL)
{
	const struct interpreter_frame sub = perl_image_frame(&image, PERL_IMAGE_GV, 0);
	const uint64_t text = chain_code_of_kind(PERL_CONTEXT_EVAL, 0);
	const uint64_t file = chain_code_of_kind(PERL_CONTEXT_EVAL, 1);
	const struct interpreter_frame frames[] = {
		perl_image_frame(&image, PERL_IMAGE_END, text),
		perl_image_frame(&image, PERL_IMAGE_END, file),
		perl_image_frame(&image, PERL_IMAGE_END, 0),
	};
	static const char *const names[] = {"(eval)", "(require)", "main"};

	perl_image_half(&image, PERL_IMAGE_COP + PERL_COP_TYPE_LINE + 4, 43);
	assert_int_equal(read_frame(&sub), 0);
	assert_string_equal(name.function, "Shop::pay");
	check_place("", 0);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		assert_int_equal(read_frame(&frames[i]), 0);
		assert_string_equal(name.function, names[i]);
		check_place("", 0);
	}
}

TEST_FIXTURE(another_sub_at_the_address_is_noticed, set_up, NULL)
{
	const struct interpreter_frame f = perl_image_frame(&image, PERL_IMAGE_GV, 0);

	perl_image_address(&image, PERL_IMAGE_GV, PERL_IMAGE_FILE_GV_BODY);
	assert_int_equal(read_frame(&f), -ESTALE);
}

TEST_FIXTURE(what_is_no_sub_has_no_name, set_up, NULL)
{
	assert_int_equal(read_code(PERL_IMAGE_STASH), -EBADMSG);
	perl_image_word(&image, PERL_IMAGE_GV_BODY + PERL_GV_NAME, 0);
	assert_int_equal(read_code(PERL_IMAGE_GV), -EBADMSG);
	perl_image_address(&image, PERL_IMAGE_GV_BODY + PERL_GV_NAME, PERL_IMAGE_NAME);
	perl_image_half(&image, PERL_IMAGE_NAME + PERL_HEK_LENGTH, (uint32_t)-1);
	assert_int_equal(read_code(PERL_IMAGE_GV), -EBADMSG);
}

/* Behind the text of a file's name there may be no memory. */
TEST_FIXTURE(a_text_may_end_a_page, set_up, NULL)
{
	const unsigned last = PERL_IMAGE_BYTES - sizeof("/srv/b.pl");

	memcpy(image.bytes + last, "/srv/b.pl", sizeof("/srv/b.pl"));
	perl_image_address(&image, PERL_IMAGE_COP + PERL_COP_FILE, last);
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	check_place("/srv/b.pl", PERL_IMAGE_LINE);
	/* it goes on, into nothing */
	memset(image.bytes + last, 'x', sizeof("/srv/b.pl"));
	assert_int_equal(read_code(PERL_IMAGE_GV), 0);
	check_place("", 0);
}
