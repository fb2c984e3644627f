/* The walk over frames of coroutines that await the one that runs. */
#include "test/lib/chain_host.h"

/* Offsets in bytes, in objects of 16 words: tasks, futures, coroutines, sets and names. */
enum {
	TYPE = 8,
	AWAITED_BY = 16,
	IS_TASK = 24,
	IS_SET = 25,
	COROUTINE = 32,
	NAME = 40,
	STATE = 19,
	FRAME = 24, /* in a coroutine */
	TOP = 32,   /* in a frame */
	USED = 8,
	MASK = 16,
	TABLE_AT = 24,
	TEXT_BYTES = 16,
	TEXT = 24,
};

#define OBJECTS 6000u /* word of the first one */
#define OBJECT_WORDS 32u
#define COROUTINE_TYPE UINT64_C(0x7770)
#define TEXT_TYPE UINT64_C(0x8880)
#define AWAITS 2u
#define LOOP_CODE 90u

static unsigned n_objects;

static struct chain_layout task_layout(void)
{
	struct chain_layout l = layout(CHAIN_END_BETWEEN);

	l.flags = CHAIN_HAS_TASKS;
	l.frames.n_bytes = 40;
	l.first_at = (struct chain_path){.origin = CHAIN_THREAD, .n_steps = 2, .steps = {0, 16}};
	l.tasks = (struct chain_tasks){
		.awaited_by = AWAITED_BY,
		.is_task = IS_TASK,
		.is_set = IS_SET,
		.coroutine = COROUTINE,
		.name = NAME,
		.type = TYPE,
		.frame = FRAME,
		.state = STATE,
		.top = TOP,
		.awaits = 8,
		.set_used = USED,
		.set_mask = MASK,
		.set_table = TABLE_AT,
		.text_bytes = TEXT_BYTES,
		.text = TEXT,
		.awaits_state = AWAITS,
		.coroutine_type = COROUTINE_TYPE,
		.text_type = TEXT_TYPE,
	};
	return l;
}

static unsigned object(uint64_t type)
{
	unsigned word = OBJECTS + OBJECT_WORDS * n_objects++;

	host.stack[word + TYPE / 8] = type;
	return word;
}

static unsigned task(unsigned coroutine)
{
	unsigned word = object(0x9990);

	host.stack[word + IS_TASK / 8] = 1;
	host.stack[word + COROUTINE / 8] = coroutine ? at(coroutine) : 0;
	return word;
}

/* With code object n; suspended, if that is not said otherwise, in what it awaits; 0: nothing. */
static unsigned coroutine(unsigned n, unsigned awaits)
{
	unsigned word = object(COROUTINE_TYPE), frame_word = word + FRAME / 8;

	host.stack[frame_word + 1] = at(CODE + 2 * n);
	host.stack[frame_word + 2] = 70 + n;
	host.stack[frame_word + 4] = at(word + 16); /* behind the values */
	host.stack[word + 15] = awaits ? at(awaits) | 1 : 0;
	host.stack[word + STATE / 8] = (uint64_t)(awaits ? AWAITS : AWAITS - 1) << 24;
	host.stack[CODE + 2 * n + 1] = 0xabc000 + n;
	return word;
}

static void await(unsigned awaited, unsigned by)
{
	host.stack[awaited + AWAITED_BY / 8] = by ? at(by) : 0;
}

static unsigned set(unsigned used, uint64_t mask)
{
	unsigned word = object(0), table = object(0);

	host.stack[word + USED / 8] = used;
	host.stack[word + MASK / 8] = mask;
	host.stack[word + TABLE_AT / 8] = at(table);
	return word;
}

static unsigned table_of(unsigned set_word)
{
	return (unsigned)((host.stack[set_word + TABLE_AT / 8] - HOST_STACK_AT) / 8);
}

static void await_set(unsigned awaited, unsigned set_word)
{
	await(awaited, set_word);
	host.stack[awaited + IS_TASK / 8] |= 0x100;
}

