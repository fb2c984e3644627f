#include "cluster-agent/symbols/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cluster-agent/symbols/debuginfod_state.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"
#include "common/upload/upload_url.h"

#define FILE_NAME "debuginfod.asked"
#define NEW_FILE_NAME "debuginfod.asked.tmp"
#define RETRY_MIN_NS (15 * NS_PER_S)
#define RETRY_MAX_NS (600 * NS_PER_S)

#define REQUESTS(result)                                                                \
	"coroot_cluster_agent_debuginfod_requests_total", "result=\"" result "\"",      \
		"Files that debuginfod servers were asked for, by what they answered: " \
		"found, absent, too_large (more than --debuginfod-max-size), or failed"
#define BUILDS(result)                                                                         \
	"coroot_cluster_agent_debuginfod_builds_total", "result=\"" result "\"",               \
		"Builds whose symbols were asked for, by what became of them: named; or none " \
		"for now, because no server has them (absent), what a server has is of no "    \
		"use (too_large, not_valid, no_symbols, no_offsets), reading it crashed or "   \
		"took too much (reader), servers failed again and again (server), or there "   \
		"was no room on disk (disk)"

static const struct metric_def metric_defs[DEBUGINFOD_METRICS] = {
	[DEBUGINFOD_FOUND] = {REQUESTS("found")},
	[DEBUGINFOD_ABSENT] = {REQUESTS("absent")},
	[DEBUGINFOD_TOO_LARGE] = {REQUESTS("too_large")},
	[DEBUGINFOD_FAILED] = {REQUESTS("failed")},
	[DEBUGINFOD_BYTES] = {.name = "coroot_cluster_agent_debuginfod_received_bytes_total",
			      .help = "Bytes of files that debuginfod servers sent"},
	[DEBUGINFOD_NAMED] = {BUILDS("named")},
	[DEBUGINFOD_SETTLED + ASKED_ABSENT] = {BUILDS("absent")},
	[DEBUGINFOD_SETTLED + ASKED_TOO_LARGE] = {BUILDS("too_large")},
	[DEBUGINFOD_SETTLED + ASKED_NOT_VALID] = {BUILDS("not_valid")},
	[DEBUGINFOD_SETTLED + ASKED_NO_SYMBOLS] = {BUILDS("no_symbols")},
	[DEBUGINFOD_SETTLED + ASKED_NO_OFFSETS] = {BUILDS("no_offsets")},
	[DEBUGINFOD_SETTLED + ASKED_READER] = {BUILDS("reader")},
	[DEBUGINFOD_SETTLED + ASKED_SERVER] = {BUILDS("server")},
	[DEBUGINFOD_SETTLED + ASKED_DISK] = {BUILDS("disk")},
	[DEBUGINFOD_READER_ENDED] = {.name = "coroot_cluster_agent_debuginfod_reader_ended_total",
				     .help = "Times that the process which reads debug files "
					     "ended: it crashed at one, was killed, or took too "
					     "much memory or time. It is started again, and "
					     "the file is tried again"},
	[DEBUGINFOD_WAITING] = {.name = "coroot_cluster_agent_debuginfod_waiting",
				.help = "Builds that wait to be asked for, or are being asked for",
				.kind = METRIC_GAUGE},
	[DEBUGINFOD_REMEMBERED] = {.name = "coroot_cluster_agent_debuginfod_remembered",
				   .help = "Builds without symbols that are not asked for again "
					   "for a while",
				   .kind = METRIC_GAUGE},
	[DEBUGINFOD_FORGOTTEN] = {.name = "coroot_cluster_agent_debuginfod_forgotten_total",
				  .help = "Builds that were not asked for because too many "
					  "others waited; the next query that needs them asks "
					  "again"},
};
METRIC_TABLE(metric_table, metric_defs);

/* ---- what is remembered ---- */

