#include <errno.h>

#include "node-agent/unwind/cfi/cfi_table.h"
#include "test/lib/elf_builder.h"
#include "test/lib/go_image_builder.h"
#include "test/lib/unit.h"

#define TOP_FRAME 1u
#define SP_WRITE 2u
#define ASSEMBLY 4u
#define SIZES_AT 16u /* in a record of 1.20 and later */
#define FLAGS_AT 41u
#define SIZES (GO_IMAGE_VALUES + 0x100u)
#define ROWS 64u

static const char *const names[] = {"main.a", "runtime.sigtramp", "main.c"};

struct fixture {
	struct go_image_builder image;
	struct elf_builder elf;
	struct byte_source src;
	struct elf_layout layout;
	struct cfi_table table;
	struct unwind_row rows[ROWS];
	uint64_t addresses[ROWS];
	size_t n;
};

static int on_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct fixture *f = ctx;

	for (uint32_t i = 0; i < n; i++) {
		assert_true(f->n < ROWS);
		f->addresses[f->n] = (GO_IMAGE_TEXT & ~(UNWIND_PAGE_BYTES - 1u)) +
				     (uint64_t)page * UNWIND_PAGE_BYTES + rows[i].address;
		f->rows[f->n++] = rows[i];
	}
	return 0;
}

/* The frames of function i: pairs of a frame size and how many bytes of code have it. */
static void put_function(struct fixture *f, size_t i, unsigned flags, const int (*frames)[2],
			 size_t n)
{
	size_t record = GO_IMAGE_RECORDS + i * GO_IMAGE_RECORD_BYTES, sizes = SIZES + i * 0x20;

	go_image_put_table(&f->image, record + FLAGS_AT, flags, 1);
	go_image_put_table(&f->image, record + SIZES_AT, sizes - GO_IMAGE_VALUES, 4);
	go_image_put_values(&f->image, sizes, frames, n);
}

static void build(struct fixture *f, uint16_t machine)
{
	const struct cfi_input in = {.layout = &f->layout, .src = &f->src};
	Elf64_Shdr *text;

	elf_builder_init(&f->elf, machine);
	text = elf_builder_section(&f->elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
				   GO_IMAGE_TEXT, f->image.data + GO_IMAGE_TEXT,
				   GO_IMAGE_TEXT_BYTES);
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, text->sh_offset, GO_IMAGE_TEXT,
			    GO_IMAGE_TEXT_BYTES);
	elf_builder_section(&f->elf, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, GO_IMAGE_TABLE,
			    f->image.data + GO_IMAGE_TABLE, GO_IMAGE_TABLE_BYTES);
	elf_builder_section(&f->elf, ".noptrdata", SHT_PROGBITS, SHF_ALLOC, 0x900000, NULL, 16);
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->src), 0);
	assert_int_equal(cfi_table_build(&f->table, &in, on_page, f), 0);
	assert_int_equal(f->table.origin, CFI_ORIGIN_GO);
}

static void expect(const struct fixture *f, uint64_t at, unsigned base, unsigned how, unsigned cfa,
		   int fp, int aux)
{
	const struct unwind_rule *rule;
	size_t i = f->n;

	while (i > 0 && f->addresses[i - 1] > GO_IMAGE_TEXT + at)
		i--;
	assert_true(i > 0);
	rule = &f->table.rules[f->rows[i - 1].rule];
	assert_int_equal(rule->base, base);
	assert_int_equal(rule->how, how);
	assert_int_equal(rule->cfa, cfa);
	assert_int_equal(rule->fp, fp);
	assert_int_equal(rule->aux, aux);
}

static const int compiled[][2] = {{0, 4}, {8, 4}, {40, 0x70}, {0, 8}};
static const int frameless[][2] = {{0, 0x80}};

static struct fixture *begin(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	go_image_build(&f->image, 24, names);
	return f;
}

static void end(struct fixture *f)
{
	cfi_table_fini(&f->table);
	free(f);
}

