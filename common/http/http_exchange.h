/*
 * One request and its answer, as handlers see it. Handlers get an exchange from http_server.h, and
 * answer it exactly once with one of the http_respond functions, from any thread; it must not be
 * used afterwards.
 */
#ifndef COMMON_HTTP_HTTP_EXCHANGE_H
#define COMMON_HTTP_HTTP_EXCHANGE_H

#include "common/access/access.h"
#include "common/base.h"

struct http_exchange;

/*
 * Borrowed until the answer. Path and query parameters are percent-decoded; %00 and what is not a
 * valid %XX stay as they are. If a parameter is given twice, the first one counts. NULL if absent.
 */
const char *http_exchange_path(const struct http_exchange *x);   /* without the base path */
const char *http_exchange_method(const struct http_exchange *x); /* of its route: HEAD is "GET" */
const char *http_exchange_param(const struct http_exchange *x, const char *name);
const char *http_exchange_header(const struct http_exchange *x, const char *name);
const void *http_exchange_body(const struct http_exchange *x, size_t *ret_len);
/* Calls fn for each query parameter, in order; value is "" if it has none. */
void http_exchange_each_param(const struct http_exchange *x,
			      void (*fn)(void *ctx, const char *name, const char *value),
			      void *ctx);

/* What access.h wants to know of the request; borrowed as above. */
struct access_request http_exchange_access(const struct http_exchange *x);
/*
 * Whether the request may have what needs this scope, for a route whose own scope lets more in.
 * Otherwise the exchange has been answered with 401 or 403.
 */
bool http_exchange_require(struct http_exchange *x, enum access_scope scope) MUST_CHECK;

/*
 * A number for who asks: the client's address, of IPv6 the network (/64). Behind a proxy that is
 * the proxy's.
 */
uint64_t http_exchange_client(const struct http_exchange *x);

/*
 * For a kept exchange: left is called at most once, on a thread of the server, when the client has
 * closed its connection; it must not block. It is never called once http_respond() has returned,
 * which waits for a call that is under way, so it must not be called with a lock that left takes;
 * left itself may call it. The exchange must be answered all the same.
 *
 * May be called by the handler or later, once per exchange, while the exchange is the caller's.
 * A client that closes only its own direction of the connection after its request ("nc -N") waits
 * for the answer; it is recognised if it speaks HTTP/1.1 without TLS (http_left.h says how), and
 * otherwise taken for one that has left.
 */
void http_exchange_on_left(struct http_exchange *x, void (*left)(void *ctx), void *ctx);

/*
 * Adds a header to the answer. Both texts are copied. Returns 0, -ENOSPC after the sixteenth,
 * -EINVAL if it would break the lines of the answer, or -ENOMEM.
 */
int http_exchange_set_header(struct http_exchange *x, const char *name,
			     const char *value) MUST_CHECK;

/*
 * Charges an answer of len bytes to the memory that the server has for answers which clients have
 * not read yet. Returns false if there is too little left: the handler may then answer with an
 * error of its own. Otherwise http_respond() would replace the answer by 503 with Retry-After.
 * Answers below 64 KiB and those of essential routes are not charged.
 */
bool http_exchange_hold(struct http_exchange *x, size_t len) MUST_CHECK;

/*
 * Answers. body_adopt (from malloc(3), may be NULL if len is 0) is taken in every case, also if the
 * client has left.
 */
void http_respond(struct http_exchange *x, unsigned status, const char *content_type,
		  char *body_adopt, size_t len);
/* One line of text/plain; a newline is added. */
void http_respond_text(struct http_exchange *x, unsigned status, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
/*
 * 200 with bytes that outlive the server (embedded assets). Those that are already gzipped are
 * sent as such to clients that accept it, and inflated for others, up to 16 MiB.
 */
void http_respond_static(struct http_exchange *x, const char *content_type, const void *data,
			 size_t len, bool already_gzipped);

#endif /* COMMON_HTTP_HTTP_EXCHANGE_H */
