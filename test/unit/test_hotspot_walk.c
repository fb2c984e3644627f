/* The walk over frames of a JVM, with a code cache that is written by hand. */
#include "test/lib/chain_host.h"

/* Words. */
#define VARIABLES 3000u
#define HEAP 3008u
#define HEAPS 3016u
#define NAMES 3200u /* 4 each */
#define METHODS 3300u
#define SEGMENTS 4096u
#define CACHE 8192u
#define CACHE_WORDS 4096u

#define BLOB_BYTES 1024u
#define SEGMENT_SHIFT 6
#define HEADER_BYTES 16u
#define CODE_AT 128u /* in a blob */

enum kind { COMPILED, NATIVE, INTERPRETER, RUNTIME, STUBS, KINDS };

static const char *const kinds[KINDS] = {"nmethod", "native nmethod", "Interpreter",
					 "RuntimeStub - x", "StubRoutines (1)"};
static unsigned n_blobs;
static unsigned sp; /* word of the next frame, from the leaf on */

static void word(uint64_t address, uint64_t v)
{
	host.stack[(address - HOST_STACK_AT) / 8] = v;
}

static void half(uint64_t address, uint32_t v)
{
	memcpy((char *)host.stack + (address - HOST_STACK_AT), &v, sizeof(v));
}

static void begin_jvm(void)
{
	static const struct chain_layout empty;
	struct chain_layout l = empty;

	l.flags = CHAIN_IS_JVM;
	l.jvm = (struct chain_jvm){
		.low = at(VARIABLES),
		.high = at(VARIABLES + 1),
		.heaps = at(VARIABLES + 2),
		.heaps_data = 8,
		.heap_high = 8,
		.heap_segments = 16,
		.heap_shift = 24,
		.blob_from = HEADER_BYTES,
		.blob_frame = 8,
		.blob_complete = 12,
		.blob_code = 16,
		.compile_id = 24,
		.original = 28,
		.deopt = {32, 40},
		.const_method = 8,
		.bytecode = -8,
	};
	begin(&l);
	host.stack[VARIABLES] = at(CACHE);
	host.stack[VARIABLES + 1] = at(CACHE + CACHE_WORDS);
	host.stack[VARIABLES + 2] = at(HEAPS);
	host.stack[HEAPS] = 1;
	host.stack[HEAPS + 1] = at(HEAPS + 2);
	host.stack[HEAPS + 2] = at(HEAP);
	host.stack[HEAP] = at(CACHE);
	host.stack[HEAP + 1] = at(CACHE + CACHE_WORDS);
	host.stack[HEAP + 2] = at(SEGMENTS);
	host.stack[HEAP + 3] = SEGMENT_SHIFT;
	memset(&host.stack[SEGMENTS], 0xff, CACHE_WORDS * 8 >> SEGMENT_SHIFT);
	for (unsigned i = 0; i < KINDS; i++)
		memcpy(&host.stack[NAMES + 4 * i], kinds[i], strlen(kinds[i]));
	n_blobs = 0;
	sp = SP;
}

static uint64_t blob_at(unsigned n)
{
	return at(CACHE) + (uint64_t)n * BLOB_BYTES + HEADER_BYTES;
}

static uint64_t code_at(unsigned n)
{
	return blob_at(n) + CODE_AT;
}

/* Returns its number. */
static unsigned blob(enum kind kind, uint32_t words)
{
	unsigned n = n_blobs++;
	char *map = (char *)&host.stack[SEGMENTS] + (n * BLOB_BYTES >> SEGMENT_SHIFT);

	word(blob_at(n), at(NAMES + 4 * kind));
	half(blob_at(n) + 8, words);
	half(blob_at(n) + 12, 16);
	word(blob_at(n) + 16, code_at(n));
	half(blob_at(n) + 24, 1000 + n);
	for (unsigned i = 0; i < BLOB_BYTES >> SEGMENT_SHIFT; i++)
		map[i] = (char)i;
	return n;
}

