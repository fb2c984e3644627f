/* What is found in a file with V8. Real ones are tried by make check-node. */
#include "node-agent/interpreter/v8/v8_offsets.h"

#include <errno.h>

#include "node-agent/interpreter/v8/v8_interpreter.h"
#include "test/lib/unit.h"
#include "test/lib/v8_file.h"

#define MIB (UINT64_C(1) << 20)

static struct v8_file file;
static struct v8_file_plan plan;
static struct v8_offsets found;

static int set_up(void **state)
{
	(void)state;
	plan = (struct v8_file_plan){
		.values = v8_file_24, .n_values = ARRAY_SIZE(v8_file_24), .gap_bytes = MIB};
	return 0;
}

static int parse(struct elf_layout *ret, struct byte_source *src)
{
	v8_file_build(&file, &plan);
	byte_source_from_memory(src, file.bytes, sizeof(file.bytes));
	return elf_layout_parse(ret, src);
}

static int find(void)
{
	static struct elf_layout layout;
	struct byte_source src;

	assert_int_equal(parse(&layout, &src), 0);
	return v8_offsets_find(&layout, &src, &found);
}

TEST_FIXTURE(offsets_are_those_that_v8_says_of_itself, set_up, NULL)
{
	const struct v8_layout *l = &found.layout;

	assert_int_equal(find(), 0);
	assert_int_equal(l->release, 1306);
	assert_int_equal(found.function_shared, 32);
	assert_int_equal(found.frame_bytecode, 40);
	assert_int_equal(l->string_mask, 0xff80);
	assert_int_equal(l->type_function, 2065);
	assert_int_equal(l->type_sfi, 282);
	assert_int_equal(l->type_stream, 192);
	assert_int_equal(l->type_code, 187);
	assert_int_equal(l->sfi_name, 24);
	assert_int_equal(l->scope_names, 5);
	assert_int_equal(l->code_start, 40);
	assert_int_equal(l->code_size, 56);
	assert_int_equal(l->code_flags, 52);
	assert_int_equal(l->stream_start, 32);
	assert_int_equal(l->stream_code, 8);
	assert_int_equal(l->bytecode_data, 64);
	assert_int_equal(l->kind_baseline, 10);
	assert_int_equal(l->deopt_literals, 3);
	assert_int_equal(l->deopt_sfi, 7);
	assert_int_equal(l->wrapper_sfi, 8);
	assert_int_equal(l->deopt_inlining, 8);
	assert_true(l->table_from_entry && l->scope_has_table && !l->table_of_quarters);
}

TEST_FIXTURE(what_an_old_release_does_not_say_is_known, set_up, NULL)
{
	const struct v8_layout *l = &found.layout;

	plan.values = v8_file_14;
	plan.n_values = ARRAY_SIZE(v8_file_14);
	assert_int_equal(find(), 0);
	assert_int_equal(l->release, 804);
	assert_int_equal(found.function_shared, 24);
	assert_int_equal(found.frame_bytecode, 32);
	assert_int_equal(l->string_mask, 0xffc0);
	/* one object has code and instructions */
	assert_int_equal(l->stream_code, 0);
	assert_int_equal(l->type_stream, 158);
	assert_int_equal(l->stream_start, 96);
	assert_int_equal(l->kind_baseline, 0xff); /* none */
	assert_int_equal(l->bytecode_data, 54);
	assert_true(l->scope_has_receiver && !l->scope_has_table && !l->table_from_entry);
	assert_int_equal(l->wrapper_sfi, 0);
	/* of a type that it does not say, there is no object */
	assert_int_equal(l->type_script, UINT16_MAX - 1);
}

TEST_FIXTURE(a_file_without_what_everything_hangs_on_is_not_known, set_up, NULL)
{
	static const char *const needed[] = {
		"_ZN2v88internal7Version6major_E",
		"_ZN2v88internal7Version6minor_E",
		"v8dbg_IsNotStringMask",
		"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
		"v8dbg_class_JSFunction__shared__SharedFunctionInfo",
	};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		plan.without = needed[i];
		assert_int_equal(find(), -ENOTSUP);
	}
	plan.without = "v8dbg_class_Code__flags__uint32_t";
	assert_int_equal(find(), 0);
	assert_int_equal(found.layout.code_flags, 48);
}

TEST_FIXTURE(releases_before_8_4_are_not_known, set_up, NULL)
{
	struct v8_file_value values[ARRAY_SIZE(v8_file_14)];

	memcpy(values, v8_file_14, sizeof(values));
	plan.values = values;
	plan.n_values = ARRAY_SIZE(values);
	values[1].value = 3;
	assert_int_equal(find(), -ENOTSUP);
	values[0].value = 100;
	assert_int_equal(find(), -ENOTSUP);
	values[0].value = -8;
	assert_int_equal(find(), -ENOTSUP);
}

