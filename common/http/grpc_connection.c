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
 *
 * What nghttp2 does for a client costs next to nothing each time, and a client may ask for it a
 * million times a second, or with a few bytes for the headers of megabytes (HPACK repeats what it
 * has seen). So what brings no call forward has a price (grpc_budget.h), headers have a limit, and
 * whoever exceeds these is told so by GOAWAY and closed. A connection is read a little at a time:
 * the others are served in turn, whatever is sent on it.
 */
#include "common/http/grpc_connection.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <utlist.h>

#include "common/http/grpc_answer.h"
#include "common/http/grpc_budget.h"
#include "common/http/grpc_transport.h"
#include "common/system/clock.h"

#define MAX_CALLS 32
/* Of headers beyond this, the rest is not read. */
#define MAX_HEADERS_READ_BYTES (4 * GRPC_HEAD_BYTES)
#define MAX_TEXT_BYTES 4096u
#define STREAM_WINDOW_BYTES (1 << 20)
#define CONNECTION_WINDOW_BYTES (4 << 20)
#define READ_BYTES ((size_t)16 * 1024)
/* Reads in a row, so that other connections have their turn. */
#define MAX_READS 8
#define FIRST_REQUEST_NS (10 * NS_PER_S)
#define REQUEST_NS (30 * NS_PER_S)
#define MIN_BYTES_PER_S 16384u
/* At least so much of an incomplete message must arrive within REQUEST_NS. */
#define MIN_PROGRESS_BYTES ((size_t)64 * 1024)

