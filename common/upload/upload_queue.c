#include "common/upload/upload_queue.h"

#include <errno.h>
#include <utlist.h>

static void upload_free(struct upload *up)
{
	free(up->url);
	free(up->body);
	free(up);
}
DEFINE_CLEANUP(struct upload *, upload_free);

void upload_queue_init(struct upload_queue *q, size_t max_items, size_t max_bytes)
{
	*q = (struct upload_queue){.max_items = max_items, .max_bytes = max_bytes};
}

void upload_queue_fini(struct upload_queue *q)
{
	while (q->uploads)
		upload_queue_remove(q, q->uploads);
}

struct upload *upload_queue_next(const struct upload_queue *q)
{
	struct upload *up;

	DL_FOREACH (q->uploads, up) {
		if (!up->sending)
			return up;
	}
	return NULL;
}

void upload_queue_remove(struct upload_queue *q, struct upload *up)
{
	DL_DELETE(q->uploads, up);
	q->n_items--;
	q->n_bytes -= up->body_len;
	upload_free(up);
}

void upload_queue_move_back(struct upload_queue *q, struct upload *up)
{
	DL_DELETE(q->uploads, up);
	DL_APPEND(q->uploads, up);
}

/* Returns false if the uploads being sent leave no room by themselves. */
static bool make_room(struct upload_queue *q, size_t len)
{
	if (len > q->max_bytes)
		return false;
	while (q->n_items >= q->max_items || len > q->max_bytes - q->n_bytes) {
		struct upload *oldest = upload_queue_next(q);

		if (!oldest)
			return false;
		upload_queue_remove(q, oldest);
		q->n_dropped++;
	}
	return true;
}

int upload_queue_add(struct upload_queue *q, const char *endpoint,
		     const struct upload_label *labels, struct buf *body, void *context)
{
	CLEANUP(upload_freep) struct upload *up = calloc(1, sizeof(*up));
	int r = -ENOMEM;

	if (up)
		r = upload_url_make(&up->url, endpoint, labels);
	if (r == 0 && !make_room(q, body->len)) {
		q->n_dropped++;
		r = -EFBIG;
	}
	if (r < 0) {
		buf_fini(body);
		return r;
	}
	upload_key_make(&up->key);
	up->body = buf_take(body, &up->body_len);
	up->context = context;
	q->n_items++;
	q->n_bytes += up->body_len;
	DL_APPEND(q->uploads, up);
	(void)TAKE_PTR(up);
	return 0;
}
