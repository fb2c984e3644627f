/* The walk over frames of an interpreter that those know who call its loop. */
#include "test/lib/chain_host.h"

#define STATES 2304u /* word of the first state; 4 words each, as the following */
#define FRAMES 2560u
#define VALUES 2816u
#define FUNCTIONS_AT 3072u
#define OBJECT_WORDS 4u
#define FRAMES_OF_STATE 16u
#define INSTRUCTIONS 3500u /* word; 8 words of each code object */
#define STATE_SLOT 2u      /* words below the CFA of the loop */
#define IN_REGISTER 12u
#define ARGUMENT 5u

enum { THREAD = 8, FUNCTION = 6, LIGHT = 0x16, LUA = 1, NATIVE = 0x20 };
enum { FRESH = 1, TAIL = 2 };
enum { CALL_CODE = 28, OTHER_CODE = 3 };

static unsigned n_frames[4], n_values;
static bool is_array;

static struct chain_layout layout_of_calls(void)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.paths[0] = (struct chain_path){.origin = CHAIN_CALL};
	l.frames = (struct chain_frames){.next_is = CHAIN_NEXT_CALL,
					 .n_bytes = 32,
					 .at = 8,
					 .next = 16,
					 .end = 24,
					 .check_more = 8,
					 .end_mask = FRESH,
					 .end_value = FRESH};
	l.calls = (struct chain_calls){
		.frame = 16,
		.kind = 8,
		.code = 16,
		.size = 16,
		.state_kind = THREAD,
		.function_kind = FUNCTION,
		.light = LIGHT,
		.argument = ARGUMENT,
		.next_instruction = IN_REGISTER,
		.native = NATIVE,
		.tail = TAIL,
		.sites = {{.start = 1, .n_bytes = 1},
			  {.start = TEXT_AT + HELPER * FUNCTION_BYTES,
			   .n_bytes = FUNCTION_BYTES,
			   .at = -(int)(STATE_SLOT * 8)}},
	};
	if (is_array) {
		l.frames.next = OBJECT_WORDS * 8;
		l.calls.is_array = 1;
		l.calls.at = 24;
		l.calls.call_codes = 1ULL << CALL_CODE;
	}
	return l;
}

static uint64_t state_at(unsigned n)
{
	return at(STATES + n * OBJECT_WORDS);
}

/* A call of the loop for a state; n 0: for something else. */
static void loop_of(unsigned n)
{
	native(LOOP);
	host.stack[SP + n_native * FRAME_WORDS - STATE_SLOT] = n > 0 ? state_at(n) : at(CODE);
	native(HELPER);
}

static uint64_t instruction(unsigned code, unsigned index)
{
	return at(INSTRUCTIONS + code * 8) + index * 4ULL;
}

static void set_code(unsigned code, unsigned index, uint32_t word)
{
	memcpy((char *)&host.stack[INSTRUCTIONS + code * 8] + index * 4, &word, sizeof(word));
}

/* The next frame of a state, from the leaf on; index: that of the instruction behind. */
static void call(unsigned of, unsigned code, unsigned index, unsigned flags, unsigned kind)
{
	unsigned number = of * FRAMES_OF_STATE + n_frames[of]++;
	unsigned frame = FRAMES + number * OBJECT_WORDS, value = VALUES + n_values * OBJECT_WORDS;
	unsigned function = FUNCTIONS_AT + n_values++ * OBJECT_WORDS;

	if (n_frames[of] == 1)
		host.stack[STATES + of * OBJECT_WORDS + 2] = at(frame);
	host.stack[STATES + of * OBJECT_WORDS + 1] = 0x7700 | THREAD;
	host.stack[frame] = at(value);
	host.stack[frame + 1] = instruction(code, index);
	host.stack[frame + 2] = at(frame + OBJECT_WORDS);
	host.stack[frame + 3] = flags;
	host.stack[frame + OBJECT_WORDS] = at(VALUES - 2); /* behind it: one without a function */
	host.stack[value] = kind == LIGHT ? at(CODE + code * 8) : at(function);
	host.stack[value + 1] = kind == LIGHT ? LIGHT : FUNCTION;
	host.stack[function + 1] = kind == NATIVE ? NATIVE | FUNCTION : FUNCTION;
	host.stack[function + 2] = at(CODE + code * 8);
	host.stack[CODE + code * 8] = 0x99000 + code;
	host.stack[CODE + code * 8 + 1] = instruction(code, 0);
	host.stack[CODE + code * 8 + 2] = 16;
}

