#include <errno.h>

#include "common/upload/upload_queue.h"
#include "test/lib/unit.h"

static int add(struct upload_queue *q, const char *text)
{
	CLEANUP(upload_item_unrefp) struct upload_item *item = NULL;
	AUTO_FREE char *query = strdup("service.name=a"), *body = strdup(text);
	struct upload_key key;

	upload_key_make(&key);
	if (query && body)
		item = upload_item_new(&key, 1, query, body, strlen(text));
	if (!item)
		return -ENOMEM;
	query = body = NULL;
	return upload_queue_add(q, item, NULL, NULL);
}

static struct upload *next(const struct upload_queue *q)
{
	return upload_queue_next(q, 0);
}

static const char *next_body(const struct upload_queue *q)
{
	return next(q)->item->body;
}

TEST(uploads_come_in_the_order_they_were_added)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	upload_queue_init(&q, 10, 100);
	assert_int_equal(add(&q, "one"), 0);
	assert_int_equal(add(&q, "two"), 0);
	assert_int_equal(q.n_bytes, 6);
	assert_string_equal(next_body(&q), "one");
	assert_string_equal(next(&q)->item->query, "service.name=a");
	next(&q)->sending = true;
	assert_string_equal(next_body(&q), "two");
	upload_queue_remove(&q, next(&q));
	assert_null(next(&q));
	assert_int_equal(q.n_items, 1);
}

TEST(the_oldest_makes_room)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	upload_queue_init(&q, 2, 10);
	assert_int_equal(add(&q, "one"), 0);
	assert_int_equal(add(&q, "two"), 0);
	assert_int_equal(add(&q, "three"), 0); /* too many items */
	assert_string_equal(next_body(&q), "two");
	assert_int_equal(add(&q, "12345678"), 0); /* too many bytes */
	assert_string_equal(next_body(&q), "12345678");
	assert_int_equal(q.n_items, 1);
	assert_int_equal(q.n_dropped, 3);
}

TEST(what_is_under_way_is_not_dropped)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	upload_queue_init(&q, 1, 10);
	assert_int_equal(add(&q, "one"), 0);
	next(&q)->sending = true;
	assert_int_equal(add(&q, "two"), -EFBIG);
	assert_int_equal(q.n_items, 1);
	assert_int_equal(q.n_dropped, 1);
}

TEST(one_larger_than_the_queue_drops_nothing_but_itself)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	upload_queue_init(&q, 10, 10);
	assert_int_equal(add(&q, "one"), 0);
	assert_int_equal(add(&q, "longer than ten"), -EFBIG);
	assert_int_equal(q.n_items, 1);
	assert_int_equal(q.n_dropped, 1);
}

TEST(one_that_failed_lets_others_go_first)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	upload_queue_init(&q, 10, 100);
	assert_int_equal(add(&q, "one"), 0);
	assert_int_equal(add(&q, "two"), 0);
	next(&q)->n_attempts = 1;
	assert_string_equal(next_body(&q), "two");
	next(&q)->n_attempts = 2;
	assert_string_equal(next_body(&q), "one");
}

TEST(one_that_is_not_due_is_not_sent)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	upload_queue_init(&q, 10, 100);
	assert_true(upload_queue_next_due_ns(&q) == UINT64_MAX);
	assert_int_equal(add(&q, "one"), 0);
	next(&q)->not_before_ns = 5;
	assert_null(upload_queue_next(&q, 4));
	assert_true(upload_queue_next_due_ns(&q) == 5);
	assert_non_null(upload_queue_next(&q, 5));
	assert_non_null(upload_queue_next(&q, UINT64_MAX));
}

static int add_one(void *arg)
{
	CLEANUP(upload_queue_fini) struct upload_queue q;

	(void)arg;
	upload_queue_init(&q, 10, 100);
	return add(&q, "one");
}

TEST(survives_every_failed_allocation)
{
	check_oom(add_one, NULL);
}
