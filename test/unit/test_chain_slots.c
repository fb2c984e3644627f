/* The walk over functions that are values in an array: LuaJIT's. */
#include "test/lib/chain_host.h"

#define STATES 2304u  /* word of the first state; STATE_WORDS each */
#define GLOBALS 2400u /* words: base and number of the trace that runs, traces */
#define TRACES 2416u  /* addresses of traces; TRACE is the one with number 1 */
#define TRACE 2432u
#define VALUES 2560u /* word of the first state's array */
#define FUNCTIONS_AT 3600u
#define CODES 4096u /* word of the first code object; CODE_WORDS each */
#define STATE_WORDS 16u
#define VALUES_OF_STATE 256u
#define FUNCTION_WORDS 8u
#define CODE_WORDS 32u
#define CODE_BYTES 104u
#define INSTRUCTIONS_OF_CODE 32u
#define TAG 0x1fff7ULL
#define THREAD 6u
#define RDX 1u
#define IN_C (~1u)

enum { FIRST_NATIVE = 16 }; /* functions from here on are those of C */
enum link { C_CALL = 1, CONTINUES = 2, ARGUMENTS = 3, PROTECTED = 6 };

static unsigned top[3]; /* of each state: the word where the innermost function's values are */

static struct chain_layout layout_of_slots(void)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.paths[0] = (struct chain_path){.origin = CHAIN_CALL};
	l.frames = (struct chain_frames){.next_is = CHAIN_NEXT_SLOT, .check = 72, .check_more = 64};
	l.slots = (struct chain_slots){
		.state = 16,
		.from = 8,
		.globals = 16,
		.base = 32,
		.last = 48,
		.first = 56,
		.c_frame = 80,
		.kind = 8,
		.state_kind = THREAD,
		.base_register = RDX,
		.function_kind = 8,
		.instructions = 32,
		.code_bytes = CODE_BYTES,
		.size = 12,
		.trace_code = 64,
		.trace_at = 72,
		.trace_base = 0,
		.trace_number = 8,
		.traces = 16,
		.in_c = IN_C,
		.resumes_at = 8,
		.function_tag = TAG,
	};
	return l;
}

static unsigned state_word(unsigned n)
{
	return STATES + n * STATE_WORDS;
}

static uint64_t code(unsigned n)
{
	return at(CODES + n * CODE_WORDS);
}

static uint64_t instruction(unsigned n, unsigned index)
{
	return code(n) + CODE_BYTES + index * 4ULL;
}

static uint64_t function(unsigned n)
{
	unsigned word = FUNCTIONS_AT + n * FUNCTION_WORDS;

	host.stack[word + 1] = n >= FIRST_NATIVE ? 1 << 16 : 0;
	host.stack[word + 4] = instruction(n, 0);
	if (n < FIRST_NATIVE) {
		host.stack[CODES + n * CODE_WORDS + 1] = (uint64_t)INSTRUCTIONS_OF_CODE << 32;
		host.stack[CODES + n * CODE_WORDS + 8] = 0x500 + n;
		host.stack[CODES + n * CODE_WORDS + 9] = 0x600 + n;
	}
	return at(word) | TAG << CHAIN_VALUE_BITS;
}

static void begin_slots(void)
{
	const struct chain_layout l = layout_of_slots();

	begin(&l);
	host.stack[GLOBALS + 1] = UINT32_MAX; /* nothing was compiled */
	host.stack[GLOBALS + 2] = at(TRACES);
	host.stack[TRACES + 1] = at(TRACE);
	for (unsigned n = 1; n < ARRAY_SIZE(top); n++) {
		unsigned first = VALUES + n * VALUES_OF_STATE;

		top[n] = first + 2;
		host.stack[state_word(n) + 1] = THREAD << 8;
		host.stack[state_word(n) + 2] = at(GLOBALS);
		host.stack[state_word(n) + 6] = at(first + VALUES_OF_STATE);
		host.stack[state_word(n) + 7] = at(first);
	}
}