static int write_file(const struct debuginfod *d, const struct buf *text)
{
	AUTO_CLOSE int fd = openat(d->dir_fd, NEW_FILE_NAME,
				   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	if (write(fd, text->data, text->len) != (ssize_t)text->len)
		return -ENOSPC;
	if (fsync(fd) < 0 || renameat(d->dir_fd, NEW_FILE_NAME, d->dir_fd, FILE_NAME) < 0)
		return -errno;
	return 0;
}

static void save(void *ctx)
{
	struct debuginfod *d = ctx;
	CLEANUP(buf_fini) struct buf text;
	int r = 0;
	bool is_dirty;

	buf_init(&text, ASKED_BUILDS_TEXT_MAX_BYTES);
	pthread_mutex_lock(&d->lock);
	is_dirty = d->is_dirty;
	d->is_dirty = false;
	if (is_dirty)
		r = asked_builds_write(d->asked, d->servers_text, &text);
	pthread_mutex_unlock(&d->lock);
	if (is_dirty && r == 0)
		r = write_file(d, &text);
	if (r < 0)
		log_warn_limited("cannot remember which builds have no symbols; they are asked for "
				 "again after a restart",
				 "error=\"%s\"", strerror(-r));
}

static int load(struct debuginfod *d)
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, ASKED_BUILDS_TEXT_MAX_BYTES);
	r = fs_read_at(d->dir_fd, FILE_NAME, &text);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return 0;
	return asked_builds_read(d->asked, d->servers_text, text.data ?: "", text.len,
				 clock_realtime_ns());
}

/* ---- create and destroy ---- */

/* Servers as one line, by which a file of answers of others is recognised. */
static int name_servers(struct debuginfod *d)
{
	CLEANUP(buf_fini) struct buf text;
	size_t len;

	buf_init(&text, MIB);
	for (size_t i = 0; i < d->urls.n; i++) {
		struct debuginfod_server *s = &d->servers[i];

		s->url = d->urls.urls[i];
		s->shown = strdup(s->url);
		if (!s->shown)
			return -ENOMEM;
		upload_url_remove_user(s->shown);
		s->backoff = (struct backoff){.min_ns = d->cfg.retry_min_ns,
					      .max_ns = RETRY_MAX_NS,
					      .random = clock_monotonic_ns() + i};
		if (buf_addf(&text, "%s%s", i > 0 ? " " : "", s->shown) < 0)
			return -ENOMEM;
	}
	d->servers_text = buf_take(&text, &len);
	return 0;
}

static void on_wake(void *ctx)
{
	struct debuginfod *d = ctx;
	bool is_stopping;

	pthread_mutex_lock(&d->lock);
	is_stopping = d->is_stopping;
	pthread_mutex_unlock(&d->lock);
	if (is_stopping)
		loop_stop(d->loop);
	else
		debuginfod_continue(d);
}

static void on_timer(void *ctx)
{
	debuginfod_continue(ctx);
}

static int make_loop(struct debuginfod *d)
{
	const struct http_client_config client = {
		.ca_file = d->cfg.ca_file,
		.insecure_skip_verify = d->cfg.insecure_skip_verify,
		.user_agent = "coroot-cluster-agent",
	};
	int r = loop_new(&d->loop);

	if (r == 0)
		r = loop_add_wake(d->loop, on_wake, d, &d->wake);
	if (r == 0)
		r = loop_add_timer(d->loop, on_timer, d, &d->timer);
	if (r == 0)
		r = loop_add_timer(d->loop, save, d, &d->save_timer);
	if (r == 0)
		r = loop_add_fd(d->loop, symbol_reader_fd(d->reader), EPOLLIN,
				debuginfod_read_answer, d, &d->answers);
	return r == 0 ? http_client_new(&d->client, d->loop, &client) : r;
}

static void run(void *ctx, struct worker_thread *t)
{
	struct debuginfod *d = ctx;
	int r = loop_run(d->loop);

	(void)t;
	if (r < 0)
		log_error("debuginfod servers are not asked any more", "error=\"%s\"",
			  strerror(-r));
	for (size_t i = 0; i < DEBUGINFOD_AT_ONCE; i++)
		debuginfod_cancel(&d->downloads[i]);
	save(d);
}

static int open_all(struct debuginfod *d, struct err *err)
{
	const struct worker_thread_config thread = {
		.name = "debuginfod",
		.run = run,
		.ctx = d,
		.nice = WORKER_THREAD_NICE_BACKGROUND,
	};
	int r = name_servers(d);

	if (r == 0)
		r = asked_builds_new(&d->asked);
	if (r == 0)
		r = load(d);
	if (r < 0)
		return r;
	r = symbol_reader_new(&d->reader, d->cfg.reader_program);
	if (r < 0)
		return err_set(err, r, "start the process that reads debug files: %s",
			       strerror(-r));
	r = make_loop(d);
	return r == 0 ? worker_thread_start(&d->thread, &thread) : r;
}

