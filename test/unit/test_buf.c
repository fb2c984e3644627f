#include <errno.h>

#include "common/data/buf.h"
#include "test/lib/unit.h"

TEST(grows_to_its_limit_and_no_further)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 100);
	for (int i = 0; i < 10; i++)
		assert_int_equal(buf_add(&b, "0123456789", 10), 0);
	assert_int_equal(buf_add(&b, "x", 1), -EFBIG);
	assert_int_equal(b.len, 100);
	assert_int_equal(b.data[100], '\0');
}

TEST(take_moves_the_storage)
{
	CLEANUP(buf_fini) struct buf b;
	AUTO_FREE char *s = NULL;
	size_t len;

	buf_init(&b, 1000);
	assert_int_equal(buf_addf(&b, "%s-%d", "pid", 42), 0);
	s = buf_take(&b, &len);
	assert_string_equal(s, "pid-42");
	assert_int_equal(len, 6);
	assert_null(b.data);
}

static int add_a_lot(void *arg)
{
	CLEANUP(buf_fini) struct buf b;

	(void)arg;
	buf_init(&b, 4096);
	for (int i = 0; i < 40; i++) {
		int r = buf_addf(&b, "%08d", i);

		if (r < 0)
			return r;
	}
	return 0;
}

TEST(survives_every_failed_allocation)
{
	check_oom(add_a_lot, NULL);
}

TEST(truncating_keeps_the_beginning)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 100);
	buf_truncate(&b, 0); /* without storage */
	assert_int_equal(buf_add(&b, "abcdef", 6), 0);
	buf_truncate(&b, 3);
	assert_int_equal(b.len, 3);
	assert_string_equal(b.data, "abc");
}