/* A task runs coroutine 1, which calls a function 2; the event loop has called it. */
static unsigned begin_task(void)
{
	static struct chain_layout l;
	unsigned running, root;

	l = task_layout();
	n_objects = 0;
	begin(&l);
	root = coroutine(1, 0);
	running = task(root);
	host.stack[3] = at(running);
	native(LOOP);
	frame(2, 72, 1);
	link_to(root + FRAME / 8);
	link_to(SP + 2);
	host.stack[SP + 5] = (uint64_t)OWNER_BETWEEN << 48;
	native(HELPER);
	native(LOOP);
	frame(LOOP_CODE, 70 + LOOP_CODE, 0);
	native(START);
	return running;
}

static void check_frame(unsigned i, unsigned code)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), at(CODE + 2 * code));
	assert_int_equal(chain_entry_at(e), 70 + code);
	assert_int_equal(chain_entry_index(e), code == LOOP_CODE ? 2 : 0);
	assert_int_equal(chain_entry_check(e), chain_check(0xabc000 + code));
}

/* Those of codes, from the leaf on, and the event loop's. 0: anything. */
static void check_frames(const unsigned *codes, unsigned n)
{
	walk_all(n + 1);
	for (unsigned i = 0; i < n; i++) {
		if (codes[i] != 0)
			check_frame(i, codes[i]);
	}
	check_frame(n, LOOP_CODE);
}
#define CHECK_FRAMES(...)                             \
	check_frames((const unsigned[]){__VA_ARGS__}, \
		     sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static void check_left_out(unsigned i, enum chain_at_task why)
{
	assert_int_equal(chain_entry_code(&host.chain.entries[i]), CHAIN_TASKS_CODE);
	assert_int_equal(chain_entry_at(&host.chain.entries[i]), why);
}

TEST(what_awaits_the_task_is_between_its_frames_and_the_event_loop)
{
	unsigned running = begin_task();
	unsigned one = task(coroutine(3, coroutine(4, coroutine(5, 0))));
	unsigned other = task(coroutine(6, coroutine(7, 0)));

	CHECK_FRAMES(2, 1);
	await(running, one);
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	CHECK_FRAMES(2, 1, 5, 4, 3);
	await(one, other);
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	CHECK_FRAMES(2, 1, 5, 4, 3, 7, 6);
}

TEST(a_future_has_no_frames_but_what_awaits_it)
{
	unsigned running = begin_task(), future = task(coroutine(3, 0));

	host.stack[future + IS_TASK / 8] = 0;
	await(running, future);
	await(future, task(coroutine(4, 0)));
	CHECK_FRAMES(2, 1, 4);
}

TEST(the_only_one_of_a_set_awaits)
{
	unsigned running = begin_task(), one = set(1, CHAIN_SET_SLOTS - 1);
	unsigned by = task(coroutine(3, 0));

	host.stack[table_of(one) + 2] = at(task(coroutine(4, 0))); /* removed */
	host.stack[table_of(one) + 3] = ~0ULL;
	host.stack[table_of(one) + 14] = at(by);
	host.stack[table_of(one) + 15] = 12345;
	await_set(running, one);
	CHECK_FRAMES(2, 1, 3);
}

static void check_several(unsigned used, uint64_t mask)
{
	unsigned running = begin_task(), several = set(used, mask);

	host.stack[table_of(several)] = at(task(coroutine(3, 0)));
	host.stack[table_of(several) + 2] = at(task(coroutine(4, 0)));
	await_set(running, several);
	CHECK_FRAMES(2, 1, 0);
	check_left_out(2, CHAIN_AT_TASKS_SEVERAL);
}

TEST(of_several_none_is_chosen)
{
	check_several(2, CHAIN_SET_SLOTS - 1);
	check_several(1, 4 * CHAIN_SET_SLOTS - 1); /* it had many, and is not searched */
	check_several(0, CHAIN_SET_SLOTS - 1);
}

static void name_of(unsigned task_word, uint64_t type, uint64_t text)
{
	unsigned name = object(type);

	host.stack[task_word + NAME / 8] = at(name);
	host.stack[name + TEXT_BYTES / 8] = 5;
	host.stack[name + TEXT / 8] = text;
}

static void check_name(unsigned i, uint64_t text)
{
	assert_int_equal(chain_entry_at(&host.chain.entries[i]), CHAIN_AT_TASK_NAME);
	assert_int_equal(chain_entry_check(&host.chain.entries[i]), chain_check_text(5, text));
}

TEST(a_task_that_has_a_name_says_it)
{
	unsigned running = begin_task(), one = task(coroutine(3, coroutine(4, 0)));
	unsigned future = task(coroutine(5, 0)), other = task(coroutine(6, 0));

	await(running, one);
	await(one, future);
	await(future, other);
	host.stack[future + IS_TASK / 8] = 0; /* which ends before it would have a name */
	name_of(running, TEXT_TYPE, 0x1234);
	name_of(one, TEXT_TYPE, 0x5678);
	name_of(future, TEXT_TYPE, 0x9abc);
	name_of(other, 0xdef0, 0x9abc); /* a number */
	CHECK_FRAMES(2, 1, 0, 4, 3, 0, 6);
	check_name(2, 0x1234);
	check_name(5, 0x5678);
}

TEST(a_task_whose_frames_are_not_on_the_stack_does_not_run)
{
	unsigned running = begin_task(), by = task(coroutine(3, 0));

	await(running, by);
	host.stack[running + COROUTINE / 8] = at(coroutine(4, 0));
	CHECK_FRAMES(2, 1);
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	host.stack[3] = 0; /* none */
	CHECK_FRAMES(2, 1);
}

/* Those that run have their frames on the stack, others have none. */
TEST(only_frames_of_coroutines_that_are_suspended_are_taken)
{
	unsigned running = begin_task(), one = coroutine(3, 0), by = task(one);

	await(running, by);
	for (unsigned phase = AWAITS + 1; phase < AWAITS + 4; phase++) {
		w->ip = in_function(LOOP);
		w->sp = at(SP);
		host.stack[one + STATE / 8] = (uint64_t)phase << 24;
		CHECK_FRAMES(2, 1);
	}
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	host.stack[one + STATE / 8] = (uint64_t)AWAITS << 24;
	host.stack[one + TYPE / 8] = 0x1110; /* of a kind that has other frames */
	CHECK_FRAMES(2, 1);
	w->ip = in_function(LOOP);
	w->sp = at(SP);
	host.stack[by + COROUTINE / 8] = 0; /* has ended */
	await(by, task(coroutine(4, 0)));
	CHECK_FRAMES(2, 1, 4);
}

TEST(tasks_that_await_each_other_end)
{
	unsigned running = begin_task(), one = task(coroutine(3, 0)), other = task(coroutine(4, 0));

	await(running, one);
	await(one, other);
	await(other, one);
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_in_range(host.chain.n_task_steps, 1, CHAIN_TASK_STEPS + 1);
	assert_in_range(host.chain.event.n_chain, 100, CHAIN_TASK_STEPS);
	check_left_out(host.chain.event.n_chain - 2, CHAIN_AT_TASKS_MANY);
	check_frame(host.chain.event.n_chain - 1, LOOP_CODE);
}

TEST(a_coroutine_that_awaits_itself_ends)
{
	unsigned running = begin_task(), one = coroutine(3, 0);

	host.stack[one + 15] = at(one);
	host.stack[one + STATE / 8] = (uint64_t)AWAITS << 24;
	await(running, task(one));
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_in_range(host.chain.n_task_steps, 1, CHAIN_TASK_STEPS + 1);
	check_frame(host.chain.event.n_chain - 1, LOOP_CODE);
}

TEST(a_task_that_cannot_be_read_is_said)
{
	unsigned running = begin_task();

	host.stack[running + AWAITED_BY / 8] = 0x123456;
	CHECK_FRAMES(2, 1, 0);
	check_left_out(2, CHAIN_AT_TASKS_UNREADABLE);
}
