/*
 * Routes, limits and suspended requests on top of libmicrohttpd (MHD).
 *
 * MHD calls on_request() once for the headers, once for each piece of the body, and once at the
 * end. A request is refused as early as possible, but a client that is still sending does not
 * read an answer, and closing a connection with unread bytes resets it under the answer; so a
 * refused body is read and discarded, within limits, before the answer is sent.
 *
 * All bodies together are limited, not only each one: a body is charged as its buffer grows and
 * released when its exchange completes. Answers are limited in the same way, because clients may
 * ask for large ones and not read them.
 *
 * Handlers may keep an exchange and answer it later from another thread. MHD then has the
 * connection suspended; enum exchange_state decides who resumes it. http_server_free() therefore
 * waits until no exchange is unanswered, which is up to those who keep them.
 */
#include "common/http/http_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <strings.h>

#include "common/http/http_acceptor.h"
#include "common/http/http_base_path.h"
#include "common/http/http_connections.h"
#include "common/http/http_exchange_state.h"
#include "common/http/http_listen.h"
#include "common/http/http_text.h"
#include "common/http/tls_session.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "common/thread/condition.h"

/* Buffer of a connection: for request line and headers, then for pieces of the body. */
#define CONNECTION_MEMORY_BYTES ((size_t)32 * 1024)
/* A refused body is read and discarded up to here; the connection of a longer one is closed. */
#define MAX_DISCARDED_BYTES (64 * UINT64_C(1024) * 1024)
/* A body may take the idle time-out plus what it needs at this rate, so it cannot trickle in. */
#define MIN_BODY_BYTES_PER_S (16 * UINT64_C(1024))
/* Time for the last answers to be sent when the server is freed. */
#define LINGER_S 1
#define ANSWER_MEMORY_BYTES ((uint64_t)64 * 1024 * 1024)
#define RETRY_AFTER_S "5"
#define MAX_LOCATION_BYTES ((size_t)8 * 1024)

enum server_metric {
	SERVER_REQUESTS,
	REFUSED_UNKNOWN,
	REFUSED_KEY,
	REFUSED_NAME,
	REFUSED_ORIGIN,
	REFUSED_CONNECTIONS,
	REFUSED_STOPPING,
	REFUSED_MALFORMED,
	REFUSED_BODY_SIZE,
	REFUSED_BODY_MEMORY,
	REFUSED_BODY_ENDLESS,
	REFUSED_BODY_SLOW,
	REFUSED_ANSWER_MEMORY,
	REFUSED_NO_MEMORY,
	CLOSED_FIRST,
	CLOSED_LAST = CLOSED_FIRST + N_CONNECTION_ENDS - 1,
	ACCEPT_FAILURES,
	SERVER_CONNECTIONS,
	SERVER_BODY_MEMORY,
	SERVER_ANSWER_MEMORY,
	N_SERVER_METRICS,
};

struct http_server {
	struct MHD_Daemon *daemon;
	struct http_acceptor *acceptor;
	struct server_tls *tls; /* NULL: plain HTTP */
	struct http_route *routes;
	char base_path[HTTP_BASE_PATH_BYTES]; /* "": none */
	unsigned timeout_s;
	uint64_t max_body_memory_bytes;
	const struct access *access; /* borrowed; NULL: everybody may use every route */
	unsigned port;
	struct http_connections connections;
	_Atomic uint64_t body_memory_bytes;
	struct http_answer_memory answers;
	_Atomic bool stopping;
	struct metric metrics[N_SERVER_METRICS];

	pthread_mutex_t lock;
	struct condition changed; /* one of the two counters did */
	unsigned n_unanswered;    /* exchanges in a handler or kept */
	unsigned n_exchanges;
	bool closed; /* no handler is called any more */
};

/* ---- counters and body memory ---------------------------------------------- */

