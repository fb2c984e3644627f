/*
 * Two lists of jobs under one lock: what the loop asks for, and what the thread has done. A job
 * becomes its own result, so an answer never needs memory.
 *
 * The thread may wait for its disk without end. At the stop it is abandoned with the lists and the
 * files (struct link), which it frees if it ever returns; until then it holds the lock of the
 * directory, so that no other process writes to files that it may still write to.
 */
#include "common/upload/upload_spool.h"

#include <errno.h>
#include <utlist.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/thread/condition.h"
#include "common/thread/worker_thread.h"

#define RETRY_NS (60 * NS_PER_S)
#define WATCH_NS (10 * NS_PER_S)
#define HANGS_AFTER 3u /* times WATCH_NS without progress */

enum job_kind {
	JOB_PUT,
	JOB_LOAD,
	JOB_LOADED, /* a result only */
	JOB_RELEASE,
	JOB_FINISH,
	JOB_NOTE, /* a note to be written; as a result with text, one that was read */
};

struct job {
	struct job *prev, *next;
	enum job_kind kind;
	struct upload_item *item;
	char *text; /* a note */
	void *tag;
	struct spool_place place;
	unsigned n;
	size_t max_bytes;
	int result;
};

/* Shared with the thread. */
struct link {
	pthread_mutex_t lock;
	struct condition changed; /* jobs, n_done or is_ending */
	struct job *jobs;         /* oldest first, as results */
	struct job *results;
	struct loop_source *wake; /* NULL: nobody listens any more */
	bool is_ending;           /* once there are no more jobs */
	uint64_t n_asked, n_done; /* jobs */
	struct spool_state state;

	/* the thread's own */
	struct spool_files *files; /* NULL: not usable */
	uint64_t max_bytes;
	uint64_t segment_bytes;
	uint64_t retry_ns;
	char *dir;
	char *endpoint;
	bool has_failed; /* to open, which was logged */
};

struct upload_spool {
	struct upload_spool_config cfg;
	struct link *link;
	struct worker_thread *thread;
	struct loop_source *wake;
	struct loop_source *watch;
	const struct job *note; /* is being written; NULL: none */
	uint64_t n_done;        /* when it was last watched */
	unsigned n_still;
};

static void job_free(struct job *j)
{
	upload_item_unref(j->item);
	free(j->text);
	free(j);
}

static void free_jobs(struct job **list)
{
	struct job *j, *next;

	DL_FOREACH_SAFE(*list, j, next)
	{
		DL_DELETE(*list, j);
		job_free(j);
	}
}

static void link_free(void *ctx, bool abandoned)
{
	struct link *l = ctx;

	(void)abandoned;
	spool_files_close(l->files);
	free_jobs(&l->jobs);
	free_jobs(&l->results);
	condition_fini(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l->dir);
	free(l->endpoint);
	free(l);
}

/* ---- the thread ---- */

static void try_open(struct link *l)
{
	const struct spool_files_config cfg = {
		.dir = l->dir,
		.max_bytes = l->max_bytes,
		.segment_bytes = l->segment_bytes,
	};
	struct spool_state state;
	struct err err = {""};

	if (spool_files_open(&l->files, &cfg, &err) < 0) {
		if (!l->has_failed)
			log_warn(
				"cannot use the spool; profiles wait in memory only until it works",
				"wal_dir=%s error=%s", LOG_QUOTED(l->dir), LOG_QUOTED(err.msg));
		l->has_failed = true;
		return;
	}
	spool_files_state(l->files, &state);
	log_info("opened the spool", "wal_dir=%s profiles=%llu bytes=%llu damaged=%llu",
		 LOG_QUOTED(l->dir), (unsigned long long)state.n_profiles,
		 (unsigned long long)state.n_bytes, (unsigned long long)state.n_dropped_damaged);
	l->has_failed = false;
	if (state.n_left_alone > 0)
		log_warn("cannot read files of the spool, of a later version or a faulty disk; "
			 "leaving them for a later start",
			 "wal_dir=%s files=%llu", LOG_QUOTED(l->dir),
			 (unsigned long long)state.n_left_alone);
}

/* Makes what the thread has done visible, and wakes the loop. */
static void publish(struct link *l, struct job *done, bool is_job)
{
	struct spool_state state = {0};

	if (l->files)
		spool_files_state(l->files, &state);
	pthread_mutex_lock(&l->lock);
	if (done)
		DL_APPEND(l->results, done);
	l->n_done += is_job;
	l->state = state;
	condition_broadcast(&l->changed);
	if (l->wake)
		loop_wake(l->wake);
	pthread_mutex_unlock(&l->lock);
}

/* Without memory there is no note. */
static void read_note(struct link *l)
{
	char text[SPOOL_NOTE_MAX_BYTES];
	struct job *j;

	if (spool_files_read_note(l->files, l->endpoint, text) < 0)
		return;
	j = calloc(1, sizeof(*j));
	if (!j)
		return;
	j->kind = JOB_NOTE;
	j->text = strdup(text);
	publish(l, j, false);
}

