#include <errno.h>

#include "node-agent/go/goroutine/goroutine_stack.h"
#include "test/lib/unit.h"

#define BASE 0x10000u
#define WORDS 4096u

/*
 * The function of an address is its hundreds: 1 has no frame yet, 2 pushes 16 bytes, 3 pushes
 * 32, 4 is the top, 5 was injected by a signal and pushes 16, 6 moves the stack pointer, 7
 * has no size. 0 and from 10 on are none.
 */
static int find(void *ctx, uint64_t pc, struct stack_frame *ret)
{
	static const int32_t bytes[] = {0, 0, 16, 32, 0, 16, 16, -1};
	uint64_t f = pc / 100;

	if (ctx && pc == *(const uint64_t *)ctx)
		return -EIO;
	if (f == 0 || f >= ARRAY_SIZE(bytes))
		return -ENOENT;
	*ret = (struct stack_frame){f * 100, bytes[f],
				    f == 4   ? STACK_FRAME_TOP
				    : f == 5 ? STACK_FRAME_INJECTED
				    : f == 6 ? STACK_FRAME_SP_WRITE
					     : STACK_FRAME_PLAIN};
	return 0;
}

static struct goroutine_calls calls;

static struct goroutine_stack make_stack(const uint64_t *words, size_t n, uint64_t pc)
{
	return (struct goroutine_stack){
		.sp = BASE,
		.pc = pc,
		.hi = BASE + n * 8,
		.bytes = (const uint8_t *)words,
		.n_bytes = n * 8,
		.find = find,
	};
}

static void expect(const struct goroutine_stack *s, enum goroutine_stack_end end,
		   const uint64_t *pcs, size_t n)
{
	assert_int_equal(goroutine_stack_walk(s, &calls), 0);
	assert_int_equal(calls.n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(calls.pcs[i], pcs[i]);
	assert_int_equal(calls.end, end);
}

TEST(test_return_addresses_are_behind_frames)
{
	const uint64_t words[] = {0, 0, 310, 0, 0, 0, 0, 220, 0, 0, 410};
	const uint64_t pcs[] = {210, 310, 220, 410};
	const struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 210);

	expect(&s, GOROUTINE_STACK_WHOLE, pcs, ARRAY_SIZE(pcs));
}

TEST(test_a_function_at_its_start_has_its_return_address_on_top)
{
	const uint64_t words[] = {410};
	const uint64_t pcs[] = {101, 410};
	const struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 100);

	expect(&s, GOROUTINE_STACK_WHOLE, pcs, ARRAY_SIZE(pcs));
}

TEST(test_a_call_of_nil_has_pushed_its_return_address)
{
	const uint64_t words[] = {210, 0, 0, 410};
	const uint64_t pcs[] = {210, 410};
	const struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 0);

	expect(&s, GOROUTINE_STACK_WHOLE, pcs, ARRAY_SIZE(pcs));
}

TEST(test_an_interrupted_pc_is_not_a_return_address)
{
	const uint64_t words[] = {0, 0, 230, 0, 0, 410};
	const uint64_t pcs[] = {510, 231, 410};
	const struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 510);

	expect(&s, GOROUTINE_STACK_WHOLE, pcs, ARRAY_SIZE(pcs));
}

TEST(test_the_link_register_is_at_the_bottom_of_a_frame)
{
	const uint64_t words[] = {310, 0, 220, 0, 0, 0, 410, 0};
	const uint64_t pcs[] = {210, 310, 220, 410};
	struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 210);

	s.has_lr = true;
	s.lr = 999; /* stale: the frame has the current one */
	expect(&s, GOROUTINE_STACK_WHOLE, pcs, ARRAY_SIZE(pcs));
}

TEST(test_the_link_register_counts_where_there_is_no_frame_yet)
{
	const uint64_t words[] = {410, 0};
	const uint64_t pcs[] = {110, 210, 410};
	struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 110);

	s.has_lr = true;
	s.lr = 210;
	expect(&s, GOROUTINE_STACK_WHOLE, pcs, ARRAY_SIZE(pcs));
}

