/*
 * Tables of real files against elfutils, which evaluates the same call frame information by code
 * of its own: at the beginning of each row of a table, both must say the same.
 */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <sys/stat.h>

#include "node-agent/unwind/cfi/cfi_state.h"
#include "node-agent/unwind/cfi/cfi_table.h"
#include "test/lib/unit.h"

struct row {
	uint64_t address;
	uint16_t rule;
};

struct rows {
	struct cfi_extent extent;
	struct row *items;
	size_t n, max;
};

struct truth {
	Elf *elf;
	Dwarf_CFI *cfi;
	uint16_t machine;
	size_t n_same, n_unknown, n_gaps;
};

static int keep_page(void *ctx, uint32_t page, const struct unwind_row *rows, uint32_t n)
{
	struct rows *r = ctx;

	for (uint32_t i = 0; i < n; i++) {
		if (r->n == r->max) {
			r->max = r->max ? 2 * r->max : 4096;
			r->items = realloc(r->items, r->max * sizeof(*r->items));
			assert_non_null(r->items);
		}
		r->items[r->n++] = (struct row){
			((r->extent.first_page + page) << UNWIND_PAGE_SHIFT) + rows[i].address,
			rows[i].rule,
		};
	}
	return 0;
}

/* What elfutils says about a register: at CFA + offset, in a register, or something else. */
struct place {
	enum { SAME, AT_CFA, IN_REGISTER, UNDEFINED, OTHER } kind;
	int64_t value;
};

static struct place place_of(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op memory[3], *ops = NULL;
	size_t n = 0;

	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &n), 0);
	if (n == 0)
		return (struct place){ops ? UNDEFINED : SAME, 0};
	if (n == 1 && ops[0].atom == DW_OP_call_frame_cfa)
		return (struct place){AT_CFA, 0};
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_plus_uconst)
		return (struct place){AT_CFA, (int64_t)ops[1].number};
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return (struct place){IN_REGISTER, (int64_t)ops[0].number};
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return (struct place){IN_REGISTER, ops[0].atom - DW_OP_reg0};
	return (struct place){OTHER, 0};
}

static void check_cfa(const struct unwind_rule *rule, Dwarf_Frame *frame,
		      const struct cfi_registers *registers)
{
	Dwarf_Op *ops;
	size_t n;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &n), 0);
	if (n == 1 && ops[0].atom == DW_OP_bregx) {
		bool is_sp = ops[0].number == registers->sp;
		bool is_fp = ops[0].number == registers->fp;
		bool is_wide = (rule->how & UNWIND_RA_MASK) == UNWIND_RA_BELOW_CFA;
		uint64_t words = rule->cfa;

		if ((is_sp || is_fp) && is_wide)
			words |= (uint64_t)(uint16_t)rule->aux << 16;
		assert_int_equal(rule->base, is_sp   ? UNWIND_CFA_SP
					     : is_fp ? UNWIND_CFA_FP
						     : UNWIND_CFA_REGISTER + ops[0].number);
		assert_int_equal(words * 8, ops[0].number2);
		return;
	}
	if (rule->base >= UNWIND_CFA_AT_INDEXED) {
		assert_in_range(n, 6, 7);
		assert_int_equal((int16_t)rule->cfa * 8, (int64_t)ops[0].number);
		return;
	}
	assert_true(rule->base == UNWIND_CFA_PLT || rule->base == UNWIND_CFA_AT_FP ||
		    rule->base == UNWIND_CFA_AT_SP);
	if (rule->base != UNWIND_CFA_PLT) {
		assert_in_range(n, 2, 3);
		assert_int_equal((int16_t)rule->cfa * 8, (int64_t)ops[0].number);
		assert_int_equal(ops[1].atom, DW_OP_deref);
		assert_int_equal(rule->aux * 8, n == 3 ? (int64_t)ops[2].number : 0);
	}
}

static void check_fp(const struct unwind_rule *rule, struct place fp)
{
	switch (rule->how & UNWIND_FP_MASK) {
	case UNWIND_FP_SAME:
		assert_true(fp.kind == SAME || fp.kind == UNDEFINED);
		break;
	case UNWIND_FP_AT_CFA:
		assert_int_equal(fp.kind, AT_CFA);
		assert_int_equal(rule->fp * 8, fp.value);
		break;
	default:
		assert_int_equal(fp.kind, OTHER);
	}
}

static void check_rbx(const struct unwind_rule *rule, struct place rbx)
{
	unsigned how = rule->how & UNWIND_RBX_MASK;

	if (how == UNWIND_RBX_SAME) {
		assert_true(rbx.kind == SAME || rbx.kind == UNDEFINED);
	} else if (how != UNWIND_RBX_LOST) {
		assert_int_equal(rbx.kind, AT_CFA);
		assert_int_equal(rbx.value, -8 * (int)(how / UNWIND_RBX_WORD));
	} else {
		assert_int_not_equal(rbx.kind, SAME);
	}
}

