/*
 * The walk over frames of V8, in memory that is written by hand: function 1 of the file is all of
 * the builtins, which are mapped again, and generated code is in memory without a file.
 */
#include "test/lib/chain_host.h"

#define AGAIN 10240u /* word: where the file is mapped again */
#define AGAIN_WORDS 1024u
#define GENERATED 8192u /* word */
#define GENERATED_WORDS 512u
#define FUNCTION_OBJECT 6000u /* word of the first one; 8 words each, with what it refers to */
#define CONTEXT 7000u
#define BYTECODE 7100u
#define SHARED 24u /* as V8 has it, in bytes */
#define NAME 16u
#define BYTECODE_SLOT 32u
#define FP 32u /* word of the innermost frame; they have 16 words each */
#define RDI 5
#define R9 9

static unsigned n_frames;

static uint64_t object(unsigned word)
{
	return at(word) + 1;
}

static uint64_t function(unsigned n)
{
	return object(FUNCTION_OBJECT + n * 8);
}

static uint64_t shared(unsigned n)
{
	return at(FUNCTION_OBJECT + n * 8 + 4);
}

static uint64_t builtin(void)
{
	return in_function(LOOP) - BIAS - TEXT_AT + at(AGAIN);
}

static uint64_t generated(unsigned n)
{
	return at(GENERATED + n * 16);
}

static int set_up(void **state)
{
	const struct unwind_blocks_mapping m[] = {
		{BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE},
		{at(GENERATED), at(GENERATED + GENERATED_WORDS), 0, UNWIND_TABLE_ANONYMOUS},
		{at(AGAIN), at(AGAIN + AGAIN_WORDS), at(AGAIN) - TEXT_AT, TABLE},
	};
	const struct chain_layout l = {
		.frames = {.code = SHARED, .at = BYTECODE_SLOT, .check = NAME},
		.flags = CHAIN_ANONYMOUS_IS_LOOP | CHAIN_IN_NATIVE,
		.loop = BIAS + TEXT_AT + LOOP * FUNCTION_BYTES,
		.loop_bytes = FUNCTION_BYTES,
		.loop_in_file = TEXT_AT + LOOP * FUNCTION_BYTES,
	};

	(void)state;
	begin(&l);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, m, 3, 0);
	unwind_blocks_chain(&blocks, host.process, &l);
	for (unsigned i = 0; i < 8; i++) {
		host.stack[FUNCTION_OBJECT + i * 8 + SHARED / 8] = shared(i) + 1;
		host.stack[FUNCTION_OBJECT + i * 8 + 4 + NAME / 8] = 0xabc001 + i;
	}
	n_frames = 0;
	w->fp = at(FP);
	return 0;
}

/* The next frame from the leaf on: that of a function, whose caller is at an address. */
static void js_frame(unsigned n, uint64_t caller)
{
	unsigned fp = FP + n_frames++ * 16;

	host.stack[fp - 2] = function(n);
	host.stack[fp - 1] = object(CONTEXT);
	host.stack[fp] = at(fp + 16);
	host.stack[fp + 1] = caller;
}

static void in_bytecode(unsigned frame, unsigned offset)
{
	unsigned fp = FP + frame * 16;

	host.stack[fp - BYTECODE_SLOT / 8] = (uint64_t)offset << 32;
	host.stack[fp - BYTECODE_SLOT / 8 + 1] = object(BYTECODE);
}

static void check_entry(unsigned i, unsigned n, uint64_t where, unsigned index)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), shared(n));
	assert_int_equal(chain_entry_at(e), where);
	assert_int_equal(chain_entry_index(e), index);
	assert_int_equal(chain_entry_check(e), chain_check(0xabc001 + n));
}

static void check_walk(unsigned n_user, unsigned n_entries)
{
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, n_user);
	assert_int_equal(host.chain.event.n_chain, n_entries);
	assert_int_equal(host.scratch.addrs[n_user - 1], in_function(START));
}

