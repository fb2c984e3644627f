/*
 * nghttp2 turns bytes into frames and back; it does no I/O. Bytes that arrive are given to it, and
 * after that whatever it wants to send is sent, as far as the socket takes it. What the socket does
 * not take is at most one of nghttp2's pieces, so a client that does not read cannot make us keep
 * more than the answers to its calls.
 *
 * A request is refused at its headers if its method, path, type or key is not right, so that nobody
 * sends a body for nothing. The answer ends our side of the stream, and RST_STREAM with NO_ERROR
 * tells the client to stop (RFC 9113, section 8.1).
 *
 * A call that a handler has outlives its stream and its connection.
 */
#include "common/http/grpc_connection.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/http/grpc_transport.h"
#include "common/system/clock.h"

#define MAX_CALLS 32
#define MAX_HEADER_BYTES 4096u
#define STREAM_WINDOW_BYTES (1 << 20)
#define CONNECTION_WINDOW_BYTES (4 << 20)
#define READ_BYTES ((size_t)16 * 1024)
/* Reads in a row, so that other connections have their turn. */
#define MAX_READS 64
#define FIRST_REQUEST_NS (10 * NS_PER_S)
#define REQUEST_NS (30 * NS_PER_S)
#define MIN_BYTES_PER_S 16384u

static const char *const header_names[GRPC_HEADER_MAX] = {
	[GRPC_HEADER_METHOD] = ":method",         [GRPC_HEADER_PATH] = ":path",
	[GRPC_HEADER_AUTHORITY] = ":authority",   [GRPC_HEADER_TYPE] = "content-type",
	[GRPC_HEADER_ENCODING] = "grpc-encoding", [GRPC_HEADER_ORIGIN] = "origin",
	[GRPC_HEADER_API_KEY] = "x-api-key",      [GRPC_HEADER_AUTHORIZATION] = "authorization",
};

struct grpc_connection {
	struct grpc_host *host;
	struct grpc_transport transport;
	struct loop_source *source;
	uint32_t events; /* that source waits for */
	nghttp2_session *session;
	struct grpc_call *calls;
	uint64_t client;
	uint64_t since_ns; /* of the start, or of the end of the last call */
	bool had_call;
	bool ended;
	const uint8_t *unsent; /* of nghttp2; borrowed until the next nghttp2_session_mem_send() */
	size_t n_unsent;
};

/* ---- calls ---- */

static void release_body(struct grpc_call *call)
{
	call->host->memory_bytes -= call->charged;
	call->charged = 0;
	buf_fini(&call->body);
}

static void release_headers(struct grpc_call *call)
{
	for (int i = 0; i < GRPC_HEADER_MAX; i++) {
		if (i == GRPC_HEADER_ENCODING)
			continue;
		free(call->headers[i]);
		call->headers[i] = NULL;
	}
}

void grpc_call_free(struct grpc_call *call)
{
	release_body(call);
	release_headers(call);
	free(call->headers[GRPC_HEADER_ENCODING]);
	buf_fini(&call->text);
	buf_fini(&call->message);
	free(call);
}

/* The stream has ended. A call that its handler has not answered is freed when it does. */
static void detach(struct grpc_call *call)
{
	struct grpc_connection *c = call->conn;

	DL_DELETE(c->calls, call);
	if (!c->calls)
		c->since_ns = clock_monotonic_ns();
	call->conn = NULL;
	if (!call->dispatched || call->answered)
		grpc_call_free(call);
}

static nghttp2_nv header(const char *name, const char *value)
{
	/* nghttp2's members are not const */
	/* NOLINTBEGIN(performance-no-int-to-ptr) */
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
			    .value = (uint8_t *)(uintptr_t)value,
			    .namelen = strlen(name),
			    .valuelen = strlen(value)};
	/* NOLINTEND(performance-no-int-to-ptr) */
}