static void count(struct http_server *s, unsigned *what, int by)
{
	pthread_mutex_lock(&s->lock);
	*what += (unsigned)by;
	condition_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void on_answered(struct http_server *s)
{
	count(s, &s->n_unanswered, -1);
}

/* Returns false if it is too late: MHD must not be stopped while a handler keeps an exchange. */
static bool begin_handling(struct http_server *s)
{
	bool open;

	pthread_mutex_lock(&s->lock);
	open = !s->closed;
	s->n_unanswered += open;
	pthread_mutex_unlock(&s->lock);
	return open;
}

static void release_body(struct http_exchange *x)
{
	atomic_fetch_sub(&x->server->body_memory_bytes, x->charged_bytes);
	x->charged_bytes = 0;
	buf_fini(&x->body);
}

static bool charge_body(struct http_exchange *x)
{
	uint64_t more = x->body.cap - x->charged_bytes;

	x->charged_bytes += more;
	return atomic_fetch_add(&x->server->body_memory_bytes, more) + more <=
	       x->server->max_body_memory_bytes;
}

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

/* ---- refusals ---------------------------------------------------------------- */

static void refuse(struct http_exchange *x, unsigned status, enum server_metric reason)
{
	x->refusal = status;
	metric_add(&x->server->metrics[reason], 1);
}

/* ---- base path --------------------------------------------------------------- */

static void add_param(void *location, const char *name, const char *value)
{
	struct buf *l = location;
	size_t len = l->len;

	if (buf_add(l, strchr(l->data, '?') ? "&" : "?", 1) == 0 &&
	    http_percent_encode(l, name) == 0 && buf_add(l, "=", 1) == 0 &&
	    http_percent_encode(l, value) == 0)
		return;
	/* a link without its query is still a link; half a value would be another one */
	buf_truncate(l, len);
	log_debug("redirecting without a parameter", "name=%s", LOG_QUOTED(name));
}

/* The page has relative links, so its address must end with a '/'. */
static void redirect_below(void *base_path, struct http_exchange *x)
{
	struct buf location;
	int r;

	buf_init(&location, MAX_LOCATION_BYTES);
	r = buf_addf(&location, "%s/", (const char *)base_path);
	if (r == 0) {
		http_exchange_each_param(x, add_param, &location);
		r = http_exchange_set_header(x, "Location", location.data);
	}
	buf_fini(&location);
	if (r < 0)
		http_respond_text(x, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
	else
		http_respond(x, MHD_HTTP_FOUND, NULL, NULL, 0);
}

/* Takes the base path off the path of the request. */
static void enter_base_path(struct http_exchange *x, const char *url)
{
	const char *below = http_base_path_below(x->server->base_path, url);

	x->path = below && below[0] ? below : url;
	x->base_path = below && below[0] ? x->server->base_path : "";
}

/* ---- routes ------------------------------------------------------------------ */

static void route_request(struct http_exchange *x, const char *method, bool essential_only)
{
	struct buf allow;

	buf_init(&allow, 128);
	x->route = http_route_find(x->server->routes, method, x->path, &allow);
	if (essential_only && !(x->route && x->route->essential))
		refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, REFUSED_CONNECTIONS);
	else if (!x->route && allow.len == 0)
		refuse(x, MHD_HTTP_NOT_FOUND, REFUSED_UNKNOWN);
	else if (!x->route && http_exchange_set_header(x, "Allow", allow.data) < 0)
		refuse(x, MHD_HTTP_INTERNAL_SERVER_ERROR, REFUSED_NO_MEMORY);
	else if (!x->route)
		refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, REFUSED_UNKNOWN);
	buf_fini(&allow);
}

static void answer_refusal(struct http_exchange *x)
{
	const char *reason = MHD_get_reason_phrase_for(x->refusal);
	int r = 0;

	if (x->refusal == MHD_HTTP_SERVICE_UNAVAILABLE) {
		r = http_exchange_set_header(x, "Retry-After", RETRY_AFTER_S);
		if (r == 0)
			r = http_exchange_set_header(x, "Connection", "close");
	}
	if (x->refusal_text.msg[0])
		reason = x->refusal_text.msg;
	http_respond_text(x, r == 0 ? x->refusal : MHD_HTTP_INTERNAL_SERVER_ERROR, "%s", reason);
}

