#include <errno.h>

#include "common/pprof/pprof_ids.h"
#include "test/lib/unit.h"

static void make(struct pprof_ids *ids, const uint64_t *values, size_t n, int want)
{
	assert_int_equal(pprof_ids_init(ids, n), 0);
	for (size_t i = 0; i < n; i++)
		pprof_ids_add(ids, values[i]);
	assert_int_equal(pprof_ids_end(ids), want);
}

TEST(finds_the_index_of_every_id_and_of_no_other)
{
	static const struct {
		uint64_t ids[5];
		size_t n;
	} cases[] = {
		{{0}, 0},
		{{1, 2, 3, 4, 5}, 5},
		{{5, 4, 3, 2, 1}, 5},
		{{2, 3, 4, 5, 6}, 5},
		{{UINT64_MAX, 1, 4, 1000, UINT64_MAX - 1}, 5},
		{{3}, 1},
	};
	static const uint64_t absent[] = {0, 7, 8, 999, UINT64_MAX - 2, UINT64_MAX / 2};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(pprof_ids_fini) struct pprof_ids ids = {0};
		uint32_t index;

		make(&ids, cases[i].ids, cases[i].n, 0);
		for (size_t j = 0; j < cases[i].n; j++) {
			assert_true(pprof_ids_find(&ids, cases[i].ids[j], &index));
			assert_int_equal(index, j);
		}
		for (size_t j = 0; j < ARRAY_SIZE(absent); j++)
			assert_false(pprof_ids_find(&ids, absent[j], &index));
	}
}

TEST(says_that_there_are_zeros_or_duplicates)
{
	static const uint64_t zero[] = {1, 0, 2}, twice[] = {7, 1, 7}, neighbours[] = {1, 2, 2};
	CLEANUP(pprof_ids_fini) struct pprof_ids a = {0}, b = {0}, c = {0};

	make(&a, zero, 3, 1);
	make(&b, twice, 3, 1);
	make(&c, neighbours, 3, 1);
}

TEST(an_id_that_is_not_unique_is_not_found)
{
	static const uint64_t values[] = {7, 1, 7, 0, 3, 9, 9, 9, 12};
	CLEANUP(pprof_ids_fini) struct pprof_ids ids = {0};
	uint32_t index;

	make(&ids, values, ARRAY_SIZE(values), 1);
	assert_false(pprof_ids_find(&ids, 7, &index));
	assert_false(pprof_ids_find(&ids, 0, &index));
	assert_false(pprof_ids_find(&ids, 9, &index));
	assert_true(pprof_ids_find(&ids, 1, &index));
	assert_int_equal(index, 1);
	assert_true(pprof_ids_find(&ids, 3, &index));
	assert_int_equal(index, 4);
	assert_true(pprof_ids_find(&ids, 12, &index));
	assert_int_equal(index, 8);
}

static int make_some(void *arg)
{
	CLEANUP(pprof_ids_fini) struct pprof_ids ids = {0};
	int r = pprof_ids_init(&ids, 10);

	(void)arg;
	for (uint64_t i = 10; r == 0 && i > 0; i--)
		pprof_ids_add(&ids, i);
	return r == 0 ? pprof_ids_end(&ids) : r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(make_some, NULL);
}
