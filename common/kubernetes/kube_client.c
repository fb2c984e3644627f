/*
 * A thin layer between callers and http_client that hides credentials: a request may have to
 * wait for a token, must be repeated when the token was refused, and needs another http_client
 * when a certificate has changed.
 *
 * Every call goes through one list and one function. A new call is put on the waiting list;
 * on_turn(), a timer, asks for credentials and then either starts all waiting calls, leaves
 * them waiting for the exec plugin, or fails them. After a 401 a call goes back to the waiting
 * list once. The obvious alternative, to start a request within kube_client_send() if the
 * credentials are there, would call done functions from within the caller's own code in some
 * cases and not in others.
 *
 * A done function may send and cancel other calls, so the lists can change under every loop
 * here. Each turn therefore takes from the head, at most as many calls as were waiting when it
 * began.
 */
#include "common/kubernetes/kube_client.h"

#include <errno.h>
#include <sys/queue.h>

#include "common/http/http.h"
#include "common/kubernetes/kube_credentials.h"
#include "common/kubernetes/kube_endpoint.h"
#include "common/kubernetes/kube_status.h"
#include "common/kubernetes/kube_transport.h"
#include "common/system/clock.h"

/* Limit for the body of an answer other than 2xx, whatever limit the caller set for its own */
#define MAX_STATUS_BYTES ((size_t)64 * 1024)

struct kube_call {
	TAILQ_ENTRY(kube_call) link; /* in waiting or sent */
	struct kube_client *client;
	struct http_transfer *transfer; /* NULL while waiting */
	struct kube_transport *transport;
	uint64_t generation;  /* of the credentials that were sent */
	uint64_t deadline_ns; /* monotonic; UINT64_MAX: none */
	bool repeated;
	struct kube_request req; /* a copy; its strings are the ones below */
	char *method, *path, *content_type, *accept;
	void *body;
	kube_done_fn done;
	void *ctx;
};

TAILQ_HEAD(call_list, kube_call);

struct kube_client {
	struct loop *loop;
	struct kube_config cfg;
	struct kube_endpoint endpoint;
	struct kube_credentials *credentials;
	struct kube_transports *transports;
	struct loop_source *timer;
	struct call_list waiting, sent;
	struct err fetch_err; /* why the last run of the plugin failed; "": it did not */
};

/* ---- end of a call ---- */

static void call_free(struct kube_call *call)
{
	free(call->method);
	free(call->path);
	free(call->content_type);
	free(call->accept);
	free(call->body);
	free(call);
}

DEFINE_CLEANUP(struct kube_call *, call_free);

static void wake(struct kube_client *c)
{
	loop_set_timer(c->timer, 0);
}

/* Takes the call off its list and gives its transport back. */
static void take_back(struct kube_call *call)
{
	struct kube_client *c = call->client;

	if (!call->transport) {
		TAILQ_REMOVE(&c->waiting, call, link);
		return;
	}
	TAILQ_REMOVE(&c->sent, call, link);
	call->transfer = NULL;
	kube_transport_put(TAKE_PTR(call->transport));
	/* an old transport may be unused now: let the sweep in on_turn() free it */
	wake(c);
}

static void end_call(struct kube_call *call, const struct kube_result *result)
{
	take_back(call);
	call->done(call->ctx, result);
	call_free(call);
}

static void fail_call(struct kube_call *call, int error, const char *msg)
{
	end_call(call, &(struct kube_result){.error = error, .msg = msg});
}

void kube_call_cancel(struct kube_call *call)
{
	if (!call)
		return;
	http_cancel(call->transfer);
	take_back(call);
	call_free(call);
}

/* ---- answers ---- */

static int on_data(void *ctx, const char *data, size_t len)
{
	const struct kube_call *call = ctx;

	return call->req.on_data(call->ctx, data, len);
}

static void repeat(struct kube_call *call)
{
	struct kube_client *c = call->client;

	take_back(call);
	call->repeated = true;
	TAILQ_INSERT_TAIL(&c->waiting, call, link);
	wake(c);
}

static void on_http_done(void *ctx, const struct http_result *http)
{
	struct kube_call *call = ctx;
	struct kube_result result = {
		.error = http->error,
		.status = http->status,
		.msg = http->msg,
		.body = http->body,
		.body_len = http->body_len,
		.retry_after_ns = http->retry_after_ns,
	};
	char msg[KUBE_STATUS_MESSAGE_BYTES];
	bool is_fine = http->status >= 200 && http->status < 300;

	if (http->status == 401 && !call->repeated &&
	    kube_credentials_refused(call->client->credentials, call->generation)) {
		repeat(call);
		return;
	}
	if (is_fine && http->body_len > call->req.max_response_bytes) {
		fail_call(call, -EFBIG, "response body: larger than allowed");
		return;
	}
	if (!result.error && !is_fine) {
		kube_status_message(http->status, http->body, http->body_len, msg);
		result.msg = msg;
	}
	end_call(call, &result);
}

