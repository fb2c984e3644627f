#include <errno.h>

#include "node-agent/unwind/cfi/cfi_digest.h"
#include "node-agent/unwind/cfi/cfi_index.h"
#include "node-agent/unwind/cfi/cfi_table.h"
#include "test/lib/elf_builder.h"
#include "test/lib/unit.h"

/* Half a page before the end of the first page of the table. */
#define TEXT 0x404000u
#define TEXT_BYTES 0x8000u
#define FRAMES 0x500000u
#define FRAMES_MAX 0x6000u
#define ROWS 16384u

struct fixture {
	struct elf_builder elf;
	struct elf_layout layout;
	struct byte_source src;
	uint8_t code[TEXT_BYTES];
	uint8_t frames[FRAMES_MAX];
	size_t frames_len;
	uint8_t hdr[256];
	size_t hdr_len;
	bool is_debug_frame;
	uint64_t plt_bytes;
	Elf64_Rela rela; /* if it has an addend */
	struct cfi_table table;
	int result;

	struct {
		uint64_t address;
		uint16_t rule;
	} rows[ROWS];
	size_t n;
	uint32_t next_page;
	int stop; /* what on_page returns */
};

static int on_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct fixture *f = ctx;

	assert_int_equal(page, f->next_page++);
	assert_in_range(n, 1, UNWIND_BLOCK_ROWS);
	assert_int_equal(rows[0].address, 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(i == 0 || rows[i].address > rows[i - 1].address);
		assert_true(f->n < ROWS);
		f->rows[f->n].address = (TEXT & ~(UNWIND_PAGE_BYTES - 1u)) +
					page * UNWIND_PAGE_BYTES + rows[i].address;
		f->rows[f->n++].rule = rows[i].rule;
	}
	return f->stop;
}

/* ---- what the file has ---- */

static struct fixture *new_fixture(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memset(f->code, 0x90, sizeof(f->code));
	return f;
}

static void free_fixture(struct fixture *f)
{
	cfi_table_fini(&f->table);
	free(f);
}

static void put(struct fixture *f, uint64_t value, size_t bytes)
{
	assert_true(f->frames_len + bytes <= FRAMES_MAX);
	memcpy(f->frames + f->frames_len, &value, bytes);
	f->frames_len += bytes;
}

/* Pads and completes the entry that begins here. */
static void end_entry(struct fixture *f, size_t begin)
{
	uint32_t length;

	while (f->frames_len % 8 != 0)
		put(f, 0, 1);
	length = (uint32_t)(f->frames_len - begin - 4);
	memcpy(f->frames + begin, &length, sizeof(length));
}

/* Returns its position. Addresses of its functions are relative to themselves, or plain. */
static size_t put_cie(struct fixture *f, const char *augmentation)
{
	static const uint8_t code[] = {0x0c, 7, 8, 0x80 | 16, 1};
	size_t begin = f->frames_len;

	put(f, 0, 4);
	put(f, f->is_debug_frame ? UINT32_MAX : 0, 4);
	put(f, f->is_debug_frame ? 3 : 1, 1);
	for (const char *p = augmentation; *p; p++)
		put(f, (uint8_t)*p, 1);
	put(f, 0, 1);
	put(f, 1, 1);    /* code alignment */
	put(f, 0x78, 1); /* data alignment: -8 */
	put(f, 16, 1);   /* return address */
	if (augmentation[0] == 'z') {
		put(f, 1, 1);
		put(f, 0x1b, 1); /* R */
	}
	for (size_t i = 0; i < sizeof(code); i++)
		put(f, code[i], 1);
	end_entry(f, begin);
	return begin;
}

