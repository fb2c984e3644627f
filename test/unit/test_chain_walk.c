/* The walk over frames of an interpreter that are a linked list. */
#include "test/lib/chain_host.h"

/* A word of the native frame that was added last: where an interpreter keeps what is between. */
static unsigned word_of_native(void)
{
	return SP + (n_native - 1) * FRAME_WORDS + 2;
}

/* What is no frame, on the stack of the native frame that was added last. */
static void between(void)
{
	unsigned word = word_of_native();

	link_to(word);
	host.stack[word + 3] = (uint64_t)OWNER_BETWEEN << 48;
}

static void check_entry(unsigned i, unsigned code, uint64_t place, uint32_t index)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), at(CODE + 2 * code));
	assert_int_equal(chain_entry_at(e), place);
	assert_int_equal(chain_entry_index(e), index);
	assert_int_equal(chain_entry_check(e), chain_check(0xabc000 + code));
}

TEST(each_call_of_the_loop_has_its_run)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	native(HELPER);
	native(LOOP);
	frame(1, 77, 0);
	frame(2, 78, 1);
	between();
	native(HELPER);
	native(HELPER);
	native(LOOP);
	frame(1, 79, 0);
	between();
	native(START);
	walk_all(3);
	check_entry(0, 1, 77, 1);
	check_entry(1, 2, 78, 1);
	check_entry(2, 1, 79, 4);
	assert_false(host.chain.cut);
}

TEST(a_call_of_the_loop_that_has_no_frame_yet_takes_none_of_its_callers)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	native(LOOP); /* at its first instruction */
	native(HELPER);
	native(LOOP);
	frame(1, 77, 0);
	frame(2, 78, 0);
	between();
	native(START);
	walk_all(2);
	check_entry(0, 1, 77, 2);
	check_entry(1, 2, 78, 2);
}

TEST(frames_of_a_call_that_was_not_known_are_in_front_of_the_next_one)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	native(HELPER); /* a part of the loop that no range has */
	frame(1, 77, 0);
	between();
	native(HELPER);
	native(LOOP);
	frame(2, 78, 0);
	between();
	native(LOOP);
	frame(3, 79, 0);
	between();
	native(START);
	walk_all(3);
	check_entry(0, 1, 77, 2);
	check_entry(1, 2, 78, 2);
	check_entry(2, 3, 79, 3);
}

TEST(what_no_call_of_the_loop_has_taken_is_the_rest)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	between();
	native(HELPER);
	frame(2, 78, 0);
	between();
	native(HELPER);
	frame(3, 79, 0);
	between();
	native(START);
	walk_all(3);
	check_entry(0, 1, 77, 0);
	check_entry(1, 2, 78, CHAIN_REST);
	check_entry(2, 3, 79, CHAIN_REST);
}

TEST(a_run_may_end_with_a_frame)
{
	const struct chain_layout l = layout(CHAIN_END_LAST);

	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	frame(2, 78, OWNER_BETWEEN);
	native(HELPER);
	native(LOOP);
	frame(3, 79, OWNER_BETWEEN);
	native(START);
	walk_all(3);
	check_entry(0, 1, 77, 0);
	check_entry(1, 2, 78, 0);
	check_entry(2, 3, 79, 2);
}

/* Of frames that may end a run, those do whose code object says so. */
TEST(a_run_may_end_with_a_frame_of_some_kind)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.frames.end_code = 6;
	begin(&l);
	native(LOOP);
	native(HELPER);
	native(LOOP);
	native(START);
	for (unsigned i = 1; i <= 4; i++)
		frame(i, 77, OWNER_BETWEEN);
	host.stack[CODE + 2] = 1;
	host.stack[CODE + 4] = 2;
	host.stack[CODE + 6] = 1;
	host.stack[CODE + 8] = 4;
	walk_all(4);
	check_entry(0, 1, 77, 0);
	check_entry(1, 2, 77, 0);
	check_entry(2, 3, 77, 2);
	check_entry(3, 4, 77, 2);
}

