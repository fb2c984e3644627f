/*
 * The walk over code that .NET has made, in memory that is written by hand: a map of code ranges
 * with a heap of methods and an image.
 */
#include "test/lib/chain_host.h"

/* Words. */
#define MAP 2048u /* five levels, with 256 words each */
#define FRAGMENTS 3400u
#define SECTIONS 3420u
#define HEAP_LIST 3440u
#define NIBBLES 3500u
#define HEADERS 3600u /* 8 each */
#define INFOS 8192u   /* 8 each */
#define HEAP 4096u
#define HEAP_WORDS 2048u
#define IMAGE 6144u
#define IMAGE_WORDS 512u
#define FP 64u

#define PE_HEADER 64u
#define FUNCTIONS_AT 1024u /* in the image */
#define IMAGE_CODE 2048u

/* Operations of a prologue, from its last one to its first one. */
#define PUSH(offset, reg) ((offset) | (reg) << 12)
#define ALLOCATE(offset, bytes) ((offset) | 2u << 8 | ((bytes) / 8 - 1) << 12)
#define SET_FP(offset) ((offset) | 3u << 8)
#define RBX 3u
#define RBP 5u
#define RIP_OF(code) ((code) + 64u)

static unsigned n_methods;
static unsigned sp; /* word of the next frame */

static void put(uint64_t address, const void *bytes, size_t n)
{
	memcpy((char *)host.stack + (address - HOST_STACK_AT), bytes, n);
}

static void put32(uint64_t address, uint32_t v)
{
	put(address, &v, sizeof(v));
}

static void map_range(unsigned i, unsigned from, unsigned words, uint32_t flags)
{
	uint64_t *fragment = &host.stack[FRAGMENTS + 4 * i];
	uint64_t *section = &host.stack[SECTIONS + 8 * i];

	fragment[0] = i ? at(FRAGMENTS + 4 * (i - 1)) | 1 : 0;
	fragment[1] = at(from);
	fragment[2] = at(from + words);
	fragment[3] = at(SECTIONS + 8 * i);
	section[2] = flags;
	section[5] = at(HEAP_LIST);
}

static void map_all(void)
{
	for (unsigned level = 0; level < 5; level++) {
		unsigned index = HOST_STACK_AT >> (17 + 8 * (4 - level)) & 255;

		host.stack[MAP + 256 * level + index] =
			level < 4 ? at(MAP + 256 * (level + 1)) : at(FRAGMENTS + 4);
	}
	map_range(0, HEAP, HEAP_WORDS, 2);
	map_range(1, IMAGE, IMAGE_WORDS, 0);
	host.stack[HEAP_LIST + 4] = at(HEAP);
	host.stack[HEAP_LIST + 5] = at(NIBBLES);
}

static int set_up(void **state)
{
	const struct unwind_blocks_mapping m[] = {
		{BIAS + TEXT_AT, BIAS + 0x10000, BIAS, TABLE},
		{at(HEAP), at(IMAGE + IMAGE_WORDS), 0, UNWIND_TABLE_ANONYMOUS},
	};
	const struct chain_layout l = {
		.dotnet = {.code_map = at(MAP),
			   .section_flags = 16,
			   .section_heap = 40,
			   .heap_base = 32,
			   .heap_map = 40,
			   .n_functions = 32,
			   .functions = 36},
		.flags = CHAIN_ANONYMOUS_IS_LOOP | CHAIN_BY_ADDRESS,
	};

	(void)state;
	begin(&l);
	host.process = unwind_blocks_process(&blocks, HOST_TGID, HOST_START_TIME, m, 2, 0);
	unwind_blocks_chain(&blocks, host.process, &l);
	map_all();
	n_methods = 0;
	sp = SP;
	w->fp = at(FP);
	host.stack[FP] = 0; /* what frame pointers lead to is the end */
	return 0;
}

static void use_references(void)
{
	struct chain_layout l = {
		.dotnet = {.code_map = at(MAP),
			   .section_flags = 16,
			   .section_heap = 40,
			   .heap_base = 32,
			   .heap_map = 40,
			   .n_functions = 32,
			   .functions = 36,
			   .direct = 1},
		.flags = CHAIN_ANONYMOUS_IS_LOOP | CHAIN_BY_ADDRESS,
	};

	unwind_blocks_chain(&blocks, host.process, &l);
}

static void write_info(uint64_t info, uint8_t prologue, uint8_t fp, const uint16_t *codes,
		       uint8_t n)
{
	const uint8_t head[4] = {1, prologue, n, fp};

	put(info, head, sizeof(head));
	put(info + sizeof(head), codes, n * sizeof(codes[0]));
}

