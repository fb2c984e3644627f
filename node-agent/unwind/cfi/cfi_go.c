/*
 * Facts are those of Go's assemblers (cmd/internal/obj/x86/obj6.go, arm64/obj7.go) and of the
 * runtime's traceback. Where the frame of compiled code has no bytes, the caller's registers are
 * as at a call. Otherwise the caller's frame pointer is
 *
 *   x86-64   in the word below the return address
 *   arm64    in the word below the stack pointer, where the link register is
 *
 * and stays there, whatever the code does to its own. The rule goes by the stack pointer, not by
 * the frame pointer, because it then holds in prologues and epilogues, too, and in functions that
 * have no frame.
 *
 * Assembly may use all registers as it likes; gopclntab_assembly() says what is certain about it.
 * The rest of it has the rule "frame pointer", and so have functions that switch stacks: the
 * runtime takes care that a walk by frame pointer gets from one stack to the other, at the price of
 * one frame.
 */
#include "node-agent/unwind/cfi/cfi_go.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/signal_return.h"
#include "node-agent/gopclntab/gopclntab_assembly.h"
#include "node-agent/gopclntab/gopclntab_frame.h"
#include "node-agent/gopclntab/gopclntab_record.h"
#include "node-agent/unwind/cfi/cfi_rule.h"
#include "node-agent/unwind/cfi/cfi_state.h"

#define FLAG_ASSEMBLY 4u /* since 1.18 */
/* Of values by address, before 1.18; assembly has no more. */
#define OLD_TABLES_MAX 1u
#define SIGNAL_HANDLER "runtime.sigtramp"
/* The largest programs have some hundred. */
#define RANGES_MAX 16384u

static const struct unwind_rule by_frame_pointer = {.base = UNWIND_CFA_FRAME_POINTER};
static const struct unwind_rule unknown = {.base = UNWIND_CFA_UNKNOWN};
static const struct unwind_rule end = {.base = UNWIND_CFA_END};

struct adder {
	const struct cfi_go *go;
	const struct gopclntab_format *format;
	struct cfi_rows *rows;
	struct gopclntab_assembly *ranges;
	size_t n_ranges, next_range;
	int error; /* of cfi_rows_add() */
	struct gopclntab_line line;
};

static int read_windows(void *ctx, uint64_t offset, void *to, size_t len)
{
	char *p = to;

	while (len > 0) {
		size_t n = len < FILE_WINDOWS_LENGTH_MAX ? len : FILE_WINDOWS_LENGTH_MAX;
		const uint8_t *data;
		int r = file_windows_get(ctx, offset, n, &data);

		if (r < 0)
			return r;
		memcpy(p, data, n);
		p += n;
		offset += n;
		len -= n;
	}
	return 0;
}

int cfi_go_open(struct cfi_go *ret, const struct elf_layout *layout, struct file_windows *windows,
		uint64_t size_bytes)
{
	struct cfi_registers registers;

	if (!layout->is_go || !cfi_registers_of(layout->machine, &registers))
		return -ENOENT;
	ret->layout = layout;
	ret->windows = windows;
	byte_source_from_reader(&ret->src, read_windows, windows, size_bytes);
	return gopclntab_open(&ret->table, layout, &ret->src);
}

static int add(struct adder *a, uint64_t address, const struct unwind_rule *rule)
{
	if (a->error == 0)
		a->error = cfi_rows_add(a->rows, address, rule);
	return a->error;
}

/* ---- frames ---- */

static struct unwind_rule rule_of_frame(const struct adder *a, int32_t bytes)
{
	int32_t words = bytes / UNWIND_WORD_BYTES;
	bool is_x86 = a->go->layout->machine == EM_X86_64;

	if (bytes < 0 || bytes % UNWIND_WORD_BYTES != 0 || words >= INT16_MAX)
		return by_frame_pointer;
	if (is_x86)
		return (struct unwind_rule){
			.base = UNWIND_CFA_SP,
			.how = (words == 0 ? UNWIND_FP_SAME : UNWIND_FP_AT_CFA) |
			       UNWIND_RA_BELOW_CFA,
			.cfa = (__u16)(words + 1),
			.fp = words == 0 ? 0 : -2,
		};
	if (words == 0)
		return (struct unwind_rule){
			.base = UNWIND_CFA_SP,
			.how = UNWIND_FP_SAME | UNWIND_RA_REGISTER,
			.aux = CFI_ARM64_LR,
		};
	return (struct unwind_rule){
		.base = UNWIND_CFA_SP,
		.how = UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA,
		.cfa = (__u16)words,
		.fp = (__s16)(-words - 1),
		.aux = (__s16)-words,
	};
}

static int on_run(void *ctx, uint64_t start, uint64_t run_end, int32_t frame)
{
	struct adder *a = ctx;
	struct unwind_rule rule = rule_of_frame(a, frame);

	return start < run_end ? add(a, start, &rule) : 0;
}

