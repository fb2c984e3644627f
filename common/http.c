#include "common/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <strings.h>
#include <sys/epoll.h>

#include "common/buf.h"
#include "common/clock.h"

#define MAX_HEADER_BYTES ((size_t)64 * 1024) /* of one response, all header lines together */
#define MAX_IDLE_CONNECTIONS 16L
#define MAX_RETRY_AFTER_S (24L * 3600)

struct transfer;

struct http_client {
	struct loop *loop;
	CURLM *multi;
	struct loop_source *timer;
	struct transfer *transfers;
	char *ca_file;
	char *user_agent;
	bool insecure_skip_verify;
};

/* One socket of curl's, as curl asks us to watch it. */
struct watch {
	struct http_client *client;
	curl_socket_t fd;
	struct loop_source *source;
};

struct transfer {
	struct http_client *client;
	struct transfer *prev, *next;
	CURL *easy;
	struct curl_slist *headers;
	struct buf response;
	size_t header_bytes;
	int failure; /* -errno of our own callbacks: what curl only calls a write error */
	char msg[CURL_ERROR_SIZE];
	http_done_fn done;
	void *ctx;
};

static void transfer_free(struct transfer *t)
{
	if (t->easy)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	buf_fini(&t->response);
	free(t);
}

DEFINE_CLEANUP(struct transfer *, transfer_free);

static void unlink_transfer(struct transfer *t)
{
	struct http_client *c = t->client;

	curl_multi_remove_handle(c->multi, t->easy);
	if (t->prev)
		t->prev->next = t->next;
	else
		c->transfers = t->next;
	if (t->next)
		t->next->prev = t->prev;
}

static int error_of(const struct transfer *t, CURLcode code)
{
	long os_errno = 0;

	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
		return os_errno > 0 ? -(int)os_errno : -ECONNREFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -EHOSTUNREACH;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return -EKEYREJECTED;
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return -ECONNRESET;
	default:
		return -EIO;
	}
}

static uint64_t retry_after_ns(CURL *easy)
{
	curl_off_t seconds = 0;

	if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK || seconds < 0)
		return 0;
	if (seconds > MAX_RETRY_AFTER_S)
		seconds = MAX_RETRY_AFTER_S;
	return (uint64_t)seconds * NS_PER_S;
}

static void finish(struct transfer *t, CURLcode code)
{
	struct http_result result = {.error = t->failure ? t->failure : error_of(t, code)};
	long status = 0;

	unlink_transfer(t);
	if (result.error == 0) {
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
		result.status = (int)status;
		result.body = t->response.data ? t->response.data : "";
		result.body_len = t->response.len;
		result.retry_after_ns = retry_after_ns(t->easy);
	} else {
		result.msg = t->msg[0] ? t->msg : curl_easy_strerror(code);
	}
	t->done(t->ctx, &result);
	transfer_free(t);
}

static void finish_those_done(struct http_client *c)
{
	const CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->multi, &left))) {
		CURLcode code = m->data.result;
		char *private = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
		finish((struct transfer *)(void *)private, code);
	}
}

static void on_socket_event(void *ctx, uint32_t events)
{
	const struct watch *w = ctx;
	struct http_client *c = w->client;
	int n_running, mask = 0;

	if (events & EPOLLIN)
		mask |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (events & (EPOLLERR | EPOLLHUP))
		mask |= CURL_CSELECT_ERR;
	/* frees w when curl closes the socket */
	curl_multi_socket_action(c->multi, w->fd, mask, &n_running);
	finish_those_done(c);
}

static void on_timer(void *ctx)
{
	struct http_client *c = ctx;
	int n_running;

	curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
	finish_those_done(c);
}

static int watch_socket(struct http_client *c, curl_socket_t fd, uint32_t events)
{
	struct watch *w;

	w = calloc(1, sizeof(*w));
	if (!w)
		return -1;
	w->client = c;
	w->fd = fd;
	if (loop_add_fd(c->loop, fd, events, on_socket_event, w, &w->source) < 0) {
		free(w);
		return -1;
	}
	curl_multi_assign(c->multi, fd, w);
	return 0;
}