static void bytes(uint64_t address, const char *code, size_t n)
{
	memcpy((char *)host.stack + (address - HOST_STACK_AT), code, n);
}

static void leaf(uint64_t ip, uint64_t fp)
{
	w->ip = ip;
	w->fp = fp;
	n_native = 1;
}

/* A frame of so many words, whose caller is at ip and has this frame pointer. */
static void frame_of(unsigned words, uint64_t ip, uint64_t fp)
{
	sp += words;
	host.stack[sp - 1] = ip;
	host.stack[sp - 2] = fp;
	n_native++;
}

static void check_blob(unsigned i, unsigned n, uint64_t place)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), blob_at(n));
	assert_int_equal(chain_entry_at(e), place);
	assert_int_equal(chain_entry_check(e), chain_check(1000 + n));
	assert_int_equal(chain_entry_index(e), i);
}

TEST(compiled_frames_are_as_large_as_their_blob_says)
{
	unsigned a, b;

	begin_jvm();
	a = blob(COMPILED, 6);
	b = blob(NATIVE, 10);
	leaf(code_at(a) + 200, 0x1234); /* rbp is any value */
	frame_of(6, code_at(b) + 40, 0x5678);
	frame_of(10, in_function(START), 0);
	walk_all(2);
	check_blob(0, a, code_at(a) + 200);
	check_blob(1, b, code_at(b) + 40);
}

static void check_leaf(const char *code, size_t before, size_t n, uint64_t offset, unsigned words,
		       bool is_saved)
{
	unsigned a, b;

	begin_jvm();
	a = blob(COMPILED, 6);
	b = blob(COMPILED, 4);
	bytes(code_at(a) + offset - before, code, n);
	leaf(code_at(a) + offset, at(SP + words + 40));
	sp += words;
	host.stack[sp - 1] = code_at(b) + 100;
	if (is_saved)
		host.stack[sp - 2] = at(100);
	n_native = 2;
	frame_of(4, in_function(START), 0);
	walk_all(2);
	check_blob(0, a, code_at(a) + offset);
	check_blob(1, b, code_at(b) + 100);
}

#define LEAF(before_, code_, offset_, words_, saved_)                                              \
	check_leaf(before_ code_, sizeof(before_) - 1, sizeof(before_ code_) - 1, offset_, words_, \
		   saved_)

TEST(a_prologue_makes_the_frame_bit_by_bit)
{
	LEAF("", "\x89\x84\x24\x00\xc0\xfe\xff\x55", 0, 1, false);
	LEAF("", "\x55\x48\x83\xec\x20", 7, 1, false);
	LEAF("\x55", "\x48\x83\xec\x20", 8, 2, true);
	LEAF("\x55", "\x48\x8b\xec\x48\x83\xec\x20", 8, 2, true);
	LEAF("\x55\x48\x8b\xec", "\x48\x81\xec\x20\x00\x00\x00", 11, 2, true);
	LEAF("", "\x48\x83\xec\x28\x48\x89\x6c\x24\x20", 0, 1, false);
	LEAF("\x48\x83\xec\x28", "\x48\x89\x6c\x24\x20", 4, 6, false);
	/* a barrier behind it, and the check of the class in front of it */
	LEAF("\x55\x48\x83\xec\x20", "\x41\x81\x7f\x20\x01\x00\x00\x00", 12, 6, true);
	LEAF("", "\x49\x3b\xc2\x0f\x85\x00\x00\x00\x00", 3, 1, false);
}

