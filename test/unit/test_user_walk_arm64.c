/*
 * The walk of arm64, compiled for this machine: return addresses in the link register, signed ones,
 * and signal frames. What both architectures have in common is in test_user_walk.c.
 */
#define __TARGET_ARCH_arm64
#include "test/lib/host_bpf.h"

#include "test/lib/unit.h"

#define BIAS 0x400000000u
#define FUNCTION_BYTES 256u
#define TABLE UNWIND_TABLE_FIRST
#define SIGNATURE (UINT64_C(0x5a) << 48)
#define FP 29
#define LR 30

enum { NONE, LEAF, PAIR, ALONE, RESTORER, END, N_RULES };

static const struct unwind_rule rules[N_RULES] = {
	[NONE] = {.base = UNWIND_CFA_UNKNOWN},
	[LEAF] = {.base = UNWIND_CFA_SP, .how = UNWIND_RA_REGISTER, .aux = LR},
	[PAIR] = {UNWIND_CFA_SP, UNWIND_FP_AT_CFA | UNWIND_RA_AT_CFA, 8, -8, -7},
	[ALONE] = {UNWIND_CFA_SP, UNWIND_RA_AT_CFA, 2, 0, -2},
	[RESTORER] = {.base = UNWIND_CFA_SIGNAL},
	[END] = {.base = UNWIND_CFA_END},
};

static struct unwind_blocks blocks;
static struct walk *const w = &host.scratch.walk;

static uint64_t in_function(unsigned rule)
{
	return BIAS + rule * FUNCTION_BYTES + 100;
}

static uint64_t stack_at(unsigned word)
{
	return HOST_STACK_AT + word * 8;
}

static int set_up(void **state)
{
	struct unwind_blocks_row rows[N_RULES + 1];
	const struct unwind_blocks_mapping m = {BIAS, BIAS + 0x10000, BIAS, TABLE};

	(void)state;
	memset(&host, 0, sizeof(host));
	unwind_blocks_init(&blocks, host.slab, host.tables);
	for (unsigned i = 0; i <= N_RULES; i++)
		rows[i] = (struct unwind_blocks_row){i * FUNCTION_BYTES, (uint16_t)(i % N_RULES)};
	unwind_blocks_table(&blocks, TABLE, rules, N_RULES, rows, N_RULES + 1);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, &m, 1, 0);
	w->sp = stack_at(10);
	w->fp = 0x1234;
	return 0;
}

TEST_FIXTURE(a_leaf_returns_to_the_link_register, set_up, NULL)
{
	w->ip = in_function(LEAF);
	w->registers[LR] = SIGNATURE | in_function(PAIR);
	host.stack[10] = 0x5678;
	host.stack[11] = SIGNATURE | in_function(ALONE);
	host.stack[18] = in_function(END);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 4);
	assert_int_equal(host.scratch.addrs[1], in_function(PAIR));
	assert_int_equal(host.scratch.addrs[2], in_function(ALONE));
	assert_int_equal(host.scratch.addrs[3], in_function(END));
	assert_int_equal(w->fp, 0x5678);
	assert_int_equal(w->sp, stack_at(20));
}

TEST_FIXTURE(only_a_leaf_does, set_up, NULL)
{
	w->ip = in_function(ALONE);
	w->registers[LR] = in_function(END);
	host.stack[10] = in_function(LEAF);
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 2);
}

/* A leaf that a signal has interrupted returns to the link register that was saved. */
TEST_FIXTURE(a_signal_frame_has_the_link_register, set_up, NULL)
{
	uint64_t *saved = &host.stack[12] + SIGNAL_OFFSET / 8;

	w->ip = in_function(ALONE);
	host.stack[10] = in_function(RESTORER);
	saved[FP] = 0x5678;
	saved[LR] = in_function(END);
	saved[31] = stack_at(100);
	saved[32] = in_function(LEAF);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 4);
	assert_int_equal(host.scratch.addrs[2], in_function(LEAF));
	assert_int_equal(host.scratch.addrs[3], in_function(END));
	assert_int_equal(w->fp, 0x5678);
	assert_int_equal(w->sp, stack_at(100));
}

/* Code whose table is not built, called by code that has one: its record is not below the CFA. */
TEST_FIXTURE(a_table_is_of_use_after_a_guess, set_up, NULL)
{
	w->ip = in_function(NONE);
	w->fp = stack_at(12);
	host.stack[12] = stack_at(20);
	host.stack[13] = SIGNATURE | in_function(PAIR);
	host.stack[20] = stack_at(40);
	host.stack[21] = SIGNATURE | in_function(PAIR);
	host.stack[28] = stack_at(40); /* the next frame is known by its stack pointer */
	host.stack[29] = in_function(END);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 4);
	assert_int_equal(host.scratch.addrs[1], in_function(PAIR));
	assert_int_equal(host.scratch.addrs[2], in_function(PAIR));
	assert_int_equal(host.scratch.addrs[3], in_function(END));
	assert_int_equal(w->sp, stack_at(36));
}

/* It has no record, so it is not known where its frame ends. */
TEST_FIXTURE(a_function_without_a_record_ends_a_guess, set_up, NULL)
{
	w->ip = in_function(NONE);
	w->fp = stack_at(12);
	host.stack[12] = stack_at(20);
	host.stack[13] = in_function(ALONE);
	host.stack[14] = host.stack[15] = in_function(PAIR); /* of an earlier call */
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 2);
}