static void begin_calls(void)
{
	const struct chain_layout l = layout_of_calls();

	begin(&l);
	n_values = 0;
	memset(n_frames, 0, sizeof(n_frames));
}

static void check_call(unsigned i, unsigned code, unsigned index, unsigned tail, uint32_t native)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), at(CODE + code * 8));
	assert_int_equal(chain_entry_at(e), instruction(code, index) | tail);
	assert_int_equal(chain_entry_index(e), native);
	assert_int_equal(chain_entry_check(e),
			 chain_check(0x99000 + code) ^ chain_check(instruction(code, 0)));
}

static void check_native(unsigned i, unsigned code, uint32_t native)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), at(CODE + code * 8));
	assert_int_equal(chain_entry_at(e), CHAIN_AT_NATIVE);
	assert_int_equal(chain_entry_index(e), native);
}

TEST(each_call_of_the_loop_says_whose_frames_it_runs)
{
	begin_calls();
	native(HELPER);
	loop_of(2);
	loop_of(1);
	loop_of(1);
	native(START);
	call(1, 3, 4, 0, NATIVE); /* resumes the coroutine */
	call(1, 4, 5, FRESH, LUA);
	call(1, 9, 0, 0, LIGHT);
	call(1, 5, 6, TAIL, LUA);
	call(1, 6, 7, FRESH, LUA);
	call(1, 8, 0, 0, NATIVE); /* has called the interpreter: a native frame is enough */
	call(2, 1, 2, 0, LUA);
	call(2, 2, 3, FRESH, LUA);
	walk_all(7);
	check_call(0, 1, 2, 0, 1);
	check_call(1, 2, 3, 0, 1);
	check_native(2, 3, 3);
	check_call(3, 4, 5, 0, 3);
	check_native(4, 9, 5);
	check_call(5, 5, 6, CHAIN_AT_TAIL, 5);
	check_call(6, 6, 7, 0, 5);
	assert_int_equal(host.chain.event.chain_state, CHAIN_CALLERS_NAME);
}

/* It was suspended, so its other calls of the loop have ended: the last one runs what is left. */
TEST(a_coroutine_that_was_resumed_has_one_call_of_the_loop)
{
	begin_calls();
	loop_of(2);
	loop_of(1);
	native(START);
	call(1, 4, 5, FRESH, LUA);
	call(2, 1, 2, FRESH, LUA);
	call(2, 2, 3, 0, NATIVE);
	call(2, 3, 4, FRESH, LUA);
	call(2, 7, 0, 0, NATIVE);
	walk_all(4);
	check_call(0, 1, 2, 0, 0);
	check_native(1, 2, 0);
	check_call(2, 3, 4, 0, 0);
	check_call(3, 4, 5, 0, 2);
}

TEST(the_next_instruction_may_be_in_a_register)
{
	begin_calls();
	loop_of(1);
	native(START);
	call(1, 1, 2, 0, LUA);
	call(1, 2, 3, FRESH, LUA);
	w->registers[IN_REGISTER] = instruction(1, 9);
	walk_all(2);
	check_call(0, 1, 9, 0, 0);
	check_call(1, 2, 3, 0, 0);
	/* it has something else */
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	w->registers[IN_REGISTER] = instruction(1, 17);
	walk_all(2);
	check_call(0, 1, 2, 0, 0);
}

TEST(a_frame_that_has_not_begun_is_none_yet)
{
	begin_calls();
	native(HELPER);
	loop_of(1);
	native(START);
	call(1, 1, 0, FRESH, LUA);
	call(1, 2, 3, FRESH, LUA);
	walk_all(1);
	check_call(0, 2, 3, 0, 1);
	/* unless the loop has it */
	begin_calls();
	loop_of(1);
	native(START);
	call(1, 1, 0, FRESH, LUA);
	walk_all(1);
	check_call(0, 1, 0, 0, 0);
}

