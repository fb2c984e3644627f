/*
 * One request of a server, from its headers to its answer.
 *
 * MHD calls http_request_receive() once for the headers, once for each piece of the body, and once
 * at the end. A request is refused as early as possible, but a client that is still sending does
 * not read an answer, and closing a connection with unread bytes resets it under the answer; so a
 * refused body is read and discarded, within limits, before the answer is sent.
 *
 * All bodies together are limited, not only each one: a body is charged as its buffer grows and
 * released when its exchange completes. Answers are limited in the same way, because clients may
 * ask for large ones and not read them.
 *
 * Handlers may keep an exchange and answer it later from another thread. MHD then has the
 * connection suspended; enum exchange_state decides who resumes it.
 */
#include "common/http/http_request.h"

#include <errno.h>
#include <strings.h>

#include "common/http/http_acceptor.h"
#include "common/http/http_bad_length.h"
#include "common/http/http_server_state.h"
#include "common/http/http_text.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

/* A refused body is read and discarded up to here; the connection of a longer one is closed. */
#define MAX_DISCARDED_BYTES (64 * UINT64_C(1024) * 1024)
/* A body may take the idle time-out plus what it needs at this rate, so it cannot trickle in. */
#define MIN_BODY_BYTES_PER_S (16 * UINT64_C(1024))
#define RETRY_AFTER_S "5"
#define MAX_LOCATION_BYTES ((size_t)8 * 1024)
/*
 * What MHD keeps for each parameter beside its text. What it has read of the request, headers too,
 * takes up to half of the connection's memory before parameters are kept.
 */
#define PARAMETER_BYTES 64u
#define MAX_PARAMETERS 200u
#define MAX_QUERY_BYTES ((size_t)24 * 1024)

/* ---- counters and body memory ---- */

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
void http_request_redirect(void *base_path, struct http_exchange *x)
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

	if (x->refusal)
		return;
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

/*
 * A request line with more parameters than the connection's memory has room for. MHD would lose the
 * error, wait for the rest of a request that has been read already, and never answer.
 */
static char too_many_parameters;

/* Returns whether MHD has room for all parameters of the request line. */
static bool has_room_for_parameters(const char *query)
{
	size_t n = 0;

	for (const char *at = query; *at; at++)
		n += *at == '&' || at == query;
	return n <= MAX_PARAMETERS && strlen(query) + n * PARAMETER_BYTES <= MAX_QUERY_BYTES;
}

void *http_request_see_line(void *server, const char *uri, struct MHD_Connection *conn)
{
	const char *query = strchr(uri, '?');

	(void)server;
	http_bad_length_begin(conn);
	if (!query || has_room_for_parameters(query + 1))
		return NULL;
	/* the text is in the connection's own buffer, and MHD reads parameters after this call */
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	*(char *)(uintptr_t)(query + 1) = '\0';
	return &too_many_parameters;
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
	if (*ret_exchange == &too_many_parameters)
		refuse(x, MHD_HTTP_URI_TOO_LONG, REFUSED_MALFORMED);
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
enum MHD_Result http_request_receive(void *server, struct MHD_Connection *conn, const char *url,
				     const char *method, const char *version, const char *data,
				     size_t *len, void **exchange)
{
	if (!*exchange || *exchange == &too_many_parameters)
		return begin(server, conn, url, method, version, exchange);
	if (*len > 0) {
		size_t n = *len;

		*len = 0;
		return receive(*exchange, data, n);
	}
	return answer(*exchange);
}

void http_request_complete(void *server, struct MHD_Connection *conn, void **exchange,
			   enum MHD_RequestTerminationCode code)
{
	struct http_server *s = server;
	struct http_exchange *x = *exchange;

	(void)conn;
	(void)code;
	if (!x || *exchange == &too_many_parameters)
		return;
	http_connections_rest(&s->connections, x->connection);
	release_body(x);
	http_exchange_free(x);
	*exchange = NULL;
	count(s, &s->n_exchanges, -1);
}