/* A method at an offset in the heap, aligned to 32 bytes. Returns where its code begins. */
static uint64_t method(uint32_t offset, uint32_t bytes, uint8_t prologue, uint8_t fp,
		       const uint16_t *codes, uint8_t n)
{
	unsigned i = n_methods++;
	uint64_t code = at(HEAP) + offset, header = at(HEADERS + 8 * i), info = at(INFOS + 8 * i);
	uint32_t unit;

	memcpy(&unit, (char *)&host.stack[NIBBLES] + offset / 256 * 4, sizeof(unit));
	put32(at(NIBBLES) + offset / 256 * 4, unit | 1U << 4 * (7 - offset / 32 % 8));
	host.stack[(code - 8 - HOST_STACK_AT) / 8] = header;
	put32(header + 32, 1);
	put32(header + 36, offset);
	put32(header + 40, offset + bytes);
	put32(header + 44, (uint32_t)(info - at(HEAP)));
	write_info(info, prologue, fp, codes, n);
	return code;
}

/* push %rbx; sub $16,%rsp */
static const uint16_t small[] = {ALLOCATE(5, 16), PUSH(1, RBX)};
/* push %rbp; push %rbx; sub $8,%rsp; lea 16(%rsp),%rbp */
static const uint16_t framed[] = {SET_FP(10), ALLOCATE(6, 8), PUSH(2, RBX), PUSH(1, RBP)};

static uint64_t small_method(uint32_t offset)
{
	return method(offset, 128, 5, 0, small, ARRAY_SIZE(small));
}

static void leaf(uint64_t ip)
{
	w->ip = ip;
	n_native = 1;
}

/* A frame of so many words in front of the return address. */
static void frame_words(unsigned words, uint64_t caller)
{
	sp += words;
	host.stack[sp++] = caller;
	n_native++;
}

static void check_whole(void)
{
	assert_int_equal(host_walk(), WALK_END_BOTTOM);
	assert_int_equal(host.scratch.n_user, n_native);
	assert_int_equal(host.scratch.addrs[n_native - 1], in_function(START));
}

TEST_FIXTURE(small_methods_have_no_frame_pointer, set_up, NULL)
{
	uint64_t one = small_method(64), other = small_method(512);

	leaf(RIP_OF(one));
	frame_words(3, RIP_OF(other));
	frame_words(3, in_function(START));
	check_whole();
	assert_int_equal(host.chain.event.n_chain, 2);
	/* once more, by what is remembered */
	w->ip = RIP_OF(one);
	w->sp = at(SP);
	w->fp = at(FP);
	host.scratch.n_user = 0;
	check_whole();
}

TEST_FIXTURE(a_prologue_counts_as_far_as_it_was_executed, set_up, NULL)
{
	uint64_t code = small_method(64);

	leaf(code);
	frame_words(0, in_function(START));
	check_whole();
}

TEST_FIXTURE(and_so_it_does_after_the_first_push, set_up, NULL)
{
	uint64_t code = small_method(64);

	leaf(code + 1);
	frame_words(1, in_function(START));
	check_whole();
}

TEST_FIXTURE(an_epilogue_leaves_less_of_the_frame, set_up, NULL)
{
	uint64_t code = small_method(64);

	put(RIP_OF(code), "\x48\x83\xc4\x10\x5b\xc3", 6); /* add $16,%rsp; pop %rbx; ret */
	leaf(RIP_OF(code) + 4);
	frame_words(1, in_function(START));
	check_whole();
}

TEST_FIXTURE(nothing_of_it_is_left_at_the_return, set_up, NULL)
{
	uint64_t code = small_method(64);

	put(RIP_OF(code), "\x48\x83\xc4\x10\x5b\xc3", 6);
	leaf(RIP_OF(code) + 5);
	frame_words(0, in_function(START));
	check_whole();
}

TEST_FIXTURE(nor_in_front_of_a_jump_to_another_method, set_up, NULL)
{
	uint64_t code = small_method(64);

	put(RIP_OF(code), "\x48\x83\xc4\x10\x5b\x48\xff\xe0", 8); /* …; jmp *%rax */
	leaf(RIP_OF(code) + 5);
	frame_words(0, in_function(START));
	check_whole();
}

TEST_FIXTURE(a_jump_within_the_method_is_no_epilogue, set_up, NULL)
{
	uint64_t code = small_method(64);

	put(RIP_OF(code), "\x90\xeb\x10", 3);
	leaf(RIP_OF(code) + 1);
	frame_words(3, in_function(START));
	check_whole();
}