TEST(a_call_that_is_not_in_the_loop_yet_is_one_too_many)
{
	begin_calls();
	native(HELPER);
	loop_of(1);
	loop_of(1);
	native(START);
	call(1, 1, 2, FRESH, LUA); /* as an earlier call has left it */
	call(1, 2, 3, FRESH, LUA);
	call(1, 3, 4, FRESH, LUA);
	walk_all(3);
	check_call(0, 1, 2, 0, 1);
	check_call(1, 2, 3, 0, 3);
	check_call(2, 3, 4, 0, CHAIN_REST);
	assert_int_equal(host.chain.event.chain_state, CHAIN_CALLERS_NAME | CHAIN_NOT_BEGUN);
	/* two are not explained by that */
	call(1, 4, 5, FRESH, LUA);
	w->ip = in_function(HELPER);
	w->sp = at(SP);
	walk_all(4);
	assert_int_equal(host.chain.event.chain_state, CHAIN_CALLERS_NAME);
}

TEST(at_its_start_the_loop_has_its_state_as_an_argument)
{
	struct chain_layout l = layout_of_calls();

	l.loop = in_function(LOOP) - 3;
	l.starts[0] = 0;
	l.ends[0] = l.loop_bytes = 50;
	l.n_ranges = 1;
	l.calls.entry_bytes = l.calls.mark_bytes = 4;
	l.calls.sites[1].start = (uint32_t)(in_function(HELPER) - 100 - l.loop);
	begin(&l);
	n_values = 0;
	memset(n_frames, 0, sizeof(n_frames));
	loop_of(2); /* what a callee has left there */
	native(START);
	w->registers[ARGUMENT] = state_at(1);
	w->was_exact = w->exact = true;
	call(1, 1, 0, 0, LUA); /* the loop marks it as the last one of its run */
	call(1, 2, 3, FRESH, LUA);
	call(2, 3, 4, FRESH, LUA);
	walk_all(2);
	check_call(0, 1, 0, 0, 0);
	assert_int_equal(chain_entry_index(&host.chain.entries[1]), CHAIN_REST);
}

TEST(in_an_array_a_run_goes_on_at_an_instruction_that_calls)
{
	is_array = true;
	begin_calls();
	loop_of(1);
	loop_of(1);
	loop_of(1);
	native(START);
	call(1, 1, 2, 0, LUA);
	call(1, 2, 3, 0, LUA);
	call(1, 3, 4, 0, LUA);
	call(1, 4, 5, 0, NATIVE);
	call(1, 5, 6, 0, LUA);
	set_code(2, 2, 0x40 | CALL_CODE);
	set_code(3, 3, 0x40 | OTHER_CODE);
	host.stack[STATES + OBJECT_WORDS + 3] = instruction(1, 7);
	walk_all(5);
	check_call(0, 1, 7, 0, 0);
	check_call(1, 2, 3, 0, 0);
	check_call(2, 3, 4, 0, 2);
	check_native(3, 4, 4);
	check_call(4, 5, 6, 0, 4);
	is_array = false;
}

TEST(what_is_no_state_has_no_frames)
{
	begin_calls();
	loop_of(0);
	native(START);
	call(1, 1, 2, FRESH, LUA);
	walk_all(0);
	/* nor has a caller that is not known */
	begin_calls();
	native(LOOP);
	native(LOOP);
	native(START);
	call(1, 1, 2, FRESH, LUA);
	host.stack[SP + FRAME_WORDS - STATE_SLOT] = state_at(1);
	walk_all(0);
}

TEST(frames_in_a_circle_end)
{
	begin_calls();
	loop_of(1);
	native(START);
	call(1, 1, 2, 0, LUA);
	host.stack[FRAMES + FRAMES_OF_STATE * OBJECT_WORDS + 2] =
		at(FRAMES + FRAMES_OF_STATE * OBJECT_WORDS);
	walk_all(CHAIN_ENTRIES - 1);
	assert_true(host.chain.cut);
}
