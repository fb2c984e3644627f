/*
 * The server's own thread: accepts connections, hands them to libmicrohttpd, closes those that are
 * in the way, and notices when clients of kept exchanges leave. Used by http_server.c only.
 *
 * libmicrohttpd could accept by itself, but stops to do so when it is full or the process has no
 * descriptor left, until one of its own connections ends.
 */
#ifndef COMMON_HTTP_HTTP_ACCEPTOR_H
#define COMMON_HTTP_HTTP_ACCEPTOR_H

#include <microhttpd.h>

#include "common/base.h"
#include "common/http/http_connections.h"
#include "common/http/http_left.h"

struct http_acceptor;

/*
 * Takes listen_fd on success; connections is borrowed, and so is failures, which counts attempts to
 * accept for which there was no descriptor or no memory. Returns 0, -ENOMEM, or -EMFILE and the
 * like.
 */
int http_acceptor_new(struct http_acceptor **ret, int listen_fd,
		      struct http_connections *connections, struct metric *failures) MUST_CHECK;
/* Begins to accept. Returns 0, or -EAGAIN without a thread. */
int http_acceptor_start(struct http_acceptor *a, struct MHD_Daemon *daemon) MUST_CHECK;
/* Connections are refused from here on; those that exist continue. */
void http_acceptor_quiesce(struct http_acceptor *a);
/* Ends the thread. No exchange may be watched. */
void http_acceptor_stop(struct http_acceptor *a);
/* After the daemon. Stops it, if need be. */
void http_acceptor_free(struct http_acceptor *a);

struct http_left *http_acceptor_left(struct http_acceptor *a);
/* A connection has ended. Any thread. */
void http_acceptor_on_room(struct http_acceptor *a);

#endif /* COMMON_HTTP_HTTP_ACCEPTOR_H */
