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
 * What this cannot mend is code without a frame that uses BP all the same, such as md5's up to
 * 1.15: its caller is found, and the walk ends there.
 */
#include "node-agent/symbol/gopclntab_assembly.h"

#include <elf.h>
#include <errno.h>

#include "node-agent/symbol/gopclntab_frame.h"
#include "node-agent/symbol/gopclntab_line.h"
#include "node-agent/symbol/gopclntab_record.h"

#define FLAG_ASSEMBLY 4u /* GOPCLNTAB_TOP_FRAME and GOPCLNTAB_SP_WRITE are the others */
/* Of values by address; compiled functions have more. */
#define OLD_TABLES_MAX 1u
#define RUNTIME "runtime."
#define WORD_BYTES 8

/* PUSHQ BP; and MOVQ BP, disp(SP) with 8 or 32 bits */
#define PUSH_BP 0x55
static const uint8_t save_bp_8[] = {0x48, 0x89, 0x6c, 0x24};
static const uint8_t save_bp_32[] = {0x48, 0x89, 0xac, 0x24};

struct scan {
	const struct gopclntab *table;
	const struct gopclntab_format *format;
	const struct elf_layout *layout;
	const struct byte_source *src;
	struct gopclntab_line line;
	struct gopclntab_assembly *ranges;
	size_t n, max;
	bool is_saved; /* the frame pointer, at this point of the current function */
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

static bool read_code(const struct scan *s, uint64_t vaddr, uint8_t *to, size_t len)
{
	uint64_t offset = 0;

	return elf_layout_offset(s->layout, vaddr, &offset) == 0 &&
	       byte_source_read(s->src, offset, to, len) == 0;
}

/*
 * Whether the frame pointer is saved at the beginning of a run of code, which has this frame; sets
 * *start behind the instruction that does.
 */
static bool saves_pointer(const struct scan *s, uint64_t *start, int32_t frame)
{
	uint32_t slot = (uint32_t)(frame - WORD_BYTES), wide;
	uint8_t code[1 + sizeof(save_bp_32) + sizeof(wide)]; /* from the byte before on */

	if (!read_code(s, *start - 1, code, sizeof(code)))
		return false;
	if (code[0] == PUSH_BP && frame == WORD_BYTES)
		return true;
	memcpy(&wide, code + 1 + sizeof(save_bp_32), sizeof(wide));
	if (memcmp(code + 1, save_bp_8, sizeof(save_bp_8)) == 0 &&
	    code[1 + sizeof(save_bp_8)] == slot && slot < 0x80) {
		*start += sizeof(save_bp_8) + 1;
		return true;
	}
	if (memcmp(code + 1, save_bp_32, sizeof(save_bp_32)) == 0 && wide == slot) {
		*start += sizeof(save_bp_32) + sizeof(wide);
		return true;
	}
	return false;
}

static int on_run(void *ctx, uint64_t start, uint64_t end, int32_t frame)
{
	struct scan *s = ctx;

	if (frame == 0)
		return add(s, start, end, 0);
	if (frame < WORD_BYTES || frame % WORD_BYTES != 0 ||
	    frame > (int32_t)GOPCLNTAB_ASSEMBLY_FRAME_MAX)
		return 0;
	if (!s->is_saved)
		s->is_saved = saves_pointer(s, &start, frame);
	return s->is_saved ? add(s, start, end, (uint32_t)frame) : 0;
}

/* Before 1.18. */
static bool is_in_assembly_file(struct scan *s, const struct gopclntab_function *f)
{
	const struct gopclntab_trees trees = {.memory = s->src};
	size_t len;

	if (gopclntab_find_line(s->table, s->src, &trees, f->start, &s->line) < 0 ||
	    strncmp(s->line.name, RUNTIME, sizeof(RUNTIME) - 1) == 0)
		return false;
	len = strlen(s->line.file);
	return len > 2 && memcmp(s->line.file + len - 2, ".s", 2) == 0;
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
	if (e == 0 && !has_flag && !is_in_assembly_file(s, &r.function))
		return 0;
	s->is_saved = false;
	if (e == 0)
		e = gopclntab_record_runs(&r, gopclntab_record_field(&r, s->format->sizes), on_run,
					  s);
	return e == -ENOENT ? 0 : e; /* a broken record concerns one function */
}

int gopclntab_assembly(const struct gopclntab *t, const struct elf_layout *layout,
		       const struct byte_source *src, struct gopclntab_assembly *ranges, size_t max)
{
	AUTO_FREE struct scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	if (layout->machine != EM_X86_64)
		return 0;
	s->table = t;
	s->format = gopclntab_format_of(t);
	s->layout = layout;
	s->src = src;
	s->ranges = ranges;
	s->max = max;
	r = gopclntab_visit(t, src, s->format->size_bytes, on_function, s);
	return r < 0 ? r : (int)s->n;
}
