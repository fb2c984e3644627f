/* The walk over the stack of a process of Erlang, which generated code runs on. */
#include "test/lib/chain_host.h"

#define PROCESS 1024u   /* word */
#define REGISTERS 1040u /* of the scheduler */
#define HEAP 2048u      /* of the process; the upper end is its stack */
#define HEAP_END 2304u
#define GENERATED 4096u /* words of code */
#define GENERATED_WORDS 512u

#define FROM_FRAME_POINTER 0xec8948u
#define FROM_PROCESS 0x58658b49u
#define VALUE 0x2fu /* a number */

static unsigned top; /* word: of the stack */

/* An address in generated code that another function may return to. */
static uint64_t code(unsigned n)
{
	return at(GENERATED) + 64 + n * 16;
}

static void push(uint64_t word)
{
	host.stack[--top] = word;
}

static void set_code(unsigned n, unsigned offset, uint32_t instruction)
{
	memcpy((char *)&host.stack[GENERATED] + 64 + n * 16 + offset, &instruction,
	       sizeof(instruction));
}

static struct chain_layout scan_layout(void)
{
	return (struct chain_layout){
		.paths = {{.origin = CHAIN_THREAD, .n_steps = 2, .steps = {0, 8}},
			  {.origin = CHAIN_THREAD, .n_steps = 2, .steps = {0, 16}}},
		.frames = {.next_is = CHAIN_NEXT_SCAN},
		.flags = CHAIN_ANONYMOUS_IS_LOOP,
		.loop = BIAS,
		.loop_bytes = TEXT_AT + 2 * FUNCTION_BYTES,
		.n_ranges = 1,
		.starts = {TEXT_AT + FUNCTION_BYTES},
		.ends = {TEXT_AT + 2 * FUNCTION_BYTES},
		.scan = {.back = in_function(START),
			 .back_at = 64,
			 .top = 0,
			 .lowest = 8,
			 .end = 16,
			 .from_frame_pointer = FROM_FRAME_POINTER,
			 .from_process = FROM_PROCESS},
	};
}

/* Each test pushes what is on the stack, from its bottom on. */
static void begin_process(void)
{
	const struct unwind_blocks_mapping m[] = {
		{BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE},
		{at(GENERATED), at(GENERATED + GENERATED_WORDS), 0, UNWIND_TABLE_ANONYMOUS}};
	const struct chain_layout l = scan_layout();

	begin(&l);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, m, 2, 0);
	unwind_blocks_chain(&blocks, host.process, &l);
	host.stack[2] = at(PROCESS);
	host.stack[3] = at(REGISTERS);
	host.stack[PROCESS + 1] = at(HEAP);
	host.stack[PROCESS + 2] = at(HEAP_END);
	host.stack[REGISTERS + 8 + 11] = in_function(START);
	for (unsigned i = HEAP; i < HEAP_END; i++)
		host.stack[i] = VALUE;
	top = HEAP_END;
}

static void check_entries(const uint64_t *places, unsigned n, uint32_t index)
{
	assert_int_equal(host.chain.event.n_chain, n);
	for (unsigned i = 0; i < n; i++) {
		const struct chain_entry *e = &host.chain.entries[i];

		assert_int_equal(chain_entry_at(e), places[i]);
		assert_int_equal(chain_entry_code(e), places[i] & ~7ULL);
		assert_int_equal(chain_entry_index(e), index);
	}
}

/* Three functions have called each other; the innermost one has two values on the stack. */
static void push_three(void)
{
	push(code(3));
	push(VALUE);
	push(code(2));
	for (unsigned i = 0; i < 40; i++)
		push(VALUE + 16 * i);
	push(code(1));
	push(VALUE);
	push(VALUE);
}

static void walk_generated(unsigned n_native_frames)
{
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, n_native_frames);
	assert_int_equal(w->ip, in_function(START));
	assert_int_equal(w->sp, at(REGISTERS + 8 + 12));
	assert_false(host.chain.cut);
}

TEST(generated_code_has_its_callers_on_the_stack_of_the_process)
{
	const uint64_t places[] = {code(0) + 5, code(1) - 1, code(2) - 1, code(3) - 1};

	begin_process();
	push_three();
	w->ip = code(0) + 5;
	w->sp = at(top);
	walk_generated(2);
	check_entries(places, 4, 0);
}

/* A function in C has been called; where the stack is, the code says that it returns to. */
static void call_c(uint32_t instruction)
{
	begin_process();
	push_three();
	native(HELPER);
	native(HELPER);
	n_native++;
	host.stack[SP + 2 * FRAME_WORDS - 1] = code(0);
	set_code(0, 3, instruction);
}

