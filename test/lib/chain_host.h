/*
 * For tests of the walk over frames of an interpreter, in memory that is written by hand: a program
 * whose function 1 is the loop and whose function 2 is called by it and calls it; function 3 is the
 * outermost. All frames have 8 words; so the native stack below is a list of return addresses, and
 * the frames of the interpreter are behind it.
 */
#ifndef TEST_LIB_CHAIN_HOST_H
#define TEST_LIB_CHAIN_HOST_H

#include "test/lib/host_bpf.h"
#include "test/lib/unit.h"

#define BIAS 0x400000000u
#define TEXT_AT 0x1000u
#define FUNCTION_BYTES 256u
#define TABLE UNWIND_TABLE_FIRST
#define FRAME_WORDS 8u
#define SP 16u        /* word */
#define CHAINED 2048u /* word of the first frame of the interpreter */
#define CODE 4096u    /* word of the first code object */
#define OWNER_BETWEEN 3u

enum function { NONE, LOOP, HELPER, START, FUNCTIONS };

static struct unwind_blocks blocks;
static struct walk *const w = &host.scratch.walk;
static unsigned n_native, n_chained, last_chained;

static inline uint64_t at(unsigned word)
{
	return HOST_STACK_AT + word * 8;
}

static inline uint64_t in_function(enum function f)
{
	return BIAS + TEXT_AT + f * FUNCTION_BYTES + 100;
}

/* A frame has the next one, its code, its place there, and in byte 3 * 8 + 6 whose it is. */
static inline struct chain_layout layout(enum chain_end end_is)
{
	return (struct chain_layout){
		.paths = {{.origin = CHAIN_THREAD, .n_steps = 2, .steps = {0, 8}}},
		.frames = {.next_is = CHAIN_NEXT_WORD,
			   .end_is = (uint8_t)end_is,
			   .n_bytes = 32,
			   .code = 8,
			   .at = 16,
			   .end = 24,
			   .end_at = CHAIN_END_HERE,
			   .check = 8,
			   .at_mask = ~0ULL,
			   .end_mask = 0xffULL << 48,
			   .end_value = (uint64_t)OWNER_BETWEEN << 48},
		.loop = BIAS,
		.loop_bytes = TEXT_AT + 2 * FUNCTION_BYTES,
		.n_ranges = 2,
		.starts = {TEXT_AT / 2, TEXT_AT + FUNCTION_BYTES},
		.ends = {TEXT_AT / 2 + 16, TEXT_AT + 2 * FUNCTION_BYTES},
	};
}

static inline void begin(const struct chain_layout *l)
{
	const struct unwind_rule rules[FUNCTIONS] = {
		[NONE] = {.base = UNWIND_CFA_UNKNOWN},
		[LOOP] = {.base = UNWIND_CFA_SP, .cfa = FRAME_WORDS},
		[HELPER] = {.base = UNWIND_CFA_SP, .cfa = FRAME_WORDS},
		[START] = {.base = UNWIND_CFA_END},
	};
	const struct unwind_blocks_mapping m = {BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE};
	struct unwind_blocks_row rows[FUNCTIONS + 1];

	memset(&host, 0, sizeof(host));
	unwind_blocks_init(&blocks, host.slab, host.tables);
	for (unsigned i = 0; i <= FUNCTIONS; i++)
		rows[i] = (struct unwind_blocks_row){TEXT_AT + i * FUNCTION_BYTES,
						     (uint16_t)(i < FUNCTIONS ? i : 0)};
	unwind_blocks_table(&blocks, TABLE, rules, FUNCTIONS, rows, FUNCTIONS + 1);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, &m, 1, 0);
	unwind_blocks_chain(&blocks, host.process, l);
	host.chain.thread_pointer = at(0);
	host.stack[0] = at(1);       /* thread-local variable → state of the thread */
	host.stack[2] = at(CHAINED); /* → first frame */
	n_native = n_chained = 0;
	w->sp = at(SP);
}

/* The next native frame, from the leaf on. */
static inline void native(enum function f)
{
	if (n_native == 0)
		w->ip = in_function(f);
	else
		host.stack[SP + n_native * FRAME_WORDS - 1] = in_function(f);
	n_native++;
}

static inline void link_to(unsigned word)
{
	if (n_chained++ == 0)
		host.stack[2] = at(word);
	else
		host.stack[last_chained] = at(word);
	last_chained = word;
}

/* The next frame of the interpreter, from the leaf on, with code object n. */
static inline void frame(unsigned n, uint64_t place, uint64_t owner)
{
	unsigned word = CHAINED + n_chained * 4;

	link_to(word);
	host.stack[word + 1] = at(CODE + 2 * n);
	host.stack[word + 2] = place;
	host.stack[word + 3] = owner << 48;
	host.stack[CODE + 2 * n + 1] = 0xabc000 + n;
}

static inline void walk_all(unsigned n_entries)
{
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, n_native);
	assert_int_equal(host.chain.event.n_chain, n_entries);
}

#endif /* TEST_LIB_CHAIN_HOST_H */
