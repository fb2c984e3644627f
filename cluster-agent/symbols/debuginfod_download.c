/*
 * A download goes through phases: the debug file from one server after the other, then the program
 * where frames are offsets, then the reader. It ends with a table in the store, with a reason that
 * is remembered, or by being put back for later.
 *
 * Failures are of two kinds. A server that does not answer, or answers with an error, is left alone
 * for all builds; the build waits for it, and for longer if it alone fails, so that one bad file
 * does not keep others from being asked for. A file of no use is the build's: another server may
 * have a good one, else it is settled.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster-agent/symbols/debuginfod_state.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"

#define TRIES_MAX 6u
#define RETRY_AFTER_MAX_NS (3600 * NS_PER_S)
#define ABSENT_NS (6 * 3600 * NS_PER_S)
#define FAILED_NS (3600 * NS_PER_S)
#define SAVE_AFTER_NS (10 * NS_PER_S)

static void next_server(struct debuginfod_download *l);

/* ---- ends ---- */

static void close_files(struct debuginfod_download *l)
{
	closep(&l->symbols);
	closep(&l->program);
	closep(&l->table);
	l->symbols = l->program = l->table = -1;
}

void debuginfod_cancel(struct debuginfod_download *l)
{
	debuginfod_receive_cancel(TAKE_PTR(l->receive));
	close_files(l);
	l->phase = DOWNLOAD_NONE;
}

void debuginfod_show(struct debuginfod *d)
{
	struct asked_counts n = asked_builds_counts(d->asked);

	metric_set(&d->metrics[DEBUGINFOD_WAITING], n.n_waiting + n.n_asking);
	metric_set(&d->metrics[DEBUGINFOD_REMEMBERED], n.n_settled);
	metric_set(&d->metrics[DEBUGINFOD_FORGOTTEN], n.n_forgotten);
}

static void end(struct debuginfod_download *l)
{
	struct debuginfod *d = l->d;

	close_files(l);
	l->phase = DOWNLOAD_NONE;
	debuginfod_show(d);
	condition_broadcast(&d->changed);
	loop_set_timer(d->timer, 0); /* from here, this would recurse */
}

/* With the lock. */
static void save_soon(struct debuginfod *d)
{
	if (!d->is_dirty)
		loop_set_timer(d->save_timer, SAVE_AFTER_NS);
	d->is_dirty = true;
}

static void settle(struct debuginfod_download *l, enum asked_reason reason, uint64_t for_ns)
{
	struct debuginfod *d = l->d;
	char id[BUILD_KEY_TEXT_BYTES];

	metric_add(&d->metrics[DEBUGINFOD_SETTLED + reason], 1);
	build_key_text(&l->build->key, id);
	log_debug("no symbols of a build", "build=%s reason=%s", id, asked_reason_names[reason]);
	pthread_mutex_lock(&d->lock);
	asked_builds_settle(d->asked, l->build, reason, clock_realtime_ns() + for_ns);
	save_soon(d);
	end(l);
	pthread_mutex_unlock(&d->lock);
}

/* Tries the build again at until_ns and a while that grows, or settles it after some tries. */
static void retry(struct debuginfod_download *l, uint64_t until_ns, enum asked_reason reason)
{
	struct debuginfod *d = l->d;
	uint64_t pause_ns = d->cfg.retry_min_ns << l->build->tries;

	if (++l->build->tries >= TRIES_MAX) {
		settle(l, reason, FAILED_NS);
		return;
	}
	pthread_mutex_lock(&d->lock);
	asked_builds_retry(d->asked, l->build, until_ns + pause_ns);
	end(l);
	pthread_mutex_unlock(&d->lock);
}

static void postpone(struct debuginfod_download *l, uint64_t until_ns)
{
	struct debuginfod *d = l->d;

	pthread_mutex_lock(&d->lock);
	asked_builds_retry(d->asked, l->build, until_ns);
	end(l);
	pthread_mutex_unlock(&d->lock);
}

/* What a server sent is of no use; another one may have better. */
static void reject(struct debuginfod_download *l, enum asked_reason reason)
{
	l->is_bad = true;
	l->bad = reason;
	l->build->absent_at |= 1u << l->server;
	next_server(l);
}

/* ---- servers ---- */

/* When any server may be asked, for those who wait. */
static void update_up(struct debuginfod *d)
{
	uint64_t up_ns = UINT64_MAX;

	for (size_t i = 0; i < d->urls.n; i++)
		if (d->servers[i].up_ns < up_ns)
			up_ns = d->servers[i].up_ns;
	d->up_ns = up_ns;
}

