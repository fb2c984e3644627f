/*
 * Starting and stopping a server on top of libmicrohttpd (MHD), its connections and its metrics.
 *
 * http_request.c has what MHD calls for each request. Handlers may keep an exchange and answer it
 * later, so http_server_free() waits until no exchange is unanswered, which is up to those who keep
 * them.
 */
#include "common/http/http_server.h"

#include <errno.h>
#include <microhttpd.h>

#include "common/http/http_acceptor.h"
#include "common/http/http_bad_length.h"
#include "common/http/http_listen.h"
#include "common/http/http_request.h"
#include "common/http/http_server_state.h"
#include "common/http/http_text.h"
#include "common/http/tls_session.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

/* Time for the last answers to be sent when the server is freed. */
#define LINGER_S 1
#define ANSWER_MEMORY_BYTES ((uint64_t)64 * 1024 * 1024)

/* ---- metrics ---- */

static uint64_t read_connections(void *server)
{
	return http_connections_count(&((struct http_server *)server)->connections);
}

static uint64_t read_body_memory(void *server)
{
	return atomic_load(&((struct http_server *)server)->body_memory_bytes);
}

static uint64_t read_answer_memory(void *server)
{
	return atomic_load(&((struct http_server *)server)->answers.bytes);
}

#define REFUSED(reason)                                       \
	"http_server_refused_total", "reason=\"" reason "\"", \
		"Requests that the server refused itself, by reason"

#define CLOSED(reason)                                                                       \
	"http_server_connections_closed_total", "reason=\"" reason "\"",                     \
		"Connections that were closed to make room (idle, slow, spare), or because " \
		"headers were not complete (headers_late) or an answer not read in time "    \
		"(answer_late)"

static const struct metric_def metric_defs[N_SERVER_METRICS] = {
	[SERVER_REQUESTS] = {"http_server_requests_total", NULL,
			     "Requests that reached their handler"},
	[REFUSED_UNKNOWN] = {REFUSED("unknown")},
	[REFUSED_KEY] = {REFUSED("key")},
	[REFUSED_NAME] = {REFUSED("name")},
	[REFUSED_ORIGIN] = {REFUSED("origin")},
	[REFUSED_CONNECTIONS] = {REFUSED("connections")},
	[REFUSED_STOPPING] = {REFUSED("stopping")},
	[REFUSED_MALFORMED] = {REFUSED("malformed")},
	[REFUSED_BODY_SIZE] = {REFUSED("body_size")},
	[REFUSED_BODY_MEMORY] = {REFUSED("body_memory")},
	[REFUSED_BODY_ENDLESS] = {REFUSED("body_endless")},
	[REFUSED_BODY_SLOW] = {REFUSED("body_slow")},
	[REFUSED_ANSWER_MEMORY] = {REFUSED("answer_memory")},
	[REFUSED_NO_MEMORY] = {REFUSED("no_memory")},
	[CLOSED_FIRST + CONNECTION_END_IDLE] = {CLOSED("idle")},
	[CLOSED_FIRST + CONNECTION_END_SLOW] = {CLOSED("slow")},
	[CLOSED_FIRST + CONNECTION_END_SPARE] = {CLOSED("spare")},
	[CLOSED_FIRST + CONNECTION_END_HEADERS_LATE] = {CLOSED("headers_late")},
	[CLOSED_FIRST + CONNECTION_END_ANSWER_LATE] = {CLOSED("answer_late")},
	[ACCEPT_FAILURES] = {"http_server_accept_failures_total", NULL,
			     "Attempts to accept a connection without a free descriptor or memory"},
	[SERVER_CONNECTIONS] = {"http_server_connections", NULL, "Open connections", METRIC_GAUGE,
				.read = read_connections},
	[SERVER_BODY_MEMORY] = {"http_server_body_memory_bytes", NULL,
				"Memory of request bodies received and not answered yet",
				METRIC_GAUGE, .read = read_body_memory},
	[SERVER_ANSWER_MEMORY] = {"http_server_answer_memory_bytes", NULL,
				  "Memory of large answers that clients have not read yet",
				  METRIC_GAUGE, .read = read_answer_memory},
};
METRIC_TABLE(metric_table, metric_defs);

/* ---- connections ---- */