static size_t put_fde(struct fixture *f, size_t cie, uint64_t start, uint64_t bytes,
		      const uint8_t *code, size_t len)
{
	size_t begin = f->frames_len;

	put(f, 0, 4);
	put(f, f->is_debug_frame ? cie : begin + 4 - cie, 4);
	if (f->is_debug_frame) {
		put(f, start, 8);
		put(f, bytes, 8);
	} else {
		put(f, start - (FRAMES + f->frames_len), 4);
		put(f, bytes, 4);
		put(f, 0, 1); /* no data */
	}
	for (size_t i = 0; i < len; i++)
		put(f, code[i], 1);
	end_entry(f, begin);
	return begin;
}

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
/* push %rbp after 1 byte */
#define PUSHES CODE(0x41, 0x0e, 16, 0x86, 2)

/* The linker's index of these functions, at its address. */
#define HDR 0x480000u
static void put_hdr(struct fixture *f, const uint64_t (*functions)[2], uint32_t n)
{
	int32_t eh_frame = (int32_t)(FRAMES - (HDR + 4));

	memcpy(f->hdr, (const uint8_t[]){1, 0x1b, 0x03, 0x3b}, 4);
	memcpy(f->hdr + 4, &eh_frame, 4);
	memcpy(f->hdr + 8, &n, 4);
	f->hdr_len = 12;
	for (uint32_t i = 0; i < n; i++) {
		int32_t pair[2] = {(int32_t)((int64_t)functions[i][0] - HDR),
				   (int32_t)((int64_t)(FRAMES + functions[i][1]) - HDR)};

		memcpy(f->hdr + f->hdr_len, pair, sizeof(pair));
		f->hdr_len += sizeof(pair);
	}
}

static void build_file(struct fixture *f)
{
	uint64_t flags = SHF_ALLOC | SHF_EXECINSTR;
	Elf64_Shdr *s;

	elf_builder_init(&f->elf, EM_X86_64);
	s = elf_builder_section(&f->elf, f->plt_bytes > 0 ? ".plt" : ".text", SHT_PROGBITS, flags,
				TEXT, f->code, sizeof(f->code));
	elf_builder_segment(&f->elf, PT_LOAD, PF_R | PF_X, s->sh_offset, TEXT, TEXT_BYTES);
	if (f->plt_bytes > 0)
		s->sh_size = f->plt_bytes;
	if (f->hdr_len > 0) {
		s = elf_builder_section(&f->elf, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, HDR,
					f->hdr, f->hdr_len);
		elf_builder_segment(&f->elf, PT_LOAD, PF_R, s->sh_offset, HDR, f->hdr_len);
		elf_builder_segment(&f->elf, PT_GNU_EH_FRAME, PF_R, s->sh_offset, HDR, f->hdr_len);
	}
	if (f->frames_len > 0) {
		s = elf_builder_section(&f->elf, f->is_debug_frame ? ".debug_frame" : ".eh_frame",
					SHT_PROGBITS, f->is_debug_frame ? 0 : SHF_ALLOC,
					f->is_debug_frame ? 0 : FRAMES, f->frames, f->frames_len);
		if (!f->is_debug_frame)
			elf_builder_segment(&f->elf, PT_LOAD, PF_R, s->sh_offset, FRAMES,
					    f->frames_len);
	}
	if (f->rela.r_addend != 0)
		elf_builder_section(&f->elf, ".rela.dyn", SHT_RELA, SHF_ALLOC, 0, &f->rela,
				    sizeof(f->rela));
	elf_builder_finish(&f->elf);
	byte_source_from_memory(&f->src, f->elf.data, f->elf.len);
	assert_int_equal(elf_layout_parse(&f->layout, &f->src), 0);
}

static int build(struct fixture *f)
{
	const struct cfi_input in = {.layout = &f->layout, .src = &f->src};

	f->n = 0;
	f->next_page = 0;
	f->result = cfi_table_build(&f->table, &in, on_page, f);
	return f->result;
}

static void build_table(struct fixture *f)
{
	build_file(f);
	assert_int_equal(build(f), 0);
	assert_int_equal(f->next_page, 2);
	assert_int_equal(f->table.n_rows, f->n);
}

/* ---- what the table says ---- */

static const struct unwind_rule *rule_at(const struct fixture *f, uint64_t address)
{
	size_t i = f->n;

	while (i > 0 && f->rows[i - 1].address > address)
		i--;
	assert_true(i > 0);
	assert_true(f->rows[i - 1].rule < f->table.n_rules);
	return &f->table.rules[f->rows[i - 1].rule];
}