static void server_answers(struct debuginfod_download *l)
{
	struct debuginfod_server *s = &l->d->servers[l->server];

	backoff_reset(&s->backoff);
	if (!s->problem[0])
		return;
	log_info("a debuginfod server answers again", "url=%s", LOG_QUOTED(s->shown));
	pthread_mutex_lock(&l->d->lock);
	s->problem[0] = '\0';
	pthread_mutex_unlock(&l->d->lock);
}

static void server_failed(struct debuginfod_download *l, const char *problem, uint64_t after_ns)
{
	struct debuginfod *d = l->d;
	struct debuginfod_server *s = &d->servers[l->server];
	uint64_t pause_ns = backoff_next_ns(&s->backoff);

	if (after_ns > RETRY_AFTER_MAX_NS)
		after_ns = RETRY_AFTER_MAX_NS;
	if (after_ns > pause_ns)
		pause_ns = after_ns;
	metric_add(&d->metrics[DEBUGINFOD_FAILED], 1);
	log_warn_limited("a debuginfod server fails; asking it again later",
			 "url=%s error=%s pause=%llus", LOG_QUOTED(s->shown), LOG_QUOTED(problem),
			 (unsigned long long)(pause_ns / NS_PER_S));
	pthread_mutex_lock(&d->lock);
	snprintf(s->problem, sizeof(s->problem), "%s", problem);
	s->up_ns = clock_realtime_ns() + pause_ns;
	update_up(d);
	pthread_mutex_unlock(&d->lock);
	l->failed_at |= 1u << l->server;
	next_server(l);
}

/* ---- receiving a file ---- */

