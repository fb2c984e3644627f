/* What http_request.c and http_exchange.c know of an exchange. Not for handlers. */
#ifndef COMMON_HTTP_HTTP_EXCHANGE_STATE_H
#define COMMON_HTTP_HTTP_EXCHANGE_STATE_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"
#include "common/http/http_exchange.h"
#include "common/http/http_left.h"

#define HTTP_EXCHANGE_MAX_HEADERS 16

struct http_connection;
struct http_connections;
struct http_route;
struct http_server;

/* The memory of answers that clients have not read yet. One per server. */
struct http_answer_memory {
	_Atomic uint64_t bytes;
	uint64_t max_bytes;
	struct http_connections *connections; /* the server's */
	struct metric *refused;
};

/*
 * The answer and the end of the handler race: the connection must be resumed by whichever comes
 * second. The answer swaps in ANSWERED; the server swaps HANDLING for KEPT once it has suspended
 * the connection.
 */
enum exchange_state {
	EXCHANGE_HANDLING,
	EXCHANGE_KEPT,
	EXCHANGE_ANSWERED,
};

struct http_exchange {
	struct http_server *server;
	void (*answered)(struct http_server *server); /* called after each answer */
	struct MHD_Connection *conn;
	struct http_connection *connection; /* the same in the server's table */
	const struct http_route *route;     /* NULL if the request was refused */
	const char *path;                   /* in the connection's own memory, without base_path */
	const char *base_path;              /* the server's; "" if the request is for the root */
	bool is_get;                        /* or HEAD */
	bool takes_interim;                 /* HTTP/1.1 without TLS: see http_left.h */
	bool handled;                       /* the handler was called */
	unsigned refusal;        /* status to answer instead of calling the handler; 0 if none */
	struct err refusal_text; /* empty: what the status says */
	uint64_t begin_ns;
	uint64_t received_bytes;
	uint64_t charged_bytes; /* to the server's body memory */
	struct buf body;
	struct {
		char *name, *value;
	} headers[HTTP_EXCHANGE_MAX_HEADERS];
	unsigned n_headers;
	struct http_left *left; /* the server's */
	struct http_left_watch left_watch;
	struct http_answer_memory *answers; /* the server's */
	uint64_t held_bytes;                /* charged to answers */
	_Atomic int state;                  /* enum exchange_state */
	/* of the answer; written before state becomes ANSWERED */
	unsigned status;
	uint64_t answer_bytes;
	struct MHD_Response *response; /* NULL if there was no memory for it */
};

void http_exchange_free(struct http_exchange *x);

#endif /* COMMON_HTTP_HTTP_EXCHANGE_STATE_H */