bool http_exchange_require(struct http_exchange *x, enum access_scope scope)
{
	static const struct {
		unsigned status;
		enum server_metric metric;
	} refusals[] = {
		[ACCESS_REFUSED_KEY] = {MHD_HTTP_UNAUTHORIZED, REFUSED_KEY},
		[ACCESS_REFUSED_NAME] = {MHD_HTTP_FORBIDDEN, REFUSED_NAME},
		[ACCESS_REFUSED_ORIGIN] = {MHD_HTTP_FORBIDDEN, REFUSED_ORIGIN},
	};
	const struct access_request req = http_exchange_access(x);
	enum access_verdict verdict =
		access_check(x->server->access, &req, scope, &x->refusal_text);

	if (verdict == ACCESS_GRANTED)
		return true;
	refuse(x, refusals[verdict].status, refusals[verdict].metric);
	log_warn_limited("refusing a request", "status=%u path=%s reason=%s", x->refusal,
			 LOG_QUOTED(x->path), LOG_QUOTED(x->refusal_text.msg));
	if (x->handled)
		answer_refusal(x);
	return false;
}

/* Content-Length, or 0 if the client sends none. */
static uint64_t announced_bytes(const struct http_exchange *x)
{
	const char *text = http_exchange_header(x, "Content-Length");

	return text ? strtoull(text, NULL, 10) : 0;
}

/* Refuses a request by its headers alone, if they are reason enough. */
static void admit(struct http_exchange *x, const char *method)
{
	struct http_server *s = x->server;
	uint64_t announced = announced_bytes(x);
	bool essential_only = http_connections_receive(&s->connections, x->connection);

	if (atomic_load(&s->stopping))
		refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, REFUSED_STOPPING);
	else
		route_request(x, method, essential_only);
	if (x->refusal || !http_exchange_require(x, x->route->scope) || announced == 0)
		return;

	if (announced > x->route->max_body_bytes)
		refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, REFUSED_BODY_SIZE);
	else if (!x->route->discard_body &&
		 announced + atomic_load(&s->body_memory_bytes) > s->max_body_memory_bytes)
		refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, REFUSED_BODY_MEMORY);
}

/* ---- requests --------------------------------------------------------------- */

static enum MHD_Result queue_answer(struct http_exchange *x)
{
	if (!x->response)
		return MHD_NO;
	http_connections_answer(&x->server->connections, x->connection, x->answer_bytes);
	return MHD_queue_response(x->conn, x->status, x->response);
}

/* Closes the connection. A request that was refused before has been counted. */
static enum MHD_Result cut_off(struct http_exchange *x, enum server_metric reason)
{
	if (!x->refusal)
		metric_add(&x->server->metrics[reason], 1);
	return MHD_NO;
}

/* Called when the body is complete, and again once a kept exchange was answered. */
static enum MHD_Result answer(struct http_exchange *x)
{
	int handling = EXCHANGE_HANDLING;

	if (!x->handled) {
		/* a client that gets no answer repeats its request: it must not count twice */
		if (!http_connections_handle(&x->server->connections, x->connection))
			return MHD_NO;
		if (!begin_handling(x->server))
			return cut_off(x, REFUSED_STOPPING);
		x->handled = true;
		if (x->refusal) {
			answer_refusal(x);
		} else {
			metric_add(&x->server->metrics[SERVER_REQUESTS], 1);
			x->route->fn(x->route->ctx, x);
		}
	}
	if (atomic_load(&x->state) == EXCHANGE_ANSWERED)
		return queue_answer(x);

	MHD_suspend_connection(x->conn);
	/* answered between the two lines above, so nobody else resumes the connection */
	if (!atomic_compare_exchange_strong(&x->state, &handling, EXCHANGE_KEPT))
		MHD_resume_connection(x->conn);
	return MHD_YES;
}

static bool client_waits_for_continue(const struct http_exchange *x)
{
	const char *expect = http_exchange_header(x, "Expect");

	return expect && strcasecmp(expect, "100-continue") == 0;
}