static void enter(unsigned n, unsigned distance, unsigned f, uint64_t link)
{
	top[n] += distance;
	host.stack[top[n] - 2] = function(f);
	host.stack[top[n] - 1] = link;
	host.stack[state_word(n) + 4] = at(top[n]);
}

/* The innermost function of state n, which is `caller`, calls f by the instruction in front. */
static void call(unsigned n, unsigned caller, unsigned index, unsigned f)
{
	const uint32_t word = 3u << 8 | 66; /* the values of f are 3 + 2 behind the caller's */

	memcpy((char *)&host.stack[CODES + caller * CODE_WORDS] + CODE_BYTES + (index - 1) * 4,
	       &word, sizeof(word));
	enter(n, 5, f, instruction(caller, index));
}

static void link_by(unsigned n, enum link kind, unsigned f)
{
	enter(n, 8, f, 8 * 8 | kind);
}

/* A call of the loop for a state, from the leaf on: its C frame has 8 words. */
static void loop_of(unsigned n, unsigned next_of_code, uint64_t results)
{
	unsigned word = SP + n_native * FRAME_WORDS;

	native(LOOP);
	host.stack[word + 1] = results;
	host.stack[word + 2] = at(state_word(n));
	host.stack[word + 3] = instruction(next_of_code, 9);
	if (host.stack[state_word(n) + 10] == 0)
		host.stack[state_word(n) + 10] = at(word) | 1;
	else
		host.stack[SP + 4] = at(word); /* that of the leaf is of the same state */
}

static void check_code(unsigned i, unsigned n, uint64_t place, uint32_t index)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), code(n));
	assert_int_equal(chain_entry_at(e), place);
	assert_int_equal(chain_entry_index(e), index);
	assert_int_equal(chain_entry_check(e), chain_check(0x500 + n) ^ chain_check(0x600 + n));
}

static void check_native(unsigned i, unsigned f, uint32_t index)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), at(FUNCTIONS_AT + f * FUNCTION_WORDS));
	assert_int_equal(chain_entry_at(e), CHAIN_AT_NATIVE);
	assert_int_equal(chain_entry_index(e), index);
}

TEST(each_call_of_the_loop_has_the_functions_up_to_the_one_that_c_code_called)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(HELPER);
	loop_of(1, 1, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, FIRST_NATIVE); /* gsub() */
	link_by(1, C_CALL, 2);
	call(1, 2, 6, 3);
	walk_all(4);
	check_code(0, 3, instruction(3, 9), 0);
	check_code(1, 2, instruction(2, 6), 0);
	check_native(2, FIRST_NATIVE, 2);
	check_code(3, 1, instruction(1, 4), 2);
	assert_int_equal(host.chain.event.chain_state, CHAIN_CALLERS_NAME);
	assert_false(host.chain.broken);
}

TEST(a_coroutine_has_an_array_of_its_own)
{
	begin_slots();
	loop_of(2, 5, 0);
	loop_of(1, 1, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, FIRST_NATIVE); /* resume() */
	link_by(2, C_CALL, 5);
	walk_all(3);
	check_code(0, 5, instruction(5, 9), 0);
	check_native(1, FIRST_NATIVE, 1);
	check_code(2, 1, instruction(1, 4), 1);
}

TEST(functions_for_metamethods_and_after_pcall_are_of_the_same_call)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, FIRST_NATIVE);
	link_by(1, PROTECTED, 2);
	link_by(1, CONTINUES, 3); /* of instruction 7 of function 2 */
	host.stack[top[1] - 3] = instruction(2, 7);
	walk_all(4);
	check_code(0, 3, instruction(3, 9), 0);
	check_code(1, 2, instruction(2, 7), 0);
	check_native(2, FIRST_NATIVE, 0);
	check_code(3, 1, instruction(1, 4), 0);
}