static void on_connection(void *server, struct MHD_Connection *conn, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_server *s = server;
	struct http_connection *c = *socket_context;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_CONNECTION_FD);
		c = http_connections_start(&s->connections, info->connect_fd);
		/* without one, a TLS connection has no certificate and ends */
		if (c && s->tls)
			c->tls = tls_session_begin(s->tls, conn);
		*socket_context = c;
		return;
	}
	http_bad_length_end(conn);
	if (!c)
		return;
	tls_session_end(c->tls);
	http_connections_end(&s->connections, c);
	http_acceptor_on_room(s->acceptor);
}

static size_t on_unescape(void *server, struct MHD_Connection *conn, char *text)
{
	(void)server;
	(void)conn;
	return http_percent_decode(text);
}

static void PRINTF_LIKE(2, 0) on_log(void *server, const char *fmt, va_list ap)
{
	struct http_server *s = server;
	char line[256];

	/* how MHD calls every failed handshake; there is a counter of them */
	if (s->tls && strstr(fmt, "handshake message out of context"))
		return;
	/* answers that MHD gives by itself, like 400, 414 and 431; it has no other sign of them */
	if (strncmp(fmt, "Error processing request", 24) == 0) {
		metric_add(&s->metrics[REFUSED_MALFORMED], 1);
		return;
	}
	if (http_bad_length_on_log(fmt))
		return;
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log_warn_limited("http server", "detail=%s", LOG_QUOTED(line));
}

/* ---- create and destroy ------------------------------------------------------- */

/* Copies them, with one that redirects to the base path. */
static int copy_routes(struct http_server *s, const struct http_route *routes)
{
	size_t n = 0;

	while (routes[n].method)
		n++;
	s->routes = calloc(n + 2, sizeof(*routes));
	if (!s->routes)
		return -ENOMEM;
	memcpy(s->routes, routes, n * sizeof(*routes));
	if (s->base_path[0])
		s->routes[n] = (struct http_route){"GET",
						   s->base_path,
						   0,
						   http_request_redirect,
						   s->base_path,
						   .scope = ACCESS_BEFORE_KEY};
	return 0;
}

static int set_base_path(struct http_server *s, const struct http_server_config *cfg,
			 struct err *err)
{
	int r = http_base_path_parse(s->base_path, cfg->base_path, err);

	if (r < 0)
		return err_wrap(err, r, "base path");
	if (http_base_path_collides(s->base_path, cfg->routes))
		return err_set(err, -EINVAL, "base path: %s is a path of the agent itself",
			       s->base_path);
	return 0;
}

/*
 * With epoll, MHD 0.9.75 keeps calling a connection that waits for the rest of a TLS handshake, so
 * that a client that never finishes costs a whole CPU; with poll() it waits.
 */
static unsigned daemon_flags(const struct http_server *s)
{
	unsigned flags = MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET;

	if (s->tls)
		return flags | MHD_USE_TLS | MHD_USE_POLL_INTERNAL_THREAD;
	return flags | MHD_USE_EPOLL_INTERNAL_THREAD;
}

static int start_daemon(struct http_server *s, unsigned n_threads, struct err *err)
{
	/*
	 * The limit is that of the table. MHD divides its own by the number of threads, and counts
	 * a connection a little longer than the table.
	 */
	unsigned limit = 2 * http_connections_slots(&s->connections) * n_threads;
	const struct MHD_OptionItem pool[] = {
		{n_threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, n_threads, NULL},
		{MHD_OPTION_END, 0, NULL},
	};
	static char priorities[] = TLS_SESSION_PRIORITIES; /* MHD's type is not const */
	const struct MHD_OptionItem tls[] = {
		{s->tls ? MHD_OPTION_HTTPS_PRIORITIES : MHD_OPTION_END, 0, priorities},
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)tls_session_without_certificate},
		{MHD_OPTION_END, 0, NULL},
	};

	s->daemon = MHD_start_daemon(
		daemon_flags(s), 0, NULL, NULL, http_request_receive, s, MHD_OPTION_EXTERNAL_LOGGER,
		on_log, s, MHD_OPTION_CONNECTION_LIMIT, limit, MHD_OPTION_CONNECTION_TIMEOUT,
		s->timeout_s, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY_BYTES,
		MHD_OPTION_URI_LOG_CALLBACK, http_request_see_line, s, MHD_OPTION_NOTIFY_COMPLETED,
		http_request_complete, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
		MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, s, MHD_OPTION_ARRAY, pool,
		MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (!s->daemon)
		return err_set(err, -ENOMEM, "cannot start the HTTP server's threads");
	return 0;
}