static void expect(const struct fixture *f, uint64_t address, unsigned base, unsigned cfa)
{
	const struct unwind_rule *rule = rule_at(f, address);

	assert_int_equal(rule->base, base);
	assert_int_equal(rule->cfa, cfa);
}

TEST(rows_follow_the_instructions)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR");

	put_fde(f, cie, TEXT + 0x100, 0x40, PUSHES);
	build_table(f);
	expect(f, TEXT, UNWIND_CFA_UNKNOWN, 0);
	expect(f, TEXT + 0xff, UNWIND_CFA_UNKNOWN, 0);
	expect(f, TEXT + 0x100, UNWIND_CFA_SP, 1);
	expect(f, TEXT + 0x101, UNWIND_CFA_SP, 2);
	assert_int_equal(rule_at(f, TEXT + 0x101)->how, UNWIND_FP_AT_CFA | UNWIND_RBX_SAME);
	expect(f, TEXT + 0x13f, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x140, UNWIND_CFA_UNKNOWN, 0);
	assert_int_equal(f->table.origin, CFI_ORIGIN_EH_FRAME);
	assert_int_equal(f->table.n_functions, 1);
	/* two pages begin with a row, the function has two, and one ends it */
	assert_int_equal(f->n, 5);
	free_fixture(f);
}

/* ".cfi_signal_frame" in assembly: the runtime of OCaml. */
TEST(functions_with_the_mark_of_signals_are_described_like_others)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zRS");

	put_fde(f, cie, TEXT + 0x100, 0x40, PUSHES);
	/* to the stack that a word leads to; then in rbx; then the kernel's frame */
	put_fde(f, cie, TEXT + 0x140, 0x40, CODE(0x0f, 5, 0x77, 8, 0x06, 0x23, 8, 0x0e, 16));
	put_fde(f, cie, TEXT + 0x180, 0x40, CODE(0x0d, 3));
	put_fde(f, cie, TEXT + 0x1c0, 0x40, CODE(0x0f, 4, 0x77, 0xa0, 0x01, 0x06));
	build_table(f);
	expect(f, TEXT + 0x100, UNWIND_CFA_SP, 1);
	expect(f, TEXT + 0x13f, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x140, UNWIND_CFA_AT_SP, 1);
	assert_int_equal(rule_at(f, TEXT + 0x140)->aux, 1);
	expect(f, TEXT + 0x180, UNWIND_CFA_REGISTER + UNWIND_RBX, 1);
	expect(f, TEXT + 0x1c0, UNWIND_CFA_SIGNAL, 0);
	assert_int_equal(f->table.n_unknown_rows, 0);
	free_fixture(f);
}

TEST(functions_are_sorted_if_the_linker_has_not)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR");

	put_fde(f, cie, TEXT + 0x5000, 0x10, PUSHES);
	put(f, 0, 4); /* the end of one input of the linker */
	put(f, 0, 4);
	put_fde(f, cie, TEXT + 0x200, 0x10, PUSHES);
	put_fde(f, cie, TEXT + 0x100, 0x10, PUSHES);
	build_table(f);
	expect(f, TEXT + 0x108, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x208, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x5008, UNWIND_CFA_SP, 2);
	assert_int_equal(f->table.n_functions, 3);
	assert_int_equal(f->table.n_bad_functions, 0);
	free_fixture(f);
}

TEST(the_linkers_index_is_followed)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR"), first, second;

	second = put_fde(f, cie, TEXT + 0x200, 0x10, PUSHES);
	first = put_fde(f, cie, TEXT + 0x100, 0x10, PUSHES);
	put_fde(f, cie, TEXT + 0x300, 0x10, PUSHES); /* the index has no entry for it */
	put_hdr(f, (const uint64_t[][2]){{TEXT + 0x100, first}, {TEXT + 0x200, second}}, 2);
	build_table(f);
	expect(f, TEXT + 0x108, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x208, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x308, UNWIND_CFA_UNKNOWN, 0);
	free_fixture(f);
}

