#include "node-agent/unwind/cfi/cfi_dotnet.h"

#include <errno.h>

#include "test/lib/r2r_image.h"
#include "test/lib/unit.h"

#define FILE_MAX_BYTES 16384u
#define ROWS_MAX 256u

/* push %rbp; push %rbx; sub $24,%rsp; lea 32(%rsp),%rbp; nop; add; pop; pop; ret; nop */
static const uint8_t framed[] = {0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x48, 0x8d, 0x6c, 0x24,
				 0x20, 0x90, 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3, 0x90};
/* push %rbx; sub $16,%rsp; nop; add $16,%rsp; pop %rbx; ret; nop */
static const uint8_t frameless[] = {0x53, 0x48, 0x83, 0xec, 0x10, 0x90, 0x48,
				    0x83, 0xc4, 0x10, 0x5b, 0xc3, 0x90};
static const uint8_t leaf[] = {0x90, 0xc3};
/* push %rbp; mov %rsp,%rbp; pop %rbp; jmp …; nop */
static const uint8_t tail_call[] = {0x55, 0x48, 0x89, 0xe5, 0x5d, 0xe9, 0, 0, 0, 0, 0x90};

static const struct r2r_function functions[] = {
	/* version 1; 11 bytes of prologue; 4 operations; the frame pointer at 32 */
	{.code = framed,
	 .code_bytes = sizeof(framed),
	 .unwind = {1, 11, 4, 0x25, 11, 0x03, 6, 0x22, 2, 0x30, 1, 0x50}},
	{.code = frameless,
	 .code_bytes = sizeof(frameless),
	 .unwind = {1, 5, 2, 0, 5, 0x12, 1, 0x30}},
	{.code = leaf, .code_bytes = sizeof(leaf), .unwind = {1, 0, 0, 0}},
	{.code = tail_call,
	 .code_bytes = sizeof(tail_call),
	 .unwind = {1, 4, 2, 0x05, 4, 0x03, 1, 0x50}},
	/* an operation that is unknown */
	{.code = leaf, .code_bytes = sizeof(leaf), .unwind = {1, 1, 1, 0, 1, 0x0a}},
};

struct made {
	struct r2r_image image;
	struct cfi_table table;
	uint64_t addresses[ROWS_MAX];
	uint16_t rules[ROWS_MAX];
	unsigned n;
};

static int on_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct made *m = ctx;

	for (uint32_t i = 0; i < n; i++) {
		assert_true(m->n < ROWS_MAX);
		m->addresses[m->n] = (uint64_t)page * UNWIND_PAGE_BYTES + rows[i].address;
		m->rules[m->n++] = rows[i].rule;
	}
	return 0;
}

static void make(struct made *m)
{
	static uint8_t bytes[FILE_MAX_BYTES];
	static struct elf_layout layout;
	FILE *f = fopen("test/data/dotnet/names.dll", "re");
	struct cfi_input in = {.layout = &layout};
	struct byte_source src;
	struct pe_image pe;
	uint64_t offset;

	assert_non_null(f);
	byte_source_from_memory(&src, bytes, fread(bytes, 1, sizeof(bytes), f));
	(void)fclose(f);
	assert_int_equal(pe_image_parse(&pe, &src, PE_LAYOUT_FILE), 0);
	assert_int_equal(pe_image_offset(&pe, pe.metadata.rva, pe.metadata.size_bytes, &offset), 0);
	m->n = 0;
	r2r_image_build(&m->image, functions, ARRAY_SIZE(functions), bytes + offset,
			pe.metadata.size_bytes, 24);
	byte_source_from_memory(&src, m->image.bytes, m->image.len);
	assert_int_equal(cfi_dotnet_open(&pe, &layout, &src), 0);
	in.pe = &pe;
	in.src = &src;
	assert_int_equal(cfi_table_build(&m->table, &in, on_page, m), 0);
	assert_int_equal(m->table.origin, CFI_ORIGIN_DOTNET);
}

static struct unwind_rule rule_at(const struct made *m, uint64_t address)
{
	unsigned i = m->n;

	while (i > 0 && m->addresses[i - 1] > address)
		i--;
	assert_true(i > 0);
	return m->table.rules[m->rules[i - 1]];
}

