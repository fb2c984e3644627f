/*
 * Profiles that wait for their receiver, in memory, oldest first, bounded in number and bytes. Pure.
 *
 * When a bound is reached the oldest that is not under way makes room.
 */
#ifndef COMMON_UPLOAD_UPLOAD_QUEUE_H
#define COMMON_UPLOAD_UPLOAD_QUEUE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/upload/upload_url.h"

struct upload {
	struct upload *prev, *next; /* of the queue */
	char *url;
	char *body;
	size_t body_len;
	bool sending; /* under way: not to be dropped; set by the sender */
	/* the sender's: answers of 500, and how many profiles had been accepted at the last one */
	unsigned n_failures;
	uint64_t n_accepted;
	void *context; /* the sender's */
};

struct upload_queue {
	struct upload *uploads;
	size_t n_items;
	size_t n_bytes; /* of bodies */
	size_t max_items;
	size_t max_bytes;
	uint64_t n_dropped; /* total: to make room, or for which there was none */
};

/* Does not allocate. */
void upload_queue_init(struct upload_queue *q, size_t max_items, size_t max_bytes);
void upload_queue_fini(struct upload_queue *q);

/*
 * Takes the content of body in every case. 0; -EFBIG: no room, counted in n_dropped, or labels too
 * long for a URL; -ENOMEM.
 */
int upload_queue_add(struct upload_queue *q, const char *endpoint,
		     const struct upload_label *labels, struct buf *body, void *context) MUST_CHECK;

/* The oldest that is not under way, or NULL. Borrowed until upload_queue_remove(). */
struct upload *upload_queue_next(const struct upload_queue *q);
void upload_queue_remove(struct upload_queue *q, struct upload *up);

/* All others come first from now on. */
void upload_queue_move_back(struct upload_queue *q, struct upload *up);

#endif /* COMMON_UPLOAD_UPLOAD_QUEUE_H */
