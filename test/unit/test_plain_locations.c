#include "node-agent/profile/plain_locations.h"
#include "test/lib/unit.h"

#define BASE UINT64_C(0x7f0000400000)

static uint64_t address_of(uint32_t i)
{
	return BASE + (uint64_t)i * 37;
}

static size_t pack_one(const struct plain_locations *t, uint64_t address, uint32_t *ret)
{
	uint8_t to[PPROF_PACKED_LOCATION_MAX_BYTES] = {0};
	size_t len = 0, n = plain_locations_pack(t, &address, 1, to, &len);

	*ret = 0;
	for (size_t i = 0; i < len; i++)
		*ret |= (uint32_t)(to[i] & 0x7f) << 7 * i;
	return n;
}

static void test_nearly_all_addresses_are_found(void **state)
{
	struct plain_locations t = {0};
	uint32_t n = 0, location;

	(void)state;
	assert_int_equal(pack_one(&t, BASE, &location), 0);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(plain_locations_add(&t, address_of(i), i), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		if (pack_one(&t, address_of(i), &location) == 0)
			continue;
		assert_int_equal(location, i + 1);
		n++;
	}
	assert_in_range(n, 97000, 100000);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(pack_one(&t, address_of(i) + 1, &location), 0);
	plain_locations_fini(&t);
}

static void test_locations_are_packed_up_to_the_first_unknown(void **state)
{
	const uint64_t stack[] = {BASE, BASE + 8, BASE + 4, BASE, BASE + 12, BASE};
	uint8_t expected[4 * PPROF_PACKED_LOCATION_MAX_BYTES],
		to[6 * PPROF_PACKED_LOCATION_MAX_BYTES];
	struct plain_locations t = {0};
	size_t expected_len, len = 0;

	(void)state;
	assert_int_equal(plain_locations_add(&t, BASE, 3), 0);
	assert_int_equal(plain_locations_add(&t, BASE + 4, 300), 0);
	assert_int_equal(plain_locations_add(&t, BASE + 8, 999999), 0);
	expected_len = pprof_pack_location(expected, 3);
	expected_len += pprof_pack_location(expected + expected_len, 999999);
	expected_len += pprof_pack_location(expected + expected_len, 300);
	assert_int_equal(plain_locations_pack(&t, stack, 3, to, &len), 3);
	assert_int_equal(len, expected_len);
	expected_len += pprof_pack_location(expected + expected_len, 3);
	assert_int_equal(plain_locations_pack(&t, stack, 6, to, &len), 4);
	assert_int_equal(len, expected_len);
	assert_memory_equal(to, expected, len);
	assert_int_equal(plain_locations_pack(&t, stack + 4, 2, to, &len), 0);
	assert_int_equal(len, 0);
	plain_locations_fini(&t);
}

/* The table keeps the lower halves of addresses. */
static void test_addresses_far_away_are_left_out(void **state)
{
	const uint64_t far = BASE + (UINT64_C(1) << 32);
	struct plain_locations t = {0};
	uint32_t location;

	(void)state;
	assert_int_equal(plain_locations_add(&t, BASE, 3), 0);
	assert_int_equal(pack_one(&t, far, &location), 0);
	assert_int_equal(plain_locations_add(&t, far, 4), 0);
	assert_int_equal(pack_one(&t, far, &location), 0);
	assert_int_equal(pack_one(&t, BASE, &location), 1);
	assert_int_equal(location, 4);
	plain_locations_fini(&t);
}

static int make(void *arg)
{
	struct plain_locations t = {0};
	int r = 0;

	(void)arg;
	for (uint32_t i = 0; r == 0 && i < 1000; i++)
		r = plain_locations_add(&t, address_of(i), i);
	plain_locations_fini(&t);
	return r;
}

static void test_failed_allocations_are_survived(void **state)
{
	(void)state;
	check_oom(make, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearly_all_addresses_are_found),
		cmocka_unit_test(test_locations_are_packed_up_to_the_first_unknown),
		cmocka_unit_test(test_addresses_far_away_are_left_out),
		cmocka_unit_test(test_failed_allocations_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
