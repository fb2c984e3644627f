/*
 * luaV_execute() has no symbol in stripped files. It is what lua_call() calls, by one to three
 * steps, and by far the largest of the functions that it can reach so.
 *
 * Functions that call it have the state as their first argument, and use it after the call. So they
 * begin with putting it where calls leave it alone: on their stack, or in a register that callees
 * save. The loop saves such registers in its first instructions, as it needs all of them. Large
 * functions keep it in one place here and in another one there, so what counts is where a call has
 * its argument from. With link-time optimization there are many such functions, and the loop is one
 * of them. A call that is the last step of a function is one of that function's caller; the only
 * such one is luaD_rawrunprotected(), which calls what it is given by a pointer. lua_resume() calls
 * it.
 */
#include "node-agent/interpreter/lua/lua_loop.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/eh_function.h"
#include "common/elf/x86_decode.h"
#include "node-agent/interpreter/interpreter_loops.h"

#define FUNCTION_MAX 65535u  /* bytes of a function that is read: those of luaV_execute are less */
#define LOOP_MIN 3000u       /* bytes; real ones have 5,600 to 21,000 */
#define DEPTH 3u             /* calls from lua_call() */
#define CALLED_MAX 64u       /* functions that a function calls */
#define SEEN_MAX 160u        /* functions whose calls are followed */
#define FOLLOWED_MAX 2048u   /* bytes of such a function; those on the way have below 400 */
#define CALLERS_MAX 64u      /* calls of the loop: real files have 2 to 7, with LTO 30 */
#define TEXT_MAX (64u << 20) /* that is searched for calls */
#define CHUNK_BYTES 65536u
#define CALL_BYTES 5u
#define MARK_MAX 128u /* bytes from the start of the loop */
#define NOT_FOUND INT32_MIN
#define ARGUMENT_IN_DWARF 5u /* rdi */
#define STATIC_REGISTERS (1u << X86_RBX | 1u << X86_RBP | 0xf000u)

struct finder {
	const struct elf_layout *layout;
	const struct byte_source *src;
	uint8_t bytes[FUNCTION_MAX];
	struct interpreter_range seen[SEEN_MAX];
	unsigned n_seen;
	unsigned n_callers;
	uint64_t loop;
	struct chain_calls *calls; /* to be filled */
	unsigned n_sites;
	/* of the loop: where the registers of its caller are, from the stack pointer of that */
	int32_t saved[X86_REGISTERS];
};

/* Returns its length; 0: it is too long. */
static int read_function(struct finder *f, const struct interpreter_range *range, size_t *ret)
{
	uint64_t offset;
	int r;

	*ret = 0;
	if (range->end - range->start > FUNCTION_MAX)
		return 0;
	r = elf_layout_offset(f->layout, range->start, &offset);
	if (r < 0)
		return 0;
	r = byte_source_read(f->src, offset, f->bytes, (size_t)(range->end - range->start));
	if (r == 0)
		*ret = (size_t)(range->end - range->start);
	return r;
}

/* ---- how functions begin ---- */

/* What a function's first instructions do, up to its first call or jump. */
struct beginning {
	int32_t saved[X86_REGISTERS]; /* where they are pushed: from the CFA */
	uint8_t keeper;               /* the register that has the first argument */
	int32_t kept_at;              /* or where on the stack it is, from the CFA */
	int32_t depth;                /* bytes of its frame, with the return address */
	int32_t pointer;              /* where rbp points, if it is a frame pointer: from the CFA */
	uint32_t pushed_by;           /* up to the last push */
};

static void begin(struct beginning *b)
{
	*b = (struct beginning){.keeper = X86_NO_REGISTER, .kept_at = NOT_FOUND, .depth = 8};
	b->pointer = NOT_FOUND;
	for (size_t i = 0; i < X86_REGISTERS; i++)
		b->saved[i] = NOT_FOUND;
}

static bool ends_beginning(const struct x86_instruction *i)
{
	switch (i->kind) {
	case X86_CALL:
	case X86_CALL_INDIRECT:
	case X86_JUMP:
	case X86_JUMP_INDIRECT:
	case X86_RETURN:
	case X86_TRAP:
	case X86_POP:
	case X86_LEAVE:
		return true;
	default:
		return false;
	}
}

