/*
 * Requests as transfers of libcurl's multi interface; curl_loop.c lets our event loop drive it.
 *
 * Two things need care, and shape this file. First, libcurl forbids adding and removing transfers
 * while it is calling us, and a body reader (on_data) is such a call. What is asked for in there is
 * put on the list of deferred transfers and settled as soon as libcurl has returned. Second, every
 * call of a done function may start or cancel any other transfer. So each place that calls one
 * starts over from the head of its list afterwards instead of holding a pointer to the next
 * element, and a cancelled transfer leaves both lists before it is freed.
 *
 * libcurl's own low-speed limit counts bytes per second over a window and cannot express "no byte
 * for 30 s" precisely, so silence is measured here: each byte only stores a time stamp, and one
 * timer per client scans all transfers when the first of them may have been silent for too long.
 */
#include "common/http/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "common/data/buf.h"
#include "common/http/curl_loop.h"
#include "common/http/http_options.h"
#include "common/system/clock.h"
#include "common/system/unix_socket.h"

#define MAX_HEADER_BYTES ((size_t)64 * 1024) /* of one response, all header lines together */
#define MAX_RETRY_AFTER_S (24L * 3600)
#define DEFAULT_IDLE_CONNECTIONS 8

struct http_client {
	struct curl_loop curl;
	struct loop_source *idle_timer;
	uint64_t idle_check_ns;          /* when idle_timer expires; UINT64_MAX if it is not set */
	struct http_transfer *transfers; /* all of them, deferred ones too */
	unsigned n_transfers;
	struct http_transfer *deferred; /* to be added or freed when libcurl has returned */
	unsigned max_idle_connections;
	size_t max_memory_bytes;
	size_t memory_bytes; /* allocated for responses */
	struct http_options options;
};

struct http_transfer {
	struct http_client *client;
	struct http_transfer *prev, *next; /* in the client's transfers */
	struct http_transfer *prev_deferred, *next_deferred;
	bool is_deferred; /* on the client's list: to be added, or freed if is_cancelled */
	bool is_added;    /* libcurl has it */
	bool is_cancelled;
	bool is_sent; /* the request has been begun; followed only if it is to be sent once */
	CURL *easy;
	int folder_fd; /* of the unix socket's address, or -1 */
	struct http_lists lists;
	struct buf response;
	size_t header_bytes;
	uint64_t idle_timeout_ns;
	uint64_t last_byte_ns;
	curl_off_t n_sent;
	/* -errno and sentence of our own callbacks, which libcurl reports as a write error */
	int failure;
	const char *why;
	char msg[CURL_ERROR_SIZE];
	int (*on_data)(void *ctx, const char *data, size_t len);
	http_done_fn done;
	void *ctx;
};

static void transfer_free(struct http_transfer *t)
{
	if (t->easy)
		curl_easy_cleanup(t->easy);
	http_lists_fini(&t->lists);
	closep(&t->folder_fd);
	t->client->memory_bytes -= t->response.cap;
	buf_fini(&t->response);
	free(t);
}

DEFINE_CLEANUP(struct http_transfer *, transfer_free);

/* libcurl's limit of idle connections includes those in use: one per transfer. */
static void limit_connections(const struct http_client *c)
{
	long others = c->n_transfers > 0 ? (long)c->n_transfers - 1 : 0;

	if (!c->curl.in_curl)
		curl_multi_setopt(c->curl.multi, CURLMOPT_MAXCONNECTS,
				  others + (long)c->max_idle_connections);
}

static void check_idle_in(struct http_client *c, uint64_t now_ns, uint64_t delay_ns)
{
	if (now_ns + delay_ns >= c->idle_check_ns)
		return;
	c->idle_check_ns = now_ns + delay_ns;
	loop_set_timer(c->idle_timer, delay_ns);
}

static void defer(struct http_transfer *t)
{
	if (t->is_deferred)
		return;
	t->is_deferred = true;
	DL_APPEND2(t->client->deferred, t, prev_deferred, next_deferred);
}