static int start_acceptor(struct http_server *s, const char *listen, struct err *err)
{
	AUTO_CLOSE int fd = http_listen(listen, &s->port, err);
	int r;

	if (fd < 0)
		return fd;
	r = http_acceptor_new(&s->acceptor, fd, &s->connections, &s->metrics[ACCEPT_FAILURES]);
	if (r < 0)
		return err_set(err, r, "start the HTTP server: %s", strerror(-r));
	TAKE_FD(fd);
	return 0;
}

int http_server_new(struct http_server **ret, const struct http_server_config *cfg, struct err *err)
{
	CLEANUP(http_server_freep) struct http_server *s = NULL;
	int r;

	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->timeout_s = cfg->timeout_s;
	s->max_body_memory_bytes = cfg->max_body_memory_bytes;
	s->answers.max_bytes =
		cfg->max_answer_memory_bytes ? cfg->max_answer_memory_bytes : ANSWER_MEMORY_BYTES;
	s->answers.connections = &s->connections;
	s->answers.refused = &s->metrics[REFUSED_ANSWER_MEMORY];
	s->tls = cfg->tls;
	s->access = cfg->access;
	pthread_mutex_init(&s->lock, NULL);
	condition_init(&s->changed);

	r = set_base_path(s, cfg, err);
	if (r < 0)
		return r;
	r = http_connections_init(&s->connections, cfg->max_connections, cfg->timeout_s,
				  &s->metrics[CLOSED_FIRST]);
	if (r == 0)
		r = copy_routes(s, cfg->routes);
	if (r < 0)
		return err_set(err, r, "out of memory");
	if (cfg->metrics) {
		r = metrics_register(cfg->metrics, &metric_table, s->metrics, s);
		if (r < 0)
			return err_set(err, r, "register the HTTP server's metrics: %s",
				       strerror(-r));
	}
	r = start_acceptor(s, cfg->listen, err);
	if (r == 0)
		r = start_daemon(s, cfg->n_threads ? cfg->n_threads : 1, err);
	if (r < 0)
		return r;
	r = http_acceptor_start(s->acceptor, s->daemon);
	if (r < 0)
		return err_set(err, r, "cannot start the HTTP server's threads");
	*ret = TAKE_PTR(s);
	return 0;
}

void http_server_quiesce(struct http_server *s)
{
	http_acceptor_quiesce(s->acceptor);
}

static void wait_for_exchanges(struct http_server *s)
{
	uint64_t deadline_ns;
	bool in_time = true;

	pthread_mutex_lock(&s->lock);
	while (s->n_unanswered > 0)
		(void)condition_wait_until(&s->changed, &s->lock, UINT64_MAX);
	deadline_ns = condition_deadline_ns(LINGER_S * NS_PER_S);
	while (s->n_exchanges > 0 && in_time)
		in_time = condition_wait_until(&s->changed, &s->lock, deadline_ns);
	s->closed = true;
	while (s->n_unanswered > 0)
		(void)condition_wait_until(&s->changed, &s->lock, UINT64_MAX);
	pthread_mutex_unlock(&s->lock);
}

/*
 * When libmicrohttpd stops, it reads its lists of new connections without the lock under which they
 * were added; so none is left there.
 */
static void wait_for_newcomers(struct http_server *s)
{
	uint64_t deadline_ns = clock_monotonic_ns() + LINGER_S * NS_PER_S;

	while (http_connections_any_accepted(&s->connections) && clock_monotonic_ns() < deadline_ns)
		usleep(1000);
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	if (s->daemon) {
		http_server_quiesce(s);
		atomic_store(&s->stopping, true);
		wait_for_exchanges(s);
		http_acceptor_stop(s->acceptor);
		wait_for_newcomers(s);
		MHD_stop_daemon(s->daemon);
	}
	http_acceptor_free(s->acceptor);
	http_connections_fini(&s->connections);
	condition_fini(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s->routes);
	free(s);
}

unsigned http_server_port(const struct http_server *s)
{
	return s->port;
}
