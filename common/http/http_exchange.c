/*
 * Requests as handlers read them, and their answers.
 *
 * An answer may be given on any thread, while the server's thread that runs the handler is about
 * to suspend the connection. respond() writes the answer into the exchange first and then swaps
 * the state; the exchange belongs to the server's thread from that moment and may already be
 * freed, so nothing after the swap touches it. Compression happens before, on the thread that
 * answers, so that a large answer does not hold up the server's other connections.
 */
#include "common/http/http_exchange.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <strings.h>

#include "common/data/gzip.h"
#include "common/data/hash.h"
#include "common/http/http_connections.h"
#include "common/http/http_exchange_state.h"
#include "common/http/http_listen.h"
#include "common/http/http_route.h"
#include "common/http/http_text.h"
#include "common/telemetry/metrics.h"

#define GZIP_FROM_BYTES 1024
#define GZIP_LEVEL 4
/* Of fixed bytes that were gzipped beforehand, for a client that does not take gzip. */
#define MAX_INFLATED_BYTES ((size_t)16 << 20)
/* Smaller answers are not charged: the number of connections bounds them well enough. */
#define HELD_FROM_BYTES ((size_t)64 * 1024)
#define RETRY_AFTER_S "5"
#define TEXT_PLAIN "text/plain; charset=utf-8"
#define PAGE_POLICY                                                                    \
	"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " \
	"object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

/* An answer. If len is not 0, exactly one of owned and fixed is not NULL. */
struct payload {
	const char *content_type;
	char *owned; /* by malloc(3) */
	const void *fixed;
	size_t len;
	bool gzipped;
};

static void drop_headers(struct http_exchange *x)
{
	for (unsigned i = 0; i < x->n_headers; i++) {
		free(x->headers[i].name);
		free(x->headers[i].value);
	}
	x->n_headers = 0;
}

static void release_answer(struct http_exchange *x)
{
	atomic_fetch_sub(&x->answers->bytes, x->held_bytes);
	x->held_bytes = 0;
}

void http_exchange_free(struct http_exchange *x)
{
	drop_headers(x);
	if (x->response)
		MHD_destroy_response(x->response);
	release_answer(x);
	buf_fini(&x->body);
	free(x);
}

const char *http_exchange_method(const struct http_exchange *x)
{
	return x->route->method;
}

const char *http_exchange_path(const struct http_exchange *x)
{
	return x->path;
}

const char *http_exchange_param(const struct http_exchange *x, const char *name)
{
	const char *value = NULL;

	if (MHD_lookup_connection_value_n(x->conn, MHD_GET_ARGUMENT_KIND, name, strlen(name),
					  &value, NULL) != MHD_YES)
		return NULL;
	return value ? value : "";
}

const char *http_exchange_header(const struct http_exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->conn, MHD_HEADER_KIND, name);
}

struct access_request http_exchange_access(const struct http_exchange *x)
{
	return (struct access_request){
		.is_write = !x->is_get,
		.host = http_exchange_header(x, "Host"),
		.origin = http_exchange_header(x, "Origin"),
		.sec_fetch_site = http_exchange_header(x, "Sec-Fetch-Site"),
		.sec_fetch_mode = http_exchange_header(x, "Sec-Fetch-Mode"),
		.api_key = http_exchange_header(x, "X-Api-Key"),
		.clickhouse_key = http_exchange_header(x, "X-ClickHouse-Key"),
		.authorization = http_exchange_header(x, "Authorization"),
		.cookie = http_exchange_header(x, "Cookie"),
		.sec_fetch_dest = http_exchange_header(x, "Sec-Fetch-Dest"),
		.client = http_exchange_client(x),
		.base_path = x->base_path,
	};
}

const void *http_exchange_body(const struct http_exchange *x, size_t *ret_len)
{
	*ret_len = x->body.len;
	return x->body.data ? x->body.data : "";
}

struct param_visitor {
	void (*fn)(void *ctx, const char *name, const char *value);
	void *ctx;
};

static enum MHD_Result visit_param(void *visitor, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	const struct param_visitor *v = visitor;

	(void)kind;
	v->fn(v->ctx, name, value ? value : "");
	return MHD_YES;
}

