#include "common/data/hash.h"
#include "test/lib/unit.h"

/* The values are those of the reference code at www.isthe.com/chongo/tech/comp/fnv. */
static void gives_the_published_values(void **state)
{
	(void)state;
	assert_true(fnv1a64(FNV1A64_INIT, "", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(fnv1a64(FNV1A64_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(fnv1a64(FNV1A64_INIT, "foobar", 6) == UINT64_C(0x85944171f73967e8));
	assert_true(fnv1a64(FNV1A64_INIT, "\xff", 1) == UINT64_C(0xaf64724c8602eb6e));
}

static void continues_over_pieces(void **state)
{
	uint64_t h = fnv1a64(FNV1A64_INIT, "foo", 3);

	(void)state;
	assert_true(fnv1a64(h, "bar", 3) == fnv1a64(FNV1A64_INIT, "foobar", 6));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_published_values),
		cmocka_unit_test(continues_over_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
