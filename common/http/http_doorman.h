/*
 * The server's own thread: accepts connections, hands them to libmicrohttpd, closes those that are
 * in the way, and notices when clients of kept exchanges leave. Used by http_server.c only.
 *
 * libmicrohttpd could accept by itself, but stops to do so when it is full or the process has no
 * descriptor left, until one of its own connections ends.
 */
#ifndef COMMON_HTTP_HTTP_DOORMAN_H
#define COMMON_HTTP_HTTP_DOORMAN_H

#include <microhttpd.h>

#include "common/base.h"
#include "common/http/http_connections.h"
#include "common/http/http_left.h"

struct http_doorman;

/*
 * Takes listen_fd on success; connections is borrowed. Returns 0, -ENOMEM, or -EMFILE and the like.
 */
int http_doorman_new(struct http_doorman **ret, int listen_fd,
		     struct http_connections *connections) MUST_CHECK;
/* Begins to accept. Returns 0, or -EAGAIN without a thread. */
int http_doorman_start(struct http_doorman *d, struct MHD_Daemon *daemon) MUST_CHECK;
/* Connections are refused from here on; those that exist continue. */
void http_doorman_quiesce(struct http_doorman *d);
/* Ends the thread. No exchange may be watched. */
void http_doorman_stop(struct http_doorman *d);
/* After the daemon. Stops it, if need be. */
void http_doorman_free(struct http_doorman *d);

struct http_left *http_doorman_left(struct http_doorman *d);
/* A connection has ended. Any thread. */
void http_doorman_on_room(struct http_doorman *d);

#endif /* COMMON_HTTP_HTTP_DOORMAN_H */