TEST(an_index_that_lies_costs_only_what_it_lies_about)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR"), first, second;

	first = put_fde(f, cie, TEXT + 0x100, 0x10, PUSHES);
	second = put_fde(f, cie, TEXT + 0x200, 0x10, PUSHES);
	put_hdr(f,
		(const uint64_t[][2]){{TEXT + 0x100, first},
				      {TEXT + 0x180, FRAMES_MAX},
				      {TEXT + 0x190, cie},
				      {TEXT + 0x1a0, second + 4},
				      {TEXT + 0x200, second},
				      {TEXT + 0x100, first}},
		6);
	build_table(f);
	expect(f, TEXT + 0x108, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x208, UNWIND_CFA_SP, 2);
	assert_true(f->table.n_bad_functions >= 3);
	free_fixture(f);
}

TEST(debug_frame_is_read_likewise)
{
	struct fixture *f = new_fixture();
	size_t cie;

	f->is_debug_frame = true;
	cie = put_cie(f, "");
	put_fde(f, cie, TEXT + 0x200, 0x10, PUSHES);
	put_fde(f, cie, 0, 0x10, PUSHES); /* of a function that the linker left out */
	build_table(f);
	expect(f, TEXT + 0x208, UNWIND_CFA_SP, 2);
	assert_int_equal(f->table.origin, CFI_ORIGIN_DEBUG_FRAME);
	assert_int_equal(f->table.n_functions, 1);
	free_fixture(f);
}

TEST(a_debug_file_supplies_what_the_file_lacks)
{
	struct fixture *f = new_fixture(), *debug = new_fixture();
	const struct cfi_input in = {
		.layout = &f->layout,
		.src = &f->src,
		.debug_layout = &debug->layout,
		.debug_src = &debug->src,
	};

	put_fde(f, put_cie(f, "zR"), TEXT + 0x100, 0x10, PUSHES);
	build_file(f);
	debug->is_debug_frame = true;
	put_fde(debug, put_cie(debug, ""), TEXT + 0x80, 0x10, PUSHES);
	put_fde(debug, 0, TEXT + 0x200, 0x10, PUSHES);
	build_file(debug);
	assert_int_equal(cfi_table_build(&f->table, &in, on_page, f), 0);
	expect(f, TEXT + 0x88, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x108, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x208, UNWIND_CFA_SP, 2);
	assert_int_equal(f->table.origin, CFI_ORIGIN_EH_FRAME);
	free_fixture(debug);
	free_fixture(f);
}

TEST(padding_keeps_the_rule_before_it)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR");

	put_fde(f, cie, TEXT + 0x101, 0x10, PUSHES);
	put_fde(f, cie, TEXT + 0x120, 0x10, PUSHES);
	put_fde(f, cie, TEXT + 0x140, 0x10, PUSHES);
	build_table(f);
	expect(f, TEXT + 0x111, UNWIND_CFA_SP, 2); /* 15 bytes up to the next function */
	expect(f, TEXT + 0x130, UNWIND_CFA_UNKNOWN, 0);
	free_fixture(f);
}

TEST(a_row_across_pages_is_in_both)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR");

	put_fde(f, cie, TEXT + 0x3000, 0x2000, PUSHES);
	build_table(f);
	expect(f, TEXT + 0x3fff, UNWIND_CFA_SP, 2);
	assert_int_equal(f->rows[f->n - 2].address, TEXT + 0x4000);
	expect(f, TEXT + 0x4000, UNWIND_CFA_SP, 2);
	free_fixture(f);
}

TEST(broken_instructions_make_the_rest_of_a_function_unknown)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR");

	put_fde(f, cie, TEXT + 0x100, 0x40, CODE(0x41, 0x0e, 16, 0x48, 0x3f));
	put_fde(f, cie, TEXT + 0x140, 0x40, PUSHES);
	build_table(f);
	expect(f, TEXT + 0x101, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x109, UNWIND_CFA_UNKNOWN, 0);
	expect(f, TEXT + 0x140, UNWIND_CFA_SP, 1);
	assert_int_equal(f->table.n_bad_functions, 1);
	free_fixture(f);
}