/* ---- sending ---- */

#define MAX_HEADERS 5

struct headers {
	const char *lines[MAX_HEADERS]; /* NULL-terminated; the two below are owned */
	char *accept, *content_type;
};

static void headers_fini(struct headers *h)
{
	free(h->accept);
	free(h->content_type);
}

static int make_headers(struct headers *ret, const struct kube_call *call,
			const struct kube_identity *who)
{
	const struct kube_request *req = &call->req;
	size_t n = 0;

	if (asprintf(&ret->accept, "Accept: %s", req->accept) < 0) {
		ret->accept = NULL;
		return -ENOMEM;
	}
	ret->lines[n++] = ret->accept;
	if (req->body_len > 0) {
		if (asprintf(&ret->content_type, "Content-Type: %s", req->content_type) < 0) {
			ret->content_type = NULL;
			return -ENOMEM;
		}
		ret->lines[n++] = ret->content_type;
	}
	if (call->client->endpoint.host_header)
		ret->lines[n++] = call->client->endpoint.host_header;
	if (who->header)
		ret->lines[n++] = who->header;
	return 0;
}

static char *make_url(const struct kube_call *call)
{
	char *url;

	if (asprintf(&url, "%s%s", call->client->endpoint.base, call->req.path) < 0)
		return NULL;
	return url;
}

/* The call has a transport; take_back() gives it back if this fails. */
static int send_call(struct kube_call *call, const struct kube_identity *who, uint64_t now)
{
	const struct kube_endpoint *to = &call->client->endpoint;
	const struct kube_request *req = &call->req;
	CLEANUP(headers_fini) struct headers headers = {.accept = NULL};
	AUTO_FREE char *url = make_url(call);
	struct http_request http = {
		.method = req->method,
		.url = url,
		.headers = headers.lines,
		.body = req->body,
		.body_len = req->body_len,
		.timeout_ns = req->timeout_ns ? call->deadline_ns - now : 0,
		.idle_timeout_ns = req->idle_timeout_ns,
		.max_response_bytes = req->max_response_bytes > MAX_STATUS_BYTES
					      ? req->max_response_bytes
					      : MAX_STATUS_BYTES,
		.on_data = req->on_data ? on_data : NULL,
		.connect_to = to->connect_to,
	};

	if (!url || make_headers(&headers, call, who) < 0)
		return -ENOMEM;
	return http_start(kube_transport_http(call->transport), &http, on_http_done, call,
			  &call->transfer);
}

static void start_call(struct kube_call *call, const struct kube_identity *who)
{
	struct kube_client *c = call->client;
	uint64_t now = clock_monotonic_ns();
	int r;

	if (now >= call->deadline_ns) {
		fail_call(call, -ETIMEDOUT, "timed out before it was sent");
		return;
	}
	r = kube_transports_get(c->transports, who, &call->transport);
	if (r == 0) {
		call->generation = who->generation;
		TAILQ_REMOVE(&c->waiting, call, link);
		TAILQ_INSERT_TAIL(&c->sent, call, link);
		r = send_call(call, who, now);
	}
	if (r < 0)
		fail_call(call, r, strerror(-r));
}

/* ---- turns of the loop ---- */

/* At most as many as were waiting when the turn began: done functions may add more. */
static struct kube_call *next_of_turn(struct kube_client *c, size_t *left)
{
	if (*left == 0)
		return NULL;
	--*left;
	return TAILQ_FIRST(&c->waiting);
}

static size_t count_waiting(const struct kube_client *c)
{
	const struct kube_call *call;
	size_t n = 0;

	TAILQ_FOREACH(call, &c->waiting, link)
	n++;
	return n;
}

static void fail_waiting(struct kube_client *c, int error, const char *msg)
{
	size_t left = count_waiting(c);
	struct kube_call *call;

	while ((call = next_of_turn(c, &left)))
		fail_call(call, error, msg);
}

static void start_waiting(struct kube_client *c, const struct kube_identity *who)
{
	size_t left = count_waiting(c);
	struct kube_call *call;

	while ((call = next_of_turn(c, &left)))
		start_call(call, who);
}

/* Fails the calls whose deadline has passed, and sets the timer for the next deadline. */
static void wait_on(struct kube_client *c)
{
	uint64_t now = clock_monotonic_ns(), first = UINT64_MAX;
	struct kube_call *call, *next;

	for (call = TAILQ_FIRST(&c->waiting); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call->deadline_ns <= now) {
			fail_call(call, -ETIMEDOUT, "timed out waiting for the exec plugin");
			/* the done function may have changed the list: start over */
			next = TAILQ_FIRST(&c->waiting);
		} else if (call->deadline_ns < first) {
			first = call->deadline_ns;
		}
	}
	loop_set_timer(c->timer, first == UINT64_MAX ? UINT64_MAX : first - now);
}