static uint32_t check_behind(uint64_t one, uint64_t other)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.frames.check = 0;
	l.frames.check_more = 8;
	l.frames.check_at = 16;
	begin(&l);
	native(LOOP);
	native(START);
	frame(1, 77, 0);
	host.stack[CODE + 2] = one;
	host.stack[CODE + 3] = other;
	host.stack[102] = 0x1234;
	host.stack[112] = 0x567800;
	walk_all(1);
	return chain_entry_check(&host.chain.entries[0]);
}

TEST(a_check_may_be_of_words_behind_two_others)
{
	const uint64_t no_memory = 8;

	assert_int_equal(check_behind(at(100), at(110)),
			 chain_check(0x1234) ^ chain_check(0x567800));
	assert_int_equal(check_behind(at(100), no_memory), chain_check(0x1234));
	assert_int_equal(check_behind(no_memory, at(110)), chain_check(0x567800));
}

TEST(anchors_tell_whose_run_it_is)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.paths[0].steps[0] = 0;
	l.paths[0].n_steps = 3;
	l.paths[0].steps[1] = 24; /* of the thread's state: the first anchor */
	l.paths[0].steps[2] = 8;  /* which has the first frame */
	l.paths[0].anchor = 2;
	begin(&l);
	native(LOOP); /* has no anchor yet */
	native(LOOP);
	frame(1, 77, 0);
	frame(2, 78, OWNER_BETWEEN);
	host.stack[1 + 3] = at(word_of_native());
	host.stack[word_of_native() + 1] = at(CHAINED);
	host.stack[word_of_native()] = at(word_of_native() + FRAME_WORDS);
	native(LOOP);
	frame(3, 79, OWNER_BETWEEN);
	native(START);
	walk_all(3);
	check_entry(0, 1, 77, 1);
	check_entry(1, 2, 78, 1);
	check_entry(2, 3, 79, 2);
}

TEST(each_frame_may_be_a_call)
{
	const struct chain_layout l = layout(CHAIN_END_EACH);

	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	native(LOOP);
	frame(2, 78, 0);
	native(START);
	walk_all(2);
	check_entry(0, 1, 77, 0);
	check_entry(1, 2, 78, 1);
}

static uint32_t left_of(unsigned n_loops, unsigned n_frames)
{
	const struct chain_layout l = layout(CHAIN_END_EACH);

	begin(&l);
	for (unsigned i = 0; i < n_loops; i++) {
		native(LOOP);
		native(HELPER);
	}
	native(START);
	for (unsigned i = 0; i < n_frames; i++)
		frame(1 + i, 77, 0);
	walk_all(n_frames);
	return host.chain.event.chain_state >> CHAIN_LEFT_SHIFT;
}

TEST(a_call_that_no_frame_was_left_for_is_told)
{
	assert_int_equal(left_of(3, 3), 0);
	assert_int_equal(left_of(3, 2), 1 + 4);
	assert_int_equal(left_of(3, 1), 0); /* there can be one such call */
	assert_int_equal(left_of(3, 4), 0);
}

/* Runs of several frames, and nothing says whose they are. */
TEST(a_call_that_no_run_was_left_for_is_told)
{
	const struct chain_layout l = layout(CHAIN_END_LAST);

	begin(&l);
	native(LOOP);
	native(HELPER);
	native(LOOP);
	native(START);
	frame(1, 77, 0);
	frame(2, 78, OWNER_BETWEEN);
	walk_all(2);
	assert_int_equal(host.chain.event.chain_state >> CHAIN_LEFT_SHIFT, 1 + 2);
}

TEST(a_call_whose_frame_cannot_be_read_is_not_left)
{
	const struct chain_layout l = layout(CHAIN_END_EACH);

	begin(&l);
	native(LOOP);
	native(LOOP);
	native(START);
	frame(1, 77, 0);
	host.stack[last_chained] = 64; /* no memory */
	walk_all(1);
	assert_int_equal(host.chain.event.chain_state >> CHAIN_LEFT_SHIFT, 0);
}

