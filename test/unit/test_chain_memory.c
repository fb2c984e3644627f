/* What is read of the memory of an interpreter, and with how many calls. */
#include "test/lib/chain_host.h"

#define FRAMES 24u
#define PAGE_WORDS 512u

/* As frame(), with the frame at this word. */
static void frame_at(unsigned word, unsigned n)
{
	link_to(word);
	host.stack[word + 1] = at(CODE + 2 * n);
	host.stack[word + 2] = n * 3;
	host.stack[CODE + 2 * n + 1] = 0xabc000 + n;
}

static void check_frames(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct chain_entry *e = &host.chain.entries[i];

		assert_int_equal(chain_entry_code(e), at(CODE + 2 * i));
		assert_int_equal(chain_entry_at(e), i * 3);
		assert_int_equal(chain_entry_check(e), chain_check(0xabc000 + i));
	}
}

/* Frames from this word on, this many words from each to its caller. Returns how much was read. */
static unsigned reads_of(unsigned word, int stride)
{
	const struct chain_layout l = layout(CHAIN_END_BETWEEN);
	unsigned native_reads;

	begin(&l);
	host.stack[2] = 0; /* there is no frame */
	native(LOOP);
	native(START);
	walk_all(0);
	native_reads = host.n_reads;
	begin(&l);
	native(LOOP);
	for (unsigned i = 0; i < FRAMES; i++)
		frame_at((unsigned)((int)word + (int)i * stride), i);
	native(START);
	walk_all(FRAMES);
	check_frames(FRAMES);
	return host.n_reads - native_reads;
}

TEST(frames_beside_each_other_are_read_with_few_calls)
{
	/* one for each check word, and one for seven frames */
	assert_in_range(reads_of(CHAINED, 4), FRAMES, FRAMES + 7);
	assert_in_range(reads_of(CHAINED + 4 * FRAMES, -4), FRAMES, FRAMES + 7);
}

TEST(frames_far_from_each_other_are_read_one_by_one)
{
	assert_int_equal(reads_of(CHAINED, 64), 2 * FRAMES);
	assert_int_equal(reads_of(CHAINED + 64 * FRAMES, -64), 2 * FRAMES);
}

TEST(frames_up_to_the_end_of_what_can_be_read_are_taken)
{
	(void)reads_of(HOST_STACK_WORDS - 4 * FRAMES, 4);
	(void)reads_of(HOST_STACK_WORDS - 4, -4);
}

TEST(frames_may_lie_across_the_end_of_a_page)
{
	for (unsigned i = 0; i < 4; i++) {
		(void)reads_of(CHAINED + PAGE_WORDS - 10 + i, 5);
		(void)reads_of(CHAINED + PAGE_WORDS + 40 + i, -5);
	}
}

/* Both words of a code object are addresses; it is this many bytes long. */
static struct chain_layout strings_layout(uint16_t more)
{
	struct chain_layout l = layout(CHAIN_END_LAST);

	l.frames.check_more = more;
	l.frames.check_at = 8;
	l.frames.end_code = 1;
	return l;
}

/* A frame whose code is at this word, and ends the run; its strings are there too. */
static void frame_with_strings(unsigned code, uint16_t more)
{
	link_to(CHAINED);
	host.stack[CHAINED + 1] = at(code);
	host.stack[CHAINED + 3] = (uint64_t)OWNER_BETWEEN << 48;
	host.stack[code] = 1;
	host.stack[code + 1] = at(200);
	host.stack[201] = 0x1234;
	host.stack[300 + 1] = 0x5678;
	if (code + more / 8 < HOST_STACK_WORDS)
		host.stack[code + more / 8] = at(300);
}

static void check_strings(unsigned code, uint16_t more, uint64_t check)
{
	const struct chain_layout l = strings_layout(more);

	begin(&l);
	native(LOOP);
	frame_with_strings(code, more);
	native(START);
	walk_all(1);
	assert_int_equal(chain_entry_code(&host.chain.entries[0]), at(code));
	assert_int_equal(chain_entry_check(&host.chain.entries[0]), check);
}

TEST(words_of_an_object_are_read_at_once)
{
	check_strings(CODE, 152, chain_check(0x1234) ^ chain_check(0x5678));
	check_strings(CODE + PAGE_WORDS - 3, 152, chain_check(0x1234) ^ chain_check(0x5678));
}

TEST(of_an_object_whose_end_cannot_be_read_the_other_words_count)
{
	check_strings(HOST_STACK_WORDS - 3, 152, chain_check(0x1234));
}

TEST(an_object_longer_than_what_is_read_at_once_has_no_check)
{
	check_strings(CODE, 512, 0);
}
