#include "common/upload/upload_queue.h"

#include <errno.h>
#include <utlist.h>

#include "common/system/clock.h"

void upload_queue_init(struct upload_queue *q, size_t max_items, size_t max_bytes)
{
	*q = (struct upload_queue){.max_items = max_items, .max_bytes = max_bytes};
}

void upload_queue_fini(struct upload_queue *q)
{
	while (q->uploads)
		upload_queue_remove(q, q->uploads);
}

static bool may_be_sent(const struct upload *up)
{
	return !up->sending && !up->is_finished;
}

struct upload *upload_queue_next(const struct upload_queue *q, uint64_t now_ns)
{
	struct upload *up, *best = NULL;

	DL_FOREACH (q->uploads, up) {
		if (!may_be_sent(up) || up->not_before_ns > now_ns)
			continue;
		if (!best || up->n_attempts < best->n_attempts)
			best = up;
		if (best->n_attempts == 0)
			break;
	}
	return best;
}

uint64_t upload_queue_next_due_ns(const struct upload_queue *q)
{
	uint64_t due_ns = UINT64_MAX;
	struct upload *up;

	DL_FOREACH (q->uploads, up) {
		if (may_be_sent(up) && up->not_before_ns < due_ns)
			due_ns = up->not_before_ns;
	}
	return due_ns;
}

void upload_queue_remove(struct upload_queue *q, struct upload *up)
{
	DL_DELETE(q->uploads, up);
	q->n_items--;
	q->n_bytes -= upload_item_bytes(up->item);
	upload_item_unref(up->item);
	free(up->sent);
	free(up);
}

static struct upload *oldest_idle(const struct upload_queue *q)
{
	struct upload *up;

	DL_FOREACH (q->uploads, up) {
		if (!up->sending && !up->storing)
			return up;
	}
	return NULL;
}

/* Returns false if the uploads being sent or stored leave no room by themselves. */
static bool make_room(struct upload_queue *q, size_t len)
{
	if (len > q->max_bytes)
		return false;
	while (q->n_items >= q->max_items || len > q->max_bytes - q->n_bytes) {
		struct upload *oldest = oldest_idle(q);

		if (!oldest)
			return false;
		upload_queue_remove(q, oldest);
		q->n_dropped++;
	}
	return true;
}

int upload_queue_add(struct upload_queue *q, struct upload_item *item, struct upload **ret,
		     void *context)
{
	struct upload *up = calloc(1, sizeof(*up));

	if (!up)
		return -ENOMEM;
	if (!make_room(q, upload_item_bytes(item))) {
		q->n_dropped++;
		free(up);
		return -EFBIG;
	}
	up->item = upload_item_ref(item);
	up->queued_ns = clock_monotonic_ns();
	up->context = context;
	q->n_items++;
	q->n_bytes += upload_item_bytes(item);
	DL_APPEND(q->uploads, up);
	if (ret)
		*ret = up;
	return 0;
}
