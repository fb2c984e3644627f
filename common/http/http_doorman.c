/*
 * When there is no room, or no descriptor left, the listening socket is not asked again until a
 * connection has ended or PAUSE_NS have passed: it stays readable, so that the thread would spin.
 * Clients wait in the kernel's queue meanwhile.
 */
#include "common/http/http_doorman.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/log.h"

#define PAUSE_NS (100 * NS_PER_MS)
#define CHECK_NS (1 * NS_PER_S)
/* Accepted in one go, before others have their turn. */
#define MAX_AT_ONCE 64

struct http_doorman {
	struct loop *loop;
	struct loop_source *stop, *room;       /* woken by others */
	struct loop_source *check, *resume;    /* timers */
	struct loop_source *listening, *leave; /* descriptors; listening NULL once quiesced */
	int listen_fd;
	struct http_connections *connections;
	struct MHD_Daemon *daemon;
	_Atomic bool paused;
	bool checking; /* the timer is set */
	struct http_left left;
	bool has_left;
	bool has_thread;
	pthread_t thread;
};

static void pause_accepting(struct http_doorman *d)
{
	atomic_store(&d->paused, true);
	if (d->listening && loop_modify_fd(d->listening, 0) < 0)
		log_warn_limited("http server", "detail=\"cannot pause accepting\"");
	loop_set_timer(d->resume, PAUSE_NS);
}

static void on_resume(void *doorman)
{
	struct http_doorman *d = doorman;

	if (!atomic_exchange(&d->paused, false) || !d->listening)
		return;
	if (loop_modify_fd(d->listening, EPOLLIN) < 0)
		pause_accepting(d);
}

static void on_check(void *doorman)
{
	struct http_doorman *d = doorman;

	http_connections_check(d->connections);
	d->checking = http_connections_count(d->connections) > 0;
	if (d->checking)
		loop_set_timer(d->check, CHECK_NS);
}

static void admit(struct http_doorman *d, int fd, const struct sockaddr *from, socklen_t len)
{
	if (!http_connections_accept(d->connections, fd, from)) {
		close(fd);
		return;
	}
	if (MHD_add_connection(d->daemon, fd, from, len) != MHD_YES)
		http_connections_reject(d->connections, fd);
	if (!d->checking)
		loop_set_timer(d->check, CHECK_NS);
	d->checking = true;
}

/* Returns whether there may be more to accept. */
static bool accept_one(struct http_doorman *d)
{
	union {
		struct sockaddr any;
		struct sockaddr_in6 v6;
	} from = {.v6 = {0}};
	socklen_t len = sizeof(from);
	int fd;

	if (!http_connections_have_room(d->connections)) {
		pause_accepting(d);
		return false;
	}
	fd = accept4(d->listen_fd, &from.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		admit(d, fd, &from.any, len);
		return true;
	}
	switch (errno) {
	case EAGAIN:
	case EINVAL: /* quiesced: epoll reports that, too */
		return false;
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case ENOMEM:
		log_warn_limited("http server",
				 "detail=\"cannot accept connections: %s; trying again\"",
				 strerror(errno));
		http_connections_release(d->connections);
		pause_accepting(d);
		return false;
	default: /* the client has left already */
		return true;
	}
}

static void on_listening(void *doorman, uint32_t events)
{
	struct http_doorman *d = doorman;

	if (events & EPOLLHUP) { /* quiesced */
		loop_remove(d->listening);
		d->listening = NULL;
		return;
	}
	for (int i = 0; i < MAX_AT_ONCE && accept_one(d); i++)
		;
}

static void on_left(void *doorman, uint32_t events)
{
	struct http_doorman *d = doorman;

	(void)events;
	http_left_dispatch(&d->left);
}

static void on_stop(void *doorman)
{
	struct http_doorman *d = doorman;

	loop_stop(d->loop);
}

static void *run(void *doorman)
{
	struct http_doorman *d = doorman;

	(void)pthread_setname_np(pthread_self(), "http-doorman");
	if (loop_run(d->loop) < 0)
		log_error("http server", "detail=\"epoll failed; no connection is accepted\"");
	return NULL;
}

static int add_sources(struct http_doorman *d)
{
	int r;

	r = loop_add_wake(d->loop, on_stop, d, &d->stop);
	if (r == 0)
		r = loop_add_wake(d->loop, on_resume, d, &d->room);
	if (r == 0)
		r = loop_add_timer(d->loop, on_check, d, &d->check);
	if (r == 0)
		r = loop_add_timer(d->loop, on_resume, d, &d->resume);
	if (r == 0)
		r = loop_add_fd(d->loop, d->left.epoll_fd, EPOLLIN, on_left, d, &d->leave);
	if (r == 0)
		r = loop_add_fd(d->loop, d->listen_fd, EPOLLIN, on_listening, d, &d->listening);
	return r;
}

int http_doorman_new(struct http_doorman **ret, int listen_fd, struct http_connections *connections)
{
	struct http_doorman *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->connections = connections;
	d->listen_fd = listen_fd;
	r = loop_new(&d->loop);
	if (r == 0)
		r = http_left_init(&d->left);
	d->has_left = r == 0;
	if (r == 0)
		r = add_sources(d);
	if (r < 0) {
		d->listen_fd = -1;
		http_doorman_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

int http_doorman_start(struct http_doorman *d, struct MHD_Daemon *daemon)
{
	d->daemon = daemon;
	if (pthread_create(&d->thread, NULL, run, d) != 0)
		return -EAGAIN;
	d->has_thread = true;
	return 0;
}

/* From then on epoll reports EPOLLHUP. */
void http_doorman_quiesce(struct http_doorman *d)
{
	(void)shutdown(d->listen_fd, SHUT_RDWR);
}

void http_doorman_stop(struct http_doorman *d)
{
	if (d->has_thread) {
		loop_wake(d->stop);
		pthread_join(d->thread, NULL);
	}
	d->has_thread = false;
}

void http_doorman_free(struct http_doorman *d)
{
	if (!d)
		return;
	http_doorman_stop(d);
	loop_free(d->loop);
	if (d->has_left)
		http_left_fini(&d->left);
	if (d->listen_fd >= 0)
		close(d->listen_fd);
	free(d);
}

struct http_left *http_doorman_left(struct http_doorman *d)
{
	return &d->left;
}

void http_doorman_on_room(struct http_doorman *d)
{
	if (atomic_load(&d->paused))
		loop_wake(d->room);
}
