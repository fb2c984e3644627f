/*
 * An HTTP/2 server on a unix socket that answers as the test says, or fails in one of the ways of
 * enum h2_fault. Connections and the handler run on threads of their own.
 */
#ifndef TEST_LIB_H2_SERVER_H
#define TEST_LIB_H2_SERVER_H

#include <pthread.h>

#include "common/base.h"

#define H2_SERVER_MAX_CONNECTIONS 1024

enum h2_fault {
	H2_OK,
	H2_HANG,         /* no answer, until the client leaves */
	H2_HANG_MIDWAY,  /* half of the body, then the same */
	H2_DROP,         /* closes the connection */
	H2_DROP_MIDWAY,  /* half of the body, then the same */
	H2_RESET,        /* resets the stream */
	H2_GOAWAY,       /* GOAWAY without an answer, then closes the connection */
	H2_GOAWAY_AFTER, /* answers, then the same */
	H2_GARBAGE,      /* bytes that are not HTTP/2 */
	H2_TRAILERS_ONLY /* no body: the trailers are in the headers */
};

struct h2_reply {
	enum h2_fault fault;
	const char *status; /* NULL: "200" */
	const char *type;   /* Content-Type, or NULL */
	char *body;         /* from malloc(3), freed by the server */
	size_t body_len;
	const char *grpc_status, *grpc_message; /* trailers, or NULL */
};

struct h2_server {
	const char *path;
	void (*handle)(void *ctx, const char *url_path, const char *body, size_t len,
		       struct h2_reply *reply);
	void *ctx;
	bool is_mute; /* accepts connections and never reads */

	/* set by h2_server_start() */
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	unsigned n_accepted; /* since the start; under lock */
	unsigned n_open;
	struct {
		int fd; /* -1: closed */
		pthread_t thread;
	} connections[H2_SERVER_MAX_CONNECTIONS];
};

void h2_server_start(struct h2_server *s);
/* Closes all connections. Does nothing for one that is not running. */
void h2_server_stop(struct h2_server *s);
unsigned h2_server_accepted(struct h2_server *s);
unsigned h2_server_open(struct h2_server *s); /* connections that nobody has closed */

#endif /* TEST_LIB_H2_SERVER_H */