static int add_compiled(struct adder *a, const struct gopclntab_record *r)
{
	int e;

	e = gopclntab_record_runs(r, gopclntab_record_field(r, a->format->sizes), on_run, a);
	/* a broken record concerns one function */
	return e == -ENOENT ? add(a, r->function.start, &by_frame_pointer) : e;
}

static int add_assembly(struct adder *a, const struct gopclntab_function *f)
{
	int e = add(a, f->start, &by_frame_pointer);

	for (; e == 0 && a->next_range < a->n_ranges; a->next_range++) {
		const struct gopclntab_assembly *range = &a->ranges[a->next_range];
		struct unwind_rule rule = rule_of_frame(a, (int32_t)range->frame_bytes);

		if (range->end <= f->start)
			continue;
		if (range->start >= f->end)
			break;
		e = add(a, range->start > f->start ? range->start : f->start, &rule);
		if (e == 0 && range->end > f->end)
			break; /* the range goes on in the next function */
		if (e == 0 && range->end < f->end)
			e = add(a, range->end, &by_frame_pointer);
	}
	return e;
}

static bool is_assembly(struct adder *a, const struct gopclntab_function *f, const uint8_t *record,
			uint8_t flags)
{
	uint32_t n_tables;

	if (a->go->table.version >= GOPCLNTAB_1_18)
		return flags & FLAG_ASSEMBLY;
	memcpy(&n_tables, record + a->format->n_tables, sizeof(n_tables));
	return n_tables <= OLD_TABLES_MAX &&
	       gopclntab_is_in_assembly(&a->go->table, &a->go->src, f, &a->line);
}

/* Signal handlers return into this function, so that its caller is what was interrupted. */
static bool is_signal_return(const struct adder *a, const struct gopclntab_function *f)
{
	const uint8_t *code;
	uint64_t offset = 0;

	return f->end - f->start <= CFI_SIGNAL_FUNCTION_MAX_BYTES &&
	       elf_layout_offset(a->go->layout, f->start, &offset) == 0 &&
	       file_windows_get(a->go->windows, offset, (size_t)(f->end - f->start), &code) == 0 &&
	       signal_return_find(a->go->layout->machine, code, (size_t)(f->end - f->start)) == 0;
}

/*
 * The kernel calls the signal handler, which is the outermost frame to the runtime. To a walk its
 * caller is what was interrupted; its assembly keeps to the table of frame sizes.
 */
static bool is_signal_handler(const struct adder *a, const struct gopclntab_function *f)
{
	const struct gopclntab *t = &a->go->table;
	char name[sizeof(SIGNAL_HANDLER)];

	return gopclntab_read(t, &a->go->src, f->name_offset, name, sizeof(name)) == 0 &&
	       memcmp(name, SIGNAL_HANDLER, sizeof(name)) == 0;
}

/* ---- functions ---- */

static int on_function(void *ctx, uint64_t index, const uint8_t *record)
{
	struct adder *a = ctx;
	uint8_t flags = a->format->flags ? record[a->format->flags] : 0;
	struct gopclntab_record r;
	int e = gopclntab_record_at(&r, &a->go->table, &a->go->src, index);

	if (e == -ENOENT)
		return 0;
	if (e < 0)
		return e;
	if (flags & GOPCLNTAB_TOP_FRAME && is_signal_handler(a, &r.function))
		return add_compiled(a, &r);
	if (flags & GOPCLNTAB_TOP_FRAME)
		return add(a, r.function.start, &end);
	if (flags & GOPCLNTAB_SP_WRITE)
		return add(a, r.function.start, &by_frame_pointer);
	if (!is_assembly(a, &r.function, record, flags))
		return add_compiled(a, &r);
	if (is_signal_return(a, &r.function))
		return add(a, r.function.start - 1, &cfi_signal_rule);
	return add_assembly(a, &r.function);
}

int cfi_go_add(const struct cfi_go *go, struct cfi_rows *rows)
{
	AUTO_FREE struct gopclntab_assembly *ranges = calloc(RANGES_MAX, sizeof(*ranges));
	struct adder a = {.go = go, .rows = rows, .ranges = ranges};
	int r;

	if (!ranges)
		return -ENOMEM;
	a.format = gopclntab_format_of(&go->table);
	r = gopclntab_assembly(&go->table, go->layout, &go->src, ranges, RANGES_MAX);
	if (r < 0)
		return r;
	a.n_ranges = (size_t)r;
	r = add(&a, go->table.first, &by_frame_pointer);
	if (r == 0)
		r = gopclntab_visit(&go->table, &go->src, a.format->size_bytes, on_function, &a);
	if (r == 0)
		r = add(&a, go->table.end, &unknown);
	return a.error != 0 ? a.error : r;
}