/* cfa and fp are in words; fp 0: the caller's frame pointer is in its register. */
static void expect(const struct made *m, uint64_t address, uint8_t base, int cfa, int fp)
{
	struct unwind_rule r = rule_at(m, address);

	assert_int_equal(r.base, base);
	if (base == UNWIND_CFA_FRAME_POINTER)
		return;
	assert_int_equal(r.cfa, cfa);
	assert_int_equal(r.how & UNWIND_FP_MASK, fp == 0 ? UNWIND_FP_SAME : UNWIND_FP_AT_CFA);
	assert_int_equal(r.fp, fp);
	assert_int_equal(r.how & UNWIND_RA_MASK, UNWIND_RA_BELOW_CFA);
	assert_int_equal(r.aux, 0);
}

TEST(each_instruction_of_prologues_and_epilogues_has_its_rule)
{
	static struct made m;
	uint64_t at;

	make(&m);
	at = m.image.starts[0];
	expect(&m, at, UNWIND_CFA_SP, 1, 0);
	expect(&m, at + 1, UNWIND_CFA_SP, 2, -2);
	expect(&m, at + 2, UNWIND_CFA_SP, 3, -2);
	expect(&m, at + 6, UNWIND_CFA_SP, 6, -2);
	expect(&m, at + 11, UNWIND_CFA_FP, 2, -2);
	expect(&m, at + 17, UNWIND_CFA_FP, 2, -2);
	expect(&m, at + 18, UNWIND_CFA_SP, 1, 0);
	expect(&m, at + 19, UNWIND_CFA_FP, 2, -2);
	assert_int_equal(rule_at(&m, at + 12).how & UNWIND_RBX_MASK, 3 * UNWIND_RBX_WORD);
	cfi_table_fini(&m.table);
}

TEST(a_function_without_frame_pointer_goes_by_the_stack_pointer)
{
	static struct made m;
	uint64_t at;

	make(&m);
	at = m.image.starts[1];
	expect(&m, at, UNWIND_CFA_SP, 1, 0);
	expect(&m, at + 1, UNWIND_CFA_SP, 2, 0);
	expect(&m, at + 5, UNWIND_CFA_SP, 4, 0);
	expect(&m, at + 9, UNWIND_CFA_SP, 4, 0);
	expect(&m, at + 10, UNWIND_CFA_SP, 2, 0);
	expect(&m, at + 11, UNWIND_CFA_SP, 1, 0);
	expect(&m, at + 12, UNWIND_CFA_SP, 4, 0);
	expect(&m, m.image.starts[2], UNWIND_CFA_SP, 1, 0);
	expect(&m, m.image.starts[2] + 1, UNWIND_CFA_SP, 1, 0);
	cfi_table_fini(&m.table);
}

TEST(a_jump_to_another_method_ends_the_frame)
{
	static struct made m;
	uint64_t at;

	make(&m);
	at = m.image.starts[3];
	expect(&m, at + 4, UNWIND_CFA_FP, 2, -2);
	expect(&m, at + 5, UNWIND_CFA_SP, 1, 0);
	expect(&m, at + 9, UNWIND_CFA_SP, 1, 0);
	expect(&m, at + 10, UNWIND_CFA_FP, 2, -2);
	cfi_table_fini(&m.table);
}

TEST(what_cannot_be_expressed_goes_by_frame_pointer)
{
	static struct made m;

	make(&m);
	expect(&m, m.image.starts[4], UNWIND_CFA_FRAME_POINTER, 0, 0);
	expect(&m, m.image.starts[0] - 64, UNWIND_CFA_FRAME_POINTER, 0, 0);
	expect(&m, m.image.ends[4] + 64, UNWIND_CFA_FRAME_POINTER, 0, 0);
	assert_int_equal(m.table.n_functions, ARRAY_SIZE(functions));
	assert_int_equal(m.table.n_bad_functions, 1);
	cfi_table_fini(&m.table);
}

TEST(code_of_windows_is_not_ours)
{
	static struct r2r_image m;
	static struct elf_layout layout;
	struct byte_source src;
	struct pe_image pe;

	r2r_image_build(&m, functions, 1, "", 1, 0);
	/* without the header of .NET, but with exports */
	r2r_put(&m, 0x80 + 24 + 112 + 14 * 8, 0, 8);
	r2r_put(&m, 0x80 + 24 + 112, R2R_RVA, 4);
	byte_source_from_memory(&src, m.bytes, m.len);
	assert_int_equal(cfi_dotnet_open(&pe, &layout, &src), -ENOEXEC);
}