/* Returns the number of trailers; digits is their storage. */
static size_t make_trailers(const struct grpc_call *call, nghttp2_nv nv[static 2],
			    char digits[static 12])
{
	size_t n = 0;

	snprintf(digits, 12, "%d", (int)call->status);
	nv[n++] = header("grpc-status", digits);
	if (call->text.len > 0)
		nv[n++] = header("grpc-message", call->text.data);
	return n;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are nghttp2's */
static ssize_t next_piece(nghttp2_session *session, int32_t stream, uint8_t *out, size_t len,
			  uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct grpc_call *call = source->ptr;
	size_t left = call->message.len - call->n_sent;
	nghttp2_nv trailers[2];
	char digits[12];
	size_t n;

	(void)ctx;
	if (len > left)
		len = left;
	memcpy(out, call->message.data + call->n_sent, len);
	call->n_sent += len;
	if (call->n_sent < call->message.len)
		return (ssize_t)len;
	*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
	n = make_trailers(call, trailers, digits);
	return nghttp2_submit_trailer(session, stream, trailers, n) == 0
		       ? (ssize_t)len
		       : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* While an answer waits for its client to read it, the request takes no memory. */
static void submit(struct grpc_call *call)
{
	nghttp2_session *session = call->conn->session;
	nghttp2_data_provider data = {.source = {.ptr = call}, .read_callback = next_piece};
	bool has_message = call->status == GRPC_OK && call->http_status == 0;
	char status[12], digits[12];
	nghttp2_nv nv[5];
	size_t n = 0;
	int r;

	call->answered = true;
	call->since_ns = clock_monotonic_ns();
	release_body(call);
	snprintf(status, sizeof(status), "%u", call->http_status ? call->http_status : 200);
	nv[n++] = header(":status", status);
	if (call->http_status == 0) {
		nv[n++] = header("content-type", "application/grpc");
		nv[n++] = header("grpc-accept-encoding", "identity,gzip,zstd");
		if (!has_message)
			n += make_trailers(call, nv + n, digits);
	}
	r = nghttp2_submit_response(session, call->stream, nv, n, has_message ? &data : NULL);
	if (r < 0)
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream,
						NGHTTP2_INTERNAL_ERROR);
}

static void refuse(struct grpc_call *call, enum grpc_status status, const char *text)
{
	call->status = status;
	grpc_frame_put_text(text, &call->text);
	call->host->refused(call->host->ctx, status);
	submit(call);
}

static void refuse_http(struct grpc_call *call, unsigned http_status)
{
	call->http_status = http_status;
	call->host->refused(call->host->ctx, GRPC_UNIMPLEMENTED);
	submit(call);
}

/* ---- requests ---- */

static const char *get(const struct grpc_call *call, enum grpc_header h)
{
	return call->headers[h];
}

static bool is_grpc(const char *type)
{
	static const char grpc[] = "application/grpc";

	return type && strncmp(type, grpc, strlen(grpc)) == 0 &&
	       (type[strlen(grpc)] == '\0' || strchr(";+", type[strlen(grpc)]));
}

static const struct grpc_method *find_method(const struct grpc_server_config *cfg, const char *path)
{
	for (const struct grpc_method *m = cfg->methods; m->path; m++)
		if (path && strcmp(m->path, path) == 0)
			return m;
	return NULL;
}

static bool check_access(struct grpc_call *call)
{
	const struct access_request req = {
		.is_write = true,
		.host = get(call, GRPC_HEADER_AUTHORITY),
		.origin = get(call, GRPC_HEADER_ORIGIN),
		.api_key = get(call, GRPC_HEADER_API_KEY),
		.authorization = get(call, GRPC_HEADER_AUTHORIZATION),
		.client = call->conn->client,
	};
	struct err err = {""};
	enum access_verdict v =
		access_check(call->host->cfg->access, &req, call->method->scope, &err);

	if (v == ACCESS_GRANTED)
		return true;
	refuse(call, v == ACCESS_REFUSED_KEY ? GRPC_UNAUTHENTICATED : GRPC_PERMISSION_DENIED,
	       err.msg);
	return false;
}

/* The headers are complete. */
static void check_head(struct grpc_call *call)
{
	const char *method = get(call, GRPC_HEADER_METHOD);

	if (!method || strcmp(method, "POST") != 0) {
		refuse_http(call, 405);
		return;
	}
	if (!is_grpc(get(call, GRPC_HEADER_TYPE))) {
		refuse_http(call, 415);
		return;
	}
	call->method = find_method(call->host->cfg, get(call, GRPC_HEADER_PATH));
	if (!call->method)
		refuse(call, GRPC_UNIMPLEMENTED, "this server has no such method");
	else
		(void)check_access(call);
}

/* Of many calls at once, at most one has its headers in memory. */
static void end_head(struct grpc_call *call)
{
	check_head(call);
	release_headers(call);
}

static void dispatch(struct grpc_call *call)
{
	struct err err = {""};

	call->complete = true;
	if (call->answered)
		return;
	if (grpc_frame_read(&call->frame, call->body.data ? call->body.data : "", call->body.len,
			    &err) < 0) {
		refuse(call, GRPC_INVALID_ARGUMENT, err.msg);
		return;
	}
	call->dispatched = true;
	call->host->dispatch(call->host->ctx, call);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct grpc_connection *c = ctx;
	struct grpc_call *call;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	call->conn = c;
	call->host = c->host;
	call->stream = frame->hd.stream_id;
	call->since_ns = clock_monotonic_ns();
	buf_init(&call->body, c->host->cfg->max_message_bytes + GRPC_FRAME_HEAD_BYTES);
	buf_init(&call->text, MAX_HEADER_BYTES);
	buf_init(&call->message, SIZE_MAX / 2);
	DL_APPEND(c->calls, call);
	c->had_call = true;
	(void)nghttp2_session_set_stream_user_data(session, call->stream, call);
	return 0;
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are nghttp2's */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *ctx)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	(void)ctx;
	if (!call || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	for (int i = 0; i < GRPC_HEADER_MAX; i++) {
		if (strlen(header_names[i]) != name_len ||
		    memcmp(header_names[i], name, name_len) != 0)
			continue;
		if (call->headers[i] || value_len > MAX_HEADER_BYTES)
			return 0;
		call->headers[i] = strndup((const char *)value, value_len);
		return call->headers[i] ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return 0;
}

static int add_body(struct grpc_call *call, const void *data, size_t len)
{
	struct grpc_host *host = call->host;

	if (host->memory_bytes + len > host->cfg->max_memory_bytes)
		return -EAGAIN;
	host->memory_bytes += len;
	call->charged += len;
	return buf_add(&call->body, data, len);
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are nghttp2's */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
		   size_t len, void *ctx)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
	int r;

	(void)flags;
	(void)ctx;
	if (!call || call->answered)
		return 0;
	r = add_body(call, data, len);
	if (r == -EFBIG)
		refuse(call, GRPC_RESOURCE_EXHAUSTED, "the message is too large");
	else if (r < 0)
		refuse(call, GRPC_UNAVAILABLE, "too many messages are being received");
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)ctx;
	if (!call || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	call->complete |= (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		end_head(call);
	if (call->complete)
		dispatch(call);
	return 0;
}

/* Once an answer has been sent, its client need not send the rest of the request. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	const struct grpc_call *call =
		nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)ctx;
	if (call && !call->complete && frame->hd.type == NGHTTP2_HEADERS &&
	    (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		(void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, call->stream,
						NGHTTP2_NO_ERROR);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *ctx)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream);

	(void)error;
	(void)ctx;
	if (call)
		detach(call);
	return 0;
}

/* ---- bytes ---- */

static void end(struct grpc_connection *c)
{
	if (c->ended)
		return;
	c->ended = true;
	loop_remove(c->source);
	c->source = NULL;
	c->host->ended(c->host->ctx, c);
}

/* Returns 0, -EAGAIN if the socket takes no more, or another error. */
static int send_unsent(struct grpc_connection *c)
{
	while (c->n_unsent > 0) {
		ssize_t n = grpc_transport_write(&c->transport, c->unsent, c->n_unsent);

		if (n < 0)
			return (int)n;
		c->unsent += n;
		c->n_unsent -= (size_t)n;
	}
	return 0;
}

static int send_all(struct grpc_connection *c)
{
	int r = 0;

	if (!c->transport.ready)
		return -EAGAIN;
	while ((r = send_unsent(c)) == 0) {
		ssize_t n = nghttp2_session_mem_send(c->session, &c->unsent);

		if (n <= 0)
			return n < 0 ? -ENOMEM : 0;
		c->n_unsent = (size_t)n;
	}
	return r;
}

static void flush(struct grpc_connection *c)
{
	uint32_t events = EPOLLIN;
	int r;

	if (c->ended)
		return;
	r = send_all(c);
	if (r < 0 && r != -EAGAIN) {
		end(c);
		return;
	}
	if (r == 0 && !nghttp2_session_want_read(c->session) &&
	    !nghttp2_session_want_write(c->session)) {
		end(c);
		return;
	}
	if (c->n_unsent > 0 || c->transport.wants_write)
		events |= EPOLLOUT;
	if (events != c->events && loop_modify_fd(c->source, events) < 0)
		end(c);
	c->events = events;
}

/* Someone takes this port for the one of HTTP/1.1, or for a web server. */
static void answer_http1(struct grpc_connection *c)
{
	static const char answer[] =
		"HTTP/1.1 426 Upgrade Required\r\nUpgrade: h2c\r\nConnection: close\r\n"
		"Content-Type: text/plain; charset=utf-8\r\n\r\n"
		"This port speaks gRPC. HTTP/1.1 is spoken on the port of --listen.\n";

	if (grpc_transport_write(&c->transport, answer, sizeof(answer) - 1) > 0 &&
	    c->transport.fd >= 0)
		(void)shutdown(c->transport.fd, SHUT_WR);
}

/* Returns whether the connection can go on. */
static bool receive(struct grpc_connection *c)
{
	uint8_t data[READ_BYTES];

	for (unsigned i = 0; i < MAX_READS; i++) {
		ssize_t n = grpc_transport_read(&c->transport, data, sizeof(data));

		if (n == -EAGAIN)
			return true;
		if (n <= 0)
			return false;
		n = nghttp2_session_mem_recv(c->session, data, (size_t)n);
		if (n == NGHTTP2_ERR_BAD_CLIENT_MAGIC)
			answer_http1(c);
		if (n < 0)
			return false;
		/* what is in GnuTLS already is not reported by epoll */
		if (i + 1 == MAX_READS && c->transport.session &&
		    gnutls_record_check_pending(c->transport.session) > 0)
			i--;
	}
	return true;
}

static void on_event(void *ctx, uint32_t events)
{
	struct grpc_connection *c = ctx;

	if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR) || !c->transport.ready) && !receive(c)) {
		end(c);
		return;
	}
	flush(c);
}

