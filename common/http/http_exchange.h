/*
 * One request and its answer, as http_server.c and http_exchange.c share it.
 * Not for users of the server.
 */
#ifndef COMMON_HTTP_HTTP_EXCHANGE_H
#define COMMON_HTTP_HTTP_EXCHANGE_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "common/base.h"
#include "common/http/http_server.h"

#define HTTP_EXCHANGE_MAX_HEADERS 8

/*
 * Who resumes the connection when the answer and the end of the handler race:
 * the one who comes second. http_respond() swaps in ANSWERED; the server swaps
 * HANDLING for KEPT once it has suspended the connection.
 */
enum exchange_state {
	EXCHANGE_HANDLING,
	EXCHANGE_KEPT,
	EXCHANGE_ANSWERED,
};

struct http_exchange {
	struct http_server *server;
	struct MHD_Connection *conn;
	const struct http_route *route; /* NULL when refused */
	const char *path;               /* of the connection's own memory */
	bool is_get;                    /* or HEAD */
	bool handled;                   /* the handler was called */
	unsigned refusal; /* status to answer instead of calling the handler; 0: none */
	uint64_t begin_ns;
	uint64_t received_bytes;
	uint64_t charged_bytes; /* to the server's body memory */
	struct buf body;
	struct {
		char *name, *value;
	} headers[HTTP_EXCHANGE_MAX_HEADERS];
	unsigned n_headers;
	_Atomic int state; /* enum exchange_state */
	/* of the answer; written before state becomes ANSWERED */
	unsigned status;
	struct MHD_Response *response; /* NULL: there was no memory for it */
};

void http_exchange_free(struct http_exchange *x);

/* http_respond() is through with an exchange of s. By http_server.c. */
void http_server_answered(struct http_server *s);

#endif /* COMMON_HTTP_HTTP_EXCHANGE_H */
