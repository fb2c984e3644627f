/*
 * The thread that writes the log. It takes everything that waits, writes it with few calls, syncs
 * once, and answers. While it waits for the disk the next uploads accumulate, so batches grow with
 * the load by themselves, and a lone upload does not wait for company.
 *
 * What was synced successfully is durable. After a failed write or sync the segment is cut back to
 * there. A failed fdatasync(2) says in addition that the kernel may have dropped pages, and that a
 * later one may succeed without them; so that segment is closed and another one begun.
 */
#include <errno.h>

#include "cluster-agent/wal/log_state.h"
#include "cluster-agent/wal/upload_record.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/worker_thread.h"

/* Records of one append to the file. */
#define PIECE 64u

/* ---- segments ---- */

static void add_closed(struct upload_log *l, struct log_segment *s)
{
	struct log_segment **end = &l->closed;

	while (*end)
		end = &(*end)->next;
	s->next = NULL;
	*end = s;
}

void log_close_current(struct upload_log *l)
{
	struct log_segment *s = TAKE_PTR(l->current);

	l->wants_close = false;
	record_file_close(&l->file);
	if (s->n_records > 0) {
		add_closed(l, s);
		condition_broadcast(&l->ready);
		return;
	}
	(void)!record_dir_remove(&l->files, s->number, LOG_FILE_SEGMENT);
	log_segment_free(s);
}

static int begin_segment(struct upload_log *l)
{
	CLEANUP(log_segment_freep) struct log_segment *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->dir = &l->files;
	s->number = atomic_fetch_add(&l->last_number, 1) + 1;
	r = record_dir_create(&l->file, &l->files, s->number, LOG_FILE_SEGMENT);
	if (r < 0)
		return r;
	memcpy(s->id, l->file.header.id, sizeof(s->id));
	s->n_bytes = l->file.end;
	pthread_mutex_lock(&l->lock);
	l->current = TAKE_PTR(s);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* ---- batches ---- */

struct batch {
	struct log_append *first;
	struct log_append *end; /* one past the last */
	size_t n;
	uint64_t n_bytes; /* in the file */
	uint64_t n_rows;
};

/* As many as the segment takes, at least one if it is empty. */
static struct batch next_batch(const struct upload_log *l, struct log_append *list)
{
	struct batch b = {.first = list, .end = list};
	uint64_t n_bytes = l->current->n_bytes, n_rows = l->current->n_rows;

	for (; b.end; b.end = b.end->next) {
		uint64_t size = record_size(b.end->len);

		if ((b.n > 0 || l->current->n_records > 0) &&
		    (n_bytes + b.n_bytes + size > l->cfg.segment_bytes ||
		     n_rows + b.n_rows + b.end->n_rows > l->cfg.segment_rows))
			break;
		b.n++;
		b.n_bytes += size;
		b.n_rows += b.end->n_rows;
	}
	return b;
}

static int write_batch(struct upload_log *l, const struct batch *b)
{
	const struct log_append *a = b->first;

	while (a != b->end) {
		struct record_data records[PIECE];
		size_t n = 0;
		int r;

		for (; n < PIECE && a != b->end; a = a->next) {
			records[n++] = (struct record_data){
				.kind = UPLOAD_RECORD_KIND,
				.len = (uint32_t)a->len,
				.payload = a->payload,
				.sum = a->sum,
			};
		}
		r = record_file_append(&l->file, records, n);
		if (r < 0)
			return r;
	}
	return 0;
}

static int sync_file(struct upload_log *l)
{
	uint64_t start_ns = clock_monotonic_ns();
	int r = record_file_sync(&l->file);

	metric_add(&l->metrics[LOG_SYNCS], 1);
	metric_add(&l->metrics[LOG_SYNC_NS], clock_monotonic_ns() - start_ns);
	return r;
}

/* Leaves nothing of a failed batch in the segment, or closes it. */
static void undo_batch(struct upload_log *l, bool is_sync_failed)
{
	bool is_cut = record_file_cut(&l->file, l->current->n_bytes) == 0;

	if (is_cut && !is_sync_failed && !l->file.is_closed)
		return;
	(void)!record_file_sync(&l->file);
	pthread_mutex_lock(&l->lock);
	log_close_current(l);
	pthread_mutex_unlock(&l->lock);
}

/* ---- answers ---- */

void log_append_free(struct log_append *a)
{
	while (a->waiters) {
		struct log_waiter *w = a->waiters;

		a->waiters = w->next;
		table_free(w);
	}
	free(a->payload);
	free(a);
}

/* Counts before it answers, so that a sender that is answered finds itself counted. */
static void answer(struct upload_log *l, struct log_append *first, const struct log_append *end,
		   int result)
{
	enum log_metric failed = result == -ENOSPC ? LOG_FAILED_SPACE : LOG_FAILED_IO;

	while (first != end) {
		struct log_append *a = first;

		first = a->next;
		if (result < 0)
			metric_add(&l->metrics[failed], 1);
		a->done(a->ctx, result);
		for (const struct log_waiter *w = a->waiters; w; w = w->next)
			w->done(w->ctx, result < 0 ? result : UPLOAD_LOG_REPEATED);
		log_append_free(a);
	}
}

/* From here on a repetition finds the id among the durable ones, or appends again. */
static void settle(struct upload_log *l, const struct batch *b, int result)
{
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&l->lock);
	for (struct log_append *a = b->first; a != b->end; a = a->next) {
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a is in the table */
		HASH_DEL(l->under_way, a);
		l->n_queued_bytes -= a->len;
		if (result == 0)
			(void)id_set_add(l->durable, a->id);
	}
	if (result == 0) {
		if (l->current->n_records == 0)
			l->current->first_ns = b->first->queued_ns;
		l->current->n_records += (uint32_t)b->n;
		l->current->n_rows += b->n_rows;
		l->current->n_bytes = l->file.end;
		l->n_bytes += b->n_bytes;
	} else if (result == -ENOSPC) {
		l->refuse_until_ns = now_ns + LOG_FULL_PAUSE_NS;
	}
	pthread_mutex_unlock(&l->lock);
	if (result == 0) {
		metric_add(&l->metrics[LOG_APPENDS], b->n);
		metric_add(&l->metrics[LOG_APPENDED_BYTES], b->n_bytes);
	}
	answer(l, b->first, b->end, result);
}