struct grpc_connection {
	struct grpc_host *host;
	struct grpc_transport transport;
	struct loop_source *source;
	uint32_t events; /* that source waits for */
	nghttp2_session *session;
	struct grpc_call *calls;
	uint64_t client;
	uint64_t since_ns; /* of the start, or of the end of the last call */
	struct grpc_budget budget;
	size_t headers_bytes; /* of the headers that are being received */
	size_t other_bytes;   /* received beside messages, and not paid for */
	bool had_call;
	bool excessive; /* the client asks for more than it may */
	bool counted;   /* in a reason for which it is closed */
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

void grpc_call_free(struct grpc_call *call)
{
	release_body(call);
	grpc_head_fini(&call->head);
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

/* While an answer waits for its client to read it, the request takes no memory. */
static void submit(struct grpc_call *call)
{
	call->answered = true;
	call->since_ns = clock_monotonic_ns();
	release_body(call);
	grpc_answer_submit(call->conn->session, call);
}

static void spend(struct grpc_connection *c, unsigned price)
{
	if (price > 0 && !grpc_budget_spend(&c->budget, price, clock_monotonic_ns()))
		c->excessive = true;
}

static void count_end(struct grpc_connection *c, enum grpc_end why)
{
	if (!c->counted)
		c->host->gave_up(c->host->ctx, why);
	c->counted = true;
}

static void refuse(struct grpc_call *call, enum grpc_status status, const char *text)
{
	/* that we have no room is not the client's fault */
	if (status != GRPC_UNAVAILABLE)
		spend(call->conn, GRPC_PRICE_REFUSED);
	call->status = status;
	grpc_frame_put_text(text, &call->text);
	call->host->refused(call->host->ctx, status);
	submit(call);
}

/* ---- requests ---- */

/* The headers are complete. Of many calls at once, at most one has its headers in memory. */
static void end_head(struct grpc_call *call)
{
	struct grpc_refusal refusal;

	call->head.too_large = call->conn->headers_bytes > GRPC_HEAD_BYTES;
	call->method = grpc_head_check(&call->head, call->host->cfg, call->conn->client, &refusal);
	if (!call->method) {
		call->http_status = refusal.http_status;
		refuse(call, refusal.status, refusal.err.msg);
	}
	grpc_head_release(&call->head);
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
	grpc_budget_earn(&call->conn->budget);
	call->host->dispatch(call->host->ctx, call);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *ctx)
{
	struct grpc_connection *c = ctx;

	(void)session;
	spend(c, grpc_budget_price(hd->type, hd->flags, hd->length));
	return c->excessive ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* One that nghttp2 answers with RST_STREAM: more calls at once than it may begin, for example. */
static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
			    void *ctx)
{
	(void)session;
	(void)frame;
	(void)error;
	spend(ctx, GRPC_PRICE_REFUSED);
	return 0;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct grpc_connection *c = ctx;
	struct grpc_call *call;

	c->headers_bytes = 0;
	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	call->conn = c;
	call->host = c->host;
	call->stream = frame->hd.stream_id;
	call->since_ns = call->progress_ns = clock_monotonic_ns();
	buf_init(&call->body, c->host->cfg->max_message_bytes + GRPC_FRAME_HEAD_BYTES);
	buf_init(&call->text, MAX_TEXT_BYTES);
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
	struct grpc_connection *c = ctx;

	(void)flags;
	c->headers_bytes += name_len + value_len + GRPC_HEAD_COST_BYTES;
	if (c->headers_bytes > MAX_HEADERS_READ_BYTES) {
		c->excessive = true;
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	}
	if (!call || frame->headers.cat != NGHTTP2_HCAT_REQUEST ||
	    c->headers_bytes > GRPC_HEAD_BYTES)
		return 0;
	return grpc_head_add(&call->head, name, name_len, value, value_len) < 0
		       ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
		       : 0;
}

static int add_body(struct grpc_call *call, const void *data, size_t len)
{
	struct grpc_host *host = call->host;

	while (host->memory_bytes + len > host->cfg->max_memory_bytes)
		if (!host->make_memory(host->ctx, call->conn))
			return -EAGAIN;
	host->memory_bytes += len;
	call->charged += len;
	return buf_add(&call->body, data, len);
}

/* A message that is too large is refused before it has arrived, and so is a second one. */
static int check_body(struct grpc_call *call, struct err *err)
{
	const struct buf *body = &call->body;
	size_t announced;

	if (body->len < GRPC_FRAME_HEAD_BYTES)
		return 0;
	announced = grpc_frame_announced((const uint8_t *)body->data);
	if (announced > call->host->cfg->max_message_bytes)
		return -EFBIG;
	if (body->len - GRPC_FRAME_HEAD_BYTES <= announced)
		return 0;
	return grpc_frame_read(&call->frame, body->data, body->len, err);
}

/* NOLINTNEXTLINE(readability-function-size): the parameters are nghttp2's */
static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
		   size_t len, void *ctx)
{
	struct grpc_call *call = nghttp2_session_get_stream_user_data(session, stream);
	struct grpc_connection *c = ctx;
	struct err err = {""};
	int r;

	(void)flags;
	c->other_bytes = c->other_bytes > len ? c->other_bytes - len : 0;
	if (!call || call->answered)
		return 0;
	r = add_body(call, data, len);
	if (r == 0)
		r = check_body(call, &err);
	if (r == -EBADMSG)
		refuse(call, GRPC_INVALID_ARGUMENT, err.msg);
	else if (r == -EFBIG)
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

/*
 * Once an answer has been sent, its client need not send the rest of the request. With GOAWAY,
 * nghttp2 has found something wrong, and will end the connection; that it calls an internal error
 * is a limit of its own, such as that of calls which are begun and cancelled.
 */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	const struct grpc_call *call =
		nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
		count_end(ctx, frame->goaway.error_code == NGHTTP2_INTERNAL_ERROR
				       ? GRPC_END_EXCESSIVE
				       : GRPC_END_INVALID);
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

/* nghttp2 cannot go on with what was received. */
static void give_up(struct grpc_connection *c, ssize_t error)
{
	if (error == NGHTTP2_ERR_NOMEM)
		return;
	if (error == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
		count_end(c, GRPC_END_INVALID);
		answer_http1(c);
		return;
	}
	count_end(c, GRPC_END_EXCESSIVE);
	if (nghttp2_session_terminate_session(c->session, NGHTTP2_ENHANCE_YOUR_CALM) == 0)
		(void)send_all(c);
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
		c->other_bytes += (size_t)n;
		n = nghttp2_session_mem_recv(c->session, data, (size_t)n);
		if (n < 0) {
			give_up(c, n);
			return false;
		}
		/* frames of unknown types, of which nghttp2 does not tell */
		for (; c->other_bytes >= READ_BYTES; c->other_bytes -= READ_BYTES)
			spend(c, 1);
		if (c->excessive) {
			give_up(c, NGHTTP2_ERR_FLOODED);
			return false;
		}
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
		{NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, GRPC_HEAD_BYTES},
	};
	nghttp2_session_callbacks *callbacks;
	int r;

	if (nghttp2_session_callbacks_new(&callbacks) < 0)
		return -ENOMEM;
	nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
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
	grpc_budget_init(&c->budget, c->since_ns);
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
	/* nothing is sent before the client has spoken: it may speak HTTP/1.1 */
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

/* Whether it is the client's turn to send or to read. */
static bool waits(const struct grpc_call *call)
{
	return !call->complete || call->answered;
}

uint64_t grpc_connection_waits_since_ns(const struct grpc_connection *c)
{
	const struct grpc_call *call;
	uint64_t since_ns = UINT64_MAX;

	DL_FOREACH (c->calls, call) {
		if (!waits(call))
			return 0;
		if (call->since_ns < since_ns)
			since_ns = call->since_ns;
	}
	return c->calls ? since_ns : 0;
}

size_t grpc_connection_incomplete_bytes(const struct grpc_connection *c)
{
	const struct grpc_call *call;
	size_t n = 0;

	DL_FOREACH (c->calls, call)
		n += call->complete ? 0 : call->charged;
	return n;
}

/* A client that does not read its answer, or allows none, is late as well. */
static bool is_late(struct grpc_call *call, uint64_t now_ns)
{
	uint64_t allowed_ns = call->host->cfg->request_ns ?: REQUEST_NS;

	if (!waits(call))
		return false;
	if (now_ns > call->since_ns + allowed_ns + call->body.len / MIN_BYTES_PER_S * NS_PER_S)
		return true;
	if (call->answered)
		return false;
	if (call->body.len >= call->progress_len + MIN_PROGRESS_BYTES) {
		call->progress_len = call->body.len;
		call->progress_ns = now_ns;
	}
	return now_ns > call->progress_ns + allowed_ns;
}

bool grpc_connection_is_late(struct grpc_connection *c, uint64_t now_ns)
{
	struct grpc_call *call;

	if (!c->had_call)
		return now_ns > c->since_ns + FIRST_REQUEST_NS;
	DL_FOREACH (c->calls, call)
		if (is_late(call, now_ns))
			return true;
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
