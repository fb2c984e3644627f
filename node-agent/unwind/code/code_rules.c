/*
 * Code is taken in pieces that are analysed one after the other. A piece ends where a function
 * begins, if any does in its last quarter, but the parts of functions that compilers move away as
 * rarely executed may be in another piece. So if there are several, each is analysed twice; the
 * second time, it is known which jumps lead to it from others.
 *
 * Padding between functions keeps the state before it: it is not executed.
 */
#include "node-agent/unwind/code/code_rules.h"

#include <elf.h>
#include <errno.h>

#include "common/data/array.h"
#include "common/elf/signal_return.h"
#include "node-agent/unwind/code/code_flow.h"
#include "node-agent/unwind/code/code_guess.h"
#include "node-agent/unwind/code/code_symbols.h"

/* Jumps between pieces, and calls that leave one; more are not known. */
#define LEAVING_MAX 65536u
/* How often a piece is analysed with what was learned before; the first time, less will do. */
#define ROUNDS_MAX 6u
#define FIRST_ROUNDS_MAX 2u
/* For so much code, a few symbols are read, and for so much, any number. */
#define CODE_OF_FEW_SYMBOLS_BYTES 512u
#define CODE_OF_MANY_SYMBOLS_BYTES 4096u
#define FEW_SYMBOLS_BYTES (1u << 20)
#define STUBS 512u
/* single bytes of instructions */
#define RET 0xc3
#define INT3 0xcc
#define NOP 0x90
#define CALL 0xe8
#define JMP 0xe9
#define JMP_NEAR 0xeb
#define STUB_BYTES 16u

struct code_leaving {
	uint64_t to;
	struct code_state state;
};

struct code_rules {
	const struct elf_layout *layout;
	struct file_windows *windows;
	struct code_flow *flow;
	uint8_t *code;
	uint32_t max;        /* bytes of code */
	bool has_symbols;    /* they are read */
	uint64_t start, end; /* addresses that symbols are kept of */
	struct code_symbols symbols;
	struct {
		uint64_t address;
		bool never;
	} stubs[STUBS];               /* that were asked for last, by their address */
	struct code_leaving *leaving; /* jumps to other pieces; sorted before the second time */
	size_t n_leaving, max_leaving;
	uint64_t *called; /* by code before; sorted up to n_sorted */
	size_t n_called, max_called, n_sorted;
};

bool code_rules_need_symbols(const struct elf_layout *layout, uint64_t len)
{
	const struct elf_section *s = layout->sections;
	bool are_few = s[ELF_SECTION_SYMTAB].size_bytes <= FEW_SYMBOLS_BYTES &&
		       s[ELF_SECTION_SYMTAB_STRINGS].size_bytes <= FEW_SYMBOLS_BYTES;

	return len > (are_few ? CODE_OF_FEW_SYMBOLS_BYTES : CODE_OF_MANY_SYMBOLS_BYTES);
}

int code_rules_new(struct code_rules **ret, const struct elf_layout *layout,
		   struct file_windows *windows)
{
	struct code_rules *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->layout = layout;
	c->windows = windows;
	c->end = UINT64_MAX;
	*ret = c;
	return 0;
}

void code_rules_limit(struct code_rules *c, uint64_t start, uint64_t end)
{
	c->start = start > CODE_AROUND_BYTES ? start - CODE_AROUND_BYTES : 0;
	c->end = end + CODE_AROUND_BYTES;
}

void code_rules_free(struct code_rules *c)
{
	if (!c)
		return;
	code_flow_free(c->flow);
	code_symbols_fini(&c->symbols);
	free(c->leaving);
	free(c->called);
	free(c->code);
	free(c);
}

static int read_code(struct code_rules *c, uint64_t offset, uint32_t len)
{
	if (len > c->max) {
		uint8_t *code = realloc(c->code, len);

		if (!code)
			return -ENOMEM;
		c->code = code;
		c->max = len;
	}
	for (uint32_t done = 0; done < len;) {
		uint32_t n =
			len - done < FILE_WINDOWS_LENGTH_MAX ? len - done : FILE_WINDOWS_LENGTH_MAX;
		const uint8_t *from;
		int r = file_windows_get(c->windows, offset + done, n, &from);

		if (r < 0)
			return r;
		memcpy(c->code + done, from, n);
		done += n;
	}
	return 0;
}

