/*
 * Facts are those of Go's assembler (cmd/internal/obj/x86/obj6.go) and linker. A function with a
 * frame begins with
 *
 *   since 1.21   PUSHQ BP; MOVQ SP, BP; SUBQ $n, SP
 *   before       SUBQ $n, SP; MOVQ BP, n-8(SP); LEAQ n-8(SP), BP
 *
 * so that in both the caller's BP ends up in the word below the return address, where it stays
 * while the frame exists, whatever the stack pointer does meanwhile. Code before that instruction
 * is left out, and so are functions that begin otherwise.
 *
 * A function is assembly if it has that flag, since 1.18. Before, it has fewer tables of values for
 * the garbage collector than any compiled function, and its file ends with ".s". The runtime's own
 * assembly, which switches stacks, has a flag for that since 1.17; before 1.18 it is left out
 * altogether.
 *
 * The table of frame sizes knows only the instructions that the assembler understood. Code that was
 * compiled from C and included as bytes moves the stack pointer behind its back, and what the table
 * says would then be a stale word of the stack. So a function is left out if its code contains an
 * encoding of such an instruction where the size of the frame does not change. The bytes are not
 * disassembled: a constant that looks like one costs a function its table, and nothing else.
 *
 * What this cannot mend is code without a frame that uses BP all the same, such as md5's up to
 * 1.15: its caller is found, and the walk ends there.
 */
#include "node-agent/gopclntab/gopclntab_assembly.h"

#include <elf.h>
#include <errno.h>

#include "node-agent/gopclntab/gopclntab_frame.h"
#include "node-agent/gopclntab/gopclntab_line.h"
#include "node-agent/gopclntab/gopclntab_record.h"

#define FLAG_ASSEMBLY 4u /* GOPCLNTAB_TOP_FRAME and GOPCLNTAB_SP_WRITE are the others */
/* Of values by address; compiled functions have more. */
#define OLD_TABLES_MAX 1u
#define RUNTIME "runtime."
#define WORD_BYTES 8

/* PUSHQ BP; and MOVQ BP, disp(SP) with 8 or 32 bits */
#define PUSH_BP 0x55
static const uint8_t save_bp_8[] = {0x48, 0x89, 0x6c, 0x24};
static const uint8_t save_bp_32[] = {0x48, 0x89, 0xac, 0x24};

/* A function with more of either is left out. */
#define CODE_MAX_BYTES 65536u
#define RUNS_MAX 1024u

/* Instructions that move the stack pointer: the bits in mask are those of bytes. */
struct sp_move {
	uint8_t n;
	uint8_t length; /* where the frame's new size begins to hold */
	uint8_t bytes[4];
	uint8_t mask[4];
};

static const struct sp_move sp_moves[] = {
	{3, 4, {0x48, 0x83, 0xc4}, {0xff, 0xff, 0xff}}, /* add rsp, imm8 */
	{3, 4, {0x48, 0x83, 0xe4}, {0xff, 0xff, 0xff}}, /* and */
	{3, 4, {0x48, 0x83, 0xec}, {0xff, 0xff, 0xff}}, /* sub */
	{3, 7, {0x48, 0x81, 0xc4}, {0xff, 0xff, 0xff}}, /* the same with imm32 */
	{3, 7, {0x48, 0x81, 0xe4}, {0xff, 0xff, 0xff}},
	{3, 7, {0x48, 0x81, 0xec}, {0xff, 0xff, 0xff}},
	{4, 5, {0x48, 0x8d, 0x64, 0x24}, {0xff, 0xff, 0xff, 0xff}}, /* lea rsp, [rsp + disp8] */
	{4, 8, {0x48, 0x8d, 0xa4, 0x24}, {0xff, 0xff, 0xff, 0xff}}, /* disp32 */
	{3, 4, {0x48, 0x8d, 0x65}, {0xff, 0xff, 0xff}},             /* lea rsp, [rbp + disp8] */
	{3, 7, {0x48, 0x8d, 0xa5}, {0xff, 0xff, 0xff}},             /* disp32 */
	{3, 3, {0x48, 0x89, 0xc4}, {0xfb, 0xff, 0xc7}},             /* mov rsp, register */
	{3, 3, {0x48, 0x8b, 0xe0}, {0xfe, 0xff, 0xf8}},             /* its other encoding */
	{4, 1, {0x55, 0x48, 0x89, 0xe5}, {0xff, 0xff, 0xff, 0xff}}, /* push rbp; mov rbp, rsp */
	{4, 2, {0x41, 0x54, 0x41, 0x54}, {0xff, 0xfc, 0xff, 0xfc}}, /* push r12 to r15, twice */
	{4, 2, {0x41, 0x5c, 0x41, 0x5c}, {0xff, 0xfc, 0xff, 0xfc}}, /* pop */
};

