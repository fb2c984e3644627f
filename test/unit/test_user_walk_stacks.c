/* Rules of the walk that lead to other stacks, or lose a register on the way. */
#include "test/lib/walk_program.h"

/*
 * Runtimes with stacks of their own keep, on each, where the other is: in a word, in a word that a
 * word leads to, or in rbx, which a function in C has saved.
 */
TEST(rules_lead_to_other_stacks_and_back)
{
	const struct unwind_rule in_c = {UNWIND_CFA_SP, 2 * UNWIND_RBX_WORD, 3, 0, 0};
	const struct unwind_rule by_rbx = {UNWIND_CFA_REGISTER + UNWIND_RBX, 0, 1, 0, 0};
	const struct unwind_rule at_rbx = {UNWIND_CFA_AT_RBX, 0, 1, 0, 2};
	const struct unwind_rule at_sp = {UNWIND_CFA_AT_SP, 0, 1, 0, 1};
	const struct unwind_rule at_word = {UNWIND_CFA_AT_WORD, 0, 2, 0, 3 * 256 | (uint8_t)-1};
	const unsigned order[] = {1, 2, 1, 3, 4, 5, 4, 6};

	make_program((struct unwind_rule[]){unknown, in_c, by_rbx, at_rbx, at_sp, at_word, end}, 7);
	w->sp = stack_at(900);
	host.stack[901] = stack_at(99); /* rbx of the caller, whose CFA is one above */
	host.stack[902] = in_function(order[1]);
	host.stack[99] = in_function(order[2]);
	host.stack[101] = stack_at(199); /* the word above has where the CFA is two above */
	host.stack[102] = in_function(order[3]);
	host.stack[200] = stack_at(800);
	host.stack[801] = in_function(order[4]);
	host.stack[803] = stack_at(299);
	host.stack[299] = in_function(order[5]);
	host.stack[302] = stack_at(500);
	host.stack[503] = stack_at(20);
	host.stack[18] = in_function(order[6]);
	host.stack[20] = stack_at(9);
	host.stack[9] = in_function(order[7]);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, ARRAY_SIZE(order));
	for (unsigned i = 0; i < ARRAY_SIZE(order); i++)
		assert_int_equal(host.scratch.addrs[i], in_function(order[i]));
	assert_int_equal(host.scratch.n_switches, 0);
	assert_false(w->guessed);

	/* what it leads to is no code */
	w->ip = in_function(1);
	w->sp = stack_at(900);
	w->fp = 0;
	host.stack[99] = 0x12345678;
	assert_int_equal(host_walk(), WALK_END_NO_UNWIND_INFO);
	assert_int_equal(host.scratch.n_user, 2);
}

TEST(a_walk_between_two_stacks_that_lead_to_each_other_ends)
{
	const struct unwind_rule at_sp = {UNWIND_CFA_AT_SP, 0, 0, 0, 1};

	make_program((struct unwind_rule[]){unknown, at_sp, end}, 3);
	/* 10 -> 700 -> 300 -> 800 -> 400 -> 700 */
	host.stack[10] = stack_at(699);
	host.stack[700] = stack_at(299);
	host.stack[300] = stack_at(799);
	host.stack[800] = stack_at(399);
	host.stack[400] = stack_at(699);
	host.stack[299] = host.stack[399] = host.stack[699] = host.stack[799] = in_function(1);
	assert_int_equal(host_walk(), WALK_END_NOT_ASCENDING);
	assert_true(host.scratch.n_user < 16);
}

TEST(many_stacks_may_follow_each_other)
{
	const struct unwind_rule at_sp = {UNWIND_CFA_AT_SP, 0, 0, 0, 1};
	const unsigned n = 200;

	make_program((struct unwind_rule[]){unknown, at_sp, end}, 3);
	w->sp = stack_at(2 * n + 1);
	for (unsigned i = n; i > 0; i--) {
		host.stack[2 * i + 1] = stack_at(2 * i - 2);
		host.stack[2 * i - 2] = in_function(i > 1 ? 1 : 2);
	}
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, n + 1);
}

/* Code that uses the register for something else, and has not saved it. */
TEST(a_lost_frame_pointer_ends_the_walk_only_where_it_is_needed)
{
	const struct unwind_rule loses = {UNWIND_CFA_SP, 0, 2, UNWIND_FP_LOST, 0};
	const struct unwind_rule plain = {UNWIND_CFA_SP, 0, 3, 0, 0};
	const struct unwind_rule restores = {UNWIND_CFA_SP, UNWIND_FP_AT_CFA, 2, -2, 0};
	const struct unwind_rule needs[] = {
		{UNWIND_CFA_FP, UNWIND_FP_AT_CFA, 2, -2, 0},
		{UNWIND_CFA_FP, 0, 0x8000, 0, 0x7fff},
		{UNWIND_CFA_AT_FP, 0, 1, 0, 0},
		{UNWIND_CFA_SP, UNWIND_FP_AT_FP, 2, 1, 0},
		{.base = UNWIND_CFA_FRAME_POINTER},
		unknown,
	};

	make_program((struct unwind_rule[]){unknown, loses, plain, restores, end}, 5);
	host.stack[11] = in_function(2);
	host.stack[14] = in_function(3);
	host.stack[15] = 0x5678;
	host.stack[16] = in_function(4);
	w->fp = stack_at(20);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 4);
	assert_int_equal(w->fp, 0x5678);
	assert_false(w->guessed);

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		make_program((struct unwind_rule[]){unknown, loses, plain, needs[i], end}, 5);
		host.stack[11] = in_function(2);
		host.stack[14] = in_function(3);
		w->fp = stack_at(20);
		host.stack[16] = host.stack[21] = in_function(4);
		assert_int_not_equal(host_walk(), WALK_END_BOTTOM);
		assert_int_equal(host.scratch.n_user, 3);
	}
}
