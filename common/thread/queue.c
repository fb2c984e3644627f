/*
 * A ring of pointers behind one mutex.
 *
 * What passes through costs far more than the hand-over (a profile to decode, a query to run), so
 * a lock-free ring would gain nothing and could not sleep. The ring is allocated whole: a push
 * cannot fail for lack of memory, and the bound is what protects the agent from a slow consumer.
 *
 * Closing is part of the queue and not a flag beside it: a popper that sleeps must be woken by it,
 * and what was accepted before the close must still be delivered.
 */
#include "common/thread/queue.h"

#include <errno.h>

#include "common/thread/condition.h"

struct queue {
	pthread_mutex_t lock;
	struct condition not_empty; /* or closed */
	bool closed;
	size_t max;
	size_t first;
	size_t count;
	void *items[]; /* ring */
};

int queue_new(struct queue **ret, size_t max_items)
{
	struct queue *q;
	size_t bytes;

	if (max_items == 0 || __builtin_mul_overflow(max_items, sizeof(void *), &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*q), &bytes))
		return -EINVAL;

	q = calloc(1, bytes);
	if (!q)
		return -ENOMEM;
	pthread_mutex_init(&q->lock, NULL);
	condition_init(&q->not_empty);
	q->max = max_items;
	*ret = q;
	return 0;
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	condition_fini(&q->not_empty);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

int queue_push(struct queue *q, void *item)
{
	int r = 0;

	pthread_mutex_lock(&q->lock);
	if (q->closed) {
		r = -EPIPE;
	} else if (q->count == q->max) {
		r = -EAGAIN;
	} else {
		q->items[(q->first + q->count) % q->max] = item;
		q->count++;
		condition_signal(&q->not_empty);
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

static void *take_first(struct queue *q)
{
	void *item;

	if (q->count == 0)
		return NULL;
	item = q->items[q->first];
	q->first = (q->first + 1) % q->max;
	q->count--;
	return item;
}

void *queue_pop(struct queue *q)
{
	return queue_pop_timeout(q, UINT64_MAX);
}

void *queue_pop_timeout(struct queue *q, uint64_t timeout_ns)
{
	uint64_t deadline_ns = condition_deadline_ns(timeout_ns);
	bool in_time = timeout_ns > 0;
	void *item;

	pthread_mutex_lock(&q->lock);
	while (q->count == 0 && !q->closed && in_time)
		in_time = condition_wait_until(&q->not_empty, &q->lock, deadline_ns);
	item = take_first(q);
	pthread_mutex_unlock(&q->lock);
	return item;
}

void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	condition_broadcast(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

bool queue_is_closed(struct queue *q)
{
	bool closed;

	pthread_mutex_lock(&q->lock);
	closed = q->closed;
	pthread_mutex_unlock(&q->lock);
	return closed;
}

size_t queue_count(struct queue *q)
{
	size_t n;

	pthread_mutex_lock(&q->lock);
	n = q->count;
	pthread_mutex_unlock(&q->lock);
	return n;
}
