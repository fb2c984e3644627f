#include <errno.h>

#include "common/data/number_table.h"
#include "test/lib/unit.h"

struct element {
	uint64_t a;
	uint32_t b, c;
};

static struct element make_element(uint32_t i)
{
	return (struct element){i * UINT64_C(1000), i, 7};
}

TEST(equal_elements_have_one_number)
{
	CLEANUP(number_table_fini) struct number_table t;
	uint32_t number;

	number_table_init(&t, sizeof(struct element), 1 << 20);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < 1000; i++) {
			const struct element e = make_element(i);

			assert_int_equal(number_table_add(&t, &e, &number), 0);
			assert_int_equal(number, i);
		}
	}
	assert_int_equal(t.n, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct element e = make_element(i);

		assert_memory_equal(number_table_get(&t, i), &e, sizeof(e));
	}
}

TEST(a_full_table_still_finds_its_elements)
{
	CLEANUP(number_table_fini) struct number_table t;
	uint32_t number, n = 0;
	struct element e;
	int r = 0;

	number_table_init(&t, sizeof(struct element), 16384);
	for (; r == 0; n++) {
		e = make_element(n);
		r = number_table_add(&t, &e, &number);
	}
	assert_int_equal(r, -ENOBUFS);
	assert_int_equal(t.n, n - 1);
	assert_int_equal(t.n, 512);
	e = make_element(511);
	assert_int_equal(number_table_add(&t, &e, &number), 0);
	assert_int_equal(number, 511);
}

static int fill(void *arg)
{
	CLEANUP(number_table_fini) struct number_table t;
	uint32_t number;
	int r = 0;

	(void)arg;
	number_table_init(&t, sizeof(struct element), 1 << 20);
	for (uint32_t i = 0; r == 0 && i < 200; i++) {
		const struct element e = make_element(i);

		r = number_table_add(&t, &e, &number);
	}
	return r;
}

TEST(survives_every_failed_allocation)
{
	check_oom(fill, NULL);
}