static enum MHD_Result begin(struct http_server *s, struct MHD_Connection *conn, const char *url,
			     const char *method, const char *version, void **ret_exchange)
{
	const union MHD_ConnectionInfo *info;
	struct http_exchange *x;

	info = MHD_get_connection_info(conn, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	if (!info->socket_context)
		return MHD_NO;
	x = calloc(1, sizeof(*x));
	if (!x) {
		metric_add(&s->metrics[REFUSED_NO_MEMORY], 1);
		return MHD_NO;
	}
	x->server = s;
	x->answered = on_answered;
	x->answers = &s->answers;
	x->conn = conn;
	x->connection = info->socket_context;
	enter_base_path(x, url);
	x->is_get = strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
		    strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
	x->takes_interim = !s->tls && strcmp(version, MHD_HTTP_VERSION_1_1) == 0;
	x->left = http_acceptor_left(s->acceptor);
	x->begin_ns = clock_monotonic_ns();
	count(s, &s->n_exchanges, 1);
	*ret_exchange = x;

	admit(x, method);
	buf_init(&x->body, x->refusal ? 0 : x->route->max_body_bytes);
	if (x->refusal &&
	    (client_waits_for_continue(x) || announced_bytes(x) > MAX_DISCARDED_BYTES))
		return answer(x);
	return MHD_YES;
}

static enum MHD_Result receive(struct http_exchange *x, const char *data, size_t len)
{
	uint64_t allowed_ns;
	int r;

	x->received_bytes += len;
	allowed_ns = x->server->timeout_s * NS_PER_S +
		     x->received_bytes * (NS_PER_S / MIN_BODY_BYTES_PER_S);
	if (x->received_bytes > MAX_DISCARDED_BYTES + x->body.limit)
		return cut_off(x, REFUSED_BODY_ENDLESS);
	if (clock_monotonic_ns() - x->begin_ns > allowed_ns)
		return cut_off(x, REFUSED_BODY_SLOW);
	if (x->refusal)
		return MHD_YES;

	if (x->route->discard_body)
		r = x->received_bytes > x->body.limit ? -EFBIG : 0;
	else
		r = buf_add(&x->body, data, len);
	if (r == -EFBIG)
		refuse(x, MHD_HTTP_CONTENT_TOO_LARGE, REFUSED_BODY_SIZE);
	else if (r < 0)
		refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, REFUSED_NO_MEMORY);
	else if (!charge_body(x))
		refuse(x, MHD_HTTP_SERVICE_UNAVAILABLE, REFUSED_BODY_MEMORY);
	if (x->refusal)
		release_body(x);
	return MHD_YES;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are MHD's */
static enum MHD_Result on_request(void *server, struct MHD_Connection *conn, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *len, void **exchange)
{
	if (!*exchange)
		return begin(server, conn, url, method, version, exchange);
	if (*len > 0) {
		size_t n = *len;

		*len = 0;
		return receive(*exchange, data, n);
	}
	return answer(*exchange);
}

static void on_completed(void *server, struct MHD_Connection *conn, void **exchange,
			 enum MHD_RequestTerminationCode code)
{
	struct http_server *s = server;
	struct http_exchange *x = *exchange;

	(void)conn;
	(void)code;
	if (!x)
		return;
	http_connections_rest(&s->connections, x->connection);
	release_body(x);
	http_exchange_free(x);
	*exchange = NULL;
	count(s, &s->n_exchanges, -1);
}

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
	vsnprintf(line, sizeof(line), fmt, ap);
	line[strcspn(line, "\n")] = '\0';
	log_warn_limited("http server", "detail=%s", LOG_QUOTED(line));
}

/* ---- create and destroy ------------------------------------------------------- */

/* With one that leads to the base path. */
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
		s->routes[n] = (struct http_route){
			"GET",          s->base_path, 0,
			redirect_below, s->base_path, .scope = ACCESS_BEFORE_KEY};
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
		daemon_flags(s), 0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, on_log,
		s, MHD_OPTION_CONNECTION_LIMIT, limit, MHD_OPTION_CONNECTION_TIMEOUT, s->timeout_s,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY_BYTES,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, s, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, s, MHD_OPTION_ARRAY,
		pool, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
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
