/*
 * An unreliable network: a TCP proxy on 127.0.0.1 that breaks connections on command.
 *
 * A fault holds for connections that are made after it was set; setting one closes all that are
 * open. Each direction is counted by itself.
 */
#ifndef TEST_LIB_FAULT_PROXY_H
#define TEST_LIB_FAULT_PROXY_H

#include <pthread.h>

#include "common/base.h"

enum fault_kind {
	FAULT_NONE,
	FAULT_CLOSE, /* both sides are closed in order */
	FAULT_RESET,
	FAULT_STALL, /* nothing more is passed on in that direction */
	FAULT_DRIP,  /* from then on a few bytes at a time */
	FAULT_HTTP,  /* "HTTP/1.1 500", instead of passing anything on */
};

struct fault {
	enum fault_kind kind;
	bool down;       /* of what the server sends, else of what the client sends */
	uint64_t after;  /* bytes that are passed on first */
	unsigned n_left; /* connections that have it; later ones have none */
};

struct fault_proxy {
	unsigned target_port; /* on 127.0.0.1 */

	/* set by fault_proxy_start() */
	unsigned port;
	int fd;
	pthread_t thread;
	pthread_mutex_t lock;
	struct fault fault;
	unsigned generation; /* connections of an older one end */
	unsigned n_broken;   /* connections that had the fault */
	size_t n_threads;
	pthread_t threads[1024]; /* one per connection, joined at the end */
};

void fault_proxy_start(struct fault_proxy *p);
/* Closes all connections. */
void fault_proxy_stop(struct fault_proxy *p);
void fault_proxy_set(struct fault_proxy *p, struct fault fault);
/* How many connections have had their fault so far. */
unsigned fault_proxy_broken(struct fault_proxy *p);

#endif /* TEST_LIB_FAULT_PROXY_H */