TEST(frames_may_be_an_array)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.frames.next_is = CHAIN_NEXT_STRIDE;
	l.frames.next = 32;
	l.frames.end_at = 8; /* the flag is behind a pointer */
	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	frame(2, 78, 0);
	frame(3, 79, 0);
	for (unsigned i = 0; i < 3; i++)
		host.stack[CHAINED + 4 * i + 3] = at(100 + i);
	host.stack[103] = (uint64_t)OWNER_BETWEEN << 48;
	native(START);
	walk_all(3);
	check_entry(2, 3, 79, 0);
}

/* ---- where the first frame is ---- */

static void check_path(const struct chain_path *p)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	w->ip = in_function(LOOP);
	w->sp = at(SP);
	host.chain.found = 1;
	l.paths[0] = *p;
	unwind_blocks_chain(&blocks, host.process, &l);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
}

/* An array whose flags are behind a pointer. */
static struct chain_layout array_layout(void)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.frames.next_is = CHAIN_NEXT_STRIDE;
	l.frames.next = 32;
	l.frames.end_at = 8;
	return l;
}

static void flag(unsigned i, uint64_t owner)
{
	host.stack[CHAINED + 4 * i + 3] = at(100 + i);
	host.stack[100 + i + 1] = owner << 48;
}

/* What the walk has not come by is taken too, if it is known where the array ends. */
TEST(an_array_may_have_an_end)
{
	struct chain_layout l = array_layout();

	l.frames.stop_mask = 0xffULL << 48;
	l.frames.stop_value = 9ULL << 48;
	begin(&l);
	native(LOOP);
	native(HELPER);
	native(START);
	for (unsigned i = 1; i <= 4; i++)
		frame(i, 76 + i, 0);
	flag(0, 0);
	flag(1, OWNER_BETWEEN);
	flag(2, 0);
	flag(3, 9);
	walk_all(3);
	check_entry(1, 2, 78, 0);
	check_entry(2, 3, 79, CHAIN_REST);
}

TEST(functions_of_the_loop_that_call_each_other_are_one_if_the_layout_says_so)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.flags = CHAIN_LOOP_IS_JOINED;
	begin(&l);
	for (unsigned i = 0; i < 3; i++)
		native(LOOP);
	native(HELPER);
	native(LOOP);
	native(START);
	frame(1, 77, 0);
	frame(2, 78, OWNER_BETWEEN);
	frame(3, 79, OWNER_BETWEEN);
	n_native -= 2; /* of three, one is left */
	walk_all(3);
	check_entry(0, 1, 77, 0);
	check_entry(1, 2, 78, 0);
	check_entry(2, 3, 79, 2);
}

#define KIND 0x601aULL
#define BOX 0x201aULL
#define ENVIRONMENT 200u /* words */
#define AROUND 210u
#define OBJECT 300u
#define BOXED 310u
#define BODY 400u
#define FIRST 0x7000u

/* A frame with an environment; the object in it has this first word. */
static void begin_owned(uint64_t kind)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.frames.owner = (struct chain_owner){.environment = 24,
					      .value = -16,
					      .next = -8,
					      .last_mask = 2,
					      .kind_mask = 0xf01f,
					      .kind = KIND,
					      .box = BOX,
					      .box_value = 8,
					      .body = 8,
					      .first = 8};
	begin(&l);
	native(LOOP);
	native(START);
	frame(1, FIRST + 5 * 8, 0);
	host.stack[last_chained + 3] = at(ENVIRONMENT);
	host.stack[CODE + 3] = at(BODY);
	host.stack[BODY + 1] = FIRST;
	host.stack[ENVIRONMENT - 2] = at(OBJECT);
	host.stack[ENVIRONMENT] = 2;
	host.stack[OBJECT] = kind;
	host.stack[OBJECT + 1] = at(BOXED);
	host.stack[BOXED] = KIND | 0x100000;
}

static uint64_t owner_of(void)
{
	const struct chain_entry *e = &host.chain.entries[0];

	walk_all(1);
	assert_int_equal(chain_entry_code(e), at(CODE + 2));
	assert_int_equal(chain_entry_check(e), chain_check_at(5, at(BODY)));
	return chain_entry_at(e);
}

