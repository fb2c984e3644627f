/*
 * HTTP server: libmicrohttpd behind routes, limits and suspended requests.
 *
 * Requests are untrusted. A request reaches its handler once its body is whole
 * and within the route's limit; 404, 405, 413, 414, 431 and 503 with Retry-After
 * (too many connections, no memory for the body) are answered here. Request
 * line and headers together fit in about 30 KiB.
 *
 * Handlers run on the server's own threads and must not block: they respond at
 * once, or keep the request and call http_respond() later from any thread,
 * exactly once. A kept exchange has no time-out, and nobody notices that its
 * client left: whoever keeps it sees to it that it is answered in time.
 *
 * HEAD is served by the GET handler without its body. Answers to GET are
 * gzipped when the client accepts it and the body is above 1 KiB.
 *
 * A connection that is idle for timeout_s, or that takes longer than timeout_s
 * plus 1 s per 16 KiB to send a body, is closed without an answer. A body
 * that is refused is still read up to 64 MiB, so that the answer is seen; one
 * announced as longer, or by a client that sent "Expect: 100-continue", is
 * answered at once.
 */
#ifndef COMMON_HTTP_HTTP_SERVER_H
#define COMMON_HTTP_HTTP_SERVER_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/telemetry/metrics.h"

struct http_server;
struct http_exchange; /* one request and its answer */

typedef void (*http_handler_fn)(void *ctx, struct http_exchange *x);

struct http_route {
	const char *method; /* "GET" or "POST" */
	const char *path; /* exact; a path ending in '*' is a prefix, tried after the exact ones */
	size_t max_body_bytes; /* as received; 0: no body allowed */
	http_handler_fn fn;
	void *ctx;
};

struct http_server_config {
	const char *listen; /* "127.0.0.1:80", "[::1]:80", ":80"; port 0 picks one */
	unsigned n_threads; /* 0: 1 */
	unsigned max_connections;
	unsigned timeout_s;              /* of an idle or slow connection; not 0 */
	size_t max_body_memory_bytes;    /* of all bodies received and not answered; beyond: 503 */
	const struct http_route *routes; /* copied; ends with a zeroed one */
	/*
	 * Where to show http_server_*; NULL: nowhere. For one server of a process. Refers to the
	 * server, so nobody may write them after http_server_free() or a failed http_server_new().
	 */
	struct metrics *metrics;
};

/* -EADDRINUSE, -EACCES, -EINVAL (bad address) … with a sentence in err. */
int http_server_new(struct http_server **ret, const struct http_server_config *cfg,
		    struct err *err) MUST_CHECK;
/*
 * Stops accepting and waits until every exchange is answered, so somebody else
 * must answer those that were kept. Answers then have 1 s to get out.
 */
void http_server_free(struct http_server *s);
DEFINE_CLEANUP(struct http_server *, http_server_free);
/* Stop accepting new connections; those under way go on. */
void http_server_quiesce(struct http_server *s);
unsigned http_server_port(const struct http_server *s);

/*
 * Borrowed until http_respond(). Path and query parameters are percent-decoded; %00 and what is
 * no %XX stay as they are. Of a parameter given twice the first counts. NULL when absent.
 */
const char *http_exchange_path(const struct http_exchange *x);
const char *http_exchange_param(const struct http_exchange *x, const char *name);
const char *http_exchange_header(const struct http_exchange *x, const char *name);
const void *http_exchange_body(const struct http_exchange *x, size_t *ret_len);
/* Calls fn for each query parameter, in order; value "" when it has none. */
void http_exchange_each_param(const struct http_exchange *x,
			      void (*fn)(void *ctx, const char *name, const char *value),
			      void *ctx);

/*
 * Extra header of the answer, before http_respond(). Copied. -ENOSPC after the eighth; -EINVAL
 * when it would break the answer's lines; -ENOMEM.
 */
int http_exchange_set_header(struct http_exchange *x, const char *name,
			     const char *value) MUST_CHECK;

/*
 * Answer and give up x. body_adopt(free(3)-able, may be NULL when len is 0) is always taken, also
 * when the client is gone.
 */
void http_respond(struct http_exchange *x, unsigned status, const char *content_type,
		  char *body_adopt, size_t len);
/* One line of text/plain with a newline added. */
void http_respond_text(struct http_exchange *x, unsigned status, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/* Bytes that outlive the server (embedded assets); already_gzipped is sent as such. */
void http_respond_static(struct http_exchange *x, const char *content_type, const void *data,
			 size_t len, bool already_gzipped);

/* Whether the X-Api-Key header is key; true if key is NULL or "". In constant time. */
bool http_exchange_has_api_key(const struct http_exchange *x, const char *key);

#endif /* COMMON_HTTP_HTTP_SERVER_H */
