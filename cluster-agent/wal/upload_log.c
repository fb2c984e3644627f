#include "cluster-agent/wal/upload_log.h"

#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/wal/log_state.h"
#include "cluster-agent/wal/upload_record.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/private_dir.h"
#include "common/thread/worker_thread.h"

/* ---- open and close ---- */

static void set_defaults(struct upload_log_config *cfg)
{
	if (cfg->max_bytes == 0)
		cfg->max_bytes = 1024 * MIB;
	if (cfg->segment_bytes == 0)
		cfg->segment_bytes = 16 * MIB;
	if (cfg->segment_bytes > 256 * MIB)
		cfg->segment_bytes = 256 * MIB;
	if (cfg->segment_rows == 0)
		cfg->segment_rows = 500000;
	if (cfg->max_ids == 0)
		cfg->max_ids = 1000000;
}

/* A new directory's name must be as durable as what is written below it. */
static int lock_dir(struct upload_log *l, struct err *err)
{
	uint64_t owner = 0;

	l->files.fd = private_dir_open(AT_FDCWD, l->dir, PRIVATE_DIR_CLOSE | PRIVATE_DIR_DURABLE,
				       l->dir, err);
	if (l->files.fd < 0)
		return l->files.fd;
	l->lock_fd = private_dir_lock(l->files.fd, "LOCK", l->cfg.lock_wait_ns, &owner);
	if (l->lock_fd == -EBUSY)
		return err_set(err, -EBUSY, "the log in %s is in use by process %llu", l->dir,
			       (unsigned long long)owner);
	if (l->lock_fd < 0)
		return err_set(err, l->lock_fd, "lock %s: %s", l->dir, strerror(-l->lock_fd));
	return 0;
}

static int allocate(struct upload_log **ret, const struct upload_log_config *cfg)
{
	CLEANUP(upload_log_closep) struct upload_log *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->cfg = *cfg;
	set_defaults(&l->cfg);
	l->files = (struct record_dir){
		.fd = -1,
		.kinds = log_file_kinds,
		.n_kinds = LOG_FILE_KIND_MAX,
	};
	l->lock_fd = l->file.fd = -1;
	pthread_mutex_init(&l->lock, NULL);
	condition_init(&l->work);
	condition_init(&l->ready);
	l->dir = strdup(cfg->dir);
	l->cfg.dir = l->dir;
	if (!l->dir)
		return -ENOMEM;
	*ret = TAKE_PTR(l);
	return 0;
}

int upload_log_open(struct upload_log **ret, const struct upload_log_config *cfg, struct err *err)
{
	CLEANUP(upload_log_closep) struct upload_log *l = NULL;
	int r = allocate(&l, cfg);

	if (r == 0)
		r = id_set_new(&l->durable, l->cfg.max_ids);
	if (r < 0)
		return err_set(err, r, "%s", strerror(-r));
	r = lock_dir(l, err);
	if (r == 0)
		r = log_recover(l, err);
	if (r < 0)
		return r;
	r = log_writer_start(l);
	if (r < 0)
		return err_set(err, r, "start the log's thread: %s", strerror(-r));
	*ret = TAKE_PTR(l);
	return 0;
}

void upload_log_stop(struct upload_log *l)
{
	pthread_mutex_lock(&l->lock);
	l->is_stopping = true;
	condition_broadcast(&l->work);
	pthread_mutex_unlock(&l->lock);
	if (l->thread)
		(void)worker_thread_join(l->thread, UINT64_MAX);
	l->thread = NULL;
}

void upload_log_close(struct upload_log *l)
{
	if (!l)
		return;
	upload_log_stop(l);
	if (l->current)
		log_close_current(l);
	while (l->closed) {
		struct log_segment *s = l->closed;

		l->closed = s->next;
		log_segment_free(s);
	}
	committed_ids_close(l->ids);
	id_set_free(l->durable);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	if (l->files.fd >= 0)
		close(l->files.fd);
	condition_fini(&l->work);
	condition_fini(&l->ready);
	pthread_mutex_destroy(&l->lock);
	free(l->dir);
	free(l);
}

/* ---- append ---- */

static struct log_append *find_under_way(struct upload_log *l, struct upload_id id)
{
	struct log_append *a;

	HASH_FIND(hh, l->under_way, &id, sizeof(id), a);
	return a;
}

/* Returns 0 if there is room, with the lock held. */
static int admit(struct upload_log *l, size_t size)
{
	if (l->is_stopping)
		return -EPIPE;
	if (l->n_bytes + l->n_queued_bytes + size > l->cfg.max_bytes) {
		metric_add(&l->metrics[LOG_REFUSED_FULL], 1);
		return -EAGAIN;
	}
	if (l->n_queued_bytes > 0 && l->n_queued_bytes + size > LOG_MAX_QUEUED_BYTES) {
		metric_add(&l->metrics[LOG_REFUSED_QUEUE], 1);
		return -EAGAIN;
	}
	if (l->refuse_until_ns > 0) {
		if (clock_monotonic_ns() < l->refuse_until_ns) {
			metric_add(&l->metrics[LOG_REFUSED_DISK_FULL], 1);
			return -ENOSPC;
		}
		l->refuse_until_ns = 0;
	}
	return 0;
}