TEST(of_functions_that_overlap_the_first_one_counts)
{
	struct fixture *f = new_fixture();
	size_t cie = put_cie(f, "zR");

	put_fde(f, cie, TEXT + 0x100, 0x40, PUSHES);
	put_fde(f, cie, TEXT + 0x120, 0x40, CODE(0x0e, 80));
	build_table(f);
	expect(f, TEXT + 0x13f, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 0x140, UNWIND_CFA_SP, 10);
	assert_int_equal(f->table.n_bad_functions, 1);
	free_fixture(f);
}

/* A description whose every byte of code has another rule. */
static void put_long_function(struct fixture *f, uint64_t start, unsigned n)
{
	static uint8_t code[FRAMES_MAX];
	size_t len = 0;

	for (unsigned i = 0; i < n; i++) {
		code[len++] = 0x0e;
		code[len++] = (uint8_t)(0x80 | (i * 8 & 0x7f));
		code[len++] = (uint8_t)(0x80 | (i * 8 >> 7 & 0x7f));
		code[len++] = (uint8_t)(i * 8 >> 14);
		code[len++] = 0x41;
	}
	put_fde(f, put_cie(f, "zR"), start, n, code, len);
}

TEST(what_does_not_fit_is_unknown_and_counted)
{
	struct fixture *f = new_fixture();

	put_long_function(f, TEXT, 4200);
	build_table(f);
	expect(f, TEXT + 4000, UNWIND_CFA_SP, 4000);
	/* the last quarter of the rules has no room for what is hardly ever needed */
	assert_int_equal(rule_at(f, TEXT + 3000)->how, UNWIND_RBX_SAME);
	assert_int_equal(rule_at(f, TEXT + 4000)->how, UNWIND_RBX_LOST);
	expect(f, TEXT + 4199, UNWIND_CFA_UNKNOWN, 0);
	assert_int_equal(f->table.n_rules, UNWIND_TABLE_RULES);
	assert_true(f->table.n_dropped_rows >= 100);
	free_fixture(f);
}

TEST(code_without_descriptions_has_the_rules_of_its_instructions)
{
	static const uint8_t code[] = {0x55, 0x53, 0x5b, 0x5d,
				       0xc3}; /* push, push, pop, pop, ret */
	struct fixture *f = new_fixture();

	memcpy(f->code, code, sizeof(code));
	memcpy(f->code + 0x5000, code, sizeof(code));
	build_table(f);
	assert_int_equal(f->table.origin, CFI_ORIGIN_CODE);
	assert_int_equal(f->table.bare_bytes, TEXT_BYTES);
	expect(f, TEXT, UNWIND_CFA_SP, 1);
	expect(f, TEXT + 2, UNWIND_CFA_SP, 3);
	expect(f, TEXT + 4, UNWIND_CFA_SP, 1);
	expect(f, TEXT + 0x5001, UNWIND_CFA_SP, 2);
	cfi_table_fini(&f->table);
	f->layout.texts[0].vaddr += 0x1000; /* what is before the section is data */
	f->layout.texts[0].size_bytes -= 0x1000;
	assert_int_equal(build(f), 0);
	expect(f, TEXT, UNWIND_CFA_UNKNOWN, 0);
	expect(f, TEXT + 0x5001, UNWIND_CFA_SP, 2);
	free_fixture(f);
}

TEST(code_whose_address_is_in_data_is_a_function)
{
	/* ret, push %r13, call *%rbx, hlt: nothing else says so, as it has no return */
	static const uint8_t code[] = {0xc3, 0x41, 0x55, 0xff, 0xd3, 0xf4};
	struct fixture *f = new_fixture();

	memcpy(f->code + 0x107, code, sizeof(code));
	build_table(f);
	expect(f, TEXT + 0x10a, UNWIND_CFA_UNKNOWN, 0);
	cfi_table_fini(&f->table);
	f->rela.r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE);
	f->rela.r_addend = TEXT + 0x108;
	build_table(f);
	expect(f, TEXT + 0x108, UNWIND_CFA_SP, 1);
	expect(f, TEXT + 0x10a, UNWIND_CFA_SP, 2);
	free_fixture(f);
}