/* at: behind the instruction. */
static void take_first(struct beginning *b, const struct x86_instruction *i, bool has_argument,
		       size_t at)
{
	if (i->kind == X86_PUSH) {
		b->depth += 8;
		if (i->from < X86_REGISTERS && b->saved[i->from] == NOT_FOUND) {
			b->saved[i->from] = -b->depth;
			b->pushed_by = (uint32_t)at;
		}
	} else if (i->kind == X86_ADD && i->to == X86_RSP) {
		b->depth -= i->number;
	} else if (i->kind == X86_MOVE && i->to == X86_RBP && i->from == X86_RSP) {
		b->pointer = -b->depth;
	} else if (!has_argument) {
		return;
	} else if (i->kind == X86_MOVE && i->from == X86_RDI && i->to < X86_REGISTERS &&
		   STATIC_REGISTERS >> i->to & 1) {
		b->keeper = i->to;
	} else if (i->kind == X86_STORE && i->from == X86_RDI && i->base == X86_RSP) {
		b->kept_at = i->number - b->depth;
	}
}

static void read_beginning(const struct finder *f, size_t n, struct beginning *b)
{
	struct x86_instruction i;
	bool has_argument = true;
	size_t len;

	begin(b);
	for (size_t at = 0; at < n; at += len) {
		len = x86_decode(&i, f->bytes + at, n - at);
		if (len == 0 || ends_beginning(&i))
			break;
		take_first(b, &i, has_argument, at + len);
		if (i.writes >> X86_RDI & 1)
			has_argument = false;
		if (b->keeper < X86_REGISTERS && i.writes >> b->keeper & 1 &&
		    !(i.kind == X86_MOVE && i.from == X86_RDI))
			b->keeper = X86_NO_REGISTER;
	}
}

/* Where the state is, from the stack pointer of the function when it calls the loop. */
static int32_t state_of(const struct finder *f, const struct beginning *b)
{
	if (b->keeper < X86_REGISTERS)
		return f->saved[b->keeper];
	return b->kept_at == NOT_FOUND ? NOT_FOUND : b->kept_at + b->depth;
}

/* Where a word of the frame is, from its stack pointer when it calls. */
static int32_t place_of(const struct beginning *b, const struct x86_instruction *i)
{
	if (i->base == X86_RSP)
		return i->number;
	if (i->base == X86_RBP && b->pointer != NOT_FOUND)
		return b->pointer + i->number + b->depth;
	return NOT_FOUND;
}

/* Where each register has its value from, as a word that a callee leaves alone. */
static void follow(const struct finder *f, const struct beginning *b,
		   const struct x86_instruction *i, int32_t at[X86_REGISTERS])
{
	int32_t moved = NOT_FOUND;

	if (i->kind == X86_MOVE && i->from < X86_REGISTERS)
		moved = STATIC_REGISTERS >> i->from & 1 ? f->saved[i->from] : at[i->from];
	else if (i->kind == X86_LOAD)
		moved = place_of(b, i);
	for (unsigned k = 0; k < X86_REGISTERS; k++) {
		bool is_lost = i->kind == X86_CALL || i->kind == X86_CALL_INDIRECT;

		if (i->writes >> k & 1 || (is_lost && !(STATIC_REGISTERS >> k & 1)))
			at[k] = NOT_FOUND;
	}
	if ((i->kind == X86_MOVE || i->kind == X86_LOAD) && i->to < X86_REGISTERS)
		at[i->to] = moved;
	if (i->kind == X86_STORE && i->from < X86_REGISTERS && place_of(b, i) != NOT_FOUND)
		at[i->from] = place_of(b, i);
}

/* Where the argument is kept of the call at this offset in the function that has been read. */
static int32_t argument_of(const struct finder *f, const struct beginning *b, size_t call)
{
	int32_t at[X86_REGISTERS];
	struct x86_instruction i;
	size_t len;

	for (size_t k = 0; k < X86_REGISTERS; k++)
		at[k] = NOT_FOUND;
	for (size_t done = 0; done < call; done += len ?: 1) {
		len = x86_decode(&i, f->bytes + done, call - done);
		if (len > 0)
			follow(f, b, &i, at);
	}
	return at[X86_RDI];
}

/* ---- the loop ---- */

static bool is_seen(struct finder *f, const struct interpreter_range *range)
{
	for (unsigned i = 0; i < f->n_seen; i++) {
		if (f->seen[i].start == range->start)
			return true;
	}
	if (f->n_seen < SEEN_MAX && range->end - range->start <= FOLLOWED_MAX)
		f->seen[f->n_seen++] = *range;
	return false;
}

