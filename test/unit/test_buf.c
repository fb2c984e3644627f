#include <errno.h>

#include "common/data/buf.h"
#include "test/lib/unit.h"

static void grows_to_its_limit_and_no_further(void **state)
{
	CLEANUP(buf_fini) struct buf b;

	(void)state;
	buf_init(&b, 100);
	for (int i = 0; i < 10; i++)
		assert_int_equal(buf_add(&b, "0123456789", 10), 0);
	assert_int_equal(buf_add(&b, "x", 1), -EFBIG);
	assert_int_equal(b.len, 100);
	assert_int_equal(b.data[100], '\0');
}

static void take_moves_the_storage(void **state)
{
	CLEANUP(buf_fini) struct buf b;
	AUTO_FREE char *s = NULL;
	size_t len;

	(void)state;
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

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(add_a_lot, NULL);
}

static void truncating_keeps_the_beginning(void **state)
{
	CLEANUP(buf_fini) struct buf b;

	(void)state;
	buf_init(&b, 100);
	buf_truncate(&b, 0); /* without storage */
	assert_int_equal(buf_add(&b, "abcdef", 6), 0);
	buf_truncate(&b, 3);
	assert_int_equal(b.len, 3);
	assert_string_equal(b.data, "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncating_keeps_the_beginning),
		cmocka_unit_test(grows_to_its_limit_and_no_further),
		cmocka_unit_test(take_moves_the_storage),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