TEST(an_epilogue_gives_it_up)
{
	LEAF("\x48\x83\xc4\x20", "\x5d\x85\x05\x00\x00\x00\x00\xc3", 100, 2, true);
	LEAF("\x5d", "\x85\x05\x00\x00\x00\x00\xc3", 100, 1, false);
	LEAF("\x5d", "\x4d\x8b\x97\x08\x01\x00\x00\x41\x85\x02\xc3", 100, 1, false);
	LEAF("\x5d", "\x41\x85\x02\xc3", 100, 1, false);
	LEAF("\x5d", "\x49\x3b\xa7\x28\x01\x00\x00\x0f\x87\x00\x00\x00\x00\xc3", 100, 1, false);
	LEAF("\x5d", "\x49\x3b\x67\x28\x0f\x87\x00\x00\x00\x00\xc3", 100, 1, false);
	LEAF("", "\x0f\x87\x00\x00\x00\x00\xc3", 100, 1, false);
	LEAF("", "\xc3", 100, 1, false);
	LEAF("", "\xc2\x08", 100, 1, false);
	/* to the stub of a poll, or with an exception */
	LEAF("\x5d", "\xe9\x00\x00\x00\x00", 100, 1, false);
	LEAF("", "\x49\xba\0\0\0\0\0\0\0\0\x4d\x89\x97\0\0\0\0\xe9", 100, 1, false);
	LEAF("\x4d\x89\x97\0\0\0\0", "\xe9", 100, 1, false);
}

TEST(words_that_are_pushed_for_a_moment_are_stepped_over_by_guess)
{
	unsigned a;

	begin_jvm();
	a = blob(COMPILED, 6);
	leaf(code_at(a) + 100, 0);
	frame_of(8, code_at(a) + 80, 0);
	frame_of(6, in_function(START), 0);
	walk_all(2);
	assert_true(w->guessed);
}

TEST(a_frame_that_was_given_up_is_where_it_was)
{
	unsigned a, b;

	begin_jvm();
	a = blob(COMPILED, 6);
	b = blob(COMPILED, 8);
	word(blob_at(b) + 32, code_at(b) + 300);
	half(blob_at(b) + 28, 24);
	leaf(code_at(a) + 200, 0);
	frame_of(6, code_at(b) + 300, 0);
	host.stack[sp + 3] = code_at(b) + 64;
	frame_of(8, in_function(START), 0);
	walk_all(2);
	check_blob(1, b, code_at(b) + 64);
}

/* From where its frame pointer is; the method has the word at 8. */
static void interpreted(unsigned fp, unsigned method, uint64_t bytecode, unsigned caller_sp)
{
	host.stack[fp - 1] = at(caller_sp);
	host.stack[fp - 2] = 0;
	host.stack[fp - 3] = at(METHODS + 4 * method);
	host.stack[fp - 8] = bytecode;
	host.stack[METHODS + 4 * method + 1] = at(METHODS + 100 + method);
}

static void check_method(unsigned i, unsigned method, uint64_t bytecode)
{
	const struct chain_entry *e = &host.chain.entries[i];

	assert_int_equal(chain_entry_code(e), at(METHODS + 4 * method));
	assert_int_equal(chain_entry_at(e), bytecode | CHAIN_JVM_INTERPRETED);
	assert_int_equal(chain_entry_check(e), chain_check(at(METHODS + 100 + method)));
}

TEST(an_interpreted_method_is_below_its_frame_pointer)
{
	unsigned a, i;

	begin_jvm();
	a = blob(COMPILED, 6);
	i = blob(INTERPRETER, 0);
	leaf(code_at(a) + 200, 0);
	frame_of(6, code_at(i) + 300, at(SP + 20));
	interpreted(SP + 20, 1, 0x7777, SP + 24);
	host.stack[SP + 20] = at(SP + 40);
	host.stack[SP + 21] = code_at(a) + 40;
	/* the caller is compiled: its frame is as it was before the arguments */
	sp = SP + 24;
	n_native = 3;
	frame_of(6, in_function(START), 0);
	walk_all(3);
	check_blob(0, a, code_at(a) + 200);
	check_method(1, 1, 0x7777);
	check_blob(2, a, code_at(a) + 40);
}

