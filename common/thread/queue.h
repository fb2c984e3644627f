/*
 * Bounded hand-over between threads. Moves ownership: what is pushed belongs
 * to whoever pops it. A full queue refuses; the caller keeps the item, drops
 * or retries, and counts.
 */
#ifndef COMMON_THREAD_QUEUE_H
#define COMMON_THREAD_QUEUE_H

#include "common/base.h"

struct queue;

int queue_new(struct queue **ret, size_t max_items) MUST_CHECK;
/* The caller has emptied it (queue_try_pop) and no thread waits in it. */
void queue_free(struct queue *q);
DEFINE_CLEANUP(struct queue *, queue_free);

/* 0; -EAGAIN when full; -EPIPE after queue_close(). Never blocks. */
int queue_push(struct queue *q, void *item) MUST_CHECK;

/* Oldest item; blocks. NULL once the queue is closed and empty. */
void *queue_pop(struct queue *q);

/* As queue_pop() but NULL after timeout_ns without an item (0: do not wait). */
void *queue_pop_timeout(struct queue *q, uint64_t timeout_ns);

/* No more pushes; poppers drain what is left and then get NULL. */
void queue_close(struct queue *q);
size_t queue_count(struct queue *q);

#endif /* COMMON_THREAD_QUEUE_H */