void http_exchange_each_param(const struct http_exchange *x,
			      void (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
	struct param_visitor v = {fn, ctx};

	MHD_get_connection_values(x->conn, MHD_GET_ARGUMENT_KIND, visit_param, &v);
}

uint64_t http_exchange_client(const struct http_exchange *x)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	return http_client_number(info ? info->client_addr : NULL);
}

void http_exchange_on_left(struct http_exchange *x, void (*left)(void *ctx), void *ctx)
{
	const union MHD_ConnectionInfo *info;

	info = MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD);
	x->left_watch = (struct http_left_watch){
		.left = left,
		.ctx = ctx,
		.fd = info->connect_fd,
		.may_probe = x->takes_interim,
	};
	http_left_watch(x->left, &x->left_watch);
}

int http_exchange_set_header(struct http_exchange *x, const char *name, const char *value)
{
	AUTO_FREE char *n = NULL;
	AUTO_FREE char *v = NULL;

	if (x->n_headers == HTTP_EXCHANGE_MAX_HEADERS)
		return -ENOSPC;
	if (!*name || strpbrk(name, "\r\n: ") || strpbrk(value, "\r\n"))
		return -EINVAL;
	n = strdup(name);
	v = strdup(value);
	if (!n || !v)
		return -ENOMEM;
	x->headers[x->n_headers].name = TAKE_PTR(n);
	x->headers[x->n_headers].value = TAKE_PTR(v);
	x->n_headers++;
	return 0;
}

/* Whether the handler has encoded the body itself. */
static bool is_encoded(const struct http_exchange *x)
{
	for (unsigned i = 0; i < x->n_headers; i++) {
		if (strcasecmp(x->headers[i].name, "Content-Encoding") == 0)
			return true;
	}
	return false;
}

/* Replaces p's bytes by their gzip if the client accepts it and it is shorter. */
static void gzip_payload(const struct http_exchange *x, struct payload *p)
{
	const void *data = p->owned ? p->owned : p->fixed;
	struct buf zipped;

	if (!x->is_get || p->gzipped || p->len <= GZIP_FROM_BYTES || is_encoded(x) ||
	    gzip_detect(data, p->len) ||
	    !http_accepts(http_exchange_header(x, "Accept-Encoding"), "gzip"))
		return;

	buf_init(&zipped, p->len);
	if (gzip_deflate(data, p->len, GZIP_LEVEL, &zipped) == 0) {
		free(p->owned);
		p->owned = buf_take(&zipped, &p->len);
		p->fixed = NULL;
		p->gzipped = true;
	}
	buf_fini(&zipped);
}

/* Replaces fixed bytes that are gzipped by what they hold if the client does not accept gzip. */
static void inflate_payload(const struct http_exchange *x, struct payload *p)
{
	struct buf plain;

	if (!p->fixed || !p->gzipped ||
	    http_accepts(http_exchange_header(x, "Accept-Encoding"), "gzip"))
		return;

	buf_init(&plain, MAX_INFLATED_BYTES);
	if (gzip_inflate(p->fixed, p->len, &plain) == 0) {
		p->owned = buf_take(&plain, &p->len);
		p->fixed = NULL;
		p->gzipped = false;
	}
	buf_fini(&plain);
}

static bool has_header(const struct http_exchange *x, const char *name)
{
	for (unsigned i = 0; i < x->n_headers; i++)
		if (strcasecmp(x->headers[i].name, name) == 0)
			return true;
	return false;
}

static bool add_headers(struct MHD_Response *r, const struct http_exchange *x,
			const struct payload *p)
{
	bool ok;

	ok = MHD_add_response_header(r, "X-Content-Type-Options", "nosniff") == MHD_YES &&
	     MHD_add_response_header(r, "Referrer-Policy", "no-referrer") == MHD_YES &&
	     MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin") == MHD_YES &&
	     MHD_add_response_header(r, "X-Frame-Options", "DENY") == MHD_YES;
	/* an answer may depend on a key, unless its handler says how long it may be kept */
	if (ok && !has_header(x, "Cache-Control"))
		ok = MHD_add_response_header(r, "Cache-Control", "no-store") == MHD_YES;
	if (ok && p->content_type)
		ok = MHD_add_response_header(r, "Content-Type", p->content_type) == MHD_YES;
	if (ok && p->content_type && strncasecmp(p->content_type, "text/html", 9) == 0)
		ok = MHD_add_response_header(r, "Content-Security-Policy", PAGE_POLICY) == MHD_YES;
	if (ok && x->is_get && p->len > 0)
		ok = MHD_add_response_header(r, "Vary", "Accept-Encoding") == MHD_YES;
	if (ok && p->gzipped)
		ok = MHD_add_response_header(r, "Content-Encoding", "gzip") == MHD_YES;
	for (unsigned i = 0; ok && i < x->n_headers; i++)
		ok = MHD_add_response_header(r, x->headers[i].name, x->headers[i].value) == MHD_YES;
	return ok;
}

