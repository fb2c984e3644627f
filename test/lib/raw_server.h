/*
 * A server that misbehaves on command: on a thread of its own it accepts one connection after
 * the other, reads a request, sends the reply byte for byte, and then does what the test asks
 * for.
 */
#ifndef TEST_LIB_RAW_SERVER_H
#define TEST_LIB_RAW_SERVER_H

#include <pthread.h>

#include "common/base.h"

enum after_reply {
	THEN_CLOSE,
	THEN_RESET,
	THEN_HANG,   /* until the client leaves */
	THEN_IGNORE, /* the next request on the connection, and close when it has come */
	THEN_REPEAT, /* with the next request on the connection */
};

struct raw_server {
	const char *host;        /* NULL: 127.0.0.1 */
	const char *unix_socket; /* listens on this path instead */
	const char *reply;
	size_t reply_len; /* 0: strlen() */
	enum after_reply then;
	unsigned byte_pause_us; /* when not 0: after each byte of the reply */
	unsigned read_pause_us; /* when not 0: after every 64 KiB of the request's body */

	/* set by raw_server_start() */
	unsigned port;
	char url[64]; /* with '/' at the end */
	int fd;
	pthread_t thread;
	char request[4096]; /* the last one; read it after raw_server_stop() */
};

void raw_server_start(struct raw_server *s);
/*
 * The client must have left. NULL-safe for a server that was not started: fd is then 0 or less.
 */
void raw_server_stop(struct raw_server *s);

#endif /* TEST_LIB_RAW_SERVER_H */
