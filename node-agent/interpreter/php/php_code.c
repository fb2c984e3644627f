/*
 * execute_ex() pushes the registers that it saves, makes room for its variables, and leaves the
 * stack pointer alone from then on: the instructions of PHP are labels in it, which jump to each
 * other. opcache replaces some by code that it has compiled, which is jumped to as they are. It
 * calls functions, but has no frame: all that it saves is in a part of execute_ex()'s frame that is
 * reserved for it, or above the stack pointer for a moment.
 *
 * execute_ex() is called through the variable zend_execute_ex, by zend_execute(),
 * zend_call_function() and zend_generator_resume() only. Extensions that put something else into
 * that variable switch the compiler off. So execute_ex() has one of a few return addresses, which
 * are in the file, and what is found on a stack can be verified.
 */
#include "node-agent/interpreter/php/php_code.h"

#include <elf.h>
#include <errno.h>

#include "common/elf/eh_function.h"
#include "common/elf/x86_decode.h"

#define BEGINNING_BYTES 64u
#define FUNCTION_MAX 16384u /* bytes of a caller: real ones have 300 to 2,500 */
#define WORD_BYTES 8
#define STATIC_REGISTERS (1u << X86_RBX | 1u << X86_RBP | 0xf000u) /* that calls leave alone */

struct finder {
	const struct elf_layout *layout;
	const struct byte_source *src;
	uint64_t pointer;
	bool by_table; /* the address of the variable is loaded from a table, whichever it is */
	uint64_t returns[CHAIN_RETURNS];
	unsigned n_returns;
	size_t n; /* bytes of code */
	uint8_t code[FUNCTION_MAX];
};

/* ---- the loop ---- */

struct beginning {
	int32_t n_saved;
	int32_t fp;    /* where the frame pointer is saved, from the return address on */
	int32_t bytes; /* of its frame */
};

/* Takes an instruction of the beginning. Returns 1 if it is the last one. */
static int take_first(const struct x86_instruction *i, struct beginning *b)
{
	switch (i->kind) {
	case X86_PUSH:
		b->n_saved++;
		if (i->from == X86_RBP && b->fp == 0)
			b->fp = -WORD_BYTES * b->n_saved;
		return 0;
	case X86_ADD:
		b->bytes = WORD_BYTES * b->n_saved - i->number;
		return i->to == X86_RSP;
	case X86_PADDING:
	case X86_MOVE:
	case X86_STORE:
	case X86_LOAD:
	case X86_ADDRESS:
	case X86_CLEAR:
	case X86_COMPARE:
	case X86_OTHER:
		return i->writes >> X86_RSP & 1 ? -ENOTSUP : 0;
	default:
		return -ENOTSUP;
	}
}

/* Its frame is complete once room for variables is made. */
static int read_beginning(const uint8_t *code, size_t n, struct chain_guest *ret)
{
	struct x86_instruction i;
	struct beginning b = {0};
	int r = 0;

	for (size_t at = 0, len; r == 0; at += len) {
		len = x86_decode(&i, code + at, n - at);
		r = len == 0 ? -ENOTSUP : take_first(&i, &b);
	}
	if (r < 0 || b.n_saved > (int32_t)CHAIN_SAVED || b.bytes <= WORD_BYTES * b.n_saved ||
	    b.bytes > UINT16_MAX || b.bytes % WORD_BYTES != 0)
		return -ENOTSUP;
	ret->back = (uint16_t)b.bytes;
	ret->fp = (int16_t)b.fp;
	ret->n_saved = (uint16_t)b.n_saved;
	return 0;
}

/* ---- those who call it ---- */

static void add_return(struct finder *f, uint64_t vaddr)
{
	if (f->n_returns < CHAIN_RETURNS)
		f->returns[f->n_returns++] = vaddr;
}

static bool is_of_pointer(const struct finder *f, const struct x86_instruction *i, uint64_t next)
{
	if (i->base != X86_NEXT)
		return false;
	if (i->kind == X86_LOAD)
		return f->by_table;
	return next + (uint64_t)(int64_t)i->number == f->pointer;
}

/*
 * Takes an instruction, which ends at `next`. holders: the registers that have the address of the
 * variable.
 */
static void take_instruction(struct finder *f, const struct x86_instruction *i, uint64_t next,
			     uint16_t *holders)
{
	bool found = false;

	switch (i->kind) {
	case X86_CALL_INDIRECT:
		if (is_of_pointer(f, i, next) ||
		    (i->base < X86_REGISTERS && i->number == 0 && *holders >> i->base & 1))
			add_return(f, next);
		*holders &= STATIC_REGISTERS;
		return;
	case X86_CALL:
		*holders &= STATIC_REGISTERS;
		return;
	case X86_ADDRESS:
	case X86_LOAD:
		found = is_of_pointer(f, i, next);
		break;
	case X86_MOVE:
		found = *holders >> (i->from & 15) & 1;
		break;
	default:
		break;
	}
	*holders &= (uint16_t)~i->writes;
	if (found)
		*holders |= (uint16_t)(1u << (i->to & 15));
}

static int read_code(struct finder *f, uint64_t vaddr, size_t n)
{
	uint64_t offset;
	int r = elf_layout_offset(f->layout, vaddr, &offset);

	f->n = 0;
	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	f->n = n;
	return byte_source_read(f->src, offset, f->code, n);
}

/* A function that is not there calls nothing. */
static int read_caller(struct finder *f, uint64_t function)
{
	uint16_t holders = 0;
	uint64_t start, end;
	int r = eh_function_before(f->layout, f->src, function, &start, &end);

	if (r < 0 || start != function || end - start > FUNCTION_MAX)
		return r == -ENOENT ? 0 : r;
	r = read_code(f, start, (size_t)(end - start));
	for (size_t at = 0, len; r == 0 && at < f->n; at += len) {
		struct x86_instruction i;

		len = x86_decode(&i, f->code + at, f->n - at);
		if (len == 0) {
			len = 1;
			holders = 0;
			continue;
		}
		take_instruction(f, &i, start + at + len, &holders);
	}
	return r == -ENOTSUP ? 0 : r;
}

static int read_callers(struct finder *f, const struct php_loop *loop)
{
	int r = 0;

	for (size_t i = 0; i < loop->n_callers && r == 0; i++) {
		if (loop->callers[i])
			r = read_caller(f, loop->callers[i]);
	}
	return r;
}

int php_guest_find(const struct elf_layout *layout, const struct byte_source *src,
		   const struct php_loop *loop, struct chain_guest *ret)
{
	AUTO_FREE struct finder *f = NULL;
	int r;

	if (layout->machine != EM_X86_64 || loop->pointer == 0)
		return -ENOTSUP;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (struct finder){.layout = layout, .src = src, .pointer = loop->pointer};
	*ret = (struct chain_guest){0};
	r = read_code(f, loop->loop, BEGINNING_BYTES);
	if (r == 0)
		r = read_beginning(f->code, f->n, ret);
	if (r == 0)
		r = read_callers(f, loop);
	f->by_table = f->n_returns == 0; /* in libraries */
	if (r == 0 && f->by_table)
		r = read_callers(f, loop);
	if (r < 0 || f->n_returns == 0)
		return r < 0 ? r : -ENOTSUP;
	for (unsigned i = 0; i < CHAIN_RETURNS; i++)
		ret->returns[i] = f->returns[i < f->n_returns ? i : f->n_returns - 1];
	return 0;
}
