#include "node-agent/symbol/gopclntab_assembly.h"
#include "test/lib/elf_builder.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define ASSEMBLY 4u
#define SP_WRITE 2u
#define SIZES_AT 16u /* in a record of 1.20 and later */
#define FLAGS_AT 41u
#define SIZES (GO_IMAGE_VALUES + 0x100u)
#define RANGES 16u

static const char *const names[] = {"main.a", "main.b", "main.c"};

struct fixture {
	struct go_image_builder image;
	struct elf_builder elf;
	struct byte_source src;
	struct elf_layout layout;
	struct gopclntab table;
	struct gopclntab_assembly ranges[RANGES];
	int n;
};

/* The frames of function i: pairs of a frame size and how many bytes of code have it. */
static void put_function(struct fixture *f, size_t i, unsigned flags, const int (*frames)[2],
			 size_t n)
{
	size_t record = GO_IMAGE_RECORDS + i * GO_IMAGE_RECORD_BYTES, sizes = SIZES + i * 0x20;

	go_image_put_table(&f->image, record + FLAGS_AT, flags, 1);
	go_image_put_table(&f->image, record + SIZES_AT, sizes - GO_IMAGE_VALUES, 4);
	go_image_put_values(&f->image, sizes, frames, n);
}

static void put_code(struct fixture *f, uint64_t at, const char *code, size_t len)
{
	memcpy(f->image.data + GO_IMAGE_TEXT + at, code, len);
}

static void begin(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	go_image_build(&f->image, 24, names);
}

static void find(struct fixture *f, uint16_t machine, size_t max)
{
	Elf64_Shdr *text;

	elf_builder_init(&f->elf, machine);
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT, f->image.data + GO_IMAGE_TEXT,
				   GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, text->sh_offset, GO_IMAGE_TEXT,
			    GO_IMAGE_TEXT_BYTES);
	elf_builder_section(&f->elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, GO_IMAGE_TABLE,
			    f->image.data + GO_IMAGE_TABLE, GO_IMAGE_TABLE_BYTES);
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->src), 0);
	assert_int_equal(gopclntab_open(&f->table, &f->layout, &f->src), 0);
	f->n = gopclntab_assembly(&f->table, &f->layout, &f->src, f->ranges, max);
}

static void expect(const struct fixture *f, int i, uint64_t start, uint64_t end, uint32_t frame)
{
	assert_true(i < f->n);
	assert_int_equal(f->ranges[i].start, GO_IMAGE_TEXT + start);
	assert_int_equal(f->ranges[i].end, GO_IMAGE_TEXT + end);
	assert_int_equal(f->ranges[i].frame_bytes, frame);
}

static void code_that_pushes_the_pointer_has_it_below_the_return_address(void **state)
{
	static const int frames[][2] = {{0, 1}, {8, 7}, {24, 0x70}, {8, 1}, {0, 1}};
	struct fixture f;

	(void)state;
	begin(&f);
	put_function(&f, 1, ASSEMBLY, frames, ARRAY_SIZE(frames));
	put_code(&f, 0x100, "\x55", 1);
	find(&f, EM_X86_64, RANGES);
	assert_int_equal(f.n, 5);
	expect(&f, 0, 0x100, 0x101, 0);
	expect(&f, 1, 0x101, 0x108, 8);
	expect(&f, 2, 0x108, 0x178, 24);
	expect(&f, 3, 0x178, 0x179, 8);
	expect(&f, 4, 0x179, 0x17a, 0);
}