static void write_note(struct link *l, struct job *j)
{
	j->result = spool_files_write_note(l->files, l->endpoint, j->text);
	free(j->text);
	j->text = NULL;
}

static int load_one(struct link *l, size_t *ret_bytes)
{
	struct job *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->kind = JOB_LOADED;
	r = spool_files_take(l->files, &j->item, &j->place);
	if (r < 0) {
		free(j);
		return r;
	}
	*ret_bytes += upload_item_bytes(j->item);
	publish(l, j, false);
	return 0;
}

static int load(struct link *l, const struct job *j)
{
	size_t n_bytes = 0;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < j->n && (i == 0 || n_bytes < j->max_bytes); i++)
		r = load_one(l, &n_bytes);
	return r == -ENODATA ? 0 : r;
}

static void run_job(struct link *l, struct job *j)
{
	j->result = l->files ? 0 : -ENODEV;
	if (l->files && j->kind == JOB_PUT)
		j->result = spool_files_put(l->files, j->item, &j->place);
	else if (l->files && j->kind == JOB_LOAD)
		j->result = load(l, j);
	else if (l->files && j->kind == JOB_RELEASE)
		spool_files_release(l->files, &j->place);
	else if (l->files && j->kind == JOB_FINISH)
		spool_files_finish(l->files, &j->place);
	else if (l->files && j->kind == JOB_NOTE)
		write_note(l, j);
	publish(l, j, true);
}

/* Waits for a job. NULL: it is time to open the directory, or to end. */
static struct job *next_job(struct link *l, uint64_t deadline_ns, bool *ret_end)
{
	struct job *j;
	bool in_time = true;

	pthread_mutex_lock(&l->lock);
	while (!l->jobs && !l->is_ending && in_time)
		in_time = condition_wait_until(&l->changed, &l->lock, deadline_ns);
	j = l->jobs;
	if (j)
		DL_DELETE(l->jobs, j);
	*ret_end = !j && l->is_ending;
	pthread_mutex_unlock(&l->lock);
	return j;
}

static void run(void *ctx, struct worker_thread *t)
{
	struct link *l = ctx;
	uint64_t open_ns = 0; /* the next attempt */
	bool is_ending = false;

	while (!is_ending && !worker_thread_is_abandoned(t)) {
		struct job *j;

		if (!l->files && clock_monotonic_ns() >= open_ns) {
			try_open(l);
			if (l->files)
				read_note(l);
			publish(l, NULL, false);
			open_ns = clock_monotonic_ns() + l->retry_ns;
		}
		j = next_job(l, l->files ? UINT64_MAX : open_ns, &is_ending);
		if (j)
			run_job(l, j);
	}
}

/* ---- results, on the loop thread ---- */

static void report_note(struct upload_spool *s, const struct job *j)
{
	if (j == s->note)
		s->note = NULL;
	else if (j->text)
		s->cfg.on_note(s->cfg.ctx, j->text);
}

static void report(struct upload_spool *s, struct job *j)
{
	const struct upload_spool_config *cfg = &s->cfg;

	if (j->kind == JOB_PUT)
		cfg->on_stored(cfg->ctx, j->tag, j->result, &j->place);
	else if (j->kind == JOB_LOADED)
		cfg->on_loaded(cfg->ctx, TAKE_PTR(j->item), &j->place);
	else if (j->kind == JOB_LOAD)
		cfg->on_load_end(cfg->ctx, j->result);
	else if (j->kind == JOB_NOTE)
		report_note(s, j);
	job_free(j);
}

static void on_wake(void *ctx)
{
	struct upload_spool *s = ctx;
	struct spool_state state;
	struct job *results, *j, *next;

	pthread_mutex_lock(&s->link->lock);
	results = s->link->results;
	s->link->results = NULL;
	state = s->link->state;
	pthread_mutex_unlock(&s->link->lock);
	s->cfg.on_state(s->cfg.ctx, &state);
	DL_FOREACH_SAFE(results, j, next)
	{
		DL_DELETE(results, j);
		report(s, j);
	}
}

static void on_watch(void *ctx)
{
	struct upload_spool *s = ctx;
	bool is_busy, has_moved;

	pthread_mutex_lock(&s->link->lock);
	has_moved = s->link->n_done != s->n_done;
	s->n_done = s->link->n_done;
	is_busy = s->link->n_done < s->link->n_asked;
	pthread_mutex_unlock(&s->link->lock);
	s->n_still = is_busy && !has_moved ? s->n_still + 1 : 0;
	if (s->n_still == HANGS_AFTER)
		log_warn("the disk of the spool does not answer; profiles wait in memory",
			 "wal_dir=%s", LOG_QUOTED(s->cfg.files.dir));
	loop_set_timer(s->watch, WATCH_NS);
}

bool upload_spool_hangs(const struct upload_spool *s)
{
	return s->n_still >= HANGS_AFTER;
}

/* ---- what the loop asks for ---- */

