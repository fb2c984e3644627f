/*
 * A server that plays a script: the n-th connection gets the n-th reply, byte for byte, and is
 * then closed, reset or held. After the last reply connections are held without an answer.
 */
#ifndef TEST_LIB_SCRIPT_SERVER_H
#define TEST_LIB_SCRIPT_SERVER_H

#include <pthread.h>

#include "common/base.h"

#define SCRIPT_SERVER_MAX_REQUESTS 32

enum script_end {
	SCRIPT_CLOSE,
	SCRIPT_RESET,
	SCRIPT_HOLD, /* until the client leaves */
};

struct script_reply {
	const char *text;
	enum script_end end;
	unsigned hold_ms; /* before the end */
};

struct script_server {
	const struct script_reply *replies;
	size_t n_replies;

	/* set by script_server_start() */
	char url[64]; /* without '/' at the end */
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	size_t n_requests;
	char requests[SCRIPT_SERVER_MAX_REQUESTS][512]; /* "GET /path", of each */
};

void script_server_start(struct script_server *s);
/* The client must have left. Requests may be read afterwards. */
void script_server_stop(struct script_server *s);
size_t script_server_requests(struct script_server *s);

#endif /* TEST_LIB_SCRIPT_SERVER_H */