/* ---- what is known of a piece ---- */

/*
 * What signal handlers return to ends with a system call that does not return: it becomes an
 * instruction that does not, either.
 */
static void find_signal_returns(struct code_rules *c, uint32_t len)
{
	static const uint8_t syscall[] = {0x0f, 0x05}, ud2[] = {0x0f, 0x0b};
	uint32_t at = 0;

	while (at < len) {
		int found = signal_return_find(EM_X86_64, c->code + at, len - at);
		uint8_t *end;

		if (found < 0)
			return;
		at += (uint32_t)found;
		end = memmem(c->code + at, len - at, syscall, sizeof(syscall));
		if (!end)
			return;
		code_flow_add_start(c->flow, at, CODE_CALLED);
		code_flow_add_start(c->flow, at, CODE_HANDLER);
		memcpy(end, ud2, sizeof(ud2));
		at = (uint32_t)(end - c->code) + 2;
	}
}

/* Walks look up the byte before what a handler returns to. */
static void mark_signal_returns(struct code_flow *f)
{
	struct x86_instruction i;
	size_t len;

	for (uint32_t at = 0; at < f->len; at++) {
		uint32_t end = at;

		if (!(f->flags[at] & CODE_HANDLER))
			continue;
		do {
			len = code_flow_decode(f, end, &i);
			end += (uint32_t)len;
		} while (len > 0 && i.kind == X86_OTHER && end < f->len);
		for (uint32_t p = at > 0 ? at - 1 : 0; p < end; p++)
			f->numbers[p] = CODE_HANDLED;
	}
}

static bool is_in_stubs(const struct elf_layout *l, uint64_t address)
{
	for (uint32_t i = 0; i < l->n_texts; i++) {
		if (address - l->texts[i].vaddr < l->texts[i].size_bytes)
			return l->texts[i].size_bytes <= CODE_STUBS_MAX_BYTES;
	}
	return false;
}

/* Whether a stub of a PLT leads to a function that never returns. */
static bool is_stub_of_never(const struct code_rules *c, uint64_t address)
{
	const uint8_t *code;
	uint64_t offset;
	size_t at = 0;

	if (c->symbols.n_slots == 0 || !is_in_stubs(c->layout, address) ||
	    elf_layout_offset(c->layout, address, &offset) < 0 ||
	    file_windows_get(c->windows, offset, STUB_BYTES, &code) < 0)
		return false;
	while (at < STUB_BYTES) {
		struct x86_instruction i;
		size_t len = x86_decode(&i, code + at, STUB_BYTES - at);

		at += len;
		if (i.kind == X86_JUMP_INDIRECT && i.base == X86_NEXT)
			return code_symbols_have_slot(&c->symbols,
						      address + at + (uint64_t)(int64_t)i.number);
		if (len == 0 || i.kind != X86_OTHER) /* endbr64 */
			return false;
	}
	return false;
}

static bool never_returns(void *ctx, uint64_t address, bool is_slot)
{
	struct code_rules *c = ctx;
	size_t i = (size_t)(address / STUB_BYTES) % STUBS;

	if (is_slot)
		return code_symbols_have_slot(&c->symbols, address);
	if (c->stubs[i].address != address) {
		c->stubs[i].address = address;
		c->stubs[i].never = is_stub_of_never(c, address);
	}
	return c->stubs[i].never;
}

/* Whether what ends before this place does not go on here, or is a call, whose code follows. */
static bool is_after_end(const struct code_rules *c, uint64_t from, uint32_t at)
{
	const uint8_t *p = c->code + at;
	int32_t distance;

	if (at == 0)
		return false;
	if (p[-1] == RET || p[-1] == INT3 || p[-1] == NOP)
		return true;
	if (at >= 2 && ((p[-2] == 0x0f && p[-1] == 0x0b) || p[-2] == JMP_NEAR))
		return true;
	if (at < 5 || (p[-5] != CALL && p[-5] != JMP))
		return false;
	memcpy(&distance, p - 4, sizeof(distance));
	return elf_layout_is_text(c->layout, from + at + (uint64_t)(int64_t)distance);
}

