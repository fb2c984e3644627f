/*
 * epoll, and a file descriptor for everything: timers are timerfds, signals come by signalfd, and
 * wake-ups from other threads by eventfd.
 *
 * A heap of timers would save descriptors, but needs care where a callback sets or removes timers
 * that are due in the same turn. With a timerfd that is right by itself: setting it again makes the
 * kernel forget the expiration, and the read of an event that is already in the batch gives EAGAIN.
 * There are some ten timers per agent, so descriptors are no concern.
 *
 * A callback may remove any source, its own too. epoll may have reported an event of that source in
 * the batch being dispatched, so removed sources are freed only when the batch is done.
 */
#include "common/system/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "common/system/clock.h"

#define EVENTS_PER_TURN 64

enum source_kind {
	SOURCE_FD,
	SOURCE_TIMER,
	SOURCE_SIGNAL,
	SOURCE_WAKE,
};

struct loop_source {
	struct loop *loop;
	struct loop_source *prev, *next;
	enum source_kind kind;
	int fd; /* the caller's for SOURCE_FD, else ours */
	bool removed;
	loop_fd_fn fd_fn;
	loop_fn fn;
	void *ctx;
};

struct loop {
	int epoll_fd;
	struct loop_source *sources;
	struct loop_source *removed; /* freed after the batch, whose events may name them */
	bool dispatching;
	bool stop;
};

int loop_new(struct loop **ret)
{
	struct loop *l;
	int r;

	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;

	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		r = -errno;
		free(l);
		return r;
	}
	*ret = l;
	return 0;
}

static void free_removed(struct loop *l)
{
	while (l->removed) {
		struct loop_source *s = l->removed;

		l->removed = s->next;
		free(s);
	}
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	while (l->sources)
		loop_remove(l->sources);
	free_removed(l);
	close(l->epoll_fd);
	free(l);
}

/* Takes ownership of fd unless kind is SOURCE_FD, also on failure. */
static int add_source(struct loop *l, enum source_kind kind, int fd, uint32_t events,
		      struct loop_source **ret)
{
	struct epoll_event ev = {.events = events};
	struct loop_source *s;
	int r = -ENOMEM;

	s = calloc(1, sizeof(*s));
	if (!s)
		goto fail;

	ev.data.ptr = s;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		r = -errno;
		goto fail;
	}

	s->loop = l;
	s->kind = kind;
	s->fd = fd;
	s->next = l->sources;
	if (s->next)
		s->next->prev = s;
	l->sources = s;
	*ret = s;
	return 0;

fail:
	free(s);
	if (kind != SOURCE_FD)
		close(fd);
	return r;
}

int loop_add_fd(struct loop *l, int fd, uint32_t events, loop_fd_fn fn, void *ctx,
		struct loop_source **ret)
{
	struct loop_source *s = NULL;
	int r;

	r = add_source(l, SOURCE_FD, fd, events, &s);
	if (!s)
		return r;
	s->fd_fn = fn;
	s->ctx = ctx;
	*ret = s;
	return 0;
}

int loop_modify_fd(struct loop_source *s, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = s};

	return epoll_ctl(s->loop->epoll_fd, EPOLL_CTL_MOD, s->fd, &ev) < 0 ? -errno : 0;
}

static int add_own_fd(struct loop *l, enum source_kind kind, int fd, loop_fn fn, void *ctx,
		      struct loop_source **ret)
{
	struct loop_source *s = NULL;
	int r;

	if (fd < 0)
		return -errno;
	r = add_source(l, kind, fd, EPOLLIN, &s);
	if (!s)
		return r;
	s->fn = fn;
	s->ctx = ctx;
	*ret = s;
	return 0;
}

int loop_add_timer(struct loop *l, loop_fn fn, void *ctx, struct loop_source **ret)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	return add_own_fd(l, SOURCE_TIMER, fd, fn, ctx, ret);
}

void loop_set_timer(struct loop_source *s, uint64_t delay_ns)
{
	struct itimerspec when = {.it_value = {0}};

	if (delay_ns != UINT64_MAX) {
		/* a value of zero would disarm the timer */
		if (delay_ns == 0)
			delay_ns = 1;
		when.it_value.tv_sec = (time_t)(delay_ns / NS_PER_S);
		when.it_value.tv_nsec = (long)(delay_ns % NS_PER_S);
	}
	/* fails only for invalid arguments, and these are not */
	(void)timerfd_settime(s->fd, 0, &when, NULL);
}

int loop_add_signal(struct loop *l, int signo, loop_fn fn, void *ctx)
{
	struct loop_source *s;
	sigset_t set;
	int r;

	sigemptyset(&set);
	if (sigaddset(&set, signo) < 0)
		return -errno;
	r = pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (r != 0)
		return -r;
	return add_own_fd(l, SOURCE_SIGNAL, signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), fn, ctx,
			  &s);
}

int loop_add_wake(struct loop *l, loop_fn fn, void *ctx, struct loop_source **ret)
{
	return add_own_fd(l, SOURCE_WAKE, eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), fn, ctx, ret);
}

void loop_wake(struct loop_source *s)
{
	int saved_errno = errno;
	uint64_t one = 1;
	ssize_t n;

	/* EAGAIN means that the counter is full: the loop is going to wake anyway */
	do
		n = write(s->fd, &one, sizeof(one));
	while (n < 0 && errno == EINTR);
	errno = saved_errno;
}

void loop_remove(struct loop_source *s)
{
	struct loop *l;

	if (!s || s->removed)
		return;

	l = s->loop;
	/* fails if the caller has closed fd already, which removed it from epoll */
	(void)epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	if (s->kind != SOURCE_FD)
		close(s->fd);
	if (s->prev)
		s->prev->next = s->next;
	else
		l->sources = s->next;
	if (s->next)
		s->next->prev = s->prev;

	if (!l->dispatching) {
		free(s);
		return;
	}
	s->removed = true;
	s->next = l->removed;
	l->removed = s;
}

/* Returns false if there was nothing to read: the timer was set again since the event. */
static bool drain(int fd, void *item, size_t size)
{
	return read(fd, item, size) == (ssize_t)size;
}

static void dispatch(struct loop_source *s, uint32_t events)
{
	struct signalfd_siginfo info;
	uint64_t count;

	switch (s->kind) {
	case SOURCE_FD:
		s->fd_fn(s->ctx, events);
		break;
	case SOURCE_TIMER:
	case SOURCE_WAKE:
		if (drain(s->fd, &count, sizeof(count)))
			s->fn(s->ctx);
		break;
	case SOURCE_SIGNAL:
		if (drain(s->fd, &info, sizeof(info)))
			s->fn(s->ctx);
		break;
	}
}

int loop_run(struct loop *l)
{
	struct epoll_event events[EVENTS_PER_TURN];
	int r = 0;

	while (!l->stop) {
		int n = epoll_wait(l->epoll_fd, events, EVENTS_PER_TURN, -1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r = -errno;
			break;
		}
		l->dispatching = true;
		/* epoll is level-triggered: events that a stop leaves over are reported again */
		for (int i = 0; i < n && !l->stop; i++) {
			struct loop_source *s = events[i].data.ptr;

			if (!s->removed)
				dispatch(s, events[i].events);
		}
		l->dispatching = false;
		free_removed(l);
	}
	l->stop = false;
	return r;
}

void loop_stop(struct loop *l)
{
	l->stop = true;
}