static void add_job(struct upload_spool *s, struct job *j)
{
	pthread_mutex_lock(&s->link->lock);
	DL_APPEND(s->link->jobs, j);
	s->link->n_asked++;
	condition_broadcast(&s->link->changed);
	pthread_mutex_unlock(&s->link->lock);
}

static int ask(struct upload_spool *s, const struct job *what)
{
	struct job *j = malloc(sizeof(*j));

	if (!j)
		return -ENOMEM;
	*j = *what;
	add_job(s, j);
	return 0;
}

int upload_spool_put(struct upload_spool *s, struct upload_item *item, void *tag)
{
	const struct job j = {.kind = JOB_PUT, .item = upload_item_ref(item), .tag = tag};
	int r = ask(s, &j);

	if (r < 0)
		upload_item_unref(item);
	return r;
}

int upload_spool_load(struct upload_spool *s, unsigned n, size_t max_bytes)
{
	return ask(s, &(struct job){.kind = JOB_LOAD, .n = n, .max_bytes = max_bytes});
}

void upload_spool_release(struct upload_spool *s, const struct spool_place *p)
{
	(void)ask(s, &(struct job){.kind = JOB_RELEASE, .place = *p});
}

void upload_spool_finish(struct upload_spool *s, const struct spool_place *p)
{
	(void)ask(s, &(struct job){.kind = JOB_FINISH, .place = *p});
}

void upload_spool_write_note(struct upload_spool *s, const char *text)
{
	struct job *j;

	if (s->note)
		return;
	j = calloc(1, sizeof(*j));
	if (!j)
		return;
	j->kind = JOB_NOTE;
	j->text = strdup(text);
	if (!j->text) {
		free(j);
		return;
	}
	s->note = j;
	add_job(s, j);
}

/* ---- create and destroy ---- */

static struct link *link_new(const struct upload_spool_config *cfg)
{
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	pthread_mutex_init(&l->lock, NULL);
	condition_init(&l->changed);
	l->max_bytes = cfg->files.max_bytes;
	l->segment_bytes = cfg->files.segment_bytes;
	l->retry_ns = cfg->retry_ns ? cfg->retry_ns : RETRY_NS;
	l->dir = strdup(cfg->files.dir);
	l->endpoint = strdup(cfg->endpoint);
	if (l->dir && l->endpoint)
		return l;
	link_free(l, false);
	return NULL;
}

static int start_thread(struct upload_spool *s)
{
	const struct worker_thread_config thread = {
		.name = "upload-spool",
		.run = run,
		.free = link_free,
		.ctx = s->link,
		.nice = WORKER_THREAD_NICE_BACKGROUND,
	};
	int r = loop_add_wake(s->cfg.loop, on_wake, s, &s->wake);

	if (r == 0)
		r = loop_add_timer(s->cfg.loop, on_watch, s, &s->watch);
	s->link->wake = s->wake;
	return r == 0 ? worker_thread_start(&s->thread, &thread) : r;
}

int upload_spool_new(struct upload_spool **ret, const struct upload_spool_config *cfg)
{
	struct upload_spool *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	s->link = link_new(cfg);
	if (!s->link) {
		free(s);
		return -ENOMEM;
	}
	s->cfg.files.dir = s->link->dir;
	s->cfg.endpoint = s->link->endpoint;
	r = start_thread(s);
	if (r < 0) {
		loop_remove(s->wake);
		loop_remove(s->watch);
		link_free(s->link, false);
		free(s);
		return r;
	}
	loop_set_timer(s->watch, WATCH_NS);
	*ret = s;
	return 0;
}

/* Returns whether everything that was asked for is done. */
static bool wait_for_jobs(struct link *l, uint64_t deadline_ns)
{
	bool in_time = true, is_done;

	pthread_mutex_lock(&l->lock);
	while (l->n_done < l->n_asked && in_time)
		in_time = condition_wait_until(&l->changed, &l->lock, deadline_ns);
	is_done = l->n_done == l->n_asked;
	pthread_mutex_unlock(&l->lock);
	return is_done;
}

static void end_thread(struct upload_spool *s, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	pthread_mutex_lock(&s->link->lock);
	s->link->is_ending = true;
	s->link->wake = NULL;
	condition_broadcast(&s->link->changed);
	pthread_mutex_unlock(&s->link->lock);
	if (worker_thread_join(s->thread, deadline_ns > now_ns ? deadline_ns - now_ns : 0) < 0)
		(void)worker_thread_abandon(s->thread);
}

void upload_spool_free(struct upload_spool *s, uint64_t timeout_ns)
{
	uint64_t deadline_ns = condition_deadline_ns(timeout_ns);
	bool in_time = true;

	if (!s)
		return;
	/* a result may lead to another job */
	while (in_time && s->link->n_asked > 0) {
		uint64_t n_asked = s->link->n_asked;

		in_time = wait_for_jobs(s->link, deadline_ns);
		on_wake(s);
		if (s->link->n_asked == n_asked)
			break;
	}
	end_thread(s, deadline_ns);
	loop_remove(s->wake);
	loop_remove(s->watch);
	free(s);
}
