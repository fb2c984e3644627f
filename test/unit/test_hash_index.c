#include <errno.h>

#include "common/data/hash_index.h"
#include "test/lib/unit.h"

struct element {
	uint64_t hash;
	uint32_t value;
};

#define N 1000u

static int fill(struct hash_index *x, struct arena *a, struct element *elements, uint64_t step)
{
	int r = hash_index_init(x, a, N, elements, sizeof(*elements));

	for (uint32_t i = 0; r == 0 && i < N; i++) {
		uint32_t *slot = hash_index_slot(x, i * step);

		assert_int_equal(*slot, 0);
		elements[i] = (struct element){i * step, i};
		*slot = i + 1;
	}
	return r;
}

TEST(finds_what_was_added_and_nothing_else)
{
	/* counting in the low bits, in the high ones, and in both */
	static const uint64_t steps[] = {1, UINT64_C(1) << 54, UINT64_C(0x100000001)};
	struct element elements[N];

	for (size_t s = 0; s < ARRAY_SIZE(steps); s++) {
		CLEANUP(arena_fini) struct arena arena;
		struct hash_index x;

		arena_init(&arena, 1 << 20);
		assert_int_equal(fill(&x, &arena, elements, steps[s]), 0);
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(*hash_index_slot(&x, i * steps[s]), i + 1);
		assert_int_equal(*hash_index_slot(&x, N * steps[s]), 0);
	}
}

TEST(a_limit_is_not_a_lack_of_memory)
{
	CLEANUP(arena_fini) struct arena arena;
	struct element elements[1];
	struct hash_index x;

	arena_init(&arena, 4096);
	assert_int_equal(hash_index_init(&x, &arena, N, elements, sizeof(elements[0])), -EFBIG);
	assert_int_equal(hash_index_init(&x, &arena, 0, elements, sizeof(elements[0])), 0);
	assert_int_equal(*hash_index_slot(&x, 7), 0);
}

static int make_one(void *arg)
{
	CLEANUP(arena_fini) struct arena arena;
	struct hash_index x;

	arena_init(&arena, 1 << 20);
	return fill(&x, &arena, arg, 1);
}

TEST(survives_every_failed_allocation)
{
	struct element elements[N];

	check_oom(make_one, elements);
}
