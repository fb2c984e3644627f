/*
 * A program for the walk of x86-64, whose stack and tables are written by hand. The text of the
 * made-up file begins at virtual address 0x1000, and is mapped with a bias; each function has 256
 * bytes and one rule.
 */
#ifndef TEST_LIB_WALK_PROGRAM_H
#define TEST_LIB_WALK_PROGRAM_H

#include "test/lib/host_bpf.h"
#include "test/lib/unit.h"

#define BIAS 0x400000000u
#define TEXT_AT 0x1000u
#define FUNCTION_BYTES 256u
#define MAX_FUNCTIONS 32u
#define TABLE UNWIND_TABLE_FIRST

static struct unwind_blocks blocks;
static struct walk *const w = &host.scratch.walk;

/* An address in the function with this number, behind a call. */
static inline uint64_t in_function(unsigned i)
{
	return BIAS + TEXT_AT + i * FUNCTION_BYTES + 100;
}

static inline uint64_t stack_at(unsigned word)
{
	return HOST_STACK_AT + word * 8;
}

/* The function with number i has rule i. */
static inline void make_program(const struct unwind_rule *rules, unsigned n)
{
	struct unwind_blocks_row rows[MAX_FUNCTIONS + 1];
	const struct unwind_blocks_mapping m = {BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE};

	memset(&host, 0, sizeof(host));
	unwind_blocks_init(&blocks, host.slab, host.tables);
	for (unsigned i = 0; i <= n; i++)
		rows[i] = (struct unwind_blocks_row){TEXT_AT + i * FUNCTION_BYTES,
						     (uint16_t)(i < n ? i : 0)};
	unwind_blocks_table(&blocks, TABLE, rules, n, rows, n + 1);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, &m, 1, 0);
	w->ip = in_function(1);
	w->sp = stack_at(10);
	w->fp = 0x1234;
}

static const struct unwind_rule unknown = {.base = UNWIND_CFA_UNKNOWN};
static const struct unwind_rule end = {.base = UNWIND_CFA_END};

/* A walk from function 1, whose caller is the last function, with the rule end. */
static inline void check_one_step(uint64_t sp, uint64_t fp)
{
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 2);
	assert_int_equal(host.scratch.addrs[1], in_function(2));
	assert_int_equal(w->sp, sp);
	assert_int_equal(w->fp, fp);
	assert_false(w->guessed);
}

#endif /* TEST_LIB_WALK_PROGRAM_H */