static void undefer(struct http_transfer *t)
{
	if (!t->is_deferred)
		return;
	t->is_deferred = false;
	DL_DELETE2(t->client->deferred, t, prev_deferred, next_deferred);
}

static void link_transfer(struct http_transfer *t)
{
	struct http_client *c = t->client;

	DL_PREPEND(c->transfers, t);
	c->n_transfers++;
	limit_connections(c);
	if (t->idle_timeout_ns) {
		t->last_byte_ns = clock_monotonic_ns();
		check_idle_in(c, t->last_byte_ns, t->idle_timeout_ns);
	}
}

static void unlink_transfer(struct http_transfer *t)
{
	struct http_client *c = t->client;

	if (t->is_added)
		curl_multi_remove_handle(c->curl.multi, t->easy);
	undefer(t);
	DL_DELETE(c->transfers, t);
	c->n_transfers--;
	limit_connections(c);
}

static int error_of(const struct http_transfer *t, CURLcode code)
{
	long os_errno = 0;

	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
		/*
		 * libcurl takes the EAGAIN of a unix socket whose queue is full for a connection
		 * that is being made, then finds neither a connection nor an error.
		 */
		return os_errno > 0                     ? -(int)os_errno
		       : t->client->options.unix_socket ? -EAGAIN
							: -ECONNREFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return -EHOSTUNREACH;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return -EPROTO;
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

static void finish(struct http_transfer *t, CURLcode code)
{
	struct http_result result = {.error = t->failure ? t->failure : error_of(t, code)};
	long status = 0;

	if (t->client->options.unix_socket && code == CURLE_COULDNT_CONNECT && !t->failure)
		t->why = result.error == -EAGAIN ? "the server accepts no connections"
						 : strerrordesc_np(-result.error);
	unlink_transfer(t);
	result.transfer = t;
	if (result.error == 0) {
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
		result.status = (int)status;
		result.body = t->response.data ? t->response.data : "";
		result.body_len = t->response.len;
		result.retry_after_ns = retry_after_ns(t->easy);
	} else {
		result.msg = t->why ? t->why : t->msg[0] ? t->msg : curl_easy_strerror(code);
	}
	t->done(t->ctx, &result);
	transfer_free(t);
}

const char *http_result_header(const struct http_result *result, const char *name)
{
	const unsigned origin = CURLH_HEADER | CURLH_TRAILER;
	struct curl_header *h;

	if (result->error < 0 || !result->transfer)
		return NULL;
	/* -1: the last one of that name, and of the last response */
	if (curl_easy_header(result->transfer->easy, name, 0, origin, -1, &h) != CURLHE_OK ||
	    curl_easy_header(result->transfer->easy, name, h->amount - 1, origin, -1, &h) !=
		    CURLHE_OK)
		return NULL;
	return h->value;
}

static void finish_those_done(struct http_client *c)
{
	const CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(c->curl.multi, &left))) {
		CURLcode code = m->data.result;
		char *private = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &private);
		finish((struct http_transfer *)(void *)private, code);
	}
}

/*
 * Adds or frees what was started or cancelled while libcurl was calling us. A transfer that cannot
 * be added is finished here, and its done function may cancel others that are still on the list.
 */
static void settle_deferred(struct http_client *c)
{
	struct http_transfer *t;

	while ((t = c->deferred)) {
		undefer(t);
		if (t->is_cancelled) {
			unlink_transfer(t);
			transfer_free(t);
		} else if (curl_multi_add_handle(c->curl.multi, t->easy) == CURLM_OK) {
			t->is_added = true;
		} else {
			finish(t, CURLE_OUT_OF_MEMORY);
		}
	}
}

static void after_curl(void *ctx)
{
	settle_deferred(ctx);
	finish_those_done(ctx);
}

/* ---- idle time-out --------------------------------------------------------------------- */

