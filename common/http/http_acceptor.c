/*
 * When there is no room, or no descriptor left, the listening socket is not asked again until a
 * connection has ended or PAUSE_NS have passed: it stays readable, so that the thread would spin.
 * Clients wait in the kernel's queue meanwhile.
 */
#include "common/http/http_acceptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/log.h"

#define PAUSE_NS (100 * NS_PER_MS)
#define CHECK_NS (1 * NS_PER_S)
/* Accepted in one go, before others have their turn. */
#define MAX_AT_ONCE 64

struct http_acceptor {
	struct loop *loop;
	struct loop_source *stop, *room;       /* woken by others */
	struct loop_source *check, *resume;    /* timers */
	struct loop_source *listening, *leave; /* descriptors; listening NULL once quiesced */
	int listen_fd;
	struct http_connections *connections;
	struct metric *failures;
	struct MHD_Daemon *daemon;
	_Atomic bool paused;
	bool checking; /* the timer is set */
	struct http_left left;
	bool has_left;
	bool has_thread;
	pthread_t thread;
};

static void pause_accepting(struct http_acceptor *a)
{
	atomic_store(&a->paused, true);
	if (a->listening && loop_modify_fd(a->listening, 0) < 0)
		log_warn_limited("http server", "detail=\"cannot pause accepting\"");
	loop_set_timer(a->resume, PAUSE_NS);
}

static void on_resume(void *acceptor)
{
	struct http_acceptor *a = acceptor;

	if (!atomic_exchange(&a->paused, false) || !a->listening)
		return;
	if (loop_modify_fd(a->listening, EPOLLIN) < 0)
		pause_accepting(a);
}

static void on_check(void *acceptor)
{
	struct http_acceptor *a = acceptor;

	http_connections_check(a->connections);
	a->checking = http_connections_count(a->connections) > 0;
	if (a->checking)
		loop_set_timer(a->check, CHECK_NS);
}

static void admit(struct http_acceptor *a, int fd, const struct sockaddr *from, socklen_t len)
{
	if (!http_connections_accept(a->connections, fd, from)) {
		close(fd);
		return;
	}
	if (MHD_add_connection(a->daemon, fd, from, len) != MHD_YES)
		http_connections_reject(a->connections, fd);
	if (!a->checking)
		loop_set_timer(a->check, CHECK_NS);
	a->checking = true;
}

static bool someone_waits(const struct http_acceptor *a)
{
	struct pollfd p = {.fd = a->listen_fd, .events = POLLIN};

	return poll(&p, 1, 0) != 0;
}

/* Returns whether there may be more to accept. */
static bool accept_one(struct http_acceptor *a)
{
	union {
		struct sockaddr any;
		struct sockaddr_in6 v6;
	} from = {.v6 = {0}};
	socklen_t len = sizeof(from);
	int fd;

	if (!http_connections_have_room(a->connections)) {
		pause_accepting(a);
		return false;
	}
	fd = accept4(a->listen_fd, &from.any, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		admit(a, fd, &from.any, len);
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
		/* the kernel says so before it looks whether anyone waits */
		if (!someone_waits(a))
			return false;
		metric_add(a->failures, 1);
		log_warn_limited("http server",
				 "detail=\"cannot accept connections: %s; trying again\"",
				 strerror(errno));
		http_connections_release(a->connections);
		pause_accepting(a);
		return false;
	default: /* the client has left already */
		return true;
	}
}

static void on_listening(void *acceptor, uint32_t events)
{
	struct http_acceptor *a = acceptor;

	if (events & EPOLLHUP) { /* quiesced */
		loop_remove(a->listening);
		a->listening = NULL;
		return;
	}
	for (int i = 0; i < MAX_AT_ONCE && accept_one(a); i++)
		;
}

static void on_left(void *acceptor, uint32_t events)
{
	struct http_acceptor *a = acceptor;

	(void)events;
	http_left_dispatch(&a->left);
}

static void on_stop(void *acceptor)
{
	struct http_acceptor *a = acceptor;

	loop_stop(a->loop);
}

static void *run(void *acceptor)
{
	struct http_acceptor *a = acceptor;

	(void)pthread_setname_np(pthread_self(), "http-accept");
	if (loop_run(a->loop) < 0)
		log_error("http server", "detail=\"epoll failed; no connection is accepted\"");
	return NULL;
}

static int add_sources(struct http_acceptor *a)
{
	int r;

	r = loop_add_wake(a->loop, on_stop, a, &a->stop);
	if (r < 0)
		return r;
	r = loop_add_wake(a->loop, on_resume, a, &a->room);
	if (r < 0)
		return r;
	r = loop_add_timer(a->loop, on_check, a, &a->check);
	if (r < 0)
		return r;
	r = loop_add_timer(a->loop, on_resume, a, &a->resume);
	if (r < 0)
		return r;
	r = loop_add_fd(a->loop, a->left.epoll_fd, EPOLLIN, on_left, a, &a->leave);
	if (r < 0)
		return r;
	return loop_add_fd(a->loop, a->listen_fd, EPOLLIN, on_listening, a, &a->listening);
}

int http_acceptor_new(struct http_acceptor **ret, int listen_fd,
		      struct http_connections *connections, struct metric *failures)
{
	struct http_acceptor *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->connections = connections;
	a->failures = failures;
	a->listen_fd = listen_fd;
	r = loop_new(&a->loop);
	if (r == 0)
		r = http_left_init(&a->left);
	a->has_left = r == 0;
	if (r == 0)
		r = add_sources(a);
	if (r < 0) {
		a->listen_fd = -1;
		http_acceptor_free(a);
		return r;
	}
	*ret = a;
	return 0;
}

int http_acceptor_start(struct http_acceptor *a, struct MHD_Daemon *daemon)
{
	a->daemon = daemon;
	if (pthread_create(&a->thread, NULL, run, a) != 0)
		return -EAGAIN;
	a->has_thread = true;
	return 0;
}

/* From then on epoll reports EPOLLHUP. */
void http_acceptor_quiesce(struct http_acceptor *a)
{
	(void)shutdown(a->listen_fd, SHUT_RDWR);
}

void http_acceptor_stop(struct http_acceptor *a)
{
	if (a->has_thread) {
		loop_wake(a->stop);
		pthread_join(a->thread, NULL);
	}
	a->has_thread = false;
}

void http_acceptor_free(struct http_acceptor *a)
{
	if (!a)
		return;
	http_acceptor_stop(a);
	loop_free(a->loop);
	if (a->has_left)
		http_left_fini(&a->left);
	if (a->listen_fd >= 0)
		close(a->listen_fd);
	free(a);
}

struct http_left *http_acceptor_left(struct http_acceptor *a)
{
	return &a->left;
}

void http_acceptor_on_room(struct http_acceptor *a)
{
	if (atomic_load(&a->paused))
		loop_wake(a->room);
}
