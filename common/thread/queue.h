/*
 * Bounded hand-over between threads. It moves ownership: what is pushed belongs to whoever pops it.
 * A full queue refuses; the caller keeps the item, drops it or retries, and counts.
 *
 * All functions but queue_new() and queue_free() are safe from any thread.
 */
#ifndef COMMON_THREAD_QUEUE_H
#define COMMON_THREAD_QUEUE_H

#include "common/base.h"

struct queue;

/* Returns 0, -ENOMEM, or -EINVAL if max_items is 0 or absurd. */
int queue_new(struct queue **ret, size_t max_items) MUST_CHECK;
/* The caller has emptied it and no thread waits in it. NULL is allowed. */
void queue_free(struct queue *q);
DEFINE_CLEANUP(struct queue *, queue_free);

/* Returns 0, -EAGAIN if the queue is full, or -EPIPE after queue_close(). Never blocks. */
int queue_push(struct queue *q, void *item) MUST_CHECK;

/* Blocks until there is an item and returns the oldest; NULL once q is closed and empty. */
void *queue_pop(struct queue *q);

/* As queue_pop(), but returns NULL after timeout_ns without an item; 0 never waits. */
void *queue_pop_timeout(struct queue *q, uint64_t timeout_ns);

/* Refuses further pushes. Poppers drain what is left and then get NULL. */
void queue_close(struct queue *q);
bool queue_is_closed(struct queue *q);
size_t queue_count(struct queue *q);

#endif /* COMMON_THREAD_QUEUE_H */