TEST(arguments_that_have_moved_are_no_function)
{
	begin_slots();
	loop_of(1, 2, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, 2);
	link_by(1, ARGUMENTS, 2);
	walk_all(2);
	check_code(0, 2, instruction(2, 9), 0);
	check_code(1, 1, instruction(1, 4), 0);
}

TEST(the_loop_has_the_innermost_function_in_registers)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, 2);
	host.stack[state_word(1) + 4] = at(VALUES + VALUES_OF_STATE + 10); /* an older one */
	w->exact = true;
	w->registers[RDX] = at(top[1]);
	w->registers[UNWIND_RBX] = instruction(2, 5);
	walk_all(2);
	check_code(0, 2, instruction(2, 5), 0);
	check_code(1, 1, instruction(1, 4), 0);
}

TEST(a_caller_is_known_before_it_is_stored)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, 2);
	host.stack[top[1] - 1] = instruction(7, 3); /* of an earlier call */
	w->exact = true;
	w->registers[RDX] = at(top[1]);
	w->registers[UNWIND_RBX] = instruction(1, 4);
	walk_all(2);
	check_code(0, 2, 0, 0);
	check_code(1, 1, instruction(1, 4), 0);
}

TEST(a_call_of_the_loop_that_has_no_function_yet_leaves_them_to_its_caller)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(HELPER);
	loop_of(1, 1, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, FIRST_NATIVE);
	w->exact = true;
	w->registers[RDX] = at(top[1]);
	w->registers[UNWIND_RBX] = C_CALL;
	walk_all(2);
	check_native(0, FIRST_NATIVE, 2);
	check_code(1, 1, instruction(1, 4), 2);
	/* it was made for C code, as a parser */
	begin_slots();
	loop_of(1, 3, (uint32_t) - (int32_t)(VALUES_OF_STATE * 8));
	native(HELPER);
	loop_of(1, 1, 0);
	native(START);
	link_by(1, C_CALL, 1);
	walk_all(1);
	check_code(0, 1, instruction(1, 9), 2);
}

/* The stack pointer is below the C frame: registers are saved, or it is generated code. */
TEST(a_trace_begins_in_the_innermost_function)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, 2);
	call(1, 2, 6, 3); /* was inlined, and left behind */
	host.stack[GLOBALS] = at(top[1] - 5);
	host.stack[GLOBALS + 1] = 1;
	host.stack[TRACE + 8] = code(2);
	host.stack[TRACE + 9] = instruction(2, 10);
	w->sp = at(SP) - 72;
	walk_all(3);
	check_code(0, 2, instruction(2, 11) | CHAIN_AT_TRACE, 0);
	check_code(1, 2, instruction(2, 11), 0);
	check_code(2, 1, instruction(1, 4), 0);
}

TEST(no_caller_is_made_up)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(START);
	link_by(1, C_CALL, 1);
	call(1, 1, 4, 2);
	call(1, 2, 6, 3);
	host.stack[top[1] - 1] = instruction(7, 3); /* of a function that is not there */
	host.stack[CODES + 7 * CODE_WORDS + 14] = (uint64_t)(3u << 8 | 66) << 32;
	walk_all(1);
	check_code(0, 3, instruction(3, 9), 0);
	assert_true(host.chain.broken);
}

TEST(a_list_that_leads_nowhere_ends)
{
	begin_slots();
	loop_of(1, 3, 0);
	native(START);
	link_by(1, C_CALL, 1);
	link_by(1, PROTECTED, 2);
	host.stack[top[1] - 1] = PROTECTED; /* its own caller */
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_true(host.chain.cut || host.chain.broken);
	/* no C frame is where the state says */
	begin_slots();
	loop_of(1, 3, 0);
	native(START);
	link_by(1, C_CALL, 1);
	host.stack[state_word(1) + 10] = at(SP + 2000);
	walk_all(0);
}