/* Sets *ret to the largest function that can be reached from the one at this address. */
static int find_largest(struct finder *f, uint64_t function, struct interpreter_range *ret)
{
	struct interpreter_range called[CALLED_MAX];
	unsigned done = 0, depth = 0, until = 0;
	uint64_t at = function;
	int n;

	f->n_seen = 0;
	for (;;) {
		n = interpreter_calls_find(f->layout, f->src, at, called, CALLED_MAX);
		if (n < 0 && n != -ENOENT)
			return n;
		for (int i = 0; i < n; i++) {
			if (!is_seen(f, &called[i]) &&
			    called[i].end - called[i].start > ret->end - ret->start)
				*ret = called[i];
		}
		if (done == until) {
			until = f->n_seen;
			if (++depth == DEPTH)
				return 0;
		}
		if (done == f->n_seen)
			return 0;
		at = f->seen[done++].start;
	}
}

static uint8_t dwarf_number(uint8_t number)
{
	static const uint8_t numbers[8] = {0, 2, 1, 3, 7, 6, 4, 5};

	return number < ARRAY_SIZE(numbers) ? numbers[number] : number;
}

/* The register that the loop stores most where its next instruction is stored. */
static uint8_t find_next_instruction(const struct finder *f, size_t n, uint8_t stored_at)
{
	unsigned counts[X86_REGISTERS] = {0}, best = 0;
	uint8_t found = 255;
	struct x86_instruction i;
	size_t len;

	for (size_t at = 0; stored_at > 0 && at < n; at += len ?: 1) {
		len = x86_decode(&i, f->bytes + at, n - at);
		if (len > 0 && i.kind == X86_STORE && i.number == stored_at &&
		    i.from < X86_REGISTERS && i.base != X86_RSP)
			counts[i.from]++;
	}
	for (unsigned k = 0; k < X86_REGISTERS; k++) {
		if (STATIC_REGISTERS >> k & 1 && counts[k] > best) {
			best = counts[k];
			found = dwarf_number((uint8_t)k);
		}
	}
	return found;
}

/* Behind the first instruction that sets the mark, as or $8,66(%rbx); 0: it is not among them. */
static uint16_t find_mark(const struct finder *f, size_t n, const struct lua_release *release)
{
	struct x86_instruction i;
	size_t len;

	for (size_t at = 0; release->mark != 0 && at < n && at < MARK_MAX; at += len) {
		const uint8_t *end;

		len = x86_decode(&i, f->bytes + at, n - at);
		if (len == 0)
			break;
		end = f->bytes + at + len;
		if (len >= 4 && end[-1] == release->mark && end[-2] == release->mark_at)
			return (uint16_t)(at + len);
	}
	return 0;
}

static int read_loop(struct finder *f, const struct interpreter_range *loop,
		     const struct lua_release *release)
{
	struct beginning b;
	size_t n;
	int r;

	if (loop->end - loop->start < LOOP_MIN)
		return -ENOTSUP;
	r = read_function(f, loop, &n);
	if (r < 0)
		return r;
	if (n == 0)
		return -ENOTSUP;
	read_beginning(f, n, &b);
	for (size_t i = 0; i < X86_REGISTERS; i++) /* the CFA is its caller's stack pointer */
		f->saved[i] = b.saved[i];
	f->calls->entry_bytes = (uint16_t)b.pushed_by; /* within FUNCTION_MAX */
	f->calls->argument = ARGUMENT_IN_DWARF;
	f->calls->next_instruction = find_next_instruction(f, n, release->stored_at);
	f->calls->mark_bytes = find_mark(f, n, release);
	return 0;
}

/* ---- those who call it ---- */

/* Calls come in ascending order. What a function keeps elsewhere from here on is another site. */
static void add_range(struct finder *f, uint64_t start, uint64_t call, uint64_t end, int32_t at)
{
	struct chain_site *last = &f->calls->sites[f->n_sites > 0 ? f->n_sites - 1 : 0];
	uint32_t offset = (uint32_t)(call - f->loop);
	bool is_inside = f->n_sites > 0 && offset - last->start < last->n_bytes;

	if ((is_inside && last->at == at) || f->n_sites == CHAIN_SITES)
		return;
	if (is_inside) {
		last->n_bytes = (uint16_t)(offset - last->start);
		start = call;
	}
	f->calls->sites[f->n_sites++] = (struct chain_site){.start = (uint32_t)(start - f->loop),
							    .n_bytes = (uint16_t)(end - start),
							    .at = (int16_t)at};
}