enum append_outcome {
	APPEND_DURABLE = 1, /* a repetition: call done */
	APPEND_WAITS,       /* a repetition: done is called with the result of the first */
	APPEND_NEW,
};

/* Who appends, and what done is called with. */
struct request {
	struct upload_id id;
	bool is_repeat;
	upload_log_done_fn done;
	void *ctx;
};

static int add_waiter(struct log_append *a, const struct request *req)
{
	/* gcc's analyzer does not see that what is found in a table holds it */
	struct log_waiter *w = table_malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	*w = (struct log_waiter){.done = req->done, .ctx = req->ctx, .next = a->waiters};
	a->waiters = w;
	return APPEND_WAITS;
}

/* Returns an outcome or a negative errno, with the lock held. */
static int look_up(struct upload_log *l, const struct request *req, size_t size)
{
	struct log_append *a;
	int r;

	if (id_set_has(l->durable, req->id)) {
		metric_add(&l->metrics[LOG_REPETITIONS], 1);
		return APPEND_DURABLE;
	}
	a = find_under_way(l, req->id);
	if (a) {
		metric_add(&l->metrics[LOG_REPETITIONS], 1);
		return add_waiter(a, req);
	}
	r = admit(l, size);
	return r < 0 ? r : APPEND_NEW;
}

static struct log_append *new_append(const struct request *req, const struct logged_frames *frames,
				     size_t n_frames, size_t size)
{
	struct log_append *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->payload = malloc(size);
	if (!a->payload) {
		free(a);
		return NULL;
	}
	upload_record_encode(a->payload, req->id, frames, n_frames);
	if (req->is_repeat)
		upload_record_mark_repeat(a->payload);
	a->id = req->id;
	a->done = req->done;
	a->ctx = req->ctx;
	a->len = size;
	a->sum = record_sum(a->payload, size);
	for (size_t i = 0; i < n_frames; i++)
		a->n_rows += frames[i].frame.n_rows;
	a->queued_ns = clock_monotonic_ns();
	return a;
}

/* With the lock held. Takes a on success. */
static int enqueue(struct upload_log *l, struct log_append *a)
{
	HASH_ADD(hh, l->under_way, id, sizeof(a->id), a);
	if (!TABLE_ADDED(hh, a))
		return -ENOMEM;
	if (l->queue_last)
		l->queue_last->next = a;
	else
		l->queue = a;
	l->queue_last = a;
	l->n_queued_bytes += a->len;
	condition_signal(&l->work);
	return APPEND_NEW;
}

/* Takes a if it is APPEND_NEW. Another thread may have appended the same meanwhile. */
static int submit(struct upload_log *l, const struct request *req, struct log_append *a)
{
	int r;

	pthread_mutex_lock(&l->lock);
	r = look_up(l, req, a->len);
	if (r == APPEND_NEW)
		r = enqueue(l, a);
	pthread_mutex_unlock(&l->lock);
	return r;
}

static int append(struct upload_log *l, const struct request *req,
		  const struct logged_frames *frames, size_t n_frames)
{
	size_t size = upload_record_size(frames, n_frames);
	int r;

	/* an upload that can never fit must not be sent again and again */
	if (size == 0 || record_size(size) > l->cfg.max_bytes) {
		metric_add(&l->metrics[LOG_REFUSED_TOO_LARGE], 1);
		return -EFBIG;
	}
	pthread_mutex_lock(&l->lock);
	r = look_up(l, req, size);
	pthread_mutex_unlock(&l->lock);
	if (r == APPEND_NEW) {
		/* copied and summed without the lock */
		struct log_append *a = new_append(req, frames, n_frames, size);

		if (!a)
			return -ENOMEM;
		r = submit(l, req, a);
		if (r != APPEND_NEW)
			log_append_free(a);
	}
	if (r == APPEND_DURABLE)
		req->done(req->ctx, UPLOAD_LOG_REPEATED);
	return r < 0 ? r : 0;
}

int upload_log_append(struct upload_log *l, struct upload_id id, const struct logged_frames *frames,
		      size_t n_frames, upload_log_done_fn done, void *ctx)
{
	const struct request req = {.id = id, .done = done, .ctx = ctx};

	return append(l, &req, frames, n_frames);
}

int upload_log_append_repeat(struct upload_log *l, struct upload_id id,
			     const struct logged_frames *frames, size_t n_frames,
			     upload_log_done_fn done, void *ctx)
{
	const struct request req = {.id = id, .is_repeat = true, .done = done, .ctx = ctx};

	return append(l, &req, frames, n_frames);
}