static uint64_t idle_left_ns(const struct http_transfer *t, uint64_t now_ns)
{
	uint64_t end_ns = t->last_byte_ns + t->idle_timeout_ns;

	if (t->idle_timeout_ns == 0)
		return UINT64_MAX;
	return end_ns > now_ns ? end_ns - now_ns : 0;
}

/* Ends the transfers that have been silent for too long, and sets the timer for the next one. */
static void on_idle_timer(void *ctx)
{
	struct http_client *c = ctx;
	uint64_t now_ns = clock_monotonic_ns();
	struct http_transfer *t = c->transfers;

	c->idle_check_ns = UINT64_MAX;
	while (t) {
		uint64_t left_ns = idle_left_ns(t, now_ns);

		if (left_ns == 0) {
			t->failure = -ETIMEDOUT;
			snprintf(t->msg, sizeof(t->msg), "silent for %" PRIu64 " ms",
				 t->idle_timeout_ns / NS_PER_MS);
			t->why = t->msg;
			finish(t, CURLE_OPERATION_TIMEDOUT);
			/* the done function may have freed the next one: start over */
			t = c->transfers;
			continue;
		}
		if (left_ns != UINT64_MAX)
			check_idle_in(c, now_ns, left_ns);
		t = t->next;
	}
}

/* ---- libcurl's callbacks --------------------------------------------------------------- */

static bool is_for_reader(const struct http_transfer *t)
{
	long status = 0;

	if (!t->on_data)
		return false;
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

static int keep_body(struct http_transfer *t, const char *data, size_t len)
{
	struct http_client *c = t->client;
	size_t cap = t->response.cap;
	int r = buf_add(&t->response, data, len);

	c->memory_bytes += t->response.cap - cap;
	if (r == 0 && c->max_memory_bytes && c->memory_bytes > c->max_memory_bytes)
		r = -ENOBUFS;
	return r;
}

static size_t on_body(char *data, size_t size, size_t n, void *transfer)
{
	struct http_transfer *t = transfer;
	int r;

	if (t->is_cancelled)
		return CURL_WRITEFUNC_ERROR;
	if (t->idle_timeout_ns)
		t->last_byte_ns = clock_monotonic_ns();
	if (is_for_reader(t)) {
		r = t->on_data(t->ctx, data, size * n);
		t->why = "response body: its reader refused it";
	} else {
		r = keep_body(t, data, size * n);
		t->why = r == -EFBIG     ? "response body: larger than allowed"
			 : r == -ENOBUFS ? "response body: too large beside the others under way"
					 : "response body: out of memory";
	}
	if (r >= 0 && !t->is_cancelled) {
		t->why = NULL;
		return size * n;
	}
	t->failure = r;
	return CURL_WRITEFUNC_ERROR;
}

/* Notices that bytes of the request were sent, which libcurl reports in no other way. */
static int on_progress(void *transfer, curl_off_t expected, curl_off_t received, curl_off_t to_send,
		       curl_off_t sent)
{
	struct http_transfer *t = transfer;

	(void)expected, (void)received, (void)to_send;
	if (sent != t->n_sent)
		t->last_byte_ns = clock_monotonic_ns();
	t->n_sent = sent;
	return 0;
}

static size_t on_header(char *data, size_t size, size_t n, void *transfer)
{
	struct http_transfer *t = transfer;

	(void)data;
	if (t->idle_timeout_ns)
		t->last_byte_ns = clock_monotonic_ns();
	t->header_bytes += size * n;
	if (t->header_bytes <= MAX_HEADER_BYTES)
		return size * n;
	t->failure = -EFBIG;
	t->why = "response headers: larger than allowed";
	return CURL_WRITEFUNC_ERROR;
}

/* Called before the request is sent, each time that libcurl sends it. */
static int on_request(void *transfer, char *to, char *from, int to_port, int from_port)
{
	struct http_transfer *t = transfer;

	(void)to, (void)from, (void)to_port, (void)from_port;
	if (!t->is_sent) {
		t->is_sent = true;
		return CURL_PREREQFUNC_OK;
	}
	t->failure = -ECONNRESET;
	t->why = "the connection was closed before the answer";
	return CURL_PREREQFUNC_ABORT;
}

static curl_socket_t refuse_socket(struct http_transfer *t, int error)
{
	t->failure = error;
	t->why = strerrordesc_np(-error);
	return CURL_SOCKET_BAD;
}

/* libcurl connects to the address that it finds here afterwards, before it returns. */
static curl_socket_t open_unix_socket(void *transfer, curlsocktype purpose,
				      struct curl_sockaddr *addr)
{
	struct http_transfer *t = transfer;
	struct sockaddr_un to;
	int fd, r;

	(void)purpose;
	closep(&t->folder_fd);
	t->folder_fd = -1;
	r = unix_address(&to, t->client->options.unix_socket, &t->folder_fd);
	if (r < 0)
		return refuse_socket(t, r);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return refuse_socket(t, -errno);
	/* libcurl has room for any address */
	memcpy(&addr->addr, &to, sizeof(to));
	addr->addrlen = sizeof(to);
	return fd;
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
	c->idle_check_ns = UINT64_MAX;
	c->max_memory_bytes = cfg->max_memory_bytes;
	c->max_idle_connections =
		cfg->max_idle_connections ? cfg->max_idle_connections : DEFAULT_IDLE_CONNECTIONS;
	r = http_options_init(&c->options, cfg);
	if (r == 0)
		r = loop_add_timer(l, on_idle_timer, c, &c->idle_timer);
	if (r == 0)
		r = curl_loop_init(&c->curl, l, after_curl, c);
	if (r < 0)
		return r;
	limit_connections(c);
	*ret = TAKE_PTR(c);
	return 0;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	while (c->transfers)
		http_cancel(c->transfers);
	curl_loop_fini(&c->curl);
	loop_remove(c->idle_timer);
	http_options_fini(&c->options);
	free(c);
	curl_global_cleanup();
}

static void set_callbacks(struct http_transfer *t, bool once)
{
	CURL *easy = t->easy;

	/* these options cannot fail: none of them allocates */
	curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->msg);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
	if (t->client->options.unix_socket) {
		curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_unix_socket);
		curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, t);
	}
	if (once) {
		curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_request);
		curl_easy_setopt(easy, CURLOPT_PREREQDATA, t);
	}
	if (t->idle_timeout_ns == 0)
		return;
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(easy, CURLOPT_XFERINFODATA, t);
}

