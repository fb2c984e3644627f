#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"
#include "common/thread/queue.h"
#include "test/lib/unit.h"

#define N_PRODUCERS 3
#define N_CONSUMERS 3
#define N_ITEMS 5000u /* of each producer */

TEST(items_come_out_in_order_across_the_end_of_the_ring)
{
	CLEANUP(queue_freep) struct queue *q = NULL;
	int items[20];

	assert_int_equal(queue_new(&q, 3), 0);
	assert_int_equal(queue_push(q, &items[0]), 0);
	for (size_t i = 1; i < ARRAY_SIZE(items); i++) {
		assert_int_equal(queue_push(q, &items[i]), 0);
		assert_int_equal(queue_count(q), 2);
		assert_ptr_equal(queue_pop(q), &items[i - 1]);
	}
}

TEST(a_full_queue_refuses_and_keeps_what_it_has)
{
	CLEANUP(queue_freep) struct queue *q = NULL;
	int a, b, c;

	assert_int_equal(queue_new(&q, 2), 0);
	assert_int_equal(queue_push(q, &a), 0);
	assert_int_equal(queue_push(q, &b), 0);
	assert_int_equal(queue_push(q, &c), -EAGAIN);
	assert_ptr_equal(queue_pop(q), &a);
	assert_int_equal(queue_push(q, &c), 0);
	assert_ptr_equal(queue_pop(q), &b);
	assert_ptr_equal(queue_pop(q), &c);
}

TEST(a_closed_queue_gives_what_is_left_and_then_null)
{
	CLEANUP(queue_freep) struct queue *q = NULL;
	int a;

	assert_int_equal(queue_new(&q, 2), 0);
	assert_int_equal(queue_push(q, &a), 0);
	queue_close(q);
	assert_int_equal(queue_push(q, &a), -EPIPE);
	assert_ptr_equal(queue_pop(q), &a);
	assert_null(queue_pop(q));
	assert_null(queue_pop_timeout(q, NS_PER_S));
}

TEST(pop_with_timeout_waits_that_long_and_no_more)
{
	CLEANUP(queue_freep) struct queue *q = NULL;
	struct timespec from, to;
	int64_t waited;

	assert_int_equal(queue_new(&q, 1), 0);
	assert_null(queue_pop_timeout(q, 0));
	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_null(queue_pop_timeout(q, 30 * NS_PER_MS));
	clock_gettime(CLOCK_MONOTONIC, &to);
	waited = (to.tv_sec - from.tv_sec) * (int64_t)NS_PER_S + to.tv_nsec - from.tv_nsec;
	assert_true(waited >= (int64_t)(30 * NS_PER_MS));
}

TEST(sizes_that_make_no_sense_are_refused)
{
	struct queue *q = NULL;

	assert_int_equal(queue_new(&q, 0), -EINVAL);
	assert_int_equal(queue_new(&q, SIZE_MAX / 2), -EINVAL);
	assert_null(q);
	queue_free(NULL);
}

static void *pop_once(void *q)
{
	return queue_pop(q);
}

TEST(close_wakes_every_waiting_thread)
{
	CLEANUP(queue_freep) struct queue *q = NULL;
	pthread_t threads[N_CONSUMERS];
	void *item;

	assert_int_equal(queue_new(&q, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, pop_once, q), 0);
	queue_close(q);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		assert_int_equal(pthread_join(threads[i], &item), 0);
		assert_null(item);
	}
}

static void *produce(void *q)
{
	for (uint64_t i = 1; i <= N_ITEMS; i++) {
		uint64_t *item = malloc(sizeof(*item));

		if (!item)
			abort();
		*item = i;
		while (queue_push(q, item) == -EAGAIN)
			sched_yield();
	}
	return NULL;
}

static void *consume(void *q)
{
	uint64_t *sum = calloc(1, sizeof(*sum)), *item;

	if (!sum)
		abort();
	while ((item = queue_pop(q))) {
		*sum += *item;
		free(item);
	}
	return sum;
}

TEST(many_threads_lose_and_double_nothing)
{
	CLEANUP(queue_freep) struct queue *q = NULL;
	pthread_t producers[N_PRODUCERS], consumers[N_CONSUMERS];
	uint64_t sum = 0;

	assert_int_equal(queue_new(&q, 16), 0);
	for (size_t i = 0; i < N_CONSUMERS; i++)
		assert_int_equal(pthread_create(&consumers[i], NULL, consume, q), 0);
	for (size_t i = 0; i < N_PRODUCERS; i++)
		assert_int_equal(pthread_create(&producers[i], NULL, produce, q), 0);
	for (size_t i = 0; i < N_PRODUCERS; i++)
		assert_int_equal(pthread_join(producers[i], NULL), 0);
	queue_close(q);
	for (size_t i = 0; i < N_CONSUMERS; i++) {
		void *part;

		assert_int_equal(pthread_join(consumers[i], &part), 0);
		sum += *(uint64_t *)part;
		free(part);
	}
	assert_int_equal(sum, (uint64_t)N_PRODUCERS * N_ITEMS * (N_ITEMS + 1) / 2);
}

static int construct(void *arg)
{
	CLEANUP(queue_freep) struct queue *q = NULL;

	(void)arg;
	return queue_new(&q, 4);
}

TEST(construction_survives_lack_of_memory)
{
	check_oom(construct, NULL);
}