/* The digest of the file with another byte of code. */
static uint64_t digest_with(struct fixture *f, size_t at, uint8_t byte)
{
	uint8_t before = f->code[at];
	uint64_t sum[4];

	f->code[at] = byte;
	build_file(f);
	assert_int_equal(cfi_digest(&f->layout, &f->src, sum), 0);
	f->code[at] = before;
	return sum[0];
}

TEST(the_digest_is_that_of_all_a_table_is_made_from)
{
	struct fixture *f = new_fixture();
	uint64_t sum;

	put_fde(f, put_cie(f, "zR"), TEXT + 0x100, TEXT_BYTES - 0x100, PUSHES);
	sum = digest_with(f, 0x110, 0x90);
	assert_int_equal(digest_with(f, 0x110, 0x50), sum); /* described */
	assert_int_not_equal(digest_with(f, 0x90, 0x50), sum);
	put_fde(f, 0, TEXT + 0x40, 0x40, PUSHES);
	assert_int_not_equal(digest_with(f, 0x110, 0x90), sum);
	free_fixture(f);
}

TEST(code_without_descriptions_is_unknown)
{
	struct fixture *f = new_fixture();

	build_table(f);
	assert_int_equal(f->table.origin, CFI_ORIGIN_NONE);
	assert_int_equal(f->n, 2);
	expect(f, TEXT + 0x3000, UNWIND_CFA_UNKNOWN, 0);
	free_fixture(f);
}

TEST(the_entry_point_is_the_end_of_the_stack)
{
	struct fixture *f = new_fixture();

	put_fde(f, put_cie(f, "zR"), TEXT + 0x200, 0x40, PUSHES);
	f->code[0x120] = 0xf4; /* hlt */
	build_file(f);
	f->layout.entry = TEXT + 0x100;
	assert_int_equal(build(f), 0);
	expect(f, TEXT + 0xff, UNWIND_CFA_UNKNOWN, 0);
	expect(f, TEXT + 0x100, UNWIND_CFA_END, 0);
	expect(f, TEXT + 0x120, UNWIND_CFA_END, 0);
	expect(f, TEXT + 0x121, UNWIND_CFA_UNKNOWN, 0);
	cfi_table_fini(&f->table);
	f->layout.entry = TEXT + 0x210; /* its description is better */
	assert_int_equal(build(f), 0);
	expect(f, TEXT + 0x210, UNWIND_CFA_SP, 2);
	free_fixture(f);
}

TEST(stubs_of_a_plt_have_a_rule_without_a_description)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct fixture *f = new_fixture();

	f->plt_bytes = 0x40;
	build_table(f);
	expect(f, TEXT, UNWIND_CFA_SP, 2);
	expect(f, TEXT + 6, UNWIND_CFA_SP, 3);
	expect(f, TEXT + 0x10, UNWIND_CFA_PLT, 11);
	expect(f, TEXT + 0x3f, UNWIND_CFA_PLT, 11);
	expect(f, TEXT + 0x40, UNWIND_CFA_UNKNOWN, 0);
	cfi_table_fini(&f->table);
	memcpy(f->code + 0x10, endbr64, sizeof(endbr64));
	build_table(f);
	expect(f, TEXT + 0x10, UNWIND_CFA_PLT, 9);
	free_fixture(f);
}

TEST(returns_from_signal_handlers_are_recognized)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct fixture *f = new_fixture();

	memcpy(f->code + 0x3ffc, code, sizeof(code));
	memcpy(f->code + 0x6000, code, sizeof(code));
	build_table(f);
	expect(f, TEXT + 0x3ffa, UNWIND_CFA_UNKNOWN, 0);
	expect(f, TEXT + 0x3ffb, UNWIND_CFA_SIGNAL, 0); /* walks look one byte before it */
	expect(f, TEXT + 0x3ffc + 8, UNWIND_CFA_SIGNAL, 0);
	expect(f, TEXT + 0x3ffc + 9, UNWIND_CFA_UNKNOWN, 0);
	expect(f, TEXT + 0x6000, UNWIND_CFA_SIGNAL, 0);
	free_fixture(f);
}