bool upload_log_has(struct upload_log *l, struct upload_id id)
{
	bool has;

	pthread_mutex_lock(&l->lock);
	has = id_set_has(l->durable, id);
	pthread_mutex_unlock(&l->lock);
	return has;
}

/* ---- the reader ---- */

/* Returns false if the open segment is being written to, or there is nothing in it. */
static bool close_now(struct upload_log *l)
{
	if (l->is_writing || !l->current || l->current->n_records == 0)
		return false;
	log_close_current(l);
	/* the thread makes the next one in advance */
	condition_signal(&l->work);
	return true;
}

/* The oldest one that is not postponed. *wake_ns becomes earlier if one is due before. */
static struct log_segment *first_due(const struct upload_log *l, uint64_t *wake_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (struct log_segment *s = l->closed; s; s = s->next) {
		if (s->not_before_ns <= now_ns)
			return s;
		if (s->not_before_ns < *wake_ns)
			*wake_ns = s->not_before_ns;
	}
	return NULL;
}

/* With the lock held. */
static struct log_segment *wait_for_due(struct upload_log *l, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t wake_ns = deadline_ns;
		struct log_segment *s = first_due(l, &wake_ns);

		if (s)
			return s;
		if (close_now(l))
			continue;
		if (l->has_ended)
			return NULL;
		l->wants_close = true;
		if (!condition_wait_until(&l->ready, &l->lock, wake_ns) && wake_ns == deadline_ns)
			return first_due(l, &wake_ns);
	}
}

struct log_segment *upload_log_next(struct upload_log *l, uint64_t timeout_ns)
{
	uint64_t deadline_ns = condition_deadline_ns(timeout_ns);
	struct log_segment *s;

	pthread_mutex_lock(&l->lock);
	s = wait_for_due(l, deadline_ns);
	l->wants_close = false;
	pthread_mutex_unlock(&l->lock);
	if (s)
		log_segment_forget(s);
	return s;
}

void upload_log_postpone(struct upload_log *l, struct log_segment *s, uint64_t at_ns)
{
	log_segment_forget(s);
	pthread_mutex_lock(&l->lock);
	s->not_before_ns = at_ns;
	pthread_mutex_unlock(&l->lock);
}

static void remove_closed(struct upload_log *l, struct log_segment *s)
{
	struct log_segment **at = &l->closed;

	pthread_mutex_lock(&l->lock);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	l->n_bytes -= s->n_bytes - RECORD_FILE_HEADER_BYTES;
	pthread_mutex_unlock(&l->lock);
	log_segment_free(s);
}

int upload_log_commit(struct upload_log *l, struct log_segment *s, const bool *refused,
		      struct err *err)
{
	struct log_segment_content c;
	int r = log_segment_read(s, &c, err);

	if (r < 0)
		return r;
	if (s->n_damaged > s->n_reported)
		log_report_damage(l, s->number, s->n_damaged - s->n_reported);
	s->n_reported = s->n_damaged;
	/* if this fails, the segment comes again, and all of it is in the store */
	s->recovered = true;
	if (!s->ids_kept) {
		if (refused)
			log_keep_refused(l, s, refused);
		r = committed_ids_add(l->ids, s->number, s->id, c.ids, c.n_records);
		if (r < 0)
			return err_set(err, r, "write ids of segment %016llx: %s",
				       (unsigned long long)s->number, strerror(-r));
		s->ids_kept = true;
	}
	r = log_retire_segment(l, s->number, s->n_damaged > 0);
	if (r < 0)
		return err_set(err, r, "remove segment %016llx: %s", (unsigned long long)s->number,
			       strerror(-r));
	metric_add(&l->metrics[LOG_COMMITS], 1);
	remove_closed(l, s);
	return 0;
}

/* ---- state ---- */

/* Of what waits for the store; a segment that is postponed waits for another receiver. */
static uint64_t oldest_age_ns(const struct upload_log *l)
{
	const struct log_segment *s = l->closed;

	while (s && s->not_before_ns > 0)
		s = s->next;
	s = s ?: l->current;
	return s && s->n_records > 0 ? clock_monotonic_ns() - s->first_ns : 0;
}

static uint64_t count_records(const struct upload_log *l)
{
	uint64_t n = HASH_COUNT(l->under_way) + (l->current ? l->current->n_records : 0);

	for (const struct log_segment *s = l->closed; s; s = s->next)
		n += s->n_records;
	return n;
}

void upload_log_state(struct upload_log *l, struct upload_log_state *ret)
{
	uint64_t max_bytes = l->cfg.max_bytes;

	pthread_mutex_lock(&l->lock);
	*ret = (struct upload_log_state){
		.n_bytes = l->n_bytes,
		.n_records = count_records(l),
		.oldest_age_ns = oldest_age_ns(l),
		.max_bytes = l->cfg.max_bytes,
		.full = l->n_bytes + l->n_queued_bytes >= max_bytes - max_bytes / 16,
		.disk_full = clock_monotonic_ns() < l->refuse_until_ns,
	};
	pthread_mutex_unlock(&l->lock);
}