static void on_turn(void *ctx)
{
	struct kube_client *c = ctx;
	struct kube_identity who = {0};
	struct err err = {""};
	int r;

	kube_transports_sweep(c->transports);
	if (c->fetch_err.msg[0]) {
		err = c->fetch_err;
		c->fetch_err.msg[0] = '\0';
		fail_waiting(c, -EACCES, err.msg);
		return;
	}
	if (TAILQ_EMPTY(&c->waiting))
		return;
	r = kube_credentials_get(c->credentials, &who, &err);
	if (r == KUBE_CREDENTIALS_READY)
		start_waiting(c, &who);
	else if (r == KUBE_CREDENTIALS_FETCHING)
		wait_on(c);
	else
		fail_waiting(c, r, err.msg[0] ? err.msg : strerror(-r));
}

static void on_fetched(void *ctx, const struct err *err)
{
	struct kube_client *c = ctx;

	if (err)
		c->fetch_err = *err;
	wake(c);
}

/* ---- create, destroy, send ---- */

static int construct(struct kube_client *c, const struct kube_config *cfg, struct err *err)
{
	int r = kube_config_copy(&c->cfg, cfg);

	if (r == 0)
		r = kube_endpoint_make(&c->endpoint, cfg->server, cfg->tls_server_name, err);
	if (r == 0)
		r = kube_credentials_new(&c->credentials, c->loop, &c->cfg, err);
	if (r == 0)
		r = kube_transports_new(&c->transports, c->loop, &c->cfg);
	if (r == 0)
		r = loop_add_timer(c->loop, on_turn, c, &c->timer);
	if (r == 0)
		kube_credentials_on_fetched(c->credentials, on_fetched, c);
	return r;
}

int kube_client_new(struct kube_client **ret, struct loop *l, const struct kube_config *cfg,
		    struct err *err)
{
	CLEANUP(kube_client_freep) struct kube_client *c = NULL;
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->loop = l;
	TAILQ_INIT(&c->waiting);
	TAILQ_INIT(&c->sent);
	r = construct(c, cfg, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void kube_client_free(struct kube_client *c)
{
	struct kube_call *call;

	if (!c)
		return;
	while ((call = TAILQ_FIRST(&c->sent)) || (call = TAILQ_FIRST(&c->waiting)))
		kube_call_cancel(call);
	kube_transports_free(c->transports);
	kube_credentials_free(c->credentials);
	kube_endpoint_fini(&c->endpoint);
	kube_config_fini(&c->cfg);
	loop_remove(c->timer);
	free(c);
}

const char *kube_client_server(const struct kube_client *c)
{
	return c->cfg.server;
}

const char *kube_client_namespace(const struct kube_client *c)
{
	return c->cfg.namespace;
}

static bool is_one_line(const char *s)
{
	return !s || !strpbrk(s, "\r\n");
}

static int copy_request(struct kube_call *call, const struct kube_request *req)
{
	static const char json[] = "application/json";

	call->method = strdup(req->method);
	call->path = strdup(req->path);
	call->content_type = strdup(req->content_type ? req->content_type : json);
	call->accept = strdup(req->accept ? req->accept : json);
	call->body = req->body_len > 0 ? malloc(req->body_len) : NULL;
	if (!call->method || !call->path || !call->content_type || !call->accept ||
	    (req->body_len > 0 && !call->body))
		return -ENOMEM;
	if (req->body_len > 0)
		memcpy(call->body, req->body, req->body_len);
	call->req = *req;
	call->req.method = call->method;
	call->req.path = call->path;
	call->req.content_type = call->content_type;
	call->req.accept = call->accept;
	call->req.body = call->body;
	return 0;
}

int kube_client_send(struct kube_client *c, const struct kube_request *req, kube_done_fn done,
		     void *ctx, struct kube_call **ret)
{
	CLEANUP(call_freep) struct kube_call *call = NULL;
	uint64_t now = clock_monotonic_ns();

	if (req->path[0] != '/' || (req->timeout_ns == 0 && req->idle_timeout_ns == 0) ||
	    !is_one_line(req->path) || !is_one_line(req->accept) || !is_one_line(req->content_type))
		return -EINVAL;
	call = calloc(1, sizeof(*call));
	if (!call)
		return -ENOMEM;
	call->client = c;
	call->done = done;
	call->ctx = ctx;
	call->deadline_ns = req->timeout_ns && req->timeout_ns < UINT64_MAX - now
				    ? now + req->timeout_ns
				    : UINT64_MAX;
	if (copy_request(call, req) < 0)
		return -ENOMEM;

	TAILQ_INSERT_TAIL(&c->waiting, call, link);
	wake(c);
	if (ret)
		*ret = call;
	call = NULL;
	return 0;
}
