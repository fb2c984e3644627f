#include <errno.h>

#include "cluster-agent/ingest/service_types.h"
#include "test/lib/unit.h"

#define KEEP_S 1000u

static int admit(struct service_types *t, unsigned service, unsigned type, uint32_t now_s)
{
	char a[16], b[16];

	snprintf(a, sizeof(a), "s%u", service);
	snprintf(b, sizeof(b), "a:t%u:b", type);
	return service_types_admit(t, (struct row_text){a, strlen(a)},
				   (struct row_text){b, strlen(b)}, now_s);
}

TEST(a_service_has_no_more_types_than_the_limit)
{
	CLEANUP(service_types_freep) struct service_types *t = NULL;

	assert_int_equal(service_types_new(&t, KEEP_S), 0);
	for (unsigned i = 0; i < SERVICE_TYPES_MAX; i++)
		assert_int_equal(admit(t, 1, i, 1), 0);
	assert_int_equal(admit(t, 1, SERVICE_TYPES_MAX, 2), -EDQUOT);
	/* those that it has, and other services, are not concerned */
	assert_int_equal(admit(t, 1, 0, KEEP_S), 0);
	assert_int_equal(admit(t, 2, SERVICE_TYPES_MAX, 2), 0);
}

TEST(types_that_are_not_sent_any_more_make_room)
{
	CLEANUP(service_types_freep) struct service_types *t = NULL;

	assert_int_equal(service_types_new(&t, KEEP_S), 0);
	for (unsigned i = 0; i < SERVICE_TYPES_MAX; i++)
		assert_int_equal(admit(t, 1, i, 1), 0);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(admit(t, 1, i, KEEP_S), 0);
	assert_int_equal(admit(t, 1, 100, KEEP_S + 1), -EDQUOT);
	for (unsigned i = 0; i < SERVICE_TYPES_MAX - 10; i++)
		assert_int_equal(admit(t, 1, 100 + i, KEEP_S + 2), 0);
	assert_int_equal(admit(t, 1, 1000, KEEP_S + 2), -EDQUOT);
}

static struct service_types *full_of_services(uint32_t now_s)
{
	struct service_types *t;

	assert_int_equal(service_types_new(&t, KEEP_S), 0);
	for (unsigned i = 0; i < SERVICE_TYPES_MAX_SERVICES; i++)
		assert_int_equal(admit(t, i, 1, now_s), 0);
	return t;
}

TEST(a_new_service_takes_the_place_of_the_one_that_was_not_seen_for_the_longest_time)
{
	CLEANUP(service_types_freep) struct service_types *t = full_of_services(1);

	for (unsigned i = 0; i < SERVICE_TYPES_MAX; i++) {
		assert_int_equal(admit(t, 0, i, 2), 0);
		assert_int_equal(admit(t, 1, i, 2), 0);
	}
	assert_int_equal(admit(t, 1u << 30, 1, 3), 0);
	assert_int_equal(admit(t, (1u << 30) + 1, 1, 3), 0);
	/* the types of those that send are still known */
	assert_int_equal(admit(t, 0, 100, 3), -EDQUOT);
	assert_int_equal(admit(t, 1, 100, 3), -EDQUOT);
}

TEST(services_that_are_invented_without_end_are_refused_until_the_next_hour)
{
	CLEANUP(service_types_freep) struct service_types *t = full_of_services(1);

	for (unsigned i = 0; i < SERVICE_TYPES_MAX_EVICTED; i++)
		assert_int_equal(admit(t, (1u << 30) + i, 1, 2), 0);
	assert_int_equal(admit(t, 1u << 31, 1, 2), -ENOSPC);
	assert_int_equal(admit(t, 1u << 30, 1, 2), 0);
	assert_int_equal(admit(t, 1u << 31, 1, 3600), 0);
}

TEST(services_that_have_expired_always_make_room)
{
	CLEANUP(service_types_freep) struct service_types *t = full_of_services(1);

	for (unsigned i = 0; i < SERVICE_TYPES_MAX_SERVICES; i++)
		assert_int_equal(admit(t, (1u << 30) + i, 1, KEEP_S + 2), 0);
}

TEST(a_full_table_of_types_makes_room_for_a_type_of_a_known_service_and_of_a_new_one)
{
	CLEANUP(service_types_freep) struct service_types *t = NULL;
	const unsigned n = SERVICE_TYPES_MAX_PAIRS / SERVICE_TYPES_MAX;

	assert_int_equal(service_types_new(&t, KEEP_S), 0);
	assert_int_equal(admit(t, n + 1, 0, 1), 0);
	for (unsigned i = 0; i < n * SERVICE_TYPES_MAX; i++)
		assert_int_equal(admit(t, i / SERVICE_TYPES_MAX, i % SERVICE_TYPES_MAX, 1), 0);
	/* the one that was first is the last to go now */
	assert_int_equal(admit(t, n + 1, 1, 1), 0);
	assert_int_equal(admit(t, n, 0, 1), 0);
	assert_int_equal(admit(t, n - 1, SERVICE_TYPES_MAX, 1), -EDQUOT);
	assert_int_equal(admit(t, n - 1, 0, 1), 0);
}
