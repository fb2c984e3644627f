/*
 * Notices that the client of a kept exchange has left. Private to common/http/;
 * handlers use http_exchange_on_left().
 *
 * A client that closes its connection, and one that only says that it will send nothing more
 * (shutdown(2), "nc -N"), both send a FIN. Two things tell them apart: the kernel of a client that
 * has closed answers whatever it receives with a reset; and HTTP/1.1 lets a server send any number
 * of interim answers. So after a FIN the client is sent "100 Continue", which one that still reads
 * ignores, and has left if that brings a reset. Where this is not possible (HTTP/1.0, TLS, an
 * earlier answer not read yet), a FIN means that it has left.
 */
#ifndef COMMON_HTTP_HTTP_LEFT_H
#define COMMON_HTTP_HTTP_LEFT_H

#include "common/base.h"
#include "common/thread/condition.h"

/* What is watched for one server. */
struct http_left {
	int epoll_fd; /* readable when there is work for http_left_dispatch() */
	pthread_mutex_t lock;
	struct condition returned; /* a call of left() has */
	const struct http_left_watch *calling;
	pthread_t caller; /* valid while calling is not NULL */
};

/* One exchange. All fields are 0 until http_left_watch(). */
struct http_left_watch {
	struct http_left *owner;
	void (*left)(void *ctx);
	void *ctx;
	int fd;         /* of the connection */
	bool may_probe; /* the client takes interim answers */
	bool watched;   /* in the epoll set */
};

/* Returns 0, or -EMFILE and the like, after which there is nothing to free. */
int http_left_init(struct http_left *l) MUST_CHECK;
/* Nothing may be watched. */
void http_left_fini(struct http_left *l);
/* Calls left() where clients have left. Does not block. One thread calls it. */
void http_left_dispatch(struct http_left *l);

/* Watches w, whose left, ctx, fd and may_probe are set. fd must stay open until the end. */
void http_left_watch(struct http_left *l, struct http_left_watch *w);
/*
 * Ends it: left() is not called any more, and a call that is under way has returned, unless this is
 * called from inside it.
 */
void http_left_end(struct http_left_watch *w);

#endif /* COMMON_HTTP_HTTP_LEFT_H */
