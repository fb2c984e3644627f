#include <errno.h>

#include "common/upload/upload_queue.h"
#include "test/lib/unit.h"

static const struct upload_label labels[] = {{"service.name", "a"}, {}};

static int add(struct upload_queue *q, const char *text)
{
	CLEANUP(buf_fini) struct buf b;

	buf_init(&b, 1000);
	assert_int_equal(buf_add(&b, text, strlen(text)), 0);
	return upload_queue_add(q, "http://h", labels, &b, NULL);
}

static void uploads_come_in_the_order_they_were_added(void **state)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	(void)state;
	upload_queue_init(&q, 10, 100);
	assert_int_equal(add(&q, "one"), 0);
	assert_int_equal(add(&q, "two"), 0);
	assert_int_equal(q.n_bytes, 6);
	assert_string_equal(upload_queue_next(&q)->body, "one");
	assert_string_equal(upload_queue_next(&q)->url, "http://h?service.name=a");
	upload_queue_next(&q)->sending = true;
	assert_string_equal(upload_queue_next(&q)->body, "two");
	upload_queue_remove(&q, upload_queue_next(&q));
	assert_null(upload_queue_next(&q));
	assert_int_equal(q.n_items, 1);
}

static void the_oldest_makes_room(void **state)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	(void)state;
	upload_queue_init(&q, 2, 10);
	assert_int_equal(add(&q, "one"), 0);
	assert_int_equal(add(&q, "two"), 0);
	assert_int_equal(add(&q, "three"), 0); /* too many items */
	assert_string_equal(upload_queue_next(&q)->body, "two");
	assert_int_equal(add(&q, "12345678"), 0); /* too many bytes */
	assert_string_equal(upload_queue_next(&q)->body, "12345678");
	assert_int_equal(q.n_items, 1);
	assert_int_equal(q.n_dropped, 3);
}

static void what_is_under_way_is_not_dropped(void **state)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	(void)state;
	upload_queue_init(&q, 1, 10);
	assert_int_equal(add(&q, "one"), 0);
	upload_queue_next(&q)->sending = true;
	assert_int_equal(add(&q, "two"), -EFBIG);
	assert_int_equal(q.n_items, 1);
	assert_int_equal(q.n_dropped, 1);
}

static void one_larger_than_the_queue_drops_nothing_but_itself(void **state)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	(void)state;
	upload_queue_init(&q, 10, 10);
	assert_int_equal(add(&q, "one"), 0);
	assert_int_equal(add(&q, "longer than ten"), -EFBIG);
	assert_int_equal(q.n_items, 1);
	assert_int_equal(q.n_dropped, 1);
}

static int add_one(void *arg)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;
	CLEANUP(buf_fini) struct buf b;

	(void)arg;
	upload_queue_init(&q, 10, 100);
	buf_init(&b, 100);
	return upload_queue_add(&q, "http://h", labels, &b, NULL);
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(add_one, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uploads_come_in_the_order_they_were_added),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(what_is_under_way_is_not_dropped),
		cmocka_unit_test(one_larger_than_the_queue_drops_nothing_but_itself),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
