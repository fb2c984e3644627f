/*
 * Lets our event loop drive libcurl's multi handle: libcurl names the sockets and the time it waits
 * for (curl_wants_socket, curl_wants_timer), and the loop calls curl_multi_socket_action() when one
 * of them is due. libcurl's callbacks run inside run_curl() only, which calls the owner once
 * transfers may be added and removed again.
 */
#include "common/http/curl_loop.h"

#include <errno.h>
#include <sys/epoll.h>

#include "common/system/clock.h"

/* One of libcurl's sockets, watched for the events that libcurl asked for. */
struct watch {
	struct curl_loop *owner;
	curl_socket_t fd;
	struct loop_source *source;
};

static void run_curl(struct curl_loop *cl, curl_socket_t fd, int mask)
{
	int n_running;

	cl->in_curl = true;
	curl_multi_socket_action(cl->multi, fd, mask, &n_running);
	cl->in_curl = false;
	cl->after(cl->ctx);
}

static void on_socket_event(void *ctx, uint32_t events)
{
	const struct watch *w = ctx;
	int mask = 0;

	if (events & EPOLLIN)
		mask |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		mask |= CURL_CSELECT_ERR;
	/* libcurl may close the socket in there, which frees w */
	run_curl(w->owner, w->fd, mask);
}

static void on_timer(void *ctx)
{
	run_curl(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int watch_socket(struct curl_loop *cl, curl_socket_t fd, uint32_t events)
{
	struct watch *w;

	w = calloc(1, sizeof(*w));
	if (!w)
		return -1;
	w->owner = cl;
	w->fd = fd;
	if (loop_add_fd(cl->loop, fd, events, on_socket_event, w, &w->source) < 0) {
		free(w);
		return -1;
	}
	curl_multi_assign(cl->multi, fd, w);
	return 0;
}

/* libcurl's socket callback. Returning -1 makes it fail all transfers under way. */
static int curl_wants_socket(CURL *easy, curl_socket_t fd, int what, void *owner, void *watch)
{
	struct curl_loop *cl = owner;
	struct watch *w = watch;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w)
			loop_remove(w->source);
		free(w);
		curl_multi_assign(cl->multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (!w)
		return watch_socket(cl, fd, events);
	return loop_modify_fd(w->source, events) < 0 ? -1 : 0;
}

static int curl_wants_timer(CURLM *multi, long timeout_ms, void *owner)
{
	struct curl_loop *cl = owner;

	(void)multi;
	loop_set_timer(cl->timer, timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * NS_PER_MS);
	return 0;
}

int curl_loop_init(struct curl_loop *cl, struct loop *l, void (*after)(void *ctx), void *ctx)
{
	int r;

	cl->loop = l;
	cl->after = after;
	cl->ctx = ctx;
	r = loop_add_timer(l, on_timer, cl, &cl->timer);
	if (r < 0)
		return r;
	cl->multi = curl_multi_init();
	if (!cl->multi)
		return -ENOMEM;
	curl_multi_setopt(cl->multi, CURLMOPT_SOCKETFUNCTION, curl_wants_socket);
	curl_multi_setopt(cl->multi, CURLMOPT_SOCKETDATA, cl);
	curl_multi_setopt(cl->multi, CURLMOPT_TIMERFUNCTION, curl_wants_timer);
	curl_multi_setopt(cl->multi, CURLMOPT_TIMERDATA, cl);
	/* no multiplexing: a request that hangs must not hold up another */
	curl_multi_setopt(cl->multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	return 0;
}

void curl_loop_fini(struct curl_loop *cl)
{
	/* calls curl_wants_socket() for each socket that it closes */
	if (cl->multi)
		curl_multi_cleanup(cl->multi);
	loop_remove(cl->timer);
}
