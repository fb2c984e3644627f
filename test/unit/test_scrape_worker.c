#include <errno.h>

#include "cluster-agent/scrape/scrape_worker.h"
#include "common/limits.h"
#include "test/lib/unit.h"

static void what_nobody_wants_is_not_converted(void **state)
{
	struct scrape_conversion c = {.unwanted = true};
	CLEANUP(arena_fini) struct arena arena;

	(void)state;
	arena_init(&arena, MIB);
	buf_init(&c.body, MIB);
	assert_int_equal(buf_add(&c.body, "no profile", 10), 0);
	scrape_conversion_run(&c, &arena);
	assert_int_equal(c.error, -ECANCELED);
	assert_int_equal(c.body.cap, 0);
	assert_int_equal(c.upload.len, 0);
	/* as it is said of what is wanted */
	c.unwanted = false;
	buf_init(&c.body, MIB);
	assert_int_equal(buf_add(&c.body, "no profile", 10), 0);
	scrape_conversion_run(&c, &arena);
	assert_int_equal(c.error, -EBADMSG);
	scrape_conversion_fini(&c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nobody_wants_is_not_converted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
