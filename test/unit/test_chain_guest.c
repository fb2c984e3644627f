/* The walk from generated code that uses the frame of the interpreter's loop. */
#include "test/lib/chain_host.h"

static struct chain_guest guest; /* of the layout */

static void check_entry(uint32_t index)
{
	assert_int_equal(chain_entry_code(&host.chain.entries[0]), at(CODE + 2));
	assert_int_equal(chain_entry_at(&host.chain.entries[0]), 77);
	assert_int_equal(chain_entry_index(&host.chain.entries[0]), index);
}

/* The leaf is such code, and nothing is on the stack. */
static void begin_generated(void)
{
	struct chain_layout l = layout(CHAIN_END_EACH);
	struct unwind_blocks_mapping m[] = {
		{BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE},
		{2u * BIAS, 2u * BIAS + 0x1000, 0, UNWIND_TABLE_ANONYMOUS}};

	l.flags = CHAIN_ANONYMOUS_IS_LOOP | CHAIN_IN_LOOPS_FRAME;
	l.guest = guest;
	begin(&l);
	n_native = 2; /* it, and the caller of the loop */
	w->ip = 2u * BIAS + 8;
	w->sp = at(SP);
	w->fp = 7; /* of no meaning there */
	frame(1, 77, 0);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, m, 2, 0);
	unwind_blocks_chain(&blocks, host.process, &l);
}

/* Where the loop returns to: in the middle of functions. */
#define BACK_TO_HELPER in_function(HELPER)
#define BACK_TO_START in_function(START)
#define GUEST_BACK 5u /* words */
#define GUEST_SAVED 3u

/*
 * The leaf is generated code in the loop's frame, with so many words of its own on its stack. The
 * loop has saved the frame pointer two words below its return address.
 */
static void begin_guest(unsigned n_words, uint64_t back)
{
	guest = (struct chain_guest){.code = 2u * BIAS,
				     .code_bytes = 0x1000,
				     .back = GUEST_BACK * 8,
				     .fp = -16,
				     .n_saved = GUEST_SAVED};
	for (unsigned i = 0; i < CHAIN_RETURNS; i++)
		guest.returns[i] = i == 0 ? BACK_TO_HELPER : BACK_TO_START;
	begin_generated();
	/* below the saved registers there may be what an earlier call has left */
	for (unsigned i = 0; i < n_words + GUEST_BACK; i++)
		host.stack[SP + i] =
			i < n_words + GUEST_BACK - GUEST_SAVED ? BACK_TO_HELPER : 0x100 + i;
	host.stack[SP + n_words + GUEST_BACK - 2] = 9;
	host.stack[SP + n_words + GUEST_BACK] = back;
	host.stack[SP + n_words + GUEST_BACK + FRAME_WORDS] = BACK_TO_START;
}

TEST(generated_code_in_the_frame_of_the_loop_returns_to_where_the_loop_does)
{
	for (unsigned n_words = 0; n_words <= GUEST_SAVED; n_words++) {
		begin_guest(n_words, BACK_TO_START);
		walk_all(1);
		check_entry(0);
		assert_int_equal(host.scratch.addrs[1], BACK_TO_START);
		assert_int_equal(w->sp, at(SP + n_words + GUEST_BACK + 1));
		assert_int_equal(w->fp, 9);
	}
	begin_guest(2, BACK_TO_HELPER);
	n_native++; /* the caller's */
	walk_all(1);
	assert_int_equal(host.scratch.addrs[1], BACK_TO_HELPER);
	assert_int_equal(host.scratch.addrs[2], BACK_TO_START);
}

TEST(the_loop_may_leave_the_frame_pointer_alone)
{
	begin_guest(0, BACK_TO_START);
	guest.fp = 0;
	begin_generated();
	host.stack[SP + GUEST_BACK] = BACK_TO_START;
	walk_all(1);
	assert_int_equal(w->fp, 7);
}

/* What a function that such code has called returns to. */
TEST(generated_code_in_the_frame_of_the_loop_may_be_a_caller)
{
	begin_guest(0, BACK_TO_START);
	memmove(host.stack + SP + FRAME_WORDS, host.stack + SP, 16 * sizeof(host.stack[0]));
	host.stack[SP + FRAME_WORDS - 1] =
		2u * BIAS + 0x1000; /* the call is the last instruction */
	w->ip = in_function(HELPER);
	n_native++;
	walk_all(1);
	check_entry(1);
	assert_int_equal(host.scratch.addrs[2], BACK_TO_START);
}

static void check_that_it_ends(void)
{
	assert_int_equal(host_walk(), WALK_END_JIT);
	assert_int_equal(host.scratch.n_user, 1);
}

TEST(addresses_that_the_loop_does_not_return_to_end_the_walk)
{
	begin_guest(0, BACK_TO_START + 1);
	check_that_it_ends();
	/* of an unknown caller, whose frame has what an earlier call has left */
	begin_guest(0, BACK_TO_START + 1);
	host.stack[SP + GUEST_BACK + 1] = BACK_TO_START;
	check_that_it_ends();
	/* not where the loop has it: further up than what it has saved, and below that */
	begin_guest(GUEST_SAVED + 1, BACK_TO_START);
	host.stack[SP + GUEST_BACK] = 7;
	check_that_it_ends();
	begin_guest(0, 7);
	host.stack[SP + GUEST_BACK - 1] = BACK_TO_START;
	check_that_it_ends();
}

TEST(generated_code_of_another_compiler_is_not_in_the_frame_of_the_loop)
{
	begin_guest(0, BACK_TO_START);
	guest.code_bytes = 8;
	begin_generated();
	host.stack[SP + GUEST_BACK] = BACK_TO_START;
	check_that_it_ends();
}
