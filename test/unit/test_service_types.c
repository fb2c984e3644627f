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

TEST(there_is_a_limit_on_services)
{
	CLEANUP(service_types_freep) struct service_types *t = NULL;

	assert_int_equal(service_types_new(&t, KEEP_S), 0);
	for (unsigned i = 0; i < SERVICE_TYPES_MAX_SERVICES; i++)
		assert_int_equal(admit(t, i, 1, i < 100 ? 1 : 100), 0);
	assert_int_equal(admit(t, 1u << 30, 1, 100), -ENOSPC);
	assert_int_equal(admit(t, 100, 1, 100), 0);
	/* the first hundred have not sent anything for long enough */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(admit(t, (1u << 30) + i, 1, KEEP_S + 10), 0);
	assert_int_equal(admit(t, 1u << 31, 1, KEEP_S + 10), -ENOSPC);
}

TEST(there_is_a_limit_on_all_types_together)
{
	CLEANUP(service_types_freep) struct service_types *t = NULL;
	const unsigned n = SERVICE_TYPES_MAX_PAIRS / SERVICE_TYPES_MAX;

	assert_int_equal(service_types_new(&t, KEEP_S), 0);
	for (unsigned i = 0; i < n * SERVICE_TYPES_MAX; i++)
		assert_int_equal(admit(t, i / SERVICE_TYPES_MAX, i % SERVICE_TYPES_MAX, 1), 0);
	assert_int_equal(admit(t, n, 0, 1), -ENOSPC);
	assert_int_equal(admit(t, 0, SERVICE_TYPES_MAX, 1), -EDQUOT);
	assert_int_equal(admit(t, 0, 0, 1), 0);
}