static void code_that_stores_the_pointer_has_it_from_the_next_instruction_on(void **state)
{
	static const int narrow[][2] = {{0, 4}, {16, 0x30}, {0, 2}, {16, 8}};
	static const int wide[][2] = {{0, 7}, {0x30, 0x40}, {0, 1}};
	struct fixture f;

	(void)state;
	begin(&f);
	put_function(&f, 1, ASSEMBLY, narrow, ARRAY_SIZE(narrow));
	put_code(&f, 0x104, "\x48\x89\x6c\x24\x08", 5);
	put_function(&f, 2, ASSEMBLY, wide, ARRAY_SIZE(wide));
	put_code(&f, 0x187, "\x48\x89\xac\x24\x28\x00\x00\x00", 8);
	find(&f, EM_X86_64, RANGES);
	assert_int_equal(f.n, 7);
	expect(&f, 0, 0x100, 0x104, 0);
	expect(&f, 1, 0x109, 0x134, 16);
	expect(&f, 2, 0x134, 0x136, 0);
	expect(&f, 3, 0x136, 0x13e, 16);
	expect(&f, 4, 0x180, 0x187, 0);
	expect(&f, 5, 0x18f, 0x1c7, 0x30);
	expect(&f, 6, 0x1c7, 0x1c8, 0);
}

static void frames_without_a_saved_pointer_are_left_out(void **state)
{
	static const int frames[][2] = {{0, 4}, {16, 0x30}, {0, 1}};
	static const struct {
		const char *code;
		size_t len;
	} codes[] = {
		{"\x90\x90\x90\x90\x90", 5},
		{"\x48\x89\x6c\x24\x00", 5},             /* into another word */
		{"\x48\x89\xac\x24\x00\x01\x00\x00", 8}, /* likewise */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct fixture f;

		begin(&f);
		put_function(&f, 1, ASSEMBLY, frames, ARRAY_SIZE(frames));
		put_code(&f, 0x104, codes[i].code, codes[i].len);
		find(&f, EM_X86_64, RANGES);
		assert_int_equal(f.n, 2);
		expect(&f, 0, 0x100, 0x104, 0);
		expect(&f, 1, 0x134, 0x135, 0);
	}
}

static void other_functions_are_left_out(void **state)
{
	static const int leaf[][2] = {{0, 0x40}};
	static const int odd[][2] = {{0, 1}, {12, 0x10}, {-8, 0x10}};
	struct fixture f;

	(void)state;
	begin(&f);
	put_function(&f, 0, 0, leaf, 1);                   /* compiled */
	put_function(&f, 1, ASSEMBLY | SP_WRITE, leaf, 1); /* switches stacks */
	put_function(&f, 2, ASSEMBLY, odd, ARRAY_SIZE(odd));
	put_code(&f, 0x180, "\x55", 1);
	find(&f, EM_X86_64, RANGES);
	assert_int_equal(f.n, 1);
	expect(&f, 0, 0x180, 0x181, 0);
	find(&f, EM_AARCH64, RANGES);
	assert_int_equal(f.n, 0);
}

static void neighbours_with_equal_frames_are_one_range_and_the_rest_is_cut(void **state)
{
	static const int whole[][2] = {{0, 0x80}}, frames[][2] = {{0, 4}, {16, 8}, {0, 8}};
	struct fixture f;

	(void)state;
	begin(&f);
	put_function(&f, 1, ASSEMBLY, whole, 1);
	put_function(&f, 2, ASSEMBLY, frames, ARRAY_SIZE(frames));
	find(&f, EM_X86_64, RANGES);
	assert_int_equal(f.n, 2);
	expect(&f, 0, 0x100, 0x184, 0);
	expect(&f, 1, 0x18c, 0x194, 0);
	find(&f, EM_X86_64, 1);
	assert_int_equal(f.n, 1);
	expect(&f, 0, 0x100, 0x184, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_that_pushes_the_pointer_has_it_below_the_return_address),
		cmocka_unit_test(code_that_stores_the_pointer_has_it_from_the_next_instruction_on),
		cmocka_unit_test(frames_without_a_saved_pointer_are_left_out),
		cmocka_unit_test(other_functions_are_left_out),
		cmocka_unit_test(neighbours_with_equal_frames_are_one_range_and_the_rest_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