static void check_ra(const struct unwind_rule *rule, struct place ra, uint16_t machine)
{
	switch (rule->how & UNWIND_RA_MASK) {
	case UNWIND_RA_BELOW_CFA:
		assert_int_equal(ra.kind, AT_CFA);
		assert_int_equal(ra.value, -8);
		break;
	case UNWIND_RA_AT_CFA:
		assert_int_equal(ra.kind, AT_CFA);
		assert_int_equal(ra.value, rule->aux * 8);
		break;
	default:
		if (ra.kind == IN_REGISTER) {
			assert_int_equal(ra.value, rule->aux);
		} else {
			/* glibc has code that is called with it in x15, which no ABI knows */
			assert_int_equal(machine, EM_AARCH64);
			assert_int_equal(ra.kind, rule->aux == CFI_ARM64_LR ? SAME : UNDEFINED);
		}
	}
}

/* Compares one row. An address that elfutils has nothing about is in a gap. */
static void check_row(struct truth *t, uint64_t address, const struct unwind_rule *rule)
{
	struct cfi_registers registers;
	Dwarf_Frame *frame = NULL;
	bool is_signal = false;
	struct place ra;
	int column;

	if (dwarf_cfi_addrframe(t->cfi, address, &frame) != 0) {
		t->n_gaps++;
		return;
	}
	assert_true(cfi_registers_of(t->machine, &registers));
	column = dwarf_frame_info(frame, NULL, NULL, &is_signal);
	ra = place_of(frame, column);
	if (rule->base == UNWIND_CFA_UNKNOWN) {
		t->n_unknown++;
	} else if (rule->base == UNWIND_CFA_END) {
		assert_int_equal(ra.kind, UNDEFINED);
	} else if (rule->base == UNWIND_CFA_SIGNAL) {
		assert_true(is_signal);
	} else {
		check_ra(rule, ra, t->machine);
		check_cfa(rule, frame, &registers);
		check_fp(rule, place_of(frame, registers.fp));
		if (registers.rbx != CFI_NO_REGISTER)
			check_rbx(rule, place_of(frame, registers.rbx));
	}
	t->n_same += rule->base != UNWIND_CFA_UNKNOWN;
	free(frame);
}

static void build(const char *path, struct rows *rows, struct cfi_table *table, uint16_t *machine)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_layout layout;
	struct byte_source src;
	const struct cfi_input in = {.layout = &layout, .src = &src};
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	byte_source_from_fd(&src, fd, (uint64_t)st.st_size);
	assert_int_equal(elf_layout_parse(&layout, &src), 0);
	assert_int_equal(cfi_table_extent(&layout, &rows->extent), 0);
	assert_int_equal(cfi_table_build(table, &in, keep_page, rows), 0);
	*machine = layout.machine;
}

/* Compares every row of the file's table. Returns how many rows say the same as elfutils. */
static size_t compare(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct truth t = {.n_same = 0};
	struct rows rows = {.n = 0};
	struct cfi_table table;

	build(path, &rows, &table, &t.machine);
	elf_version(EV_CURRENT);
	t.elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(t.elf);
	t.cfi = dwarf_getcfi_elf(t.elf);
	assert_non_null(t.cfi);
	for (size_t i = 0; i < rows.n; i++)
		check_row(&t, rows.items[i].address, &table.rules[rows.items[i].rule]);
	dwarf_cfi_end(t.cfi);
	elf_end(t.elf);
	assert_int_equal(table.n_bad_functions, 0);
	assert_int_equal(table.n_dropped_rows, 0);
	/* longjmp, and assembly of OpenSSL's whose CFA depends on two registers */
	assert_true(t.n_unknown <= 4 + t.n_gaps);
	free(rows.items);
	cfi_table_fini(&table);
	return t.n_same;
}

/* The library of this process that has the symbol. */
static size_t compare_library_of(const char *symbol)
{
	void *address = dlsym(RTLD_DEFAULT, symbol);
	Dl_info info;

	assert_non_null(address);
	assert_true(dladdr(address, &info) != 0);
	return compare(info.dli_fname);
}

TEST(tables_of_this_programs_libraries_say_what_elfutils_says)
{
	assert_true(compare_library_of("malloc") > 10000);
	assert_true(compare_library_of("curl_easy_init") > 1000);
	assert_true(compare_library_of("gnutls_global_init") > 1000);
	assert_true(compare("/proc/self/exe") > 1000);
}

/* Node has more than half a megabyte of code that nothing describes: V8's built-in functions. */
TEST(a_function_behind_much_code_without_description_has_its_rows)
{
	static const char library[] = "/usr/lib/x86_64-linux-gnu/libnode.so.108"; /* Debian 12 */

	assert_true(compare(access(library, R_OK) == 0 ? library : "/usr/bin/node") > 100000);
}

TEST(a_table_of_arm64_says_what_elfutils_says)
{
	assert_true(compare("/usr/aarch64-linux-gnu/lib/libc.so.6") > 5000);
}
