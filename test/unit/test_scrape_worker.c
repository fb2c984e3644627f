#include <errno.h>

#include "cluster-agent/scrape/scrape_worker.h"
#include "common/limits.h"
#include "test/lib/unit.h"

TEST(an_unwanted_conversion_is_skipped)
{
	struct scrape_conversion c = {.unwanted = true};
	CLEANUP(arena_fini) struct arena arena;

	arena_init(&arena, MIB);
	buf_init(&c.body, MIB);
	assert_int_equal(buf_add(&c.body, "no profile", 10), 0);
	scrape_conversion_run(&c, &arena);
	assert_int_equal(c.error, -ECANCELED);
	assert_int_equal(c.body.cap, 0);
	assert_int_equal(c.upload.len, 0);
	/* the same body in a wanted conversion is an error */
	c.unwanted = false;
	buf_init(&c.body, MIB);
	assert_int_equal(buf_add(&c.body, "no profile", 10), 0);
	scrape_conversion_run(&c, &arena);
	assert_int_equal(c.error, -EBADMSG);
	scrape_conversion_fini(&c);
}