/* ---- create and destroy ---- */

static int make_session(struct grpc_connection *c)
{
	const nghttp2_settings_entry settings[] = {
		{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, MAX_CALLS},
		{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 4 * MAX_HEADER_BYTES},
	};
	nghttp2_session_callbacks *callbacks;
	int r;

	if (nghttp2_session_callbacks_new(&callbacks) < 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
	r = nghttp2_session_server_new(&c->session, callbacks, c);
	nghttp2_session_callbacks_del(callbacks);
	if (r == 0)
		r = nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings,
					    ARRAY_SIZE(settings));
	if (r == 0)
		r = nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0,
							  CONNECTION_WINDOW_BYTES);
	return r < 0 ? -ENOMEM : 0;
}

int grpc_connection_new(struct grpc_connection **ret, struct grpc_host *host, int fd,
			uint64_t client)
{
	struct grpc_connection *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->host = host;
	c->client = client;
	c->since_ns = clock_monotonic_ns();
	c->events = EPOLLIN;
	c->transport.fd = -1;
	r = make_session(c);
	if (r == 0)
		r = loop_add_fd(host->loop, fd, EPOLLIN, on_event, c, &c->source);
	if (r == 0)
		r = grpc_transport_init(&c->transport, fd, host->cfg->tls);
	if (r < 0) {
		grpc_connection_free(c);
		return r;
	}
	*ret = c;
	flush(c);
	return 0;
}