TEST(a_frame_may_have_an_owner)
{
	begin_owned(KIND | 0x20);
	assert_int_equal(owner_of(), at(OBJECT));
	begin_owned(BOX);
	assert_int_equal(owner_of(), at(BOXED));
	begin_owned(0x101a);
	assert_int_equal(owner_of(), 0);
	/* a box in a box is none */
	begin_owned(BOX);
	host.stack[BOXED] = BOX;
	assert_int_equal(owner_of(), 0);
}

TEST(the_owner_may_be_in_an_environment_around)
{
	begin_owned(0x101a);
	host.stack[ENVIRONMENT] = 0;
	host.stack[ENVIRONMENT - 1] = at(AROUND) | 1;
	host.stack[AROUND - 2] = at(BOXED);
	host.stack[AROUND] = 2;
	assert_int_equal(owner_of(), at(BOXED));
	/* it is its own */
	begin_owned(0x101a);
	host.stack[ENVIRONMENT] = 0;
	host.stack[ENVIRONMENT - 1] = at(ENVIRONMENT);
	assert_int_equal(owner_of(), 0);
}

TEST(a_frame_without_code_is_its_owner)
{
	const struct chain_entry *e = &host.chain.entries[0];

	begin_owned(KIND);
	host.stack[last_chained + 1] = 0;
	walk_all(1);
	assert_int_equal(chain_entry_code(e), at(OBJECT));
	assert_int_equal(chain_entry_check(e), chain_check(at(BOXED)));
}

static unsigned frames_of_thread(uint64_t pthread)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.thread = (struct chain_path){
		.origin = CHAIN_FIXED, .n_steps = 1, .steps = {(int64_t)at(50)}};
	begin(&l);
	native(LOOP);
	native(START);
	frame(1, 77, 0);
	host.stack[50] = pthread;
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	return host.chain.event.n_chain;
}

TEST(frames_of_another_thread_are_not_taken)
{
	assert_int_equal(frames_of_thread(at(0)), 1);
	assert_int_equal(frames_of_thread(at(0) - CHAIN_THREAD_BYTES + 1), 1);
	assert_int_equal(frames_of_thread(at(0) - CHAIN_THREAD_BYTES), 0);
	assert_int_equal(frames_of_thread(at(0) + 1), 0);
	assert_int_equal(frames_of_thread(0), 0);
}

TEST(the_first_frame_is_found_by_any_kind_of_variable)
{
	const struct chain_layout l = layout(CHAIN_END_EACH);
	const struct chain_table glibc = {
		.blocks = 800, .block_shift = 5, .stride = 16, .value = 8};
	struct chain_path p;

	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	native(START);
	/* a global variable */
	p = (struct chain_path){.origin = CHAIN_FIXED, .n_steps = 2, .steps = {(int64_t)at(0), 8}};
	check_path(&p);
	assert_int_equal(host.chain.event.n_chain, 1);
	/* the linker has stored its offset */
	host.stack[500] = 8;
	p = (struct chain_path){
		.origin = CHAIN_THREAD_AT, .word = at(500), .n_steps = 1, .steps = {8}};
	check_path(&p);
	assert_int_equal(host.chain.event.n_chain, 1);
	/* a key, in the second block */
	p = (struct chain_path){
		.origin = CHAIN_KEY, .word = at(501), .table = glibc, .n_steps = 1, .steps = {8}};
	p.table.key_shift = 32;
	host.stack[501] = (uint64_t)33 << 32 | 1;
	host.stack[100 + 1] = at(600);
	host.stack[600 + 2 + 1] = at(1);
	check_path(&p);
	assert_int_equal(host.chain.event.n_chain, 1);
	host.stack[501] = (uint64_t)33 << 32; /* not made yet */
	check_path(&p);
	assert_int_equal(host.chain.event.n_chain, 0);
	host.stack[501] = (uint64_t)UINT32_MAX << 32 | 1;
	check_path(&p);
	assert_int_equal(host.chain.event.n_chain, 0);
}

TEST(without_a_frame_the_second_path_counts)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.paths[1] = l.paths[0];
	l.paths[0].steps[0] = 8 * 700; /* 0: the thread has given its state back */
	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	native(START);
	walk_all(1);
}

static enum chain_state state_with(const struct chain_path *p, uint64_t word)
{
	struct chain_layout l = layout(CHAIN_END_EACH);

