#include "common/http/http_doorman.h"

#include <errno.h>
#include <sys/epoll.h>

#include "common/system/loop.h"
#include "common/telemetry/log.h"

struct http_doorman {
	struct loop *loop;
	struct loop_source *stop;
	struct http_left left;
	bool has_left;
	bool has_thread;
	pthread_t thread;
};

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
		log_error("http server",
			  "detail=\"epoll failed; clients that leave are not noticed\"");
	return NULL;
}

static int start(struct http_doorman *d)
{
	struct loop_source *ignored;
	int r;

	r = loop_new(&d->loop);
	if (r == 0)
		r = loop_add_wake(d->loop, on_stop, d, &d->stop);
	if (r == 0)
		r = http_left_init(&d->left);
	if (r < 0)
		return r;
	d->has_left = true;
	r = loop_add_fd(d->loop, d->left.epoll_fd, EPOLLIN, on_left, d, &ignored);
	if (r < 0)
		return r;
	if (pthread_create(&d->thread, NULL, run, d) != 0)
		return -EAGAIN;
	d->has_thread = true;
	return 0;
}

int http_doorman_new(struct http_doorman **ret)
{
	struct http_doorman *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = start(d);
	if (r < 0) {
		http_doorman_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void http_doorman_free(struct http_doorman *d)
{
	if (!d)
		return;
	if (d->has_thread) {
		loop_wake(d->stop);
		pthread_join(d->thread, NULL);
	}
	loop_free(d->loop);
	if (d->has_left)
		http_left_fini(&d->left);
	free(d);
}

struct http_left *http_doorman_left(struct http_doorman *d)
{
	return &d->left;
}