static int new_file(const struct debuginfod *d)
{
	const char *name = "download.tmp";
	int fd = openat(d->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd < 0 ? -errno : fd;
	fd = openat(d->dir_fd, name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && errno != EEXIST)
		return -errno;
	(void)unlinkat(d->dir_fd, name, 0);
	return fd < 0 ? -EAGAIN : fd;
}

static int *file_of(struct debuginfod_download *l)
{
	return l->phase == DOWNLOAD_PROGRAM ? &l->program : &l->symbols;
}

static void on_bytes(void *ctx, size_t n)
{
	struct debuginfod_download *l = ctx;

	metric_add(&l->d->metrics[DEBUGINFOD_BYTES], n);
}

static void on_received(void *ctx, const struct debuginfod_received *r);

static void ask(struct debuginfod_download *l, enum debuginfod_phase phase)
{
	char id[BUILD_KEY_TEXT_BYTES];
	struct debuginfod_receive_config q = {
		.client = l->d->client,
		.server = l->d->servers[l->server].url,
		.build_id = id,
		.file = phase == DOWNLOAD_SYMBOLS ? DEBUGINFOD_DEBUGINFO : DEBUGINFOD_EXECUTABLE,
		.max_bytes = l->d->cfg.max_file_bytes,
		.on_bytes = on_bytes,
		.done = on_received,
		.ctx = l,
	};
	int r;

	l->phase = phase;
	build_key_text(&l->build->key, id);
	closep(file_of(l));
	q.fd = *file_of(l) = new_file(l->d);
	if (q.fd < 0) {
		retry(l, clock_realtime_ns(), ASKED_DISK);
		return;
	}
	r = debuginfod_receive_start(&l->receive, &q);
	if (r == -ENOMEM)
		postpone(l, clock_realtime_ns() + l->d->cfg.retry_min_ns);
	else if (r < 0)
		server_failed(l, strerror(-r), 0);
}

/* Asks the next server for the debug file; if there is none left, that was the last one. */
static void next_server(struct debuginfod_download *l)
{
	struct debuginfod *d = l->d;
	uint64_t now_ns = clock_realtime_ns(), up_ns = UINT64_MAX;

	for (size_t i = 0; i < d->urls.n; i++) {
		const uint32_t bit = 1u << i;

		if (l->build->absent_at & bit)
			continue;
		if (d->servers[i].up_ns <= now_ns && !(l->failed_at & bit)) {
			l->server = i;
			ask(l, DOWNLOAD_SYMBOLS);
			return;
		}
		if (d->servers[i].up_ns < up_ns)
			up_ns = d->servers[i].up_ns;
	}
	if (up_ns == UINT64_MAX)
		settle(l, l->is_bad ? l->bad : ASKED_ABSENT, ABSENT_NS);
	else if (l->failed_at)
		retry(l, up_ns, ASKED_SERVER);
	else
		postpone(l, up_ns);
}

static void got_file(struct debuginfod_download *l)
{
	metric_add(&l->d->metrics[DEBUGINFOD_FOUND], 1);
	server_answers(l);
	if (l->phase == DOWNLOAD_SYMBOLS && l->needs_offsets) {
		ask(l, DOWNLOAD_PROGRAM);
		return;
	}
	l->phase = DOWNLOAD_UNREAD;
	loop_set_timer(l->d->timer, 0);
}

/* There is no such file, or none that we take. Without the program, there are no offsets. */
static void got_none(struct debuginfod_download *l, bool is_too_large)
{
	metric_add(&l->d->metrics[is_too_large ? DEBUGINFOD_TOO_LARGE : DEBUGINFOD_ABSENT], 1);
	server_answers(l);
	if (l->phase == DOWNLOAD_PROGRAM) {
		closep(&l->program);
		l->program = -1;
		l->phase = DOWNLOAD_UNREAD;
		loop_set_timer(l->d->timer, 0);
	} else if (is_too_large) {
		reject(l, ASKED_TOO_LARGE);
	} else {
		l->build->absent_at |= 1u << l->server;
		next_server(l);
	}
}

static void on_received(void *ctx, const struct debuginfod_received *r)
{
	struct debuginfod_download *l = ctx;

	l->receive = NULL;
	switch (r->outcome) {
	case DEBUGINFOD_IS_THERE:
		got_file(l);
		break;
	case DEBUGINFOD_IS_ABSENT:
		got_none(l, false);
		break;
	case DEBUGINFOD_IS_TOO_LARGE:
		got_none(l, true);
		break;
	case DEBUGINFOD_NO_DISK:
		retry(l, clock_realtime_ns(), ASKED_DISK);
		break;
	case DEBUGINFOD_SERVER_FAILED:
		server_failed(l, r->problem, r->retry_after_ns);
		break;
	}
}

/* ---- reading it ---- */

/* Reads the table that the reader wrote, which may be anything. */
static int load_table(struct debuginfod_download *l, struct buf *table)
{
	struct symbol_file_source src = {.fd = -1};
	CLEANUP(symbol_file_freep) struct symbol_file *f = NULL;
	const struct symbol_file_header *h;
	struct build_key key = {.n_bytes = 0};
	int r;

	if (lseek(l->table, 0, SEEK_SET) < 0)
		return -errno;
	r = fs_read_fd(l->table, table);
	if (r < 0)
		return r;
	src.data = table->data;
	src.n_bytes = table->len;
	r = symbol_file_open(&f, &src, NULL);
	if (r < 0)
		return r;
	h = symbol_file_header(f);
	key.n_bytes = (uint8_t)h->build_id_bytes;
	memcpy(key.id, h->build_id, h->build_id_bytes);
	return build_key_equal(&key, &l->build->key) ? 0 : -EBADMSG;
}

static int put_table(struct debuginfod_download *l)
{
	CLEANUP(buf_fini) struct buf table;
	enum symbol_put result;
	struct err err = {.msg = ""};
	int r;

	buf_init(&table, SYMBOL_FILE_MAX_BYTES);
	r = load_table(l, &table);
	return r == 0 ? symbol_store_put(l->d->cfg.store, table.data, table.len, &result, &err) : r;
}

static void named(struct debuginfod_download *l)
{
	struct debuginfod *d = l->d;
	char id[BUILD_KEY_TEXT_BYTES];

	if (l->needs_offsets && !symbol_store_has(d->cfg.store, &l->build->key, true)) {
		settle(l, ASKED_NO_OFFSETS, ABSENT_NS);
		return;
	}
	build_key_text(&l->build->key, id);
	log_debug("got symbols of a build", "build=%s", id);
	metric_add(&d->metrics[DEBUGINFOD_NAMED], 1);
	pthread_mutex_lock(&d->lock);
	asked_builds_found(d->asked, l->build);
	end(l);
	pthread_mutex_unlock(&d->lock);
}

static void finish(struct debuginfod_download *l, const struct symbol_reader_answer *a)
{
	int r = a->result == 0 ? put_table(l) : a->result;

	if (a->why[0])
		log_debug("a debug file is of no use", "error=%s", LOG_QUOTED(a->why));
	switch (r) {
	case 0:
		named(l);
		break;
	case -ENOEXEC:
	case -EBADMSG:
	case -EINVAL:
		reject(l, ASKED_NOT_VALID);
		break;
	case -ENODATA:
		reject(l, ASKED_NO_SYMBOLS);
		break;
	case -EFBIG:
		reject(l, ASKED_TOO_LARGE);
		break;
	case -EIO:
	case -ETIMEDOUT:
	case -ENOMEM:
		metric_add(&l->d->metrics[DEBUGINFOD_READER_ENDED], 1);
		retry(l, clock_realtime_ns(), ASKED_READER);
		break;
	default:
		retry(l, clock_realtime_ns(), ASKED_DISK);
	}
}

static struct debuginfod_download *in_phase(struct debuginfod *d, enum debuginfod_phase phase)
{
	for (size_t i = 0; i < DEBUGINFOD_AT_ONCE; i++)
		if (d->downloads[i].phase == phase)
			return &d->downloads[i];
	return NULL;
}

static void reader_has_ended(struct debuginfod *d)
{
	struct debuginfod_download *l = in_phase(d, DOWNLOAD_READ);

	log_warn_limited("the process that reads debug files and the one that restarts it have "
			 "ended; no more names come from debuginfod until the agent is restarted",
			 "%s", "");
	loop_remove(TAKE_PTR(d->answers));
	if (!l)
		return;
	metric_add(&d->metrics[DEBUGINFOD_READER_ENDED], 1);
	settle(l, ASKED_READER, FAILED_NS);
}

/* The keeper has forked the next one (helper_process.h), which reads the file again. */
static void reader_was_killed(struct debuginfod *d)
{
	struct debuginfod_download *l = in_phase(d, DOWNLOAD_READ);

	log_warn_limited("the process that reads debug files was killed; it is started again", "%s",
			 "");
	metric_add(&d->metrics[DEBUGINFOD_READER_ENDED], 1);
	if (l)
		retry(l, clock_realtime_ns(), ASKED_READER);
}

void debuginfod_read_answer(void *ctx, uint32_t events)
{
	struct symbol_reader_answer answer;
	struct debuginfod *d = ctx;
	struct debuginfod_download *l;
	int r = symbol_reader_take(d->reader, &answer);

	(void)events;
	if (r == -EPIPE) {
		reader_has_ended(d);
		return;
	}
	if (r == -ECONNRESET) {
		reader_was_killed(d);
		return;
	}
	l = r == 0 ? in_phase(d, DOWNLOAD_READ) : NULL;
	if (l)
		finish(l, &answer);
}

static void read_next(struct debuginfod *d)
{
	struct debuginfod_download *l = in_phase(d, DOWNLOAD_UNREAD);
	int r;

	if (!l || in_phase(d, DOWNLOAD_READ))
		return;
	l->table = new_file(d);
	if (l->table < 0) {
		retry(l, clock_realtime_ns(), ASKED_DISK);
		return;
	}
	r = symbol_reader_ask(d->reader,
			      &(struct symbol_reader_files){l->symbols, l->program, l->table});
	l->phase = DOWNLOAD_READ;
	if (r < 0)
		settle(l, ASKED_READER, FAILED_NS);
}

/* ---- beginnings ---- */

/* Returns whether there was one. */
static bool begin_one(struct debuginfod *d, struct debuginfod_download *l)
{
	uint64_t now_ns = clock_realtime_ns();
	struct asked_build *b = NULL;

	pthread_mutex_lock(&d->lock);
	if (d->up_ns <= now_ns)
		b = asked_builds_next(d->asked, now_ns);
	if (b)
		*l = (struct debuginfod_download){.d = d,
						  .build = b,
						  .needs_offsets = b->needs_offsets,
						  .symbols = -1,
						  .program = -1,
						  .table = -1,
						  .phase = DOWNLOAD_SYMBOLS};
	pthread_mutex_unlock(&d->lock);
	if (b)
		next_server(l);
	return b;
}

static uint64_t due_ns(struct debuginfod *d, uint64_t now_ns)
{
	uint64_t at_ns;

	pthread_mutex_lock(&d->lock);
	at_ns = asked_builds_due_ns(d->asked);
	if (at_ns != UINT64_MAX && at_ns < d->up_ns)
		at_ns = d->up_ns;
	pthread_mutex_unlock(&d->lock);
	if (at_ns == UINT64_MAX || !in_phase(d, DOWNLOAD_NONE))
		return UINT64_MAX;
	return at_ns > now_ns ? at_ns - now_ns : 0;
}

void debuginfod_continue(struct debuginfod *d)
{
	bool begun = true;

	loop_set_timer(d->timer, UINT64_MAX);
	read_next(d);
	while (begun) {
		struct debuginfod_download *l = in_phase(d, DOWNLOAD_NONE);

		begun = l && begin_one(d, l);
	}
	/* what has just ended has set the timer to 0, which this keeps */
	if (!in_phase(d, DOWNLOAD_UNREAD) || in_phase(d, DOWNLOAD_READ)) {
		uint64_t ns = due_ns(d, clock_realtime_ns());

		if (ns != UINT64_MAX)
			loop_set_timer(d->timer, ns);
	}
}