struct scan {
	const struct gopclntab *table;
	const struct gopclntab_format *format;
	const struct elf_layout *layout;
	const struct byte_source *src;
	struct gopclntab_line line;
	struct gopclntab_assembly *ranges;
	size_t n, max;

	/* of the current function */
	struct {
		uint64_t start, end;
		int32_t frame;
	} runs[RUNS_MAX];
	size_t n_runs;
	uint8_t code[CODE_MAX_BYTES];
	size_t code_len;
};

static int add(struct scan *s, uint64_t start, uint64_t end, uint32_t frame_bytes)
{
	struct gopclntab_assembly *last = s->n > 0 ? &s->ranges[s->n - 1] : NULL;

	if (!s->ranges || start >= end || (last && start < last->end))
		return 0;
	if (last && last->end == start && last->frame_bytes == frame_bytes) {
		last->end = end;
		return 0;
	}
	if (s->n == s->max)
		return 1;
	s->ranges[s->n++] = (struct gopclntab_assembly){start, end, frame_bytes};
	return 0;
}

static int on_run(void *ctx, uint64_t start, uint64_t end, int32_t frame)
{
	struct scan *s = ctx;

	if (s->n_runs == RUNS_MAX)
		return -ENOENT;
	s->runs[s->n_runs].start = start;
	s->runs[s->n_runs].end = end;
	s->runs[s->n_runs++].frame = frame;
	return 0;
}

/* Reads the code of the runs. Returns 0, -ENOENT to leave the function out, or another error. */
static int read_code(struct scan *s)
{
	uint64_t start, offset = 0;
	int r;

	if (s->n_runs == 0)
		return -ENOENT;
	start = s->runs[0].start;
	if (s->runs[s->n_runs - 1].end - start > CODE_MAX_BYTES)
		return -ENOENT;
	s->code_len = (size_t)(s->runs[s->n_runs - 1].end - start);
	r = elf_layout_offset(s->layout, start, &offset);
	if (r == 0)
		r = byte_source_read(s->src, offset, s->code, s->code_len);
	return r == -ENODATA ? -ENOENT : r;
}

/* ---- code that moves the stack pointer ---- */

static bool frame_changes_at(const struct scan *s, size_t at)
{
	uint64_t address = s->runs[0].start + at;
	size_t lo = 0, hi = s->n_runs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->runs[mid].end < address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->n_runs && s->runs[lo].end == address;
}

static bool is_move(const struct sp_move *m, const uint8_t *code)
{
	for (size_t i = 0; i < m->n; i++) {
		if ((code[i] & m->mask[i]) != m->bytes[i])
			return false;
	}
	return true;
}

/* The first instruction may be a single push, which is not looked for elsewhere. */
static bool begins_with_unknown_push(const struct scan *s)
{
	size_t at = s->code_len > 1 && s->code[0] == 0x41 ? 1 : 0;

	return s->code_len > at && (s->code[at] & 0xf8) == 0x50 && !frame_changes_at(s, at + 1);
}

static bool has_unknown_move(const struct scan *s)
{
	if (begins_with_unknown_push(s))
		return true;
	for (size_t at = 0; at < s->code_len; at++) {
		if ((s->code[at] & 0xf0) != 0x40 && s->code[at] != PUSH_BP)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(sp_moves); i++) {
			const struct sp_move *m = &sp_moves[i];

			if (s->code_len - at >= m->n && is_move(m, s->code + at) &&
			    !frame_changes_at(s, at + m->length))
				return true;
		}
	}
	return false;
}

/* ---- code that saves the frame pointer ---- */

/*
 * Whether the frame pointer is saved at the beginning of a run of code, which has this frame; sets
 * *start after the instruction that does.
 */