	l.states[CHAIN_HOLDS_LOCK] = *p;
	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	native(START);
	host.stack[1 + 3] = word;
	walk_all(1);
	assert_int_equal(chain_state_of(host.chain.event.chain_state, CHAIN_COLLECTS),
			 CHAIN_STATE_UNKNOWN);
	return chain_state_of(host.chain.event.chain_state, CHAIN_HOLDS_LOCK);
}

TEST(state_of_the_thread_is_sent)
{
	struct chain_path p = {.origin = CHAIN_THREAD, .n_steps = 2, .shift = 32, .steps = {0, 24}};

	assert_int_equal(state_with(&p, 0x112233), CHAIN_STATE_SET);
	assert_int_equal(state_with(&p, 0x5566000000000000), CHAIN_STATE_CLEAR);
	assert_int_equal(state_with(&p, 0), CHAIN_STATE_CLEAR);
	p.origin = CHAIN_NONE;
	assert_int_equal(state_with(&p, 1), CHAIN_STATE_UNKNOWN);
}

TEST(a_state_is_set_for_the_thread_that_it_names)
{
	/* from a variable of the interpreter */
	struct chain_path p = {
		.origin = CHAIN_FIXED, .n_steps = 1, .own = 1, .steps = {(int64_t)at(4)}};

	assert_int_equal(state_with(&p, at(0)), CHAIN_STATE_SET);
	assert_int_equal(state_with(&p, at(1)), CHAIN_STATE_CLEAR);
	assert_int_equal(state_with(&p, 0), CHAIN_STATE_CLEAR);
}

/* ---- hostile ---- */

TEST(a_chain_without_an_end_is_cut)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	host.stack[CHAINED] = at(CHAINED);
	native(START);
	walk_all(CHAIN_ENTRIES - 1);
	assert_true(host.chain.cut);
}

TEST(a_circle_of_what_is_between_costs_no_more_than_frames)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	native(LOOP);
	between();
	host.stack[word_of_native()] = at(word_of_native());
	for (unsigned i = 0; i < 200; i++)
		native(LOOP);
	native(START);
	walk_all(0);
	assert_in_range(host.chain.n_taken, 1, CHAIN_TAKES + 1);
}

/* Frames whose anchor is never reached are read again for each call of the loop. */
TEST(what_is_read_in_vain_is_bounded)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	for (unsigned i = 0; i < 200; i++)
		native(LOOP);
	for (unsigned i = 0; i < 300; i++)
		frame(1, 77, 0);
	link_to(8000);
	host.stack[8003] = (uint64_t)OWNER_BETWEEN << 48;
	native(START);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_in_range(host.chain.n_taken, 1, CHAIN_TAKES + 1);
	assert_true(host.chain.cut);
}

TEST(memory_that_cannot_be_read_ends_the_chain)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);

	begin(&l);
	native(LOOP);
	frame(1, 77, 0);
	host.stack[CHAINED] = 0x123456;
	native(START);
	walk_all(1);
	check_entry(0, 1, 77, 0);
	/* of a code object, too: user space may be able to */
	host.stack[CHAINED + 1] = 0x5000;
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	walk_all(1);
	assert_int_equal(chain_entry_code(&host.chain.entries[0]), 0x5000);
	assert_int_equal(chain_entry_check(&host.chain.entries[0]), 0);
}

static void begin_generated(uint8_t flags, enum function caller)
{
	struct chain_layout l = layout(CHAIN_END_EACH);
	struct unwind_blocks_mapping m[] = {
		{BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE},
		{2u * BIAS, 2u * BIAS + 0x1000, 0, UNWIND_TABLE_ANONYMOUS}};

	l.flags = flags;
	begin(&l);
	native(HELPER);
	native(START);
	w->ip = 2u * BIAS + 8;
	w->fp = at(SP);
	host.stack[SP] = 0;
	host.stack[SP + 1] = in_function(caller);
	host.stack[SP + 2 + FRAME_WORDS - 1] = in_function(START);
	frame(1, 77, 0);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, m, 2, 0);
	unwind_blocks_chain(&blocks, host.process, &l);
}

