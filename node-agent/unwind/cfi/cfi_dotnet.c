/*
 * A method begins as
 *
 *   push %rbp; push %r15; push %rbx; sub $24,%rsp; lea 32(%rsp),%rbp
 *
 * and ends as lea -16(%rbp),%rsp; pop %rbx; pop %r15; pop %rbp; ret. Where the frame pointer is
 * set, the rule goes by it, so in an epilogue only what follows "pop %rbp" needs another. Handlers
 * of exceptions have the frame pointer of their method, and small methods may have none: their
 * rules go by the stack pointer, and each step of the epilogue has one of its own.
 *
 * An epilogue is believed if it undoes what the prologue has done, no more and no less. Bytes that
 * look like one inside of another instruction do no harm: no tick and no call is there.
 */
#include "node-agent/unwind/cfi/cfi_dotnet.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/file_windows.h"
#include "node-agent/dotnet/ready_to_run.h"

#define REGISTER_RBX 3u
#define REGISTER_RBP 5u
#define CODES_MAX 256u
#define INFO_HEAD_BYTES 4u
#define INFO_MAX_BYTES (INFO_HEAD_BYTES + 2 * CODES_MAX)
#define FLAG_CHAINED 4u
#define CHAIN_MAX 4u
#define FRAME_WORDS_MAX 0x7fffu
#define RBX_WORDS_MAX 15u
#define PADDING_MAX_BYTES 15u

enum unwind_operation {
	OPERATION_PUSH = 0,
	OPERATION_ALLOCATE_LARGE = 1,
	OPERATION_ALLOCATE = 2,
	OPERATION_SET_FP = 3,
	OPERATION_SAVE = 4,
	OPERATION_SAVE_FAR = 5,
	OPERATION_EPILOGUE = 6,
	OPERATION_SAVE_XMM = 8,
	OPERATION_SAVE_XMM_FAR = 9,
	OPERATION_SET_FP_LARGE = 11, /* .NET's own */
};

static const struct unwind_rule by_frame_pointer = {.base = UNWIND_CFA_FRAME_POINTER};
static const struct unwind_rule at_return = {
	.base = UNWIND_CFA_SP, .how = UNWIND_FP_SAME | UNWIND_RBX_SAME, .cfa = 1};

/* What is on the stack, in words. */
struct frame {
	uint32_t cfa;      /* above the stack pointer */
	uint32_t n_pushes; /* of cfa, beside the return address; the rest was subtracted */
	uint32_t fp_cfa;   /* CFA above the frame pointer; 0: that is not set */
	uint32_t fp_slot;  /* where the caller's is, below the CFA; 0: in its register */
	uint32_t rbx_slot;
};

struct adder {
	struct cfi_rows *rows;
	struct cfi_table *table;
	const struct pe_image *pe;
	struct byte_source src;
	struct file_windows *windows;
	struct ready_to_run code;
	uint32_t at; /* all code before has its rows */
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

static int get(struct adder *a, uint32_t rva, uint32_t n, const uint8_t **ret)
{
	uint64_t offset;
	int r = pe_image_offset(a->pe, rva, n, &offset);

	if (r == 0)
		r = file_windows_get(a->windows, offset, n, ret);
	return r;
}

static struct unwind_rule rule_of(const struct frame *f)
{
	struct unwind_rule r = {
		.base = f->fp_cfa ? UNWIND_CFA_FP : UNWIND_CFA_SP,
		.how = f->fp_slot ? UNWIND_FP_AT_CFA : UNWIND_FP_SAME,
		.cfa = (uint16_t)(f->fp_cfa ? f->fp_cfa : f->cfa),
		.fp = (int16_t) - (int32_t)f->fp_slot,
	};