static bool saves_pointer(const struct scan *s, uint64_t *start, int32_t frame)
{
	size_t at = (size_t)(*start - s->runs[0].start), left = s->code_len - at;
	uint32_t slot = (uint32_t)(frame - WORD_BYTES), wide;
	const uint8_t *code = s->code + at;

	/* after a REX prefix, the byte is the push of another register */
	if (frame == WORD_BYTES && at > 0 && code[-1] == PUSH_BP &&
	    (at == 1 || (code[-2] & 0xf0) != 0x40))
		return true;
	if (left > sizeof(save_bp_8) && memcmp(code, save_bp_8, sizeof(save_bp_8)) == 0 &&
	    code[sizeof(save_bp_8)] == slot && slot < 0x80) {
		*start += sizeof(save_bp_8) + 1;
		return true;
	}
	if (left < sizeof(save_bp_32) + sizeof(wide))
		return false;
	memcpy(&wide, code + sizeof(save_bp_32), sizeof(wide));
	if (memcmp(code, save_bp_32, sizeof(save_bp_32)) == 0 && wide == slot) {
		*start += sizeof(save_bp_32) + sizeof(wide);
		return true;
	}
	return false;
}

static int add_runs(struct scan *s)
{
	bool is_saved = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n_runs; i++) {
		int32_t frame = s->runs[i].frame;
		uint64_t start = s->runs[i].start;

		if (frame == 0) {
			r = add(s, start, s->runs[i].end, 0);
			continue;
		}
		if (frame < WORD_BYTES || frame % WORD_BYTES != 0 ||
		    frame > (int32_t)GOPCLNTAB_ASSEMBLY_FRAME_MAX)
			continue;
		if (!is_saved)
			is_saved = saves_pointer(s, &start, frame);
		if (is_saved)
			r = add(s, start, s->runs[i].end, (uint32_t)frame);
	}
	return r;
}

/* ---- functions ---- */

bool gopclntab_is_in_assembly(const struct gopclntab *t, const struct byte_source *src,
			      const struct gopclntab_function *f, struct gopclntab_line *line)
{
	const struct gopclntab_trees trees = {.memory = src};
	size_t len;

	if (gopclntab_find_line(t, src, &trees, f->start, line) < 0)
		return false;
	len = strlen(line->file);
	return len > 2 && memcmp(line->file + len - 2, ".s", 2) == 0;
}

/* Before 1.18. */
static bool is_other_assembly(struct scan *s, const struct gopclntab_function *f)
{
	return gopclntab_is_in_assembly(s->table, s->src, f, &s->line) &&
	       strncmp(s->line.name, RUNTIME, sizeof(RUNTIME) - 1) != 0;
}

static int on_function(void *ctx, uint64_t index, const uint8_t *record)
{
	struct scan *s = ctx;
	bool has_flag = s->table->version >= GOPCLNTAB_1_18;
	uint8_t flags = s->format->flags ? record[s->format->flags] : 0;
	struct gopclntab_record r;
	uint32_t n_tables;
	int e;

	memcpy(&n_tables, record + s->format->n_tables, sizeof(n_tables));
	if ((flags & (GOPCLNTAB_TOP_FRAME | GOPCLNTAB_SP_WRITE)) ||
	    (has_flag ? !(flags & FLAG_ASSEMBLY) : n_tables > OLD_TABLES_MAX))
		return 0;
	e = gopclntab_record_at(&r, s->table, s->src, index);
	if (e == 0 && !has_flag && !is_other_assembly(s, &r.function))
		return 0;
	s->n_runs = 0;
	if (e == 0)
		e = gopclntab_record_runs(&r, gopclntab_record_field(&r, s->format->sizes), on_run,
					  s);
	if (e == 0)
		e = read_code(s);
	if (e == 0 && !has_unknown_move(s))
		e = add_runs(s);
	return e == -ENOENT ? 0 : e; /* a broken record concerns one function */
}

int gopclntab_assembly(const struct gopclntab *t, const struct elf_layout *layout,
		       const struct byte_source *src, struct gopclntab_assembly *ranges, size_t max)
{
	struct byte_budget budget = {.src = src, .left_bytes = GOPCLNTAB_ASSEMBLY_MAX_BYTES};
	AUTO_FREE struct scan *s = calloc(1, sizeof(*s));
	struct byte_source limited;
	int r;

	if (!s)
		return -ENOMEM;
	if (layout->machine != EM_X86_64)
		return 0;
	s->table = t;
	s->format = gopclntab_format_of(t);
	s->layout = layout;
	byte_source_with_budget(&limited, &budget);
	s->src = &limited;
	s->ranges = ranges;
	s->max = max;
	r = gopclntab_visit(t, &limited, s->format->size_bytes, on_function, s);
	return r < 0 ? r : (int)s->n;
}