/*
 * Compilers that keep frame pointers begin functions in this way. A few of their functions do
 * something else before, and have the same state then as any function at its start.
 */
static void find_prologues(struct code_rules *c, uint64_t from, uint32_t len)
{
	/* push %rbp; mov %rsp,%rbp, as compilers write it, and V8 */
	static const uint8_t gnu[] = {0x55, 0x48, 0x89, 0xe5}, v8[] = {0x55, 0x48, 0x8b, 0xec};

	for (uint32_t at = 0; len - at >= sizeof(gnu); at++) {
		const uint8_t *p = memchr(c->code + at, gnu[0], len - at - (sizeof(gnu) - 1));

		if (!p)
			return;
		at = (uint32_t)(p - c->code);
		if ((memcmp(p, gnu, sizeof(gnu)) == 0 || memcmp(p, v8, sizeof(v8)) == 0) &&
		    is_after_end(c, from, at))
			code_flow_add_start(c->flow, at, CODE_LIKELY);
	}
}

static int find_starts(struct code_rules *c, uint64_t from, uint32_t len, uint64_t total)
{
	uint64_t base = from - c->layout->text_start;

	if (code_rules_need_symbols(c->layout, total) && !c->has_symbols) {
		int r = code_symbols_read(&c->symbols, c->layout, c->windows, c->start, c->end);

		if (r < 0 && r != -ENODATA)
			return r;
		c->has_symbols = true;
	}
	for (uint32_t i = code_symbols_from(&c->symbols, base);
	     i < c->symbols.n_starts && c->symbols.starts[i] - base < len; i++)
		code_flow_add_start(c->flow, (uint32_t)(c->symbols.starts[i] - base), CODE_LIKELY);
	for (uint32_t i = code_symbols_taken_from(&c->symbols, base);
	     i < c->symbols.n_taken && c->symbols.taken[i] - base < len; i++)
		code_flow_add_taken(c->flow, (uint32_t)(c->symbols.taken[i] - base));
	for (uint32_t i = 0; i < c->symbols.n_never; i++) {
		uint64_t at = c->symbols.never[i] - from;

		if (at < len)
			code_flow_add_start(c->flow, (uint32_t)at, CODE_NEVER);
	}
	return 0;
}

/* Where the next piece begins. */
static uint32_t end_of_piece(const struct code_flow *f, bool is_last)
{
	if (!is_last) {
		for (uint32_t at = f->len - 1; at > f->len - f->len / 4; at--) {
			if (code_flow_is_start(f, at))
				return at;
		}
	}
	return f->len;
}

/* ---- what comes of it ---- */

static uint32_t length_at(const struct code_flow *f, uint32_t at)
{
	struct x86_instruction i;
	size_t len = 1;

	if (f->numbers[at] != CODE_HANDLED)
		len = code_flow_decode(f, at, &i);
	return len > 0 ? (uint32_t)len : 1;
}

static uint32_t next_reached(const struct code_flow *f, uint32_t at, uint32_t end)
{
	while (at < end && f->numbers[at] == CODE_UNREACHED)
		at++;
	return at;
}

/* Passes on the states of the first len bytes. Instructions may begin inside of others. */
static int pass_on(const struct code_flow *f, uint64_t from, uint32_t len, code_state_fn *on_state,
		   void *ctx)
{
	uint32_t covered = 0, at = 0, end;
	int last = -1, r = 0;

	while (r == 0 && at < len) {
		uint16_t number = f->numbers[at];

		if (number != CODE_UNREACHED) {
			if (number != last)
				r = on_state(ctx, from + at, &f->states.states[number]);
			end = at + length_at(f, at);
			if (end > covered)
				covered = end;
			last = number;
			at++;
		} else if (at < covered) {
			at++;
		} else {
			uint32_t next = next_reached(f, at, len);

			if (code_flow_skip_padding(f, at) < next || at == 0 || last == CODE_END ||
			    last == CODE_HANDLED) {
				r = on_state(ctx, from + at, NULL);
				last = -1;
			}
			at = next;
		}
	}
	return r;
}

/* ---- jumps between pieces ---- */