TEST(compiled_code_goes_by_the_size_of_its_frame)
{
	struct fixture *f = begin();
	uint64_t second = 0x100;

	put_function(f, 0, 0, compiled, ARRAY_SIZE(compiled));
	put_function(f, 1, 0, frameless, ARRAY_SIZE(frameless));
	put_function(f, 2, 0, compiled, ARRAY_SIZE(compiled));
	build(f, EM_X86_64);
	expect(f, 0, UNWIND_CFA_SP, UNWIND_FP_SAME, 1, 0, 0);
	expect(f, 4, UNWIND_CFA_SP, UNWIND_FP_AT_CFA, 2, -2, 0);
	expect(f, 8, UNWIND_CFA_SP, UNWIND_FP_AT_CFA, 6, -2, 0);
	expect(f, 0x78, UNWIND_CFA_SP, UNWIND_FP_SAME, 1, 0, 0);
	expect(f, second, UNWIND_CFA_SP, UNWIND_FP_SAME, 1, 0, 0);
	end(f);
}

/* As a function that calls nothing, of 1.16; its file is "a.go". */
TEST(a_compiled_function_with_few_tables_is_no_assembly)
{
	const size_t sizes_at = 20, n_tables_at = 32;
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	go_image_build(&f->image, 16, names);
	go_image_put_table(&f->image, GO_IMAGE_RECORDS + sizes_at, SIZES - GO_IMAGE_VALUES, 4);
	go_image_put_table(&f->image, GO_IMAGE_RECORDS + n_tables_at, 1, 4);
	go_image_put_values(&f->image, SIZES, frameless, ARRAY_SIZE(frameless));
	build(f, EM_X86_64);
	expect(f, 0, UNWIND_CFA_SP, UNWIND_FP_SAME, 1, 0, 0);
	end(f);
}

TEST(on_arm64_the_link_register_is_saved_at_the_stack_pointer)
{
	static const int frames[][2] = {{0, 4}, {48, 0x78}, {0, 4}};
	struct fixture *f = begin();

	for (size_t i = 0; i < 3; i++)
		put_function(f, i, 0, frames, ARRAY_SIZE(frames));
	build(f, EM_AARCH64);
	expect(f, 0, UNWIND_CFA_SP, UNWIND_FP_SAME | UNWIND_RA_REGISTER, 0, 0, 30);
	expect(f, 4, UNWIND_CFA_SP, UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA, 6, -7, -6);
	end(f);
}

TEST(functions_that_switch_stacks_keep_frame_pointers)
{
	struct fixture *f = begin();

	put_function(f, 0, SP_WRITE, compiled, ARRAY_SIZE(compiled));
	put_function(f, 1, 0, frameless, ARRAY_SIZE(frameless));
	put_function(f, 2, TOP_FRAME, compiled, ARRAY_SIZE(compiled));
	build(f, EM_X86_64);
	expect(f, 8, UNWIND_CFA_FRAME_POINTER, 0, 0, 0, 0);
	expect(f, 2 * 0x100 + 8, UNWIND_CFA_END, 0, 0, 0, 0);
	expect(f, GO_IMAGE_TEXT_BYTES, UNWIND_CFA_UNKNOWN, 0, 0, 0, 0);
	end(f);
}

TEST(signal_handlers_have_a_caller)
{
	struct fixture *f = begin();

	put_function(f, 0, TOP_FRAME, compiled, ARRAY_SIZE(compiled));
	put_function(f, 1, TOP_FRAME | ASSEMBLY, compiled, ARRAY_SIZE(compiled));
	put_function(f, 2, SP_WRITE, compiled, ARRAY_SIZE(compiled));
	build(f, EM_X86_64);
	expect(f, 8, UNWIND_CFA_END, 0, 0, 0, 0);
	expect(f, 0x100 + 8, UNWIND_CFA_SP, UNWIND_FP_AT_CFA, 6, -2, 0);
	end(f);
}
