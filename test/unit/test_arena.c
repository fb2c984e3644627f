#include <errno.h>
#include <stdalign.h>

#include "common/data/arena.h"
#include "test/lib/unit.h"

TEST(pieces_do_not_overlap_and_are_aligned)
{
	CLEANUP(arena_fini) struct arena a;
	uint8_t *p[2000];

	arena_init(&a, 64 * 1024 * 1024);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
		size_t size = i % 100 == 0 ? 100 * i : i % 50;

		p[i] = arena_alloc(&a, size);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % alignof(max_align_t), 0);
		memset(p[i], (int)(i % 251), size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
		size_t size = i % 100 == 0 ? 100 * i : i % 50;

		for (size_t j = 0; j < size; j++)
			assert_int_equal(p[i][j], i % 251);
	}
}

TEST(pieces_of_no_bytes_differ)
{
	CLEANUP(arena_fini) struct arena a;
	char *p, *q;

	arena_init(&a, 100000);
	p = arena_alloc(&a, 0);
	q = arena_alloc(&a, 0);
	assert_non_null(p);
	assert_non_null(q);
	assert_ptr_not_equal(p, q);
}

TEST(never_exceeds_its_limit)
{
	CLEANUP(arena_fini) struct arena a;
	size_t got = 0;

	arena_init(&a, 100000);
	while (arena_alloc(&a, 1000))
		got += 1000;
	assert_true(a.used_bytes <= 100000);
	/* headers and rounding may cost something, but not a tenth */
	assert_true(got >= 90000);
	assert_int_equal(arena_error(&a, 1000), -EFBIG);
	assert_null(arena_alloc(&a, 100001));
	assert_int_equal(arena_error(&a, 100001), -EFBIG);
	assert_int_equal(arena_error(&a, SIZE_MAX - 20), -EFBIG);
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_alloc(&a, SIZE_MAX - 20));
}

TEST(refuses_everything_at_limit_zero)
{
	CLEANUP(arena_fini) struct arena a;

	arena_init(&a, 0);
	assert_null(arena_alloc(&a, 1));
	assert_null(arena_alloc(&a, 0));
}

TEST(calloc_zeroes_and_sees_overflow)
{
	CLEANUP(arena_fini) struct arena a;
	uint64_t *p;

	arena_init(&a, SIZE_MAX);
	p = arena_alloc(&a, 800);
	assert_non_null(p);
	memset(p, 0xff, 800);
	arena_clear(&a);
	p = arena_calloc(&a, 100, sizeof(*p));
	assert_non_null(p);
	for (int i = 0; i < 100; i++)
		assert_true(p[i] == 0);
	assert_null(arena_calloc(&a, SIZE_MAX / 4, 8));
}

TEST(strndup_terminates)
{
	CLEANUP(arena_fini) struct arena a;
	char *s;

	arena_init(&a, 10000);
	s = arena_strndup(&a, "abcdef", 3);
	assert_non_null(s);
	assert_string_equal(s, "abc");
	s = arena_strndup(&a, NULL, 0);
	assert_non_null(s);
	assert_string_equal(s, "");
	assert_null(arena_strndup(&a, "x", SIZE_MAX));
}

TEST(clear_keeps_one_chunk_and_not_a_huge_one)
{
	CLEANUP(arena_fini) struct arena a;
	struct arena_chunk *kept;

	arena_init(&a, 64 * 1024 * 1024);
	for (int i = 0; i < 1000; i++)
		assert_non_null(arena_alloc(&a, 1000));
	assert_non_null(arena_alloc(&a, 10 * 1024 * 1024));
	kept = a.chunks;
	arena_clear(&a);
	assert_ptr_equal(a.chunks, kept);
	assert_true(a.used_bytes > 0 && a.used_bytes < 2 * 1024 * 1024);

	arena_fini(&a);
	assert_int_equal(a.used_bytes, 0);
	assert_non_null(arena_alloc(&a, 10 * 1024 * 1024));
	arena_clear(&a);
	assert_int_equal(a.used_bytes, 0);
	assert_null(a.chunks);
}

static int fill(void *arg)
{
	CLEANUP(arena_fini) struct arena a;

	(void)arg;
	arena_init(&a, 1024 * 1024);
	for (int i = 0; i < 100; i++) {
		if (!arena_alloc(&a, 500) || !arena_calloc(&a, 5, 100) ||
		    !arena_strndup(&a, "x", 1))
			return arena_error(&a, 500);
	}
	return arena_alloc(&a, 100000) ? 0 : arena_error(&a, 100000);
}

TEST(survives_every_failed_allocation)
{
	check_oom(fill, NULL);
}