static int compare_leaving(const void *a, const void *b)
{
	const struct code_leaving *x = a, *y = b;

	return (x->to > y->to) - (x->to < y->to);
}

static int add_leaving(struct code_rules *c, uint64_t to, const struct code_state *s)
{
	if (c->n_leaving == LEAVING_MAX)
		return 0;
	if (ARRAY_RESERVE(c->leaving, c->max_leaving, c->n_leaving + 1) < 0)
		return -ENOMEM;
	c->leaving[c->n_leaving++] = (struct code_leaving){.to = to, .state = *s};
	return 0;
}

/*
 * Where a call leads that leaves the piece, or a jump that ends a function like one: functions of
 * this gap, or of those behind it.
 */
static int add_called(struct code_rules *c, uint64_t to)
{
	if (c->n_called == LEAVING_MAX || !elf_layout_is_text(c->layout, to))
		return 0;
	if (ARRAY_RESERVE(c->called, c->max_called, c->n_called + 1) < 0)
		return -ENOMEM;
	c->called[c->n_called++] = to;
	return 0;
}

static int find_called(struct code_rules *c, uint64_t from, uint32_t len)
{
	const struct code_flow *f = c->flow;
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < len; at++) {
		const struct code_state *s = &f->states.states[f->numbers[at]];
		struct x86_instruction i;
		uint64_t to;

		if (f->numbers[at] == CODE_UNREACHED || code_flow_decode(f, at, &i) == 0 ||
		    (i.kind != X86_CALL && (i.kind != X86_JUMP || !code_state_is_callers(s))))
			continue;
		to = from + at + i.len + (uint64_t)(int64_t)i.number;
		if (to - from >= f->len)
			r = add_called(c, to);
	}
	return r;
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts them, each once. */
static void sort_called(struct code_rules *c)
{
	size_t n = 0;

	if (c->n_sorted == c->n_called)
		return;
	qsort(c->called, c->n_called, sizeof(*c->called), compare_addresses);
	for (size_t i = 0; i < c->n_called; i++) {
		if (n == 0 || c->called[i] != c->called[n - 1])
			c->called[n++] = c->called[i];
	}
	c->n_called = c->n_sorted = n;
}

static void add_called_starts(struct code_rules *c, uint64_t from, uint32_t len)
{
	size_t first = 0, end;

	sort_called(c);
	end = c->n_called;
	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (c->called[middle] < from)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < c->n_called && c->called[first] - from < len; first++)
		code_flow_add_start(c->flow, (uint32_t)(c->called[first] - from), CODE_CALLED);
}

/* Keeps those that leave the first len bytes of a piece, but not for other functions. */
static int find_leaving(struct code_rules *c, uint64_t from, uint32_t len)
{
	const struct code_flow *f = c->flow;
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < len; at++) {
		const struct code_state *s = &f->states.states[f->numbers[at]];
		struct x86_instruction i;
		uint64_t to;

		if (f->numbers[at] <= CODE_HANDLED || code_flow_decode(f, at, &i) == 0 ||
		    (i.kind != X86_JUMP && i.kind != X86_BRANCH))
			continue;
		to = from + at + i.len + (uint64_t)(int64_t)i.number;
		if (to - from >= f->len && !code_state_is_callers(s))
			r = add_leaving(c, to, s);
	}
	return r;
}

static void find_arrivals(struct code_rules *c, uint64_t from, uint32_t len)
{
	size_t first = 0, end = c->n_leaving;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (c->leaving[middle].to < from)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < c->n_leaving && c->leaving[first].to - from < len; first++)
		code_flow_add_arrival(c->flow, (uint32_t)(c->leaving[first].to - from),
				      &c->leaving[first].state);
}

/* ---- pieces ---- */

/* Most of what no description covers is what aligns functions. */
static bool is_padding(const uint8_t *code, uint32_t len)
{
	uint32_t at = 0;

	while (at < len) {
		struct x86_instruction i;

		if (code[at] == 0xcc) {
			at++;
			continue;
		}
		if (x86_decode(&i, code + at, len - at) == 0 || i.kind != X86_PADDING)
			return false;
		at += i.len;
	}
	return true;
}