TEST(the_bytecode_that_is_interpreted_is_in_a_register)
{
	unsigned i;

	begin_jvm();
	i = blob(INTERPRETER, 0);
	leaf(code_at(i) + 200, at(SP + 20));
	interpreted(SP + 20, 1, 0x7777, SP + 22);
	w->registers[13] = at(METHODS + 101) + 48;
	host.stack[SP + 21] = in_function(START);
	n_native = 2;
	walk_all(1);
	check_method(0, 1, at(METHODS + 101) + 48);
}

TEST(a_method_that_is_called_has_no_frame_yet)
{
	unsigned i;

	begin_jvm();
	i = blob(INTERPRETER, 0);
	leaf(code_at(i) + 200, at(SP + 20));
	host.stack[SP] = code_at(i) + 300;
	interpreted(SP + 20, 1, 0x7777, SP + 22);
	host.stack[SP + 18] = at(SP + 1); /* it calls */
	host.stack[METHODS + 4 * 2 + 1] = at(METHODS + 102);
	w->registers[3] = at(METHODS + 4 * 2);
	host.stack[SP + 21] = in_function(START);
	n_native = 3;
	walk_all(2);
	check_method(0, 2, 0);
	check_method(1, 1, 0x7777);
}

TEST(a_stub_keeps_a_frame_pointer_if_it_calls)
{
	unsigned s;

	begin_jvm();
	s = blob(STUBS, 0);
	leaf(in_function(HELPER), at(SP + 20)); /* which restores it */
	host.stack[SP + FRAME_WORDS - 1] = code_at(s) + 100;
	host.stack[SP + 20] = 0;
	host.stack[SP + 21] = in_function(START);
	n_native = 3;
	walk_all(1);
}

TEST(a_stub_without_a_frame_returns_to_what_is_at_the_stack_pointer)
{
	unsigned s, a;

	begin_jvm();
	a = blob(COMPILED, 6);
	s = blob(STUBS, 0);
	leaf(code_at(s) + 100, at(SP + 60)); /* of another frame */
	frame_of(1, code_at(a) + 100, 0);
	frame_of(6, in_function(START), 0);
	walk_all(2);
}

TEST(frames_of_a_virtual_thread_in_the_heap_are_a_marker)
{
	unsigned s, a;

	begin_jvm();
	a = blob(COMPILED, 6);
	s = blob(STUBS, 0);
	bytes(code_at(s) + 100, "\x49\x8b\xa7\x10\x00\x00\x00", 7);
	leaf(code_at(a) + 100, 0);
	frame_of(6, code_at(s) + 100, 0);
	walk_all(2);
	assert_int_equal(chain_entry_code(&host.chain.entries[1]), CHAIN_JVM_BARRIER);
}

TEST(what_is_remembered_of_code_ends_with_it)
{
	unsigned a;

	begin_jvm();
	a = blob(COMPILED, 6);
	leaf(code_at(a) + 200, 0);
	frame_of(6, in_function(START), 0);
	walk_all(1);
	half(blob_at(a) + 8, 4); /* another method is there */
	half(blob_at(a) + 24, 7);
	w->sp = at(SP);
	sp = SP;
	leaf(code_at(a) + 200, 0);
	frame_of(4, in_function(START), 0);
	walk_all(1);
	assert_int_equal(chain_entry_check(&host.chain.entries[0]), chain_check(7));
}

TEST(memory_that_is_no_code_ends_the_walk)
{
	begin_jvm();
	leaf(code_at(3), 0);
	assert_int_equal(host_walk(), WALK_END_JIT);
	assert_int_equal(host.chain.event.n_chain, 0);
	/* a map that leads nowhere */
	memset(&host.stack[SEGMENTS], 1, 64);
	leaf(code_at(3), 0);
	w->sp = at(SP);
	assert_int_equal(host_walk(), WALK_END_JIT);
}
