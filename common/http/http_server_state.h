/* A server as http_server.c, which starts and stops it, and http_request.c see it. */
#ifndef COMMON_HTTP_HTTP_SERVER_STATE_H
#define COMMON_HTTP_HTTP_SERVER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "common/http/http_base_path.h"
#include "common/http/http_connections.h"
#include "common/http/http_exchange_state.h"
#include "common/http/http_server.h"
#include "common/telemetry/metrics.h"
#include "common/thread/condition.h"

struct MHD_Daemon;
struct http_acceptor;

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

#endif /* COMMON_HTTP_HTTP_SERVER_STATE_H */