void grpc_connection_free(struct grpc_connection *c)
{
	struct grpc_call *call, *next;

	loop_remove(c->source);
	DL_FOREACH_SAFE(c->calls, call, next)
	{
		detach(call);
	}
	nghttp2_session_del(c->session);
	grpc_transport_fini(&c->transport);
	free(c);
}

/* ---- of the server ---- */

void grpc_connection_answer(struct grpc_call *call)
{
	struct grpc_connection *c = call->conn;

	submit(call);
	flush(c);
}

void grpc_connection_goaway(struct grpc_connection *c)
{
	if (c->ended)
		return;
	(void)nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
				    nghttp2_session_get_last_proc_stream_id(c->session),
				    NGHTTP2_NO_ERROR, NULL, 0);
	flush(c);
}

uint64_t grpc_connection_idle_since_ns(const struct grpc_connection *c)
{
	return c->calls ? 0 : c->since_ns;
}

bool grpc_connection_is_late(const struct grpc_connection *c, uint64_t now_ns)
{
	const struct grpc_call *call;

	if (!c->had_call)
		return now_ns > c->since_ns + FIRST_REQUEST_NS;
	DL_FOREACH (c->calls, call) {
		uint64_t allowed = (c->host->cfg->request_ns ?: REQUEST_NS) +
				   call->body.len / MIN_BYTES_PER_S * NS_PER_S;

		/* a client that does not read its answer, or allows none, is late as well */
		if ((!call->complete || call->answered) && now_ns > call->since_ns + allowed)
			return true;
	}
	return false;
}

bool grpc_connection_is_busy(const struct grpc_connection *c)
{
	return !c->ended && (c->calls || c->n_unsent > 0);
}

bool grpc_connection_has_ended(const struct grpc_connection *c)
{
	return c->ended;
}