TEST(files_of_other_machines_are_unknown)
{
	struct fixture *f = new_fixture();

	put_fde(f, put_cie(f, "zR"), TEXT + 0x100, 0x40, PUSHES);
	build_file(f);
	f->layout.machine = EM_RISCV;
	assert_int_equal(build(f), 0);
	assert_int_equal(f->n, 2);
	expect(f, TEXT + 0x110, UNWIND_CFA_UNKNOWN, 0);
	free_fixture(f);
}

TEST(the_caller_can_end_a_build)
{
	struct fixture *f = new_fixture();

	f->stop = -ENOSPC;
	build_file(f);
	assert_int_equal(build(f), -ENOSPC);
	assert_int_equal(f->next_page, 1);
	f->stop = 7;
	assert_int_equal(build(f), 7);
	free_fixture(f);
}

TEST(the_extent_is_that_of_all_code)
{
	struct elf_layout l = {.text_start = 0x7fff, .text_end = 0x10001};
	struct cfi_extent e;

	assert_int_equal(cfi_table_extent(&l, &e), 0);
	assert_int_equal(e.first_page, 0);
	assert_int_equal(e.n_pages, 3);
	l.text_end = 0x7fff + (UINT64_C(1) << 32);
	assert_int_equal(cfi_table_extent(&l, &e), -EFBIG);
	l.text_end = l.text_start;
	assert_int_equal(cfi_table_extent(&l, &e), -ENOENT);
}

static int build_without_memory(void *arg)
{
	struct fixture *f = arg;
	int r = build(f);

	if (r == 0)
		cfi_table_fini(&f->table);
	return r;
}

TEST(every_allocation_may_fail)
{
	struct fixture *f = new_fixture();

	put_fde(f, put_cie(f, "zR"), TEXT + 0x100, 0x40, PUSHES);
	build_file(f);
	check_oom(build_without_memory, f);
	free_fixture(f);
}

/* Entries of 4 bytes cost a hostile file nothing. */
static int index_behind_terminators(uint64_t n_terminators, uint64_t *ret_n)
{
	static const uint8_t entries[] = {
		/* CIE: length, id, version, no letters, factors 1 and -8, register 16, padding */
		12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0, 0, 0,
		/* FDE: length, position of the CIE, start, size */
		20, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0};
	const uint64_t at = n_terminators * 4, bytes = at + sizeof(entries);
	AUTO_FREE struct elf_layout *layout = calloc(1, sizeof(*layout));
	AUTO_FREE uint8_t *section = calloc(1, bytes);
	struct file_windows *windows;
	struct cfi_index index;
	struct byte_source src;
	uint32_t cie = (uint32_t)at;
	int r;

	assert_true(layout && section);
	memcpy(section + at, entries, sizeof(entries));
	memcpy(section + at + 20, &cie, sizeof(cie));
	layout->machine = EM_X86_64;
	layout->sections[ELF_SECTION_DEBUG_FRAME].size_bytes = bytes;
	byte_source_from_memory(&src, section, bytes);
	assert_int_equal(file_windows_new(&windows, &src), 0);
	r = cfi_index_open_debug(&index, layout, &src, windows);
	*ret_n = r == 0 ? index.n : 0;
	if (r == 0)
		cfi_index_fini(&index);
	file_windows_free(windows);
	return r;
}

TEST(the_number_of_entries_that_are_searched_is_limited)
{
	uint64_t n;

	assert_int_equal(index_behind_terminators(CFI_INDEX_SCANNED_MAX - 2, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(index_behind_terminators(CFI_INDEX_SCANNED_MAX - 1, &n), -ENOENT);
}