TEST_FIXTURE(functions_are_below_the_frame_pointer, set_up, NULL)
{
	w->ip = builtin();
	js_frame(1, generated(2));
	in_bytecode(0, 77);
	js_frame(2, builtin());
	js_frame(3, in_function(START));
	in_bytecode(2, 78);
	check_walk(4, 3);
	check_entry(0, 1, CHAIN_AT_BYTECODE | 77, 0);
	check_entry(1, 2, generated(2) - 1, 1);
	check_entry(2, 3, CHAIN_AT_BYTECODE | 78, 2);
}

TEST_FIXTURE(builtins_have_the_addresses_of_the_first_mapping, set_up, NULL)
{
	w->ip = builtin();
	js_frame(1, builtin());
	js_frame(2, in_function(START));
	host.stack[FP + 16 - 2] = 34 << 1; /* it is none of JavaScript */
	check_walk(3, 1);
	assert_int_equal(host.scratch.addrs[0], in_function(LOOP));
	assert_int_equal(host.scratch.addrs[1], in_function(LOOP));
}

TEST_FIXTURE(the_interpreter_has_its_place_in_a_register, set_up, NULL)
{
	w->ip = builtin();
	js_frame(1, in_function(START));
	in_bytecode(0, 77);
	w->registers[R9] = 90;
	check_walk(2, 1);
	check_entry(0, 1, CHAIN_AT_BYTECODE | 90, 0);
	w->registers[R9] = 5; /* it has something else there */
	w->ip = builtin();
	w->sp = at(SP);
	w->fp = at(FP);
	check_walk(2, 1);
	check_entry(0, 1, CHAIN_AT_BYTECODE | 77, 0);
}

/* Code: up to four words, then what it is interrupted at. */
static void interrupted(uint64_t instructions)
{
	w->ip = generated(1);
	host.stack[GENERATED + 16] = instructions;
	host.stack[SP] = generated(2); /* the return address, if there is no frame */
	w->registers[RDI] = function(1);
	js_frame(2, in_function(START));
}

TEST_FIXTURE(a_function_that_has_no_frame_yet_is_in_a_register, set_up, NULL)
{
	interrupted(0x90e5894855909090); /* nop; push %rbp; mov %rsp, %rbp */
	check_walk(3, 2);
	check_entry(0, 1, generated(1), 0);
	check_entry(1, 2, generated(2) - 1, 1);
}

TEST_FIXTURE(a_frame_pointer_that_was_pushed_is_not_set_yet, set_up, NULL)
{
	interrupted(0x9090909090e58948);
	host.stack[SP] = at(FP);
	host.stack[SP + 1] = generated(2);
	check_walk(3, 2);
	check_entry(0, 1, generated(1), 0);
	check_entry(1, 2, generated(2) - 1, 1);
}

TEST_FIXTURE(a_function_that_returns_is_in_no_register, set_up, NULL)
{
	interrupted(0xc3);
	check_walk(3, 2);
	assert_int_equal(chain_entry_code(&host.chain.entries[0]), 0);
	assert_int_equal(chain_entry_at(&host.chain.entries[0]), generated(1));
	check_entry(1, 2, generated(2) - 1, 1);
}

TEST_FIXTURE(code_may_make_a_frame_for_what_it_calls, set_up, NULL)
{
	interrupted(0x90e5894855909090);
	host.stack[SP] = 34 << 1; /* no return address */
	check_walk(2, 1);
	check_entry(0, 2, generated(1), 0);
}

TEST_FIXTURE(a_builtin_may_make_the_frame_of_what_has_called_it, set_up, NULL)
{
	interrupted(0);
	w->ip = builtin();
	host.stack[SP] = generated(1) + 9;
	host.stack[SP + 1] = generated(2);
	check_walk(4, 2);
	check_entry(0, 1, generated(1) + 8, 1);
	check_entry(1, 2, generated(2) - 1, 2);
}

TEST_FIXTURE(frame_pointers_that_do_not_ascend_end_the_walk, set_up, NULL)
{
	w->ip = builtin();
	w->fp = at(SP) - 64;
	assert_int_equal(host_walk(), WALK_END_JIT);
	w->ip = builtin();
	w->sp = at(SP);
	w->fp = 0;
	assert_int_equal(host_walk(), WALK_END_JIT);
}