/* curl says what it wants to know of a socket. -1 makes it fail all transfers under way. */
static int curl_wants_socket(CURL *easy, curl_socket_t fd, int what, void *client, void *watch)
{
	struct http_client *c = client;
	struct watch *w = watch;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (w)
			loop_remove(w->source);
		free(w);
		curl_multi_assign(c->multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (!w)
		return watch_socket(c, fd, events);
	return loop_modify_fd(w->source, events) < 0 ? -1 : 0;
}

static int curl_wants_timer(CURLM *multi, long timeout_ms, void *client)
{
	struct http_client *c = client;

	(void)multi;
	loop_set_timer(c->timer, timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * NS_PER_MS);
	return 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *transfer)
{
	struct transfer *t = transfer;

	t->failure = buf_add(&t->response, data, size * n);
	if (t->failure == 0)
		return size * n;
	snprintf(t->msg, sizeof(t->msg), "response body: %s",
		 t->failure == -EFBIG ? "larger than allowed" : "out of memory");
	return CURL_WRITEFUNC_ERROR;
}

static size_t on_header(char *data, size_t size, size_t n, void *transfer)
{
	struct transfer *t = transfer;

	(void)data;
	t->header_bytes += size * n;
	if (t->header_bytes <= MAX_HEADER_BYTES)
		return size * n;
	t->failure = -EFBIG;
	snprintf(t->msg, sizeof(t->msg), "response headers: larger than allowed");
	return CURL_WRITEFUNC_ERROR;
}

int http_client_new(struct http_client **ret, struct loop *l, const struct http_client_config *cfg)
{
	CLEANUP(http_client_freep) struct http_client *c = NULL;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return -ENOMEM;
	c = calloc(1, sizeof(*c));
	if (!c) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	c->loop = l;
	c->insecure_skip_verify = cfg->insecure_skip_verify;
	r = loop_add_timer(l, on_timer, c, &c->timer);
	if (r < 0)
		return r;
	if (cfg->ca_file && !(c->ca_file = strdup(cfg->ca_file)))
		return -ENOMEM;
	if (cfg->user_agent && !(c->user_agent = strdup(cfg->user_agent)))
		return -ENOMEM;

	c->multi = curl_multi_init();
	if (!c->multi)
		return -ENOMEM;
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, curl_wants_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, curl_wants_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, MAX_IDLE_CONNECTIONS);
	*ret = TAKE_PTR(c);
	return 0;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	while (c->transfers) {
		struct transfer *t = c->transfers;

		unlink_transfer(t);
		transfer_free(t);
	}
	/* closes what is idle, and calls back to unwatch it */
	if (c->multi)
		curl_multi_cleanup(c->multi);
	loop_remove(c->timer);
	free(c->ca_file);
	free(c->user_agent);
	free(c);
	curl_global_cleanup();
}

static bool url_is_usable(const char *url)
{
	CURLU *u = curl_url();
	char *scheme = NULL;
	bool ok;

	ok = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	     curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	     (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
	curl_free(scheme);
	curl_url_cleanup(u);
	return ok;
}

static int add_header(struct transfer *t, const char *line)
{
	struct curl_slist *longer;

	/* a line break would smuggle in further headers */
	if (strpbrk(line, "\r\n") || !strchr(line, ':'))
		return -EINVAL;
	longer = curl_slist_append(t->headers, line);
	if (!longer)
		return -ENOMEM;
	t->headers = longer;
	return 0;
}

static int add_headers(struct transfer *t, const struct http_request *req)
{
	static const char content_type[] = "Content-Type:";
	bool has_type = false;
	int r = 0;

	for (const char *const *h = req->headers; h && *h && r == 0; h++) {
		if (strncasecmp(*h, content_type, strlen(content_type)) == 0)
			has_type = true;
		r = add_header(t, *h);
	}
	/* else curl calls every body a form; a header without value takes it out */
	if (r == 0 && !has_type)
		r = add_header(t, content_type);
	return r;
}

#define SET(option, value) (ok = ok && curl_easy_setopt(t->easy, (option), (value)) == CURLE_OK)

static int set_options(struct transfer *t, const struct http_request *req)
{
	const struct http_client *c = t->client;
	uint64_t timeout_ms = req->timeout_ns / NS_PER_MS + 1;
	bool ok = true;

	if (timeout_ms > INT32_MAX)
		timeout_ms = INT32_MAX;

	SET(CURLOPT_URL, req->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	SET(CURLOPT_HTTPHEADER, t->headers);
	SET(CURLOPT_USERAGENT, c->user_agent);
	SET(CURLOPT_PRIVATE, t);
	SET(CURLOPT_ERRORBUFFER, t->msg);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, t);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, t);
	if (c->ca_file)
		SET(CURLOPT_CAINFO, c->ca_file);
	SET(CURLOPT_SSL_VERIFYPEER, c->insecure_skip_verify ? 0L : 1L);
	SET(CURLOPT_SSL_VERIFYHOST, c->insecure_skip_verify ? 0L : 2L);
	if (strcmp(req->method, "POST") == 0) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)req->body_len);
		SET(CURLOPT_POSTFIELDS, req->body ? req->body : "");
	}
	return ok ? 0 : -ENOMEM;
}

#undef SET

int http_send(struct http_client *c, const struct http_request *req, http_done_fn done, void *ctx)
{
	CLEANUP(transfer_freep) struct transfer *t = NULL;
	int r;

	if (strcmp(req->method, "POST") != 0 &&
	    (strcmp(req->method, "GET") != 0 || req->body_len > 0))
		return -EINVAL;
	if (req->timeout_ns == 0 || !url_is_usable(req->url))
		return -EINVAL;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->client = c;
	t->done = done;
	t->ctx = ctx;
	buf_init(&t->response, req->max_response_bytes);
	t->easy = curl_easy_init();
	if (!t->easy)
		return -ENOMEM;
	r = add_headers(t, req);
	if (r == 0)
		r = set_options(t, req);
	if (r < 0)
		return r;

	/* starts with the timer, so on the loop */
	if (curl_multi_add_handle(c->multi, t->easy) != CURLM_OK)
		return -ENOMEM;
	t->next = c->transfers;
	if (t->next)
		t->next->prev = t;
	c->transfers = t;
	t = NULL;
	return 0;
}
