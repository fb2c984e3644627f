/*
 * The connections of one server: what each of them does and since when. Private to
 * common/http/; from any thread.
 *
 * A server has room for so many connections, and everybody may open one and say nothing. So a new
 * connection is not refused while another one is idle: that one is closed. Of the idle ones it is
 * the one that is idle for longest at the address that has most connections, so that whoever opens
 * many displaces his own, and not one that has just come from an address with fewer. Without an
 * idle one, a client that makes us wait is closed if its address holds more than half of the room.
 *
 * Otherwise the new connection gets one of a few spare places, at which only essential routes are
 * served. Nobody keeps such a place from the next one: if all are taken, one of them is closed.
 *
 * A connection is closed by shutdown(2); libmicrohttpd notices and closes the descriptor, and says
 * so before it does, under the lock of this table. So no descriptor is shut down that belongs to
 * someone else by then.
 */
#ifndef COMMON_HTTP_HTTP_CONNECTIONS_H
#define COMMON_HTTP_HTTP_CONNECTIONS_H

#include <pthread.h>
#include <sys/socket.h>

#include "common/base.h"
#include "common/telemetry/metrics.h"

struct http_peer;
struct tls_session;

enum http_connection_state {
	CONNECTION_UNUSED,
	CONNECTION_ACCEPTED,  /* libmicrohttpd has not begun with it */
	CONNECTION_IDLE,      /* silent since it was opened, or between two requests */
	CONNECTION_HEADERS,   /* part of a request line and headers has arrived */
	CONNECTION_BODY,      /* the headers are complete */
	CONNECTION_HANDLED,   /* the request is complete */
	CONNECTION_ANSWERING, /* the client has not read all of the answer */
};

/* Why a connection was closed by us: the indices of http_connections.closed. */
enum http_connection_end {
	CONNECTION_END_IDLE,
	CONNECTION_END_SLOW,
	CONNECTION_END_SPARE,
	CONNECTION_END_HEADERS_LATE,
	CONNECTION_END_ANSWER_LATE,
	N_CONNECTION_ENDS,
};

struct http_connection {
	struct tls_session *tls; /* of http_server.c; NULL: plain HTTP */
	/* the rest is of http_connections.c, under its lock */
	enum http_connection_state state;
	int fd;
	bool spare;             /* has a spare place */
	bool closing;           /* was shut down, or will be when it is begun with */
	bool began;             /* the next request has */
	uint64_t since_ns;      /* in this state */
	uint64_t until_ns;      /* closed if it is still in this state by then */
	uint64_t bytes_before;  /* received before the next request */
	struct http_peer *peer; /* NULL if there was no memory for it */
};

struct http_connections {
	pthread_mutex_t lock;
	struct http_connection *slots;
	unsigned n_slots;
	unsigned max;     /* beyond these, places are spare */
	unsigned n;       /* in use */
	unsigned n_alive; /* of these, not closing */
	unsigned n_spare; /* of those, at spare places */
	uint64_t timeout_ns;
	struct http_peer *peers;
	struct metric *closed; /* of N_CONNECTION_ENDS; borrowed */
};

/* timeout_s is the time that an answer may take however short it is. Returns 0 or -ENOMEM. */
int http_connections_init(struct http_connections *cs, unsigned max, unsigned timeout_s,
			  struct metric *closed) MUST_CHECK;
/* No connection may be in use by libmicrohttpd. */
void http_connections_fini(struct http_connections *cs);
unsigned http_connections_slots(const struct http_connections *cs);
unsigned http_connections_count(struct http_connections *cs);

/* ---- of the acceptor ---- */

/* Whether a connection can be accepted; if not, one is closed where that helps. */
bool http_connections_have_room(struct http_connections *cs);
/* Closes an idle connection, if there is one, because the process is short of descriptors. */
void http_connections_release(struct http_connections *cs);
/* Returns false if there is no room. */
bool http_connections_accept(struct http_connections *cs, int fd,
			     const struct sockaddr *from) MUST_CHECK;
/* libmicrohttpd did not take it and has closed fd. */
void http_connections_reject(struct http_connections *cs, int fd);
/* Whether libmicrohttpd has yet to begin with one that it was given. */
bool http_connections_any_accepted(struct http_connections *cs);
/* Closes what is overdue. To be called every second while there are connections. */
void http_connections_check(struct http_connections *cs);

/* ---- of any thread ---- */

/*
 * Closes a connection whose client reads its answer for longer than timeout_s, if there is one,
 * because the memory of answers is used up.
 */
void http_connections_release_answer(struct http_connections *cs);

/* ---- of libmicrohttpd's threads ---- */

/* Returns the accepted connection with that descriptor, or NULL if nobody accepted it. */
struct http_connection *http_connections_start(struct http_connections *cs, int fd);
/* Before the descriptor is closed. */
void http_connections_end(struct http_connections *cs, struct http_connection *c);
/* The headers are complete. Returns whether only essential routes may be served. */
bool http_connections_receive(struct http_connections *cs, struct http_connection *c);
/*
 * The request is complete. Returns false if the connection was shut down: what had arrived before
 * can still be read, but not be answered.
 */
bool http_connections_handle(struct http_connections *cs, struct http_connection *c) MUST_CHECK;
void http_connections_answer(struct http_connections *cs, struct http_connection *c, uint64_t len);
/* The request is over, answered or not. */
void http_connections_rest(struct http_connections *cs, struct http_connection *c);

#endif /* COMMON_HTTP_HTTP_CONNECTIONS_H */