TEST(a_function_in_c_has_a_stack_that_is_in_the_frame_pointer)
{
	const uint64_t places[] = {code(0) - 1, code(1) - 1, code(2) - 1, code(3) - 1};

	call_c(FROM_FRAME_POINTER);
	w->fp = at(top);
	host.stack[PROCESS] = at(HEAP_END - 2); /* an older one */
	walk_generated(4);
	check_entries(places, 4, 2);
}

TEST(or_stored_in_the_process)
{
	const uint64_t places[] = {code(0) - 1, code(1) - 1, code(2) - 1, code(3) - 1};

	call_c(FROM_PROCESS);
	w->fp = at(HEAP_END - 2);
	host.stack[PROCESS] = at(top);
	walk_generated(4);
	check_entries(places, 4, 2);
}

TEST(code_that_does_not_say_it_runs_no_process)
{
	const uint64_t places[] = {code(0) - 1};

	call_c(0x90909090);
	w->fp = at(top);
	host.stack[PROCESS] = at(top);
	walk_generated(4);
	check_entries(places, 1, 2);
}

/* It calls none, so the collector of garbage never sees where it returns to. */
TEST(the_innermost_function_may_return_to_any_address)
{
	const uint64_t places[] = {code(0), code(9) + 2, code(1) - 1, code(2) - 1, code(3) - 1};

	begin_process();
	push_three();
	push(code(9) + 3);
	w->ip = code(0);
	w->sp = at(top);
	walk_generated(2);
	check_entries(places, 5, 0);
}

TEST(frame_pointers_on_the_stack_are_no_frames)
{
	const uint64_t places[] = {code(0), code(1) - 1, code(2) - 1};

	begin_process();
	push(code(2));
	push(at(HEAP_END - 1));
	push(code(1));
	push(at(top + 1));
	push(0);
	w->ip = code(0);
	w->sp = at(top);
	walk_generated(2);
	check_entries(places, 3, 0);
}

/* It has put its stack's top away, and functions in C go on with it. */
TEST(a_process_that_runs_in_another_thread_has_its_frames_there)
{
	const uint64_t places[] = {code(1) - 1, code(2) - 1, code(3) - 1};

	begin_process();
	push_three();
	host.stack[PROCESS] = at(top);
	native(HELPER);
	native(LOOP);
	native(START);
	walk_all(3);
	check_entries(places, 3, 1);
}

TEST(a_scheduler_without_a_process_has_native_frames)
{
	begin_process();
	host.stack[2] = 0;
	native(HELPER);
	native(LOOP);
	native(START);
	walk_all(0);
}

TEST(a_thread_that_is_no_scheduler_has_native_frames)
{
	begin_process();
	host.stack[2] = host.stack[3] = 0;
	native(HELPER);
	native(LOOP);
	native(START);
	walk_all(0);
}

/* ---- hostile ---- */

TEST(a_stack_is_in_the_memory_of_its_process)
{
	const uint64_t places[] = {code(0)};
	static const unsigned tops[] = {HEAP - 1, HEAP_END + 1, 0};

	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		begin_process();
		push_three();
		w->ip = code(0);
		w->sp = at(tops[i]);
		walk_generated(2);
		check_entries(places, 1, 0);
	}
}

TEST(a_stack_without_an_end_is_cut)
{
	begin_process();
	host.stack[PROCESS + 2] = at(GENERATED);
	for (unsigned i = HEAP; i < GENERATED; i++)
		host.stack[i] = code(i % 8);
	w->ip = code(0);
	w->sp = at(HEAP);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_true(host.chain.cut);
	assert_int_equal(host.chain.event.n_chain, CHAIN_ENTRIES - 1);
	begin_process();
	host.stack[PROCESS + 1] = 0;
	host.stack[PROCESS + 2] = ~7ULL;
	w->ip = code(0);
	w->sp = at(HEAP);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_in_range(host.chain.n_taken, 1, CHAIN_TAKES + 1);
}

TEST(without_the_caller_of_generated_code_the_walk_ends_there)
{
	begin_process();
	push_three();
	host.stack[REGISTERS + 8 + 11] = 0;
	w->ip = code(0);
	w->sp = at(top);
	assert_int_equal(host_walk(), WALK_END_JIT);
	assert_int_equal(host.chain.event.n_chain, 4);
	host.stack[3] = 0x1000; /* no memory */
	w->ip = code(0);
	w->sp = at(top);
	assert_int_equal(host_walk(), WALK_END_JIT);
}
