/*
 * Profiles waiting in memory for their receiver, oldest first, bounded in number and bytes.
 *
 * At a bound, the oldest profile that is not being sent is dropped to make room.
 */
#ifndef COMMON_UPLOAD_UPLOAD_QUEUE_H
#define COMMON_UPLOAD_UPLOAD_QUEUE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/upload/upload_key.h"
#include "common/upload/upload_url.h"

struct upload {
	struct upload *prev, *next; /* of the queue */
	struct upload_key key;
	char *url;
	char *body;
	size_t body_len;
	bool sending; /* set by the sender: must not be dropped */
	/* of the sender: answers of 500, and how many profiles were accepted before the last one */
	unsigned n_failures;
	uint64_t n_accepted;
	void *context; /* of the sender */
};

struct upload_queue {
	struct upload *uploads;
	size_t n_items;
	size_t n_bytes; /* of bodies */
	size_t max_items;
	size_t max_bytes;
	uint64_t n_dropped; /* ever: to make room, or because there was none */
};

/* Does not allocate. */
void upload_queue_init(struct upload_queue *q, size_t max_items, size_t max_bytes);
void upload_queue_fini(struct upload_queue *q);

/*
 * Takes the content of body in every case. Returns 0, -ENOMEM, or -EFBIG if the labels are too long
 * for a URL or there is no room, which n_dropped counts.
 */
int upload_queue_add(struct upload_queue *q, const char *endpoint,
		     const struct upload_label *labels, struct buf *body, void *context) MUST_CHECK;

/* The oldest one that is not being sent, or NULL. Borrowed until upload_queue_remove(). */
struct upload *upload_queue_next(const struct upload_queue *q);
void upload_queue_remove(struct upload_queue *q, struct upload *up);

/* Moves up behind all others. */
void upload_queue_move_back(struct upload_queue *q, struct upload *up);

#endif /* COMMON_UPLOAD_UPLOAD_QUEUE_H */
