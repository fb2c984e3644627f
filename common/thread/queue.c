#include "common/thread/queue.h"

#include <errno.h>
#include <pthread.h>

#include "common/system/clock.h"

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_empty; /* on CLOCK_MONOTONIC; also signalled by close */
	bool closed;
	size_t max;
	size_t first;
	size_t count;
	void *items[]; /* ring */
};

int queue_new(struct queue **ret, size_t max_items)
{
	pthread_condattr_t attr;
	struct queue *q;
	size_t bytes;

	if (max_items == 0 || __builtin_mul_overflow(max_items, sizeof(void *), &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*q), &bytes))
		return -EINVAL;

	q = calloc(1, bytes);
	if (!q)
		return -ENOMEM;

	/* none of these can fail on Linux: they only store */
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->not_empty, &attr);
	pthread_condattr_destroy(&attr);
	q->max = max_items;
	*ret = q;
	return 0;
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	pthread_cond_destroy(&q->not_empty);
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
		pthread_cond_signal(&q->not_empty);
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
	void *item;

	pthread_mutex_lock(&q->lock);
	while (q->count == 0 && !q->closed)
		pthread_cond_wait(&q->not_empty, &q->lock);
	item = take_first(q);
	pthread_mutex_unlock(&q->lock);
	return item;
}

static struct timespec monotonic_deadline(uint64_t timeout_ns)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += (time_t)(timeout_ns / NS_PER_S);
	t.tv_nsec += (long)(timeout_ns % NS_PER_S);
	if (t.tv_nsec >= (long)NS_PER_S) {
		t.tv_nsec -= (long)NS_PER_S;
		t.tv_sec++;
	}
	return t;
}

void *queue_pop_timeout(struct queue *q, uint64_t timeout_ns)
{
	struct timespec deadline = monotonic_deadline(timeout_ns);
	void *item;
	int r = 0;

	pthread_mutex_lock(&q->lock);
	while (q->count == 0 && !q->closed && timeout_ns > 0 && r == 0)
		r = pthread_cond_timedwait(&q->not_empty, &q->lock, &deadline);
	item = take_first(q);
	pthread_mutex_unlock(&q->lock);
	return item;
}

void queue_close(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_broadcast(&q->not_empty);
	pthread_mutex_unlock(&q->lock);
}

size_t queue_count(struct queue *q)
{
	size_t n;

	pthread_mutex_lock(&q->lock);
	n = q->count;
	pthread_mutex_unlock(&q->lock);
	return n;
}