static int no_space_or_io(int r)
{
	return r == -ENOSPC || r == -EDQUOT ? -ENOSPC : -EIO;
}

static void fail_all(struct upload_log *l, struct log_append *list, int r, const char *what)
{
	const struct batch b = {.first = list};

	log_warn_limited("cannot write the log of uploads; senders will retry",
			 "dir=%s failed=%s error=%s", LOG_QUOTED(l->dir), LOG_QUOTED(what),
			 LOG_QUOTED(strerror(-r)));
	settle(l, &b, no_space_or_io(r));
}

static void write_list(struct upload_log *l, struct log_append *list)
{
	while (list) {
		struct batch b;
		int r = l->current ? 0 : begin_segment(l);

		if (r < 0) {
			fail_all(l, list, r, "new segment");
			return;
		}
		b = next_batch(l, list);
		if (b.n == 0) {
			pthread_mutex_lock(&l->lock);
			log_close_current(l);
			pthread_mutex_unlock(&l->lock);
			continue;
		}
		r = write_batch(l, &b);
		if (r < 0) {
			undo_batch(l, false);
			fail_all(l, list, r, "write");
			return;
		}
		r = sync_file(l);
		if (r < 0) {
			undo_batch(l, true);
			fail_all(l, list, r, "sync");
			return;
		}
		list = b.end;
		settle(l, &b, 0);
	}
}

/* ---- the thread ---- */

static void close_if_due(struct upload_log *l)
{
	const struct log_segment *s = l->current;

	if (!s || s->n_records == 0)
		return;
	if (l->wants_close || s->n_bytes >= l->cfg.segment_bytes ||
	    s->n_rows >= l->cfg.segment_rows)
		log_close_current(l);
}

/* Called with the lock; releases it while it works. */
static void work_once(struct upload_log *l)
{
	struct log_append *list = TAKE_PTR(l->queue);

	l->queue_last = NULL;
	l->is_writing = true;
	pthread_mutex_unlock(&l->lock);
	if (list)
		write_list(l, list);
	else if (!l->current)
		/* made in advance, so that the next upload does not wait for it */
		(void)!begin_segment(l);
	pthread_mutex_lock(&l->lock);
	l->is_writing = false;
	close_if_due(l);
}

static void run(void *ctx, struct worker_thread *t)
{
	struct upload_log *l = ctx;
	bool tried = false;

	(void)t;
	pthread_mutex_lock(&l->lock);
	while (l->queue || !l->is_stopping) {
		close_if_due(l);
		if (l->queue || (!l->current && !tried && !l->is_stopping)) {
			tried = !l->queue;
			work_once(l);
			continue;
		}
		if (l->current)
			tried = false;
		condition_wait_until(&l->work, &l->lock, UINT64_MAX);
	}
	l->has_ended = true;
	condition_broadcast(&l->ready);
	pthread_mutex_unlock(&l->lock);
}

int log_writer_start(struct upload_log *l)
{
	const struct worker_thread_config cfg = {.name = "upload-log", .run = run, .ctx = l};

	return worker_thread_start(&l->thread, &cfg);
}