int http_start(struct http_client *c, const struct http_request *req, http_done_fn done, void *ctx,
	       struct http_transfer **ret)
{
	CLEANUP(transfer_freep) struct http_transfer *t = NULL;
	int r;

	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->client = c;
	t->folder_fd = -1;
	t->done = done;
	t->on_data = req->on_data;
	t->ctx = ctx;
	t->idle_timeout_ns = req->idle_timeout_ns;
	buf_init(&t->response, req->max_response_bytes);
	t->easy = curl_easy_init();
	if (!t->easy)
		return -ENOMEM;
	set_callbacks(t, req->once);
	r = http_options_apply(&c->options, t->easy, req, &t->lists);
	if (r < 0)
		return r;

	/* libcurl only sets its timer here; the request starts when the loop runs it */
	if (c->curl.in_curl)
		defer(t);
	else if (curl_multi_add_handle(c->curl.multi, t->easy) == CURLM_OK)
		t->is_added = true;
	else
		return -ENOMEM;
	link_transfer(t);
	if (ret)
		*ret = t;
	t = NULL;
	return 0;
}

int http_send(struct http_client *c, const struct http_request *req, http_done_fn done, void *ctx)
{
	return http_start(c, req, done, ctx, NULL);
}

void http_cancel(struct http_transfer *t)
{
	if (!t)
		return;
	t->is_cancelled = true;
	if (t->client->curl.in_curl) {
		defer(t);
		return;
	}
	unlink_transfer(t);
	transfer_free(t);
}