TEST(test_a_signal_saves_the_link_register_of_what_it_interrupts)
{
	/* 1 has no frame: its caller is the saved lr; 2 has one, with the caller in it */
	const uint64_t no_frame[] = {130, 0, 310, 0, 410, 0, 0, 0};
	const uint64_t frame[] = {230, 0, 310, 0, 410, 0};
	const uint64_t no_frame_pcs[] = {510, 131, 310, 410}, frame_pcs[] = {510, 231, 410};
	struct goroutine_stack s = make_stack(no_frame, ARRAY_SIZE(no_frame), 510);

	s.has_lr = true;
	expect(&s, GOROUTINE_STACK_WHOLE, no_frame_pcs, ARRAY_SIZE(no_frame_pcs));
	s = make_stack(frame, ARRAY_SIZE(frame), 510);
	s.has_lr = true;
	expect(&s, GOROUTINE_STACK_WHOLE, frame_pcs, ARRAY_SIZE(frame_pcs));
}

TEST(test_unwinding_stops_where_the_stack_is_switched)
{
	const uint64_t words[] = {0, 0, 410};
	const uint64_t pcs[] = {610, 410};
	struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 610);

	expect(&s, GOROUTINE_STACK_BROKEN, pcs, 1);
	s.in_syscall = true;
	expect(&s, GOROUTINE_STACK_WHOLE, pcs, 2);
}

TEST(test_wild_addresses_and_sizes_break_a_stack)
{
	const uint64_t wild[] = {0, 0, 99999}, unsized[] = {0, 0, 710, 0}, ended[] = {0, 0, 0};
	const uint64_t pcs[] = {210, 710};
	struct goroutine_stack s = make_stack(wild, ARRAY_SIZE(wild), 210);

	expect(&s, GOROUTINE_STACK_BROKEN, pcs, 1);
	s = make_stack(unsized, ARRAY_SIZE(unsized), 210);
	expect(&s, GOROUTINE_STACK_BROKEN, pcs, 2);
	s = make_stack(wild, 2, 210); /* the return address is beyond the stack */
	expect(&s, GOROUTINE_STACK_BROKEN, pcs, 1);
	s = make_stack(wild, ARRAY_SIZE(wild), 5); /* no function at all */
	expect(&s, GOROUTINE_STACK_BROKEN, pcs, 0);
	s = make_stack(ended, ARRAY_SIZE(ended), 210); /* every goroutine begins with a top frame */
	expect(&s, GOROUTINE_STACK_BROKEN, pcs, 1);
}

TEST(test_a_stack_is_cut_where_the_copy_ends)
{
	const uint64_t words[] = {0, 0, 310, 0, 0, 0};
	const uint64_t pcs[] = {210, 310};
	struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 210);

	s.hi = BASE + 0x10000;
	expect(&s, GOROUTINE_STACK_CUT, pcs, 2);
}

TEST(test_there_is_a_maximum_of_frames)
{
	static uint64_t words[WORDS];
	const struct goroutine_stack s = make_stack(words, WORDS, 210);

	for (size_t i = 2; i < WORDS; i += 3)
		words[i] = 210;
	assert_int_equal(goroutine_stack_walk(&s, &calls), 0);
	assert_int_equal(calls.n, GOROUTINE_STACK_DEPTH_MAX);
	assert_int_equal(calls.end, GOROUTINE_STACK_CUT);
}

/* Functions without a frame, and a register that never changes. */
TEST(test_a_circle_ends)
{
	const uint64_t words[] = {110};
	struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 110);

	s.has_lr = true;
	assert_int_equal(goroutine_stack_walk(&s, &calls), 0);
	assert_int_equal(calls.end, GOROUTINE_STACK_CUT);
}

TEST(test_tables_that_cannot_be_read_end_the_walk)
{
	const uint64_t words[] = {0, 0, 310};
	uint64_t unreadable = 310;
	struct goroutine_stack s = make_stack(words, ARRAY_SIZE(words), 210);

	s.ctx = &unreadable;
	assert_int_equal(goroutine_stack_walk(&s, &calls), -EIO);
}
