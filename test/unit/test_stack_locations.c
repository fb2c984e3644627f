#include <time.h>

#include "node-agent/profile/stack_locations.h"
#include "test/lib/unit.h"

#define MAX_BYTES ((size_t)64 << 20)
#define ADDRESSES ((uint64_t)1 << 16)

static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	(void)ctx;
	(void)all;
	ret->frames[0] = (struct frame){.function = "f", .file = "a.go", .address = address};
	ret->n = 1;
	return 0;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), 0);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What it costs to find so many addresses, each a multiple of 1 << shift. */
static uint64_t cost_ns(unsigned shift)
{
	const struct frame_resolver resolver = {.resolve = resolve};
	CLEANUP(stack_locations_freep) struct stack_locations *l = NULL;
	uint64_t begin_ns = cpu_ns();

	assert_int_equal(stack_locations_new(&l, &resolver, MAX_BYTES), 0);
	for (uint64_t i = 0; i < ADDRESSES; i++) {
		struct stack_address *a = NULL;

		assert_int_equal(stack_locations_find(l, i << shift, false, &a), 0);
		assert_true(a->address == i << shift);
	}
	assert_int_equal(stack_locations_count(l), 1);
	return cpu_ns() - begin_ns;
}

/* A heap profile's addresses are whatever the process has in its memory. */
TEST(addresses_that_differ_in_their_upper_bits_are_found_as_quickly)
{
	assert_true(cost_ns(47) < 10 * cost_ns(4));
}