	if (f->rbx_slot == 0)
		r.how |= UNWIND_RBX_SAME;
	else if (f->rbx_slot <= RBX_WORDS_MAX)
		r.how |= (uint8_t)(f->rbx_slot * UNWIND_RBX_WORD);
	return r;
}

static int add_row(struct adder *a, uint32_t rva, const struct frame *f)
{
	const struct unwind_rule r = rule_of(f);

	return cfi_rows_add(a->rows, rva, &r);
}

/* ---- prologues ---- */

/* How many slots of two bytes an operation has. */
static uint32_t slots_of(uint8_t operation, uint8_t info)
{
	switch (operation) {
	case OPERATION_ALLOCATE_LARGE:
		return info == 0 ? 2 : 3;
	case OPERATION_SAVE:
	case OPERATION_EPILOGUE:
	case OPERATION_SAVE_XMM:
		return 2;
	case OPERATION_SAVE_FAR:
	case OPERATION_SAVE_XMM_FAR:
	case OPERATION_SET_FP_LARGE:
		return 3;
	default:
		return 1;
	}
}

static void save(struct frame *f, uint8_t number, uint32_t slot)
{
	if (number == REGISTER_RBP)
		f->fp_slot = slot;
	else if (number == REGISTER_RBX)
		f->rbx_slot = slot;
}

/* The number in the slots behind an operation: in words, 8 bytes. */
static uint32_t words_behind(const uint8_t *slot, uint32_t n_slots)
{
	return n_slots == 2 ? get16(slot + 2) : get32(slot + 2) / UNWIND_WORD_BYTES;
}

/* offset is that of the frame pointer, in units of 16 bytes. Returns false for what is unknown. */
static bool apply(struct frame *f, const uint8_t *slot, uint8_t fp_register, uint32_t fp_offset)
{
	uint8_t info = slot[1] >> 4, operation = slot[1] & 15;
	uint32_t words = words_behind(slot, slots_of(operation, info));

	switch (operation) {
	case OPERATION_PUSH:
		f->cfa++;
		f->n_pushes++;
		save(f, info, f->cfa);
		return f->cfa <= FRAME_WORDS_MAX;
	case OPERATION_ALLOCATE:
		f->cfa += info + 1U;
		return f->cfa <= FRAME_WORDS_MAX;
	case OPERATION_ALLOCATE_LARGE:
		f->cfa += words;
		return words <= FRAME_WORDS_MAX && f->cfa <= FRAME_WORDS_MAX;
	case OPERATION_SET_FP_LARGE:
	case OPERATION_SET_FP:
		if (operation == OPERATION_SET_FP_LARGE)
			fp_offset = get32(slot + 2);
		if (fp_register != REGISTER_RBP || fp_offset > FRAME_WORDS_MAX ||
		    2 * fp_offset >= f->cfa)
			return false;
		f->fp_cfa = f->cfa - 2 * fp_offset;
		return true;
	case OPERATION_SAVE:
	case OPERATION_SAVE_FAR:
		if (words >= f->cfa)
			return false;
		save(f, info, f->cfa - words);
		return true;
	case OPERATION_EPILOGUE:
	case OPERATION_SAVE_XMM:
	case OPERATION_SAVE_XMM_FAR:
		return true;
	default:
		return false;
	}
}

struct unwind_info {
	uint8_t bytes[INFO_MAX_BYTES + 2 * INFO_HEAD_BYTES];
	uint32_t chained; /* RVA of the information of what this is a part of; 0: nothing */
};

static int read_info(struct adder *a, uint32_t rva, struct unwind_info *ret)
{
	const uint8_t *p = NULL;
	uint32_t n;
	int r = get(a, rva, INFO_HEAD_BYTES, &p);

	ret->chained = 0;
	if (r < 0 || !p)
		return r < 0 ? r : -ENODATA;
	n = INFO_HEAD_BYTES + 2U * p[2];
	r = get(a, rva, n, &p);
	if (r < 0)
		return r;
	memcpy(ret->bytes, p, n);
	if (!(ret->bytes[0] >> 3 & FLAG_CHAINED))
		return 0;
	r = get(a, rva + ((n + 3) & ~3U) + 8, 4, &p);
	if (r == 0)
		ret->chained = get32(p);
	return r;
}

/*
 * Executes what the prologue at start does. UINT32_MAX: without rows, as the code is behind it.
 * Returns 0, -EBADMSG if it cannot be expressed, or an error of cfi_rows_add().
 */
static int run_prologue(struct adder *a, const struct unwind_info *u, uint32_t start,
			struct frame *f)
{
	uint8_t slots[CODES_MAX];
	uint32_t n_slots = u->bytes[2], n = 0;

