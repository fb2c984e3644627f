/*
 * HTTP server: libmicrohttpd behind routes, limits and suspended requests.
 *
 * Requests are untrusted. A request reaches its handler once its body is complete and within the
 * route's limit; 404, 405, 413, 414, 431, and 503 with Retry-After (too many connections, no memory
 * for the body) are answered here. Request line and headers together fit in about 30 KiB.
 *
 * Handlers run on the server's own threads and must not block: they respond at once, or keep the
 * exchange and respond later from any thread, exactly once. A kept exchange has no time-out, and is
 * not ended when its client leaves (http_exchange_on_left() tells): whoever keeps it must answer it
 * in time.
 *
 * HEAD is served by the GET handler without its body. Answers to GET are gzipped if the client
 * accepts that and the body is above 1 KiB.
 *
 * Connections that do nothing lock nobody out: with max_connections open, a new one takes the place
 * of the one that is idle for longest, at the address that has most of them. If all are busy, a new
 * one is served essential routes only, and 503 for others. A request line with its headers must be
 * complete 10 s after its first byte. (http_connections.h)
 *
 * A connection that is idle for timeout_s, or that takes longer than timeout_s plus 1 s per 16 KiB
 * to send a body or to read an answer, is closed. A refused body is still read up to 64 MiB, so
 * that the client sees the answer; if a longer one is announced, or the client sent "Expect:
 * 100-continue", the answer is sent at once.
 *
 * Large answers that clients have not read yet are limited together; beyond that, an answer is
 * replaced by 503 with Retry-After, and of the clients that have read theirs for longer than
 * timeout_s one is cut off, so that nobody who reads slowly keeps others waiting.
 */
#ifndef COMMON_HTTP_HTTP_SERVER_H
#define COMMON_HTTP_HTTP_SERVER_H

#include "common/base.h"
#include "common/err.h"
#include "common/http/http_exchange.h"
#include "common/http/http_route.h"
#include "common/telemetry/metrics.h"

struct http_server;
struct server_tls;

struct http_server_config {
	const char *listen; /* "127.0.0.1:80", "[::1]:80", ":80"; port 0 picks one */
	unsigned n_threads; /* 0: 1 */
	unsigned max_connections;
	unsigned timeout_s;           /* of an idle or slow connection; not 0 */
	size_t max_body_memory_bytes; /* of all bodies received and not answered; beyond: 503 */
	/* of all answers that are not sent yet; beyond: 503 (http_exchange_hold()); 0: 64 MiB */
	size_t max_answer_memory_bytes;
	const struct http_route *routes; /* copied */
	/*
	 * Below it the routes can be reached as well as at the root (http_base_path.h); itself, it
	 * redirects to what is below. NULL or "": only at the root.
	 */
	const char *base_path;
	const struct access *access; /* borrowed; NULL: everybody may use every route */
	struct server_tls *tls;      /* borrowed; NULL: plain HTTP */
	/*
	 * Where the metrics http_server_* are registered, or NULL. For one server per process. They
	 * refer to the server, so they must not be written after http_server_free() or a failed
	 * http_server_new().
	 */
	struct metrics *metrics;
};

/* Returns 0, or -EADDRINUSE, -EACCES, -EINVAL (bad address) and the like with a sentence in err. */
int http_server_new(struct http_server **ret, const struct http_server_config *cfg,
		    struct err *err) MUST_CHECK;
/*
 * Stops accepting and waits until every exchange is answered; other threads must answer those that
 * were kept. The last answers then have 1 s to be sent.
 */
void http_server_free(struct http_server *s);
DEFINE_CLEANUP(struct http_server *, http_server_free);
/* Stops accepting connections; those that exist continue. */
void http_server_quiesce(struct http_server *s);
unsigned http_server_port(const struct http_server *s);

#endif /* COMMON_HTTP_HTTP_SERVER_H */
