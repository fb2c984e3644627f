#include <errno.h>

#include "node-agent/gopclntab/gopclntab_assembly.h"
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

TEST(code_that_pushes_the_pointer_has_it_below_the_return_address)
{
	static const int frames[][2] = {{0, 1}, {8, 7}, {24, 0x70}, {8, 1}, {0, 1}};
	struct fixture f;

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

TEST(code_that_stores_the_pointer_has_it_from_the_next_instruction_on)
{
	static const int narrow[][2] = {{0, 4}, {16, 0x30}, {0, 2}, {16, 8}};
	static const int wide[][2] = {{0, 7}, {0x30, 0x40}, {0, 1}};
	struct fixture f;

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

TEST(frames_without_a_saved_pointer_are_left_out)
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

/* Behind a REX prefix, 55 is the push of another register. */
TEST(the_push_of_another_register_saves_no_pointer)
{
	static const int frames[][2] = {{0, 2}, {8, 0x30}, {0, 1}};
	static const int later[][2] = {{0, 0x14}, {8, 0x30}, {0, 1}};
	struct fixture f;

	begin(&f);
	put_function(&f, 1, ASSEMBLY, frames, ARRAY_SIZE(frames));
	put_code(&f, 0x100, "\x41\x55", 2);
	put_function(&f, 2, ASSEMBLY, later, ARRAY_SIZE(later));
	put_code(&f, 0x193, "\x55", 1);
	find(&f, EM_X86_64, RANGES);
	assert_int_equal(f.n, 5);
	expect(&f, 0, 0x100, 0x102, 0);
	expect(&f, 1, 0x132, 0x133, 0);
	expect(&f, 2, 0x180, 0x194, 0);
	expect(&f, 3, 0x194, 0x1c4, 8);
	expect(&f, 4, 0x1c4, 0x1c5, 0);
}

/* Instructions that move the stack pointer, where they end, and at which offset they are put. */
static const struct {
	const char *code;
	size_t len;
	size_t end;
	size_t at;
} moves[] = {
	{"\x48\x83\xec\x18", 4, 4, 8},
	{"\x48\x83\xc4\x18", 4, 4, 8},
	{"\x48\x83\xe4\xf8", 4, 4, 8},
	{"\x48\x81\xec\x18\x01\x00\x00", 7, 7, 8},
	{"\x48\x81\xc4\x18\x01\x00\x00", 7, 7, 8},
	{"\x48\x81\xe4\x00\xff\xff\xff", 7, 7, 8},
	{"\x48\x8d\x64\x24\x18", 5, 5, 8},
	{"\x48\x8d\xa4\x24\x18\x01\x00\x00", 8, 8, 8},
	{"\x48\x8d\x65\xd8", 4, 4, 8},
	{"\x48\x8d\xa5\x00\xff\xff\xff", 7, 7, 8},
	{"\x48\x89\xec", 3, 3, 8},
	{"\x4c\x89\xc4", 3, 3, 8},
	{"\x49\x8b\xe3", 3, 3, 8},
	{"\x55\x48\x89\xe5", 4, 1, 8},
	{"\x41\x57\x41\x56", 4, 2, 8},
	{"\x41\x5c\x41\x5f", 4, 2, 8},
	{"\x53", 1, 1, 0},
	{"\x41\x54", 2, 2, 0},
};

TEST(functions_that_move_the_stack_pointer_unknown_to_the_table_are_left_out)
{
	static const int leaf[][2] = {{0, 0x40}};

	for (size_t i = 0; i < ARRAY_SIZE(moves); i++) {
		const int known[][2] = {{0, (int)(moves[i].at + moves[i].end)}, {24, 0x20}, {0, 1}};
		struct fixture f;

		begin(&f);
		put_function(&f, 1, ASSEMBLY, leaf, 1);
		put_code(&f, 0x100 + moves[i].at, moves[i].code, moves[i].len);
		find(&f, EM_X86_64, RANGES);
		assert_int_equal(f.n, 0);
		/* the same where the table has it */
		begin(&f);
		put_function(&f, 1, ASSEMBLY, known, ARRAY_SIZE(known));
		put_code(&f, 0x100 + moves[i].at, moves[i].code, moves[i].len);
		find(&f, EM_X86_64, RANGES);
		assert_true(f.n > 0);
		expect(&f, 0, 0x100, 0x100 + moves[i].at + moves[i].end, 0);
	}
}

/* cmp with the stack pointer, and a store through it. */
TEST(functions_that_only_use_the_stack_pointer_are_kept)
{
	static const char *const codes[] = {"\x48\x83\xfc\x18", "\x48\x89\x04\x24"};
	static const int leaf[][2] = {{0, 0x40}};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct fixture f;

		begin(&f);
		put_function(&f, 1, ASSEMBLY, leaf, 1);
		put_code(&f, 0x108, codes[i], 4);
		find(&f, EM_X86_64, RANGES);
		assert_int_equal(f.n, 1);
		expect(&f, 0, 0x100, 0x140, 0);
	}
}

/* Every function has the same table of values, which is long. */
TEST(the_bytes_that_are_read_are_limited)
{
	AUTO_FREE uint8_t *bytes = calloc(1, 0x200000);
	struct gopclntab_assembly ranges[RANGES];
	struct elf_layout l = {.machine = EM_X86_64};
	struct gopclntab t = {
		.size_bytes = 0x200000,
		.functions_offset = 0x100,
		.n_functions = 100000,
		.values_offset = 0x100000,
		.version = GOPCLNTAB_1_20,
		.quantum = 1,
	};
	const uint32_t record = 0xfff00, sizes = 1;
	struct byte_source src;

	assert_non_null(bytes);
	for (uint32_t i = 0; i < t.n_functions; i++) {
		const uint32_t pair[] = {i, record - 0x100};

		memcpy(bytes + 0x100 + i * sizeof(pair), pair, sizeof(pair));
	}
	memcpy(bytes + record + SIZES_AT, &sizes, sizeof(sizes));
	bytes[record + FLAGS_AT] = ASSEMBLY;
	/* runs of many bytes: 0x80 0x80 0x80 0x01 is a number */
	for (size_t i = 0; i < 0xfff00; i++)
		bytes[0x100001 + i] = i % 4 == 3 ? 1 : 0x80;
	byte_source_from_memory(&src, bytes, 0x200000);
	assert_int_equal(gopclntab_assembly(&t, &l, &src, ranges, RANGES), -EFBIG);
}

TEST(other_functions_are_left_out)
{
	static const int leaf[][2] = {{0, 0x40}};
	static const int odd[][2] = {{0, 1}, {12, 0x10}, {-8, 0x10}};
	struct fixture f;

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

TEST(neighbours_with_equal_frames_are_one_range_and_the_rest_is_cut)
{
	static const int whole[][2] = {{0, 0x80}}, frames[][2] = {{0, 4}, {16, 8}, {0, 8}};
	struct fixture f;

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
