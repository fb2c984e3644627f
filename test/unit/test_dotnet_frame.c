/* Code of .NET's runtime in made memory. Recordings of real processes: test_dotnet_recordings.c. */
#include "node-agent/interpreter/dotnet/dotnet_frame.h"

#include "test/lib/dotnet_memory.h"
#include "test/lib/unit.h"

static struct dotnet_image image;
static struct dotnet_layout layout;
static struct interpreter_name name;
static const struct interpreter_memory memory = {dotnet_image_read, &image};

static int set_up(void **state)
{
	(void)state;
	dotnet_image_fill(&image);
	layout = dotnet_image_layout;
	return 0;
}

static int read_frame(struct interpreter_frame f)
{
	image.n_reads = 0;
	return dotnet_frame_name(&layout, DOTNET_IMAGE_BIAS, &memory, &f, &name);
}

static int read_at(unsigned place)
{
	return read_frame(dotnet_image_frame(&image, place));
}

static void check_is(unsigned place, const char *function)
{
	assert_int_equal(read_at(place), 0);
	assert_string_equal(name.function, function);
}

TEST_FIXTURE(an_address_is_in_the_last_method_that_begins_before_it, set_up, NULL)
{
	check_is(DOTNET_IMAGE_PAY, "dynamicClass.Pay");
	check_is(DOTNET_IMAGE_STUB - 1, "dynamicClass.Pay");
	assert_string_equal(name.file, "");
	check_is(DOTNET_IMAGE_LONG, "dynamicClass.Long");
	check_is(DOTNET_IMAGE_LONG + 100, "dynamicClass.Long");
	check_is(DOTNET_IMAGE_CODE_END - 1, "dynamicClass.Long");
	/* in the bucket where it begins, and in one before that */
	assert_int_equal(read_at(DOTNET_IMAGE_PAY - 1), -ENXIO);
	assert_int_equal(read_at(DOTNET_IMAGE_CODE), -ENXIO);
}

TEST_FIXTURE(since_net_10_long_methods_have_references_to_their_start, set_up, NULL)
{
	layout.method_map = DOTNET_MAP_DIRECT;
	check_is(DOTNET_IMAGE_LONG + 100, "dynamicClass.Long"); /* by the unit before */
	/* a unit is not looked for, and is not there */
	assert_int_equal(read_at(DOTNET_IMAGE_CODE_END - 1), -ENXIO);
	for (unsigned at = DOTNET_IMAGE_CODE + 256; at < DOTNET_IMAGE_CODE_END; at += 256)
		dotnet_image_reference(&image, at, DOTNET_IMAGE_LONG);
	check_is(DOTNET_IMAGE_CODE_END - 1, "dynamicClass.Long");
	check_is(DOTNET_IMAGE_CODE + 300, "dynamicClass.Long");
	check_is(DOTNET_IMAGE_PAY + 1, "dynamicClass.Pay");
	/* to what is behind the address */
	dotnet_image_reference(&image, DOTNET_IMAGE_CODE + 256, DOTNET_IMAGE_CODE + 1024);
	assert_int_equal(read_at(DOTNET_IMAGE_CODE + 300), -EBADMSG);
}

TEST_FIXTURE(stubs_are_no_methods, set_up, NULL)
{
	check_is(DOTNET_IMAGE_STUB + 8, "[virtual dispatch stub]");
	assert_string_equal(name.file, "[dotnet]");
	check_is(DOTNET_IMAGE_STUBS + 100, "[stub]");
	dotnet_image_word(&image, DOTNET_IMAGE_STUB - 8, 15); /* of a kind that is not known */
	check_is(DOTNET_IMAGE_STUB + 8, "[stub]");
}

TEST_FIXTURE(what_is_not_the_runtimes_is_a_native_frame, set_up, NULL)
{
	assert_int_equal(read_at(DOTNET_IMAGE_ASSEMBLY + 16), -ENXIO); /* its file has names */
	assert_int_equal(read_at(DOTNET_IMAGE_CODE_END), -ENXIO);
	dotnet_image_word(&image, DOTNET_IMAGE_MAP + 8, 0);
	assert_int_equal(read_at(DOTNET_IMAGE_PAY), -ENXIO);
}

TEST_FIXTURE(other_code_at_the_address_has_no_name, set_up, NULL)
{
	struct interpreter_frame f = dotnet_image_frame(&image, DOTNET_IMAGE_PAY + 1);

	f.check ^= 1;
	assert_int_equal(read_frame(f), -ESTALE);
	f.check = 0; /* it could not be read then */
	assert_int_equal(read_frame(f), 0);
	/* it is replaced while the name is read */
	f = dotnet_image_frame(&image, DOTNET_IMAGE_PAY + 1);
	assert_int_equal(read_frame(f), 0);
	image.code_changes_at = image.n_reads;
	assert_int_equal(read_frame(f), -ESTALE);
}

TEST_FIXTURE(a_type_whose_class_is_anothers_is_none, set_up, NULL)
{
	dotnet_image_address(&image, DOTNET_IMAGE_CLASS + 16, DOTNET_IMAGE_TYPE);
	assert_int_equal(read_at(DOTNET_IMAGE_PAY), -EBADMSG);
	/* one that is no instance of another one has its class itself */
	dotnet_image_address(&image, DOTNET_IMAGE_TYPE + 40, DOTNET_IMAGE_CLASS);
	check_is(DOTNET_IMAGE_PAY, "dynamicClass.Pay");
}

TEST_FIXTURE(a_method_of_an_assembly_that_was_emitted_has_no_name_of_its_own, set_up, NULL)
{
	image.bytes[DOTNET_IMAGE_METHODS + 6] = 0;
	image.bytes[DOTNET_IMAGE_METHODS] = 5; /* its token */
	check_is(DOTNET_IMAGE_PAY, "[dynamic assembly]");
	/* no assembly is there */
	dotnet_image_address(&image, DOTNET_IMAGE_MODULE + 288, DOTNET_IMAGE_CODE);
	assert_int_equal(read_at(DOTNET_IMAGE_PAY), -EBADMSG);
	dotnet_image_word(&image, DOTNET_IMAGE_MODULE + 288, 8);
	assert_int_equal(read_at(DOTNET_IMAGE_PAY), -EFAULT);
}

TEST_FIXTURE(what_is_hostile_costs_little, set_up, NULL)
{
	/* the list of fragments is a circle */
	dotnet_image_address(&image, DOTNET_IMAGE_FRAGMENTS + 32, DOTNET_IMAGE_FRAGMENTS);
	assert_int_equal(read_at(DOTNET_IMAGE_PAY), -ENXIO);
	assert_true(image.n_reads < 300);
	dotnet_image_fill(&image);
	/* a name that does not end */
	memset(image.bytes + DOTNET_IMAGE_NAMES, 'x', 512);
	assert_int_equal(read_at(DOTNET_IMAGE_PAY), 0);
	assert_int_equal(strlen(name.function), strlen("dynamicClass.") + 255);
	/* one at the end of memory */
	dotnet_image_address(&image, DOTNET_IMAGE_METHODS + 32, DOTNET_IMAGE_BYTES - 2);
	memcpy(image.bytes + DOTNET_IMAGE_BYTES - 2, "\n", 2);
	check_is(DOTNET_IMAGE_PAY, "dynamicClass.?");
	/* a heap that is said to begin behind the address */
	dotnet_image_address(&image, DOTNET_IMAGE_HEAP + 32, DOTNET_IMAGE_CODE_END);
	assert_int_equal(read_at(DOTNET_IMAGE_PAY), -EBADMSG);
}