TEST_FIXTURE(frame_pointers_count_where_they_are_set, set_up, NULL)
{
	uint64_t code = method(64, 128, 10, RBP | 1 << 4, framed, ARRAY_SIZE(framed));
	uint64_t other = small_method(512);

	/* the stack pointer is anywhere; CFA = frame pointer + 2 words */
	leaf(RIP_OF(code));
	w->fp = at(SP + 8);
	sp = SP + 7;
	host.stack[SP + 8] = at(FP);
	frame_words(2, RIP_OF(other));
	frame_words(3, in_function(START));
	check_whole();
}

TEST_FIXTURE(where_it_was_restored_the_return_address_comes_next, set_up, NULL)
{
	uint64_t code = method(64, 128, 10, RBP | 1 << 4, framed, ARRAY_SIZE(framed));

	put(RIP_OF(code), "\x5b\x5d\xc3", 3);
	leaf(RIP_OF(code) + 2);
	frame_words(0, in_function(START));
	check_whole();
}

TEST_FIXTURE(methods_begin_before_units_without_any, set_up, NULL)
{
	uint64_t code = method(64, 12000, 5, 0, small, ARRAY_SIZE(small));

	leaf(code + 11000);
	frame_words(3, in_function(START));
	check_whole();
}

TEST_FIXTURE(since_net_10_these_units_say_where, set_up, NULL)
{
	uint64_t code = method(64, 12000, 5, 0, small, ARRAY_SIZE(small));

	use_references();
	put32(at(NIBBLES) + 11064 / 256 * 4, 64 | 9); /* 64 bytes from the base */
	leaf(code + 11000);
	frame_words(3, in_function(START));
	check_whole();
}

TEST_FIXTURE(since_net_10_the_unit_before_is_asked_next, set_up, NULL)
{
	uint64_t code = small_method(192);

	use_references();
	leaf(code + 80); /* in the next unit, which has none */
	frame_words(3, in_function(START));
	check_whole();
}

static uint64_t image(void)
{
	uint64_t base = at(IMAGE);

	put32(base + 60, PE_HEADER);
	put32(base + PE_HEADER + 160, FUNCTIONS_AT);
	put32(base + PE_HEADER + 164, 3 * 12);
	for (uint32_t i = 0; i < 3; i++) {
		put32(base + FUNCTIONS_AT + i * 12, IMAGE_CODE + i * 128);
		put32(base + FUNCTIONS_AT + i * 12 + 4, IMAGE_CODE + i * 128 + 100);
		put32(base + FUNCTIONS_AT + i * 12 + 8, FUNCTIONS_AT + 256 + i * 32);
		write_info(base + FUNCTIONS_AT + 256 + i * 32, 5, 0, small, ARRAY_SIZE(small));
	}
	return base + IMAGE_CODE;
}

TEST_FIXTURE(images_have_a_table_of_all_their_functions, set_up, NULL)
{
	uint64_t code = image();

	leaf(code + 50);
	frame_words(3, code + 128 + 60);
	frame_words(3, code + 256 + 99);
	frame_words(3, in_function(START));
	check_whole();
}

TEST_FIXTURE(code_between_functions_keeps_a_frame_pointer, set_up, NULL)
{
	uint64_t code = image();

	leaf(code + 110);
	w->fp = at(SP + 8);
	host.stack[SP + 8] = at(FP);
	host.stack[SP + 9] = in_function(START);
	n_native = 2;
	check_whole();
}

TEST_FIXTURE(operations_that_are_not_known_give_no_rule, set_up, NULL)
{
	static const uint16_t unknown[] = {7u << 8, PUSH(1, RBX)};
	uint64_t code = method(64, 128, 5, 0, unknown, ARRAY_SIZE(unknown));

	leaf(RIP_OF(code));
	w->fp = at(SP + 8);
	host.stack[SP + 8] = at(FP);
	host.stack[SP + 9] = in_function(START);
	n_native = 2;
	check_whole();
}

TEST_FIXTURE(a_list_of_ranges_may_be_a_circle, set_up, NULL)
{
	host.stack[FRAGMENTS] = at(FRAGMENTS + 4);
	host.stack[FRAGMENTS + 1] = host.stack[FRAGMENTS + 5] = 0;
	host.stack[FRAGMENTS + 2] = host.stack[FRAGMENTS + 6] = 0;
	leaf(at(HEAP) + 80);
	w->fp = at(SP + 8);
	host.stack[SP + 8] = at(FP);
	host.stack[SP + 9] = in_function(START);
	n_native = 2;
	check_whole();
}
