/*
 * Profiles in memory that wait for their receiver, oldest first, bounded in number and bytes. Pure.
 *
 * At a bound, the oldest profile that is neither being sent nor being stored is dropped to make
 * room.
 */
#ifndef COMMON_UPLOAD_UPLOAD_QUEUE_H
#define COMMON_UPLOAD_UPLOAD_QUEUE_H

#include "common/base.h"
#include "common/upload/spool_files.h"
#include "common/upload/upload_item.h"

/* Everything below item is the sender's. */
struct upload {
	struct upload *prev, *next; /* of the queue */
	struct upload_item *item;
	/* while one of the two is true, it must not be dropped */
	bool sending;
	bool storing;      /* on its way to the disk */
	bool is_finished;  /* no longer to be sent; waits for the end of storing */
	bool cannot_store; /* it is larger than the spool */
	bool is_backlog;   /* it came from the disk */
	bool is_corrected; /* the last attempt sent another time than that of our clock */
	bool is_stored;    /* at this place: */
	struct spool_place place;
	unsigned key_no;        /* of the last attempt: sent_key.h */
	bool was_in_doubt;      /* item->is_in_doubt before the last attempt */
	unsigned n_attempts;    /* that failed */
	uint64_t not_before_ns; /* monotonic: the next attempt */
	uint64_t queued_ns;     /* monotonic */
	/* answers of 500 that count, and the state of the uploader at the last of these */
	unsigned n_faults;
	uint64_t fault_ns;
	uint64_t n_accepted;
	uint64_t sent_ns; /* since boot: the last attempt */
	char *sent;       /* what is being sent instead of the item's body; owned */
	void *context;
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
 * Takes a reference of its own to item. Returns 0, -ENOMEM, or -EFBIG if there is no room, which
 * n_dropped counts. ret may be NULL.
 */
int upload_queue_add(struct upload_queue *q, struct upload_item *item, struct upload **ret,
		     void *context) MUST_CHECK;

/*
 * Of those that may be sent and are due at now_ns (UINT64_MAX: all), the one with the fewest
 * failed attempts, and of these the oldest; NULL if there is none. Borrowed until
 * upload_queue_remove().
 */
struct upload *upload_queue_next(const struct upload_queue *q, uint64_t now_ns);
/* The earliest not_before_ns of those that may be sent; UINT64_MAX if there is none. */
uint64_t upload_queue_next_due_ns(const struct upload_queue *q);

void upload_queue_remove(struct upload_queue *q, struct upload *up);

#endif /* COMMON_UPLOAD_UPLOAD_QUEUE_H */
