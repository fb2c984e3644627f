#include <errno.h>

#include "node-agent/sample/cycle.h"
#include "node-agent/sample/sampler.h"
#include "test/lib/unit.h"

static size_t check(const uint64_t *addrs, size_t n)
{
	uint8_t packed[PACKED_ADDRS_MAX_BYTES(SAMPLER_MAX_ADDRS)];
	uint64_t again[SAMPLER_MAX_ADDRS];
	size_t len = packed_addrs_pack(addrs, n, packed);

	assert_true(len <= PACKED_ADDRS_MAX_BYTES(n));
	assert_int_equal(packed_addrs_unpack(packed, len, again, ARRAY_SIZE(again)), n);
	if (n > 0)
		assert_memory_equal(again, addrs, n * sizeof(*addrs));
	return len;
}

TEST(any_addresses_come_back)
{
	static const uint64_t edges[] = {
		0,
		1,
		0x7f,
		0x80,
		0x3fff,
		0x4000,
		INT64_MAX,
		(uint64_t)INT64_MAX + 1,
		UINT64_MAX,
		0,
		UINT64_MAX,
		UINT64_MAX,
		UINT64_MAX - 1,
		1,
	};
	uint64_t many[SAMPLER_MAX_ADDRS], x = 88172645463325252u;

	assert_int_equal(check(edges, 0), 0);
	for (size_t n = 1; n <= ARRAY_SIZE(edges); n++)
		(void)check(edges, n);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		many[i] = x >> x % 64;
	}
	(void)check(many, ARRAY_SIZE(many));
}

/* A stack of an x86-64 kernel, of libc and of a program. */
TEST(a_real_stack_takes_less_than_two_thirds_of_its_bytes)
{
	static const uint64_t addrs[] = {
		0xffffffff81a3b2c4, 0xffffffff81a3b911, 0xffffffff81384f21, 0xffffffff8138567a,
		0xffffffff81c00bea, 0x7f3a1c2f4d11,     0x7f3a1c27a1ca,     0x55d0c1a2b3c4,
		0x55d0c1a2b511,     0x55d0c1a01120,     0x55d0c1a00f3e,     0x55d0c1a1347a,
		0x55d0c1a0fedc,     0x55d0c1a00dd1,     0x7f3a1c20f24a,     0x7f3a1c20f305,
		0x55d0c1a00dd1,
	};

	assert_true(check(addrs, ARRAY_SIZE(addrs)) < sizeof(addrs) / 3 * 2);
}

TEST(bytes_that_are_no_addresses_are_refused)
{
	static const uint8_t cut[] = {2, 0x80};
	static const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 1};
	static const uint8_t three[] = {2, 2, 2};
	uint64_t addrs[3];

	assert_int_equal(packed_addrs_unpack(cut, sizeof(cut), addrs, 3), -EBADMSG);
	assert_int_equal(packed_addrs_unpack(too_long, sizeof(too_long), addrs, 3), -EBADMSG);
	assert_int_equal(packed_addrs_unpack(three, sizeof(three), addrs, 2), -EBADMSG);
	assert_int_equal(packed_addrs_unpack(three, sizeof(three), addrs, 3), 3);
	assert_int_equal(addrs[2], 3);
}