static void run_round(struct code_flow *f, uint32_t end)
{
	memset(f->numbers, 0, f->len * sizeof(*f->numbers));
	code_states_reset(&f->states);
	f->is_aligned = code_guess_is_aligned(f);
	f->learned = false;
	if (end < f->len)
		code_flow_follow(f, end, CODE_END);
	for (size_t i = 0; i < f->n_arrivals; i++)
		code_flow_add_edge(f, f->arrivals[i].at,
				   code_states_number(&f->states, &f->arrivals[i].state));
	/* those that begin late come first from the stack; the order of addresses is the others' */
	for (uint32_t at = 0; at < f->len; at++) {
		f->flags[at] &= (uint8_t)~CODE_BEHIND;
		if (code_flow_is_start(f, at) && f->numbers[at] == CODE_UNREACHED)
			code_flow_add_edge(f, at, CODE_ENTRY);
	}
	code_flow_follow(f, UINT32_MAX, CODE_ENTRY);
	code_guess(f);
	if (code_never_find(f))
		f->learned = true;
}

/*
 * Finds the states of all instructions, in rounds: each knows what the one before has learned about
 * calls that do not return and about where functions begin. end is where a function begins that has
 * no caller, UINT32_MAX if there is none.
 */
static int run_rounds(struct code_flow *f, uint32_t end)
{
	unsigned rounds = 0;

	f->failed = false;
	f->may_return = code_guess_returns;
	do {
		run_round(f, end);
	} while (f->learned && !f->failed && ++rounds < f->max_rounds);
	return f->failed ? -ENOMEM : 0;
}

static int run_piece(struct code_rules *c, uint64_t from, uint64_t total, uint32_t len,
		     bool is_first)
{
	uint64_t entry = c->layout->entry;
	int r;

	code_flow_begin(c->flow, c->code, len, from);
	c->flow->never = never_returns;
	c->flow->ctx = c;
	c->flow->max_rounds = is_first ? FIRST_ROUNDS_MAX : ROUNDS_MAX;
	find_signal_returns(c, len);
	find_arrivals(c, from, len);
	add_called_starts(c, from, len);
	find_prologues(c, from, len);
	r = find_starts(c, from, len, total);
	if (r == 0)
		r = run_rounds(c->flow, entry >= from && entry - from < len
						? (uint32_t)(entry - from)
						: UINT32_MAX);
	if (r == 0) {
		code_guess_frames(c->flow);
		mark_signal_returns(c->flow);
	}
	return r;
}

/* All pieces. on_state is NULL the first time, when only jumps between them are looked for. */
static int run_pieces(struct code_rules *c, uint64_t from, uint64_t to, uint64_t offset,
		      code_state_fn *on_state, void *ctx)
{
	uint64_t total = to - from;
	int r = 0;

	while (r == 0 && from < to) {
		uint32_t len = to - from < CODE_FLOW_MAX_BYTES ? (uint32_t)(to - from)
							       : CODE_FLOW_MAX_BYTES;
		bool is_last = len == to - from;

		r = read_code(c, offset, len);
		if (r == 0 && is_last && is_padding(c->code, len))
			return on_state ? on_state(ctx, from, NULL) : 0;
		if (r == 0)
			r = run_piece(c, from, total, len, !on_state);
		if (r != 0)
			break;
		len = end_of_piece(c->flow, is_last);
		r = find_called(c, from, len);
		if (r != 0)
			break;
		r = on_state ? pass_on(c->flow, from, len, on_state, ctx)
			     : find_leaving(c, from, len);
		from += len;
		offset += len;
	}
	return r;
}

int code_rules_run(struct code_rules *c, uint64_t from, uint64_t to, uint64_t offset,
		   code_state_fn *on_state, void *ctx)
{
	int r = 0;

	c->n_leaving = 0;
	if (!c->flow)
		r = code_flow_new(&c->flow);
	if (r == 0 && to - from > CODE_FLOW_MAX_BYTES) {
		r = run_pieces(c, from, to, offset, NULL, NULL);
		if (c->n_leaving > 0)
			qsort(c->leaving, c->n_leaving, sizeof(*c->leaving), compare_leaving);
	}
	return r == 0 ? run_pieces(c, from, to, offset, on_state, ctx) : r;
}
