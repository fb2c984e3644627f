#include <errno.h>

#include "node-agent/go/goroutine/memory_ranges.h"
#include "test/lib/unit.h"

#define SIZE 65536u

static uint8_t memory[SIZE];

struct seen {
	size_t n;
	uint32_t tags[8];
	bool there[8];
	int result;
};

/* Each byte of the memory says where it is. */
static int on_range(void *ctx, uint32_t tag, const uint8_t *bytes)
{
	struct seen *s = ctx;

	s->there[s->n] = bytes != NULL;
	if (bytes)
		assert_int_equal(bytes[0], (uint8_t)(tag / 7));
	s->tags[s->n++] = tag;
	return s->result;
}

static void begin(struct memory_ranges *m, struct byte_source *source, uint64_t max_bytes)
{
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (uint8_t)(i / 7);
	byte_source_from_memory(source, memory, SIZE);
	assert_int_equal(memory_ranges_init(m, source, max_bytes, UINT64_MAX), 0);
}

TEST(test_near_pieces_are_one_read_and_far_ones_are_not)
{
	struct memory_range ranges[] = {
		{40000, 8, 40000}, {100, 8, 100}, {2000, 8, 2000}, {100, 8, 100}};
	struct byte_source source;
	struct memory_ranges m;
	struct seen seen = {0};

	begin(&m, &source, SIZE);
	memory_ranges_sort(ranges, ARRAY_SIZE(ranges));
	assert_int_equal(memory_ranges_read(&m, ranges, ARRAY_SIZE(ranges), on_range, &seen), 0);
	assert_int_equal(seen.n, 4);
	assert_int_equal(seen.tags[0], 100);
	assert_int_equal(seen.tags[3], 40000);
	assert_true(seen.there[0] && seen.there[1] && seen.there[2] && seen.there[3]);
	assert_int_equal(m.left_bytes, SIZE - (2008 - 100) - 8);
	memory_ranges_fini(&m);
}

TEST(test_an_unreadable_range_does_not_affect_its_neighbours)
{
	const struct memory_range ranges[] = {
		{SIZE - 100, 8, SIZE - 100},
		{SIZE - 4, 8, SIZE - 4},
		{UINT64_MAX - 16, 8, 7},
		{UINT64_MAX - 4, 8, 7},
	};
	struct byte_source source;
	struct memory_ranges m;
	struct seen seen = {0};

	begin(&m, &source, SIZE);
	assert_int_equal(memory_ranges_read(&m, ranges, ARRAY_SIZE(ranges), on_range, &seen), 0);
	assert_int_equal(seen.n, 4);
	assert_true(seen.there[0]);
	assert_false(seen.there[1] || seen.there[2] || seen.there[3]);
	memory_ranges_fini(&m);
}

TEST(test_limits_and_the_callback_end_the_reading)
{
	const struct memory_range ranges[] = {{0, 8, 0}, {30000, 8, 30000}};
	struct byte_source source;
	struct memory_ranges m;
	struct seen seen = {0};

	begin(&m, &source, 12);
	assert_int_equal(memory_ranges_read(&m, ranges, 2, on_range, &seen), -EFBIG);
	assert_int_equal(seen.n, 1);
	memory_ranges_fini(&m);

	begin(&m, &source, SIZE);
	seen = (struct seen){.result = -ENOBUFS};
	assert_int_equal(memory_ranges_read(&m, ranges, 2, on_range, &seen), -ENOBUFS);
	assert_int_equal(seen.n, 1);
	m.deadline_ns = 0;
	assert_int_equal(memory_ranges_read(&m, ranges, 2, on_range, &seen), -ETIME);
	memory_ranges_fini(&m);
}