TEST(generated_code_is_part_of_the_loop_if_the_layout_says_so)
{
	begin_generated(CHAIN_ANONYMOUS_IS_LOOP, START);
	walk_all(1);
	check_entry(0, 1, 77, 0);
}

TEST(generated_code_that_the_loop_calls_is_one_with_it_if_the_layout_says_so)
{
	begin_generated(CHAIN_ANONYMOUS_IS_LOOP | CHAIN_LOOP_IS_JOINED, LOOP);
	frame(2, 78, 0);
	walk_all(2);
	check_entry(0, 1, 77, 0);
	check_entry(1, 2, 78, CHAIN_REST);
}

/* The leaf is generated code with so many words on its stack, above which is the loop's frame. */
static void begin_called(unsigned n_words)
{
	begin_generated(CHAIN_ANONYMOUS_IS_LOOP | CHAIN_LOOP_IS_JOINED | CHAIN_CALLED_BY_LOOP,
			START);
	w->sp = at(SP);
	for (unsigned i = 0; i < n_words; i++)
		host.stack[SP + i] = in_function(i % 2 ? HELPER : START); /* saved registers */
	host.stack[SP + n_words] = in_function(LOOP);
	host.stack[SP + n_words + FRAME_WORDS] = in_function(START);
	frame(2, 78, 0);
}

static void check_called(unsigned n_words)
{
	walk_all(2);
	assert_int_equal(host.scratch.addrs[0], in_function(LOOP));
	assert_int_equal(w->sp, at(SP + n_words + 1 + FRAME_WORDS));
	check_entry(0, 1, 77, 0);
}

TEST(generated_code_that_the_loop_calls_returns_to_the_first_address_in_the_loop)
{
	static const unsigned words[] = {0, 3, CHAIN_FRAME_WORDS - 1};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		begin_called(words[i]);
		w->fp = 7; /* of no meaning there */
		check_called(words[i]);
		assert_int_equal(w->fp, 7);
	}
}

TEST(generated_code_with_a_frame_pointer_has_saved_that_of_the_loop)
{
	begin_called(4);
	host.stack[SP + 3] = 9;
	w->fp = at(SP + 3);
	check_called(4);
	assert_int_equal(w->fp, 9);
}

TEST(generated_code_with_too_many_words_ends_the_walk)
{
	begin_called(CHAIN_FRAME_WORDS);
	w->fp = 7;
	assert_int_equal(host_walk(), WALK_END_JIT);
	assert_int_equal(host.chain.event.n_chain, 2);
}

/* The process may be any. */
TEST(an_address_between_the_parts_of_the_loop_is_none_in_it)
{
	begin_called(3);
	host.stack[SP + 2] = BIAS + TEXT_AT / 2 + 64;
	w->fp = 7;
	assert_int_equal(host_walk(), WALK_END_JIT);
	assert_int_equal(host.chain.event.n_chain, 2);
}

TEST(addresses_in_generated_code_are_frames_if_the_layout_says_so)
{
	const uint64_t ip = 2u * BIAS + 13, caller = 2u * BIAS + 0x100;

	begin_generated(CHAIN_ANONYMOUS_IS_LOOP | CHAIN_BY_ADDRESS, START);
	host.stack[SP] = at(SP + 4);
	host.stack[SP + 1] = caller;
	host.stack[SP + 4] = 0;
	host.stack[SP + 5] = in_function(START);
	w->ip = ip;
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, 3);
	assert_int_equal(host.chain.event.n_chain, 2);
	/* a caller is the instruction before the one that it returns to */
	assert_int_equal(chain_entry_code(&host.chain.entries[0]), ip & ~7ULL);
	assert_int_equal(chain_entry_at(&host.chain.entries[0]), ip);
	assert_int_equal(chain_entry_index(&host.chain.entries[0]), 0);
	assert_int_equal(chain_entry_code(&host.chain.entries[1]), caller - 8);
	assert_int_equal(chain_entry_at(&host.chain.entries[1]), caller - 1);
	assert_int_equal(chain_entry_index(&host.chain.entries[1]), 1);
}
