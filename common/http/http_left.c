/*
 * Events are taken from the epoll set one by one and under the lock, so what they point to is
 * watched still: who ends a watch removes it from the set under the same lock. left() is called
 * without the lock, and who ends its watch meanwhile waits for it.
 */
#include "common/http/http_left.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static const char interim_answer[] = "HTTP/1.1 100 Continue\r\n\r\n";

int http_left_init(struct http_left *l)
{
	*l = (struct http_left){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
	if (l->epoll_fd < 0)
		return -errno;
	pthread_mutex_init(&l->lock, NULL);
	condition_init(&l->returned);
	return 0;
}

void http_left_fini(struct http_left *l)
{
	condition_fini(&l->returned);
	pthread_mutex_destroy(&l->lock);
	close(l->epoll_fd);
}

/* Sends what a client that has closed its connection answers with a reset. */
static bool probe(const struct http_left_watch *w)
{
	const ssize_t len = sizeof(interim_answer) - 1;
	int unread = 0;

	/* a part of it would spoil the real answer; an empty buffer has room for all of it */
	if (!w->may_probe || ioctl(w->fd, SIOCOUTQ, &unread) < 0 || unread > 0)
		return false;
	return send(w->fd, interim_answer, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL) == len;
}

static void unwatch(struct http_left_watch *w)
{
	(void)epoll_ctl(w->owner->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
	w->watched = false;
}

/* Resets are always reported. */
static bool wait_for_reset(struct http_left_watch *w)
{
	struct epoll_event ev = {.events = 0, .data.ptr = w};

	return epoll_ctl(w->owner->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev) == 0;
}

/* Called with the lock, which it releases meanwhile; the exchange may be freed by then. */
static void call_left(struct http_left *l, struct http_left_watch *w)
{
	void (*left)(void *ctx) = w->left;
	void *ctx = w->ctx;

	l->calling = w;
	l->caller = pthread_self();
	pthread_mutex_unlock(&l->lock);
	left(ctx);
	pthread_mutex_lock(&l->lock);
	l->calling = NULL;
	condition_broadcast(&l->returned);
}

void http_left_dispatch(struct http_left *l)
{
	struct epoll_event ev;

	pthread_mutex_lock(&l->lock);
	while (epoll_wait(l->epoll_fd, &ev, 1, 0) == 1) {
		struct http_left_watch *w = ev.data.ptr;
		bool was_reset = ev.events & (EPOLLHUP | EPOLLERR);

		if (!was_reset && probe(w) && wait_for_reset(w))
			continue;
		unwatch(w);
		call_left(l, w);
	}
	pthread_mutex_unlock(&l->lock);
}

void http_left_watch(struct http_left *l, struct http_left_watch *w)
{
	struct epoll_event ev = {.events = EPOLLRDHUP, .data.ptr = w};

	pthread_mutex_lock(&l->lock);
	w->owner = l;
	/* if the kernel has no memory for it, the exchange is answered as if the client waited */
	w->watched = epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &ev) == 0;
	pthread_mutex_unlock(&l->lock);
}

void http_left_end(struct http_left_watch *w)
{
	struct http_left *l = w->owner;

	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	if (w->watched)
		unwatch(w);
	while (l->calling == w && !pthread_equal(l->caller, pthread_self()))
		(void)condition_wait_until(&l->returned, &l->lock, UINT64_MAX);
	pthread_mutex_unlock(&l->lock);
}
