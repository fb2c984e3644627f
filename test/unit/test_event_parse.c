#include <errno.h>

#include "node-agent/sample/sampler.h"
#include "test/lib/unit.h"

struct record {
	struct sample_event e;
	uint64_t addrs[3];
};

static struct record good(void)
{
	return (struct record){
		.e = {.header = {.type = EVENT_SAMPLE, .size = sizeof(struct record)},
		      .comm = "worker",
		      .n_kernel = 1,
		      .n_user = 2,
		      .end = WALK_END_UNREADABLE},
		.addrs = {1, 2, 3},
	};
}

static void a_good_sample_passes_with_its_addresses(void **state)
{
	struct record r = good();

	(void)state;
	assert_int_equal(event_parse(&r, sizeof(r)), EVENT_SAMPLE);
	assert_int_equal(sample_event_addrs(&r.e)[2], 3);
}

static void check_bad(const struct record *r, size_t len)
{
	assert_int_equal(event_parse(r, len), -EBADMSG);
}

static void whatever_does_not_add_up_is_refused(void **state)
{
	struct record r;

	(void)state;
	r = good();
	check_bad(&r, sizeof(r) - 8); /* shorter than its header claims */
	check_bad(&r, 8);             /* not even a header */
	r.e.n_user = 3;
	check_bad(&r, sizeof(r)); /* more addresses than bytes */
	r.e.n_user = 1;
	check_bad(&r, sizeof(r));
	r = good();
	r.e.end = WALK_END_MAX;
	check_bad(&r, sizeof(r));
	r = good();
	memset(r.e.comm, 'x', sizeof(r.e.comm)); /* not terminated */
	check_bad(&r, sizeof(r));
	r = good();
	r.e.header.type = 77;
	check_bad(&r, sizeof(r));
	r = good();
	r.e.header.type = EVENT_EXEC; /* these are a header and nothing more */
	check_bad(&r, sizeof(r));
	r = good();
	r.e.header.size = 40;
	check_bad(&r, 40);
}

static void exec_and_exit_are_headers(void **state)
{
	struct event_header h = {.type = EVENT_EXIT, .size = sizeof(h)};

	(void)state;
	assert_int_equal(event_parse(&h, sizeof(h)), EVENT_EXIT);
	h.type = EVENT_EXEC;
	assert_int_equal(event_parse(&h, sizeof(h)), EVENT_EXEC);
}

static void the_ring_follows_rate_and_cpus_within_its_limits(void **state)
{
	(void)state;
	assert_int_equal(sampler_ring_bytes(1, 1), SAMPLER_RING_MIN_BYTES);
	assert_int_equal(sampler_ring_bytes(99, 16), 2u << 20);
	assert_int_equal(sampler_ring_bytes(10000, 512), SAMPLER_RING_MAX_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_sample_passes_with_its_addresses),
		cmocka_unit_test(whatever_does_not_add_up_is_refused),
		cmocka_unit_test(exec_and_exit_are_headers),
		cmocka_unit_test(the_ring_follows_rate_and_cpus_within_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
