/* Which handler a request belongs to. Pure. */
#ifndef COMMON_HTTP_HTTP_ROUTE_H
#define COMMON_HTTP_HTTP_ROUTE_H

#include "common/access/access.h"
#include "common/base.h"
#include "common/data/buf.h"

struct http_exchange;

typedef void (*http_handler_fn)(void *ctx, struct http_exchange *x);

struct http_route {
	const char *method; /* "GET", "POST" or "DELETE"; NULL ends the table */
	const char *path; /* exact; a path ending in '*' is a prefix, tried after the exact ones */
	size_t max_body_bytes; /* as received; 0: no body is allowed */
	http_handler_fn fn;
	void *ctx;
	enum access_scope scope;
	bool discard_body; /* read it and keep nothing; http_exchange_body() is empty */
	bool essential;    /* served when the server is full: cheap, for who watches the process */
};

/*
 * Returns the route of a request, or NULL. If routes have the path but not the method, allow is the
 * value of the Allow header of a 405 answer; without memory for it, and if no route has the path,
 * allow stays empty.
 */
const struct http_route *http_route_find(const struct http_route *routes, const char *method,
					 const char *path, struct buf *allow);

#endif /* COMMON_HTTP_HTTP_ROUTE_H */