	for (uint32_t i = 0; i < n_slots;) {
		const uint8_t *slot = u->bytes + INFO_HEAD_BYTES + (size_t)2 * i;

		slots[n++] = (uint8_t)i;
		i += slots_of(slot[1] & 15, slot[1] >> 4);
		if (i > n_slots)
			return -EBADMSG;
	}
	while (n-- > 0) {
		const uint8_t *slot = u->bytes + INFO_HEAD_BYTES + (size_t)2 * slots[n];
		int r;

		if (!apply(f, slot, u->bytes[3] & 15, u->bytes[3] >> 4))
			return -EBADMSG;
		r = start == UINT32_MAX ? 0 : add_row(a, start + slot[0], f);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- epilogues ---- */

/* The length of an instruction that leaves a function: a return, or a jump to another. */
static uint32_t leave_bytes(const uint8_t *p, uint32_t left)
{
	if (p[0] == 0xc3)
		return 1;
	if (p[0] == 0xe9 && left >= 5)
		return 5;
	if (p[0] == 0xeb && left >= 2)
		return 2;
	if (p[0] == 0xff && left >= 6 && p[1] == 0x25)
		return 6;
	if (p[0] == 0x48 && left >= 3 && p[1] == 0xff && p[2] == 0xe0)
		return 3;
	return 0;
}

/* The length of the pop that ends at p + n; its register is the low bits of the last byte. */
static uint32_t pop_bytes(const uint8_t *p, uint32_t n)
{
	if (n == 0 || (p[n - 1] & 0xf8) != 0x58)
		return 0;
	return n >= 2 && p[n - 2] == 0x41 ? 2 : 1;
}

static bool adds(const uint8_t *p, uint32_t n, uint32_t bytes)
{
	if (n >= 4 && memcmp(p + n - 4, "\x48\x83\xc4", 3) == 0 && p[n - 1] == bytes)
		return true;
	return n >= 7 && memcmp(p + n - 7, "\x48\x81\xc4", 3) == 0 && get32(p + n - 4) == bytes;
}

/* Rows between the instructions of an epilogue that ends at code + n; rva is that of code. */
static int add_steps(struct adder *a, uint32_t rva, const uint8_t *code, uint32_t n,
		     const struct frame *f)
{
	uint32_t starts[16], n_pops = 0, from = n, rest = f->cfa - f->n_pushes - 1, bytes;
	struct frame step = *f;
	int r = 0;

	while (n_pops < f->n_pushes && n_pops < ARRAY_SIZE(starts) &&
	       (bytes = pop_bytes(code, from)) > 0) {
		from -= bytes;
		starts[n_pops++] = from;
	}
	if (n_pops != f->n_pushes || (rest > 0 && !adds(code, from, rest * UNWIND_WORD_BYTES)))
		return -ENOENT;
	step.cfa = n_pops + 1;
	while (r == 0 && n_pops-- > 0) {
		r = add_row(a, rva + starts[n_pops], &step);
		step.cfa--;
		if (step.fp_slot > step.cfa)
			step.fp_slot = 0;
		if (step.rbx_slot > step.cfa)
			step.rbx_slot = 0;
	}
	return r;
}

/* Looks for epilogues in n bytes of code at rva. */
static int add_epilogues(struct adder *a, uint32_t rva, const uint8_t *code, uint32_t n,
			 const struct frame *f)
{
	int r = 0;

	for (uint32_t i = 1; r == 0 && i < n; i++) {
		uint32_t bytes = leave_bytes(code + i, n - i);

		if (bytes == 0)
			continue;
		if (f->fp_cfa) {
			if (code[i - 1] != (0x58 | REGISTER_RBP))
				continue;
		} else {
			r = add_steps(a, rva, code, i, f);
			if (r == -ENOENT) {
				r = 0;
				continue;
			}
		}
		if (r == 0)
			r = cfi_rows_add(a->rows, rva + i, &at_return);
		if (r == 0)
			r = add_row(a, rva + i + bytes, f);
		i += bytes - 1;
	}
	return r;
}

/* ---- functions ---- */

/* What the functions that this one is a part of have put on the stack. */
static int enter_chained(struct adder *a, const struct unwind_info *u, struct frame *f)
{
	struct unwind_info outer[CHAIN_MAX];
	uint32_t n = 0, rva = u->chained;
	int r = 0;

	for (; r == 0 && rva != 0 && n < CHAIN_MAX; n++) {
		r = read_info(a, rva, &outer[n]);
		rva = outer[n].chained;
	}
	if (r == 0 && rva != 0)
		return -EBADMSG;
	while (r == 0 && n-- > 0)
		r = run_prologue(a, &outer[n], UINT32_MAX, f);
	return r;
}

static bool is_bad(int error)
{
	return error == -EBADMSG || error == -ENODATA || error == -EMSGSIZE;
}

static int add_function(struct adder *a, const struct ready_to_run_function *f)
{
	struct frame frame = {.cfa = 1};
	struct unwind_info info;
	const uint8_t *code;
	uint32_t n = f->end - f->start, prologue;
	int r = read_info(a, f->unwind, &info);

	if (r == 0 && info.chained != 0)
		r = enter_chained(a, &info, &frame);
	if (r == 0)
		r = add_row(a, f->start, &frame);
	if (r == 0)
		r = run_prologue(a, &info, f->start, &frame);
	prologue = r == 0 ? info.bytes[1] : 0;
	if (n > FILE_WINDOWS_LENGTH_MAX)
		n = FILE_WINDOWS_LENGTH_MAX;
	/* without a frame, what holds at the start holds everywhere */
	if (r < 0 || n <= prologue || (frame.cfa == 1 && !frame.fp_cfa))
		return r;
	r = get(a, f->start + prologue, n - prologue, &code);
	return r < 0 ? r : add_epilogues(a, f->start + prologue, code, n - prologue, &frame);
}

static int read_function(struct adder *a, uint32_t i, struct ready_to_run_function *ret)
{
	const uint8_t *p;
	int r = get(a, a->code.functions.rva + i * a->code.function_bytes, a->code.function_bytes,
		    &p);

	if (r == 0)
		*ret = (struct ready_to_run_function){i, get32(p), get32(p + 4), get32(p + 8)};
	return r;
}

static int add_functions(struct adder *a)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < a->code.n_functions; i++) {
		struct ready_to_run_function f;

		r = read_function(a, i, &f);
		if (r == 0 && (f.start < a->at || f.end <= f.start))
			r = -EBADMSG;
		if (r == 0 && f.start - a->at > PADDING_MAX_BYTES)
			r = cfi_rows_add(a->rows, a->at, &by_frame_pointer);
		if (r == 0) {
			a->at = f.end;
			r = add_function(a, &f);
			/* its code keeps the frame pointer, whatever is said of it */
			if (is_bad(r) && cfi_rows_add(a->rows, f.start, &by_frame_pointer) < 0)
				return -ENOMEM;
		}
		a->table->n_functions++;
		a->table->n_bad_functions += is_bad(r);
		if (is_bad(r))
			r = 0;
	}
	return r == 0 ? cfi_rows_add(a->rows, a->at, &by_frame_pointer) : r;
}

int cfi_dotnet_add(struct cfi_rows *rows, struct cfi_table *table, const struct pe_image *pe,
		   const struct byte_source *src)
{
	CLEANUP(file_windows_freep) struct file_windows *windows = NULL;
	struct adder a = {.rows = rows, .table = table, .pe = pe, .src = *src};
	int r = ready_to_run_open(&a.code, pe, src);

	if (r == -ENOENT || r == -ENOTSUP || r == -EBADMSG ||
	    (r == 0 && pe->machine != PE_MACHINE_X86_64))
		return cfi_rows_add(rows, 0, &by_frame_pointer);
	if (r == 0)
		r = cfi_rows_add(rows, 0, &by_frame_pointer);
	if (r == 0)
		r = file_windows_new(&windows, &a.src);
	if (r < 0)
		return r;
	a.windows = windows;
	return add_functions(&a);
}

static void make_layout(struct elf_layout *ret, const struct pe_image *pe)
{
	memset(ret, 0, sizeof(*ret));
	ret->machine = pe->machine == PE_MACHINE_ARM64 ? EM_AARCH64 : EM_X86_64;
	for (uint32_t i = 0; i < pe->n_sections && ret->n_segments < ELF_LAYOUT_SEGMENTS_MAX; i++) {
		const struct pe_section *s = &pe->sections[i];

		if (!s->executable || s->file_bytes == 0)
			continue;
		ret->segments[ret->n_segments++] = (struct elf_segment){
			.vaddr = s->rva,
			.offset = s->file_offset,
			.file_bytes = s->file_bytes,
			.memory_bytes = s->file_bytes,
			.executable = true,
		};
		if (ret->text_end == 0 || s->rva < ret->text_start)
			ret->text_start = s->rva;
		if (s->rva + (uint64_t)s->file_bytes > ret->text_end)
			ret->text_end = s->rva + (uint64_t)s->file_bytes;
	}
}

int cfi_dotnet_open(struct pe_image *ret, struct elf_layout *ret_layout,
		    const struct byte_source *src)
{
	int r = pe_image_parse(ret, src, PE_LAYOUT_FILE);

	if (r == -ENOENT || (r == 0 && ret->metadata.rva == 0))
		return -ENOEXEC;
	if (r == 0)
		make_layout(ret_layout, ret);
	return r;
}
