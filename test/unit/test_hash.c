#include "common/data/hash.h"
#include "test/lib/unit.h"

/* The values are those of the reference code at www.isthe.com/chongo/tech/comp/fnv. */
TEST(gives_the_published_values)
{
	assert_true(fnv1a64(FNV1A64_INIT, "", 0) == UINT64_C(0xcbf29ce484222325));
	assert_true(fnv1a64(FNV1A64_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(fnv1a64(FNV1A64_INIT, "foobar", 6) == UINT64_C(0x85944171f73967e8));
	assert_true(fnv1a64(FNV1A64_INIT, "\xff", 1) == UINT64_C(0xaf64724c8602eb6e));
}

TEST(continues_over_pieces)
{
	uint64_t h = fnv1a64(FNV1A64_INIT, "foo", 3);

	assert_true(fnv1a64(h, "bar", 3) == fnv1a64(FNV1A64_INIT, "foobar", 6));
}