int debuginfod_new(struct debuginfod **ret, const struct debuginfod_config *cfg, struct err *err)
{
	CLEANUP(debuginfod_freep) struct debuginfod *d = calloc(1, sizeof(*d));
	int r;

	*ret = NULL;
	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	condition_init(&d->changed);
	d->cfg = *cfg;
	d->dir_fd = symbol_store_dir(cfg->store);
	if (d->cfg.retry_min_ns == 0)
		d->cfg.retry_min_ns = RETRY_MIN_NS;
	for (size_t i = 0; i < DEBUGINFOD_AT_ONCE; i++)
		d->downloads[i] = (struct debuginfod_download){
			.d = d, .symbols = -1, .program = -1, .table = -1};
	r = debuginfod_urls_parse(&d->urls, cfg->urls, err);
	if (r < 0 || d->urls.n == 0)
		return r;
	r = open_all(d, err);
	if (r < 0)
		return r;
	symbol_store_set_debuginfod(cfg->store, d);
	*ret = TAKE_PTR(d);
	return 0;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->thread) {
		symbol_store_set_debuginfod(d->cfg.store, NULL);
		pthread_mutex_lock(&d->lock);
		d->is_stopping = true;
		pthread_mutex_unlock(&d->lock);
		loop_wake(d->wake);
		(void)worker_thread_join(d->thread, UINT64_MAX);
	}
	http_client_free(d->client);
	loop_free(d->loop);
	symbol_reader_free(d->reader);
	asked_builds_free(d->asked);
	for (size_t i = 0; i < d->urls.n; i++)
		free(d->servers[i].shown);
	free(d->servers_text);
	debuginfod_urls_fini(&d->urls);
	condition_fini(&d->changed);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int debuginfod_register(struct debuginfod *d, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, d->metrics, NULL);
}

/* ---- what queries want ---- */

/* Whether an answer about one of the builds may come soon. */
static bool is_awaited(const struct debuginfod *d, const struct asked_want *wants, size_t n)
{
	uint64_t now_ns = clock_realtime_ns();

	for (size_t i = 0; i < n; i++) {
		const struct asked_build *b = asked_builds_find(d->asked, &wants[i].key);

		if (b && (b->state == ASKED_NOW || (b->state == ASKED_WAITING &&
						    b->until_ns <= now_ns && d->up_ns <= now_ns)))
			return true;
	}
	return false;
}

void debuginfod_want(struct debuginfod *d, const struct asked_want *wants, size_t n,
		     uint64_t wait_ns)
{
	uint64_t deadline_ns = condition_deadline_ns(wait_ns), now_ns = clock_realtime_ns();

	pthread_mutex_lock(&d->lock);
	for (size_t i = 0; i < n; i++)
		(void)asked_builds_want(d->asked, &wants[i], now_ns);
	loop_wake(d->wake);
	while (wait_ns > 0 && is_awaited(d, wants, n))
		if (!condition_wait_until(&d->changed, &d->lock, deadline_ns))
			break;
	debuginfod_show(d);
	pthread_mutex_unlock(&d->lock);
}

/* The problem of a server, if none can be asked. */
static void explain_wait(const struct debuginfod *d, struct debuginfod_status *ret)
{
	uint64_t now_ns = clock_realtime_ns();
	unsigned long long wait_s = d->up_ns > now_ns ? (d->up_ns - now_ns) / NS_PER_S + 1 : 0;

	for (size_t i = 0; wait_s > 0 && i < d->urls.n; i++) {
		const struct debuginfod_server *s = &d->servers[i];

		if (s->up_ns != d->up_ns)
			continue;
		snprintf(ret->why, sizeof(ret->why), "%s: %s; it is asked again in %llu s",
			 s->shown, s->problem, wait_s);
		return;
	}
}

void debuginfod_status(struct debuginfod *d, const struct build_key *k,
		       struct debuginfod_status *ret)
{
	const struct asked_build *b;

	*ret = (struct debuginfod_status){.why = ""};
	pthread_mutex_lock(&d->lock);
	b = asked_builds_find(d->asked, k);
	if (b && b->state == ASKED_SETTLED) {
		snprintf(ret->why, sizeof(ret->why), "%s", asked_reason_texts[b->reason]);
	} else if (b) {
		ret->is_coming = true;
		explain_wait(d, ret);
	}
	pthread_mutex_unlock(&d->lock);
}