TEST_FIXTURE(numbers_that_cannot_be_are_not_believed, set_up, NULL)
{
	struct v8_file_value values[ARRAY_SIZE(v8_file_24)];

	memcpy(values, v8_file_24, sizeof(values));
	plan.values = values;
	plan.n_values = ARRAY_SIZE(values);
	values[3].value = -1;    /* a type */
	values[11].value = 4000; /* code_size */
	assert_int_equal(find(), 0);
	assert_int_equal(found.layout.type_function, UINT16_MAX - 1);
	assert_int_equal(found.layout.code_size, 56);
}

TEST_FIXTURE(builtins_have_names_or_are_the_code_that_is_in_no_function, set_up, NULL)
{
	plan.has_names = true;
	assert_int_equal(find(), 0);
	assert_int_equal(found.builtins, file.gap + MIB - MIB / 4);
	assert_int_equal(found.builtins_bytes, MIB / 4);
	plan.has_names = false; /* a stripped file */
	assert_int_equal(find(), 0);
	assert_int_equal(found.builtins, file.gap);
	assert_int_equal(found.builtins_bytes, MIB);
	plan.gap_bytes = MIB / 4; /* some assembly */
	assert_int_equal(find(), 0);
	assert_int_equal(found.builtins, 0);
	assert_int_equal(found.builtins_bytes, 0);
}

TEST_FIXTURE(the_walk_gets_builtins_as_the_loop, set_up, NULL)
{
	static struct interpreter_image image;
	static struct elf_layout layout;
	struct chain_layout chain = {0};
	struct byte_source src;

	assert_int_equal(parse(&layout, &src), 0);
	assert_int_equal(v8_interpreter_ops.recognise(&layout, &src, &image), 0);
	assert_int_equal(image.language, INTERPRETER_V8);
	assert_int_equal(image.n_loops, 1);
	assert_int_equal(image.loops[0].start, file.gap);
	assert_int_equal(image.loops[0].end, file.gap + MIB);
	assert_int_equal(image.frames.code, 32);
	assert_int_equal(image.frames.at, 40);
	assert_int_equal(image.frames.check, 24);
	v8_interpreter_ops.add_layout(&image, 0x1000, &chain);
	assert_int_equal(chain.loop_in_file, file.gap);
	plan.without = "v8dbg_IsNotStringMask";
	assert_int_equal(parse(&layout, &src), 0);
	assert_int_equal(v8_interpreter_ops.recognise(&layout, &src, &image), -ENOTSUP);
}

/* Rows of operands as they are, of 2 and of 4 bytes. */
static void fill_sizes(uint8_t *sizes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned operands = i % 5;

		sizes[i] = (uint8_t)(1 + operands);
		sizes[n + i] = (uint8_t)(1 + 2 * operands);
		sizes[2 * n + i] = (uint8_t)(1 + 4 * operands);
	}
}

TEST_FIXTURE(how_many_bytecodes_there_are_is_seen_by_their_sizes, set_up, NULL)
{
	uint8_t sizes[3 * 256] = {0};

	plan.bytecode_sizes = sizes;
	plan.n_bytecode_sizes = sizeof(sizes);
	fill_sizes(sizes, 198);
	assert_int_equal(find(), 0);
	assert_int_equal(found.layout.n_bytecodes, 198);
	memset(sizes, 1, sizeof(sizes)); /* none has operands */
	assert_int_equal(find(), 0);
	assert_int_equal(found.layout.n_bytecodes, 0);
	plan.bytecode_sizes = NULL;
	assert_int_equal(find(), 0);
	assert_int_equal(found.layout.n_bytecodes, 0);
}

TEST_FIXTURE(sizes_of_bytecodes_that_have_no_name_are_found_by_the_first_ones, set_up, NULL)
{
	static const uint8_t first[] = {1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 6, 2, 1, 2};
	uint8_t sizes[3 * 256] = {0};

	fill_sizes(sizes, 200);
	for (size_t i = 0; i < sizeof(first); i++) {
		sizes[i] = first[i];
		sizes[200 + i] = (uint8_t)(2 * first[i] - 1);
		sizes[400 + i] = (uint8_t)(4 * first[i] - 3);
	}
	plan.bytecode_sizes = sizes;
	plan.n_bytecode_sizes = sizeof(sizes);
	plan.without = V8_FILE_BYTECODE_SIZES;
	assert_int_equal(find(), 0);
	assert_int_equal(found.layout.n_bytecodes, 200);
	assert_memory_equal(file.bytes + found.layout.bytecode_sizes, sizes, 600);
	sizes[300] = 0; /* no table: only its beginning is the same */
	assert_int_equal(find(), 0);
	assert_int_equal(found.layout.n_bytecodes, 0);
	assert_int_equal(found.layout.bytecode_sizes, 0);
}