/* A function that does not keep the state as it should is left out. */
static int add_site(struct finder *f, const struct interpreter_range *range, uint64_t call)
{
	struct beginning b;
	int32_t at;
	size_t n;
	int r = read_function(f, range, &n);

	if (r < 0 || n == 0)
		return r;
	read_beginning(f, n, &b);
	at = argument_of(f, &b, (size_t)(call - range->start));
	if (at == NOT_FOUND && range->start != f->loop)
		at = state_of(f, &b);
	if (at >= INT16_MIN && at <= INT16_MAX)
		add_range(f, range->start, call, range->end, at);
	return 0;
}

static bool calls_pointer(const struct finder *f, size_t n)
{
	struct x86_instruction i;
	size_t len;

	for (size_t at = 0; at < n; at += len ?: 1) {
		len = x86_decode(&i, f->bytes + at, n - at);
		if (len > 0 && i.kind == X86_CALL_INDIRECT)
			return true;
	}
	return false;
}

/* luaD_rawrunprotected() */
static int add_protected(struct finder *f, uint64_t resume)
{
	struct interpreter_range called[CALLED_MAX];
	int n = interpreter_calls_find(f->layout, f->src, resume, called, CALLED_MAX), r = 0;
	size_t len;

	if (n < 0)
		return n == -ENOENT ? 0 : n;
	for (int i = 0; i < n && r == 0; i++) {
		r = read_function(f, &called[i], &len);
		if (r == 0 && calls_pointer(f, len))
			r = add_site(f, &called[i], called[i].start);
	}
	return r;
}

static int add_caller(struct finder *f, uint64_t from)
{
	struct interpreter_range range;
	int r;

	if (f->n_callers++ == CALLERS_MAX)
		return -ENOTSUP;
	r = eh_function_before(f->layout, f->src, from, &range.start, &range.end);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return from < range.end ? add_site(f, &range, from) : 0;
}

static int add_callers_in(struct finder *f, const uint8_t *chunk, size_t n, uint64_t vaddr)
{
	int r = 0;

	for (size_t i = 0; i + CALL_BYTES <= n && r == 0; i++) {
		int32_t distance;

		if (chunk[i] != 0xe8 && chunk[i] != 0xe9)
			continue;
		memcpy(&distance, chunk + i + 1, sizeof(distance));
		if (vaddr + i + CALL_BYTES + (uint64_t)(int64_t)distance == f->loop)
			r = add_caller(f, vaddr + i);
	}
	return r;
}

static int add_callers(struct finder *f)
{
	const struct elf_section *text = &f->layout->sections[ELF_SECTION_TEXT];
	AUTO_FREE uint8_t *chunk = malloc(CHUNK_BYTES);
	uint64_t end = text->size_bytes < TEXT_MAX ? text->size_bytes : TEXT_MAX;
	int r = 0;

	if (!chunk)
		return -ENOMEM;
	for (uint64_t at = 0; at < end && r == 0; at += CHUNK_BYTES - CALL_BYTES + 1) {
		size_t n = end - at < CHUNK_BYTES ? (size_t)(end - at) : CHUNK_BYTES;

		r = byte_source_read(f->src, text->offset + at, chunk, n);
		if (r == 0)
			r = add_callers_in(f, chunk, n, text->vaddr + at);
	}
	return r;
}

static int find(struct finder *f, const struct lua_loop_search *search)
{
	struct interpreter_range loop = {0};
	int r;

	if (search->loop != 0) {
		r = eh_function_before(f->layout, f->src, search->loop, &loop.start, &loop.end);
		if (r == 0 && loop.start != search->loop)
			r = -ENOENT;
	} else {
		r = find_largest(f, search->call, &loop);
	}
	f->loop = loop.start;
	if (r == 0)
		r = read_loop(f, &loop, search->release);
	if (r == 0)
		r = add_callers(f);
	if (r == 0)
		r = add_protected(f, search->resume);
	return r == -ENOENT || (r == 0 && f->n_sites == 0) ? -ENOTSUP : r;
}

int lua_loop_find(const struct elf_layout *layout, const struct byte_source *src,
		  const struct lua_loop_search *search, uint64_t *ret_loop,
		  struct chain_calls *calls)
{
	AUTO_FREE struct finder *f = NULL;
	int r;

	if (layout->machine != EM_X86_64)
		return -ENOTSUP;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->layout = layout;
	f->src = src;
	f->calls = calls;
	r = find(f, search);
	*ret_loop = f->loop;
	return r;
}