static struct MHD_Response *create_response(const struct payload *p)
{
	/* MHD does not write to a persistent buffer, but its parameter is not const */
	union {
		const void *given;
		void *asked;
	} fixed = {.given = p->len > 0 ? p->fixed : ""};
	struct MHD_Response *r;

	if (!p->owned)
		return MHD_create_response_from_buffer(p->len, fixed.asked, MHD_RESPMEM_PERSISTENT);
	r = MHD_create_response_from_buffer(p->len, p->owned, MHD_RESPMEM_MUST_FREE);
	if (!r)
		free(p->owned);
	return r;
}

bool http_exchange_hold(struct http_exchange *x, size_t len)
{
	struct http_answer_memory *m = x->answers;
	bool is_free = len < HELD_FROM_BYTES || (x->route && x->route->essential);
	uint64_t wanted = is_free ? 0 : len;
	uint64_t more;

	if (wanted <= x->held_bytes) {
		atomic_fetch_sub(&m->bytes, x->held_bytes - wanted);
		x->held_bytes = wanted;
		return true;
	}
	more = wanted - x->held_bytes;
	if (atomic_fetch_add(&m->bytes, more) + more > m->max_bytes) {
		atomic_fetch_sub(&m->bytes, more);
		metric_add(m->refused, 1);
		http_connections_release_answer(m->connections);
		return false;
	}
	x->held_bytes = wanted;
	return true;
}

/* Replaces an answer for which no memory is left. Headers of the handler belong to its body. */
static unsigned refuse_answer(struct http_exchange *x, struct payload *p)
{
	static const char text[] = "Too many answers have not been read by their clients\n";
	int r;

	free(p->owned);
	release_answer(x);
	*p = (struct payload){TEXT_PLAIN, NULL, text, sizeof(text) - 1, false};
	drop_headers(x);
	r = http_exchange_set_header(x, "Retry-After", RETRY_AFTER_S);
	return r == 0 ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_INTERNAL_SERVER_ERROR;
}

static void respond(struct http_exchange *x, unsigned status, struct payload *p)
{
	void (*answered)(struct http_server *) = x->answered;
	struct http_server *server = x->server;
	struct MHD_Connection *conn = x->conn;
	struct MHD_Response *r;

	http_left_end(&x->left_watch);
	gzip_payload(x, p);
	inflate_payload(x, p);
	if (p->owned && !http_exchange_hold(x, p->len))
		status = refuse_answer(x, p);
	r = create_response(p);
	if (r && !add_headers(r, x, p)) {
		MHD_destroy_response(r);
		r = NULL;
	}
	x->status = status;
	x->answer_bytes = p->len;
	x->response = r;
	/* from here on the server's thread may free x at any time */
	if (atomic_exchange(&x->state, EXCHANGE_ANSWERED) == EXCHANGE_KEPT)
		MHD_resume_connection(conn);
	answered(server);
}

void http_respond(struct http_exchange *x, unsigned status, const char *content_type,
		  char *body_adopt, size_t len)
{
	respond(x, status, &(struct payload){content_type, body_adopt, NULL, len, false});
}

void http_respond_text(struct http_exchange *x, unsigned status, const char *fmt, ...)
{
	struct payload p = {.content_type = TEXT_PLAIN};
	char *line = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	/* without memory for the text, the status alone must do */
	if (n >= 0) {
		line[n] = '\n'; /* in place of the NUL, which is not sent */
		p.owned = line;
		p.len = (size_t)n + 1;
	}
	respond(x, status, &p);
}

void http_respond_static(struct http_exchange *x, const char *content_type, const void *data,
			 size_t len, bool already_gzipped)
{
	respond(x, MHD_HTTP_OK, &(struct payload){content_type, NULL, data, len, already_gzipped});
}
