#include "test/lib/h2_server.h"

#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <utlist.h>

#include "test/lib/unit.h"

#define MAX_REQUEST_BYTES ((size_t)1024 * 1024)

struct connection {
	struct h2_server *server;
	size_t slot;
	int fd;
	nghttp2_session *session;
	struct stream *streams;
	bool is_over; /* close it when what is queued has been sent */
};

/* One request and its answer. */
struct stream {
	struct stream *prev, *next;
	char path[256];
	char *body;
	size_t len;
	struct h2_reply reply;
	size_t n_sent;
};

static void free_stream(struct connection *c, struct stream *st)
{
	DL_DELETE(c->streams, st);
	free(st->body);
	free(st->reply.body);
	free(st);
}

static void send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		at += n;
		len -= (size_t)n;
	}
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *data, size_t len, int flags,
		       void *connection)
{
	const struct connection *c = connection;

	(void)session, (void)flags;
	send_all(c->fd, data, len);
	return (ssize_t)len;
}

/* ---- the answer ------------------------------------------------------------------------- */

static nghttp2_nv header(const char *name, const char *value)
{
	return (nghttp2_nv){.name = (uint8_t *)(uintptr_t)name,
			    .value = (uint8_t *)(uintptr_t)value,
			    .namelen = strlen(name),
			    .valuelen = strlen(value)};
}

static size_t make_trailers(const struct h2_reply *reply, nghttp2_nv *nv)
{
	size_t n = 0;

	if (reply->grpc_status)
		nv[n++] = header("grpc-status", reply->grpc_status);
	if (reply->grpc_message)
		nv[n++] = header("grpc-message", reply->grpc_message);
	return n;
}

static ssize_t next_piece(nghttp2_session *session, int32_t id, uint8_t *out, size_t len,
			  uint32_t *flags, nghttp2_data_source *source, void *connection)
{
	struct connection *c = connection;
	struct stream *st = source->ptr;
	size_t end = st->reply.body_len, left;
	bool is_half = st->reply.fault == H2_DROP_MIDWAY || st->reply.fault == H2_HANG_MIDWAY;
	nghttp2_nv trailers[2];
	size_t n_trailers;

	if (is_half)
		end /= 2;
	left = end - st->n_sent;
	if (left == 0 && is_half) {
		c->is_over = st->reply.fault == H2_DROP_MIDWAY;
		return NGHTTP2_ERR_DEFERRED;
	}
	if (len > left)
		len = left;
	if (len > 0)
		memcpy(out, st->reply.body + st->n_sent, len);
	st->n_sent += len;
	if (st->n_sent < end || is_half)
		return (ssize_t)len;
	*flags |= NGHTTP2_DATA_FLAG_EOF;
	n_trailers = make_trailers(&st->reply, trailers);
	if (n_trailers > 0) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(session, id, trailers, n_trailers);
	}
	if (st->reply.fault == H2_GOAWAY_AFTER)
		nghttp2_submit_goaway(session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR, NULL, 0);
	return (ssize_t)len;
}

static void answer(struct connection *c, int32_t id, struct stream *st)
{
	const struct h2_reply *reply = &st->reply;
	nghttp2_data_provider body = {.source.ptr = st, .read_callback = next_piece};
	bool has_body = reply->fault != H2_TRAILERS_ONLY;
	nghttp2_nv nv[4];
	size_t n = 0;

	nv[n++] = header(":status", reply->status ? reply->status : "200");
	if (reply->type)
		nv[n++] = header("content-type", reply->type);
	if (!has_body)
		n += make_trailers(reply, nv + n);
	nghttp2_submit_response(c->session, id, nv, n, has_body ? &body : NULL);
}

static void respond(struct connection *c, int32_t id, struct stream *st)
{
	static const char garbage[] = "220 mail.example.org ESMTP; this is not HTTP/2 at all\r\n";

	c->server->handle(c->server->ctx, st->path, st->body ? st->body : "", st->len, &st->reply);
	switch (st->reply.fault) {
	case H2_HANG:
		break;
	case H2_DROP:
		c->is_over = true;
		break;
	case H2_GARBAGE:
		send_all(c->fd, garbage, sizeof(garbage));
		c->is_over = true;
		break;
	case H2_RESET:
		nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id,
					  NGHTTP2_INTERNAL_ERROR);
		break;
	case H2_GOAWAY:
		nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR, NULL, 0);
		c->is_over = true;
		break;
	default:
		answer(c, id, st);
	}
}

/* ---- the request ------------------------------------------------------------------------ */

static int on_begin(nghttp2_session *session, const nghttp2_frame *frame, void *connection)
{
	struct connection *c = connection;
	struct stream *st;

	if (frame->hd.type != NGHTTP2_HEADERS)
		return 0;
	st = calloc(1, sizeof(*st));
	DL_APPEND(c->streams, st);
	nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, st);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
		     void *connection)
{
	struct stream *st = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags, (void)connection;
	if (st && name_len == 5 && memcmp(name, ":path", 5) == 0)
		snprintf(st->path, sizeof(st->path), "%.*s", (int)value_len, (const char *)value);
	return 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
		    size_t len, void *connection)
{
	struct stream *st = nghttp2_session_get_stream_user_data(session, id);

	(void)flags, (void)connection;
	if (!st || st->len + len > MAX_REQUEST_BYTES)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (!st->body)
		st->body = malloc(MAX_REQUEST_BYTES);
	memcpy(st->body + st->len, data, len);
	st->len += len;
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *connection)
{
	struct stream *st;

	if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	st = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
	if (st)
		respond(connection, frame->hd.stream_id, st);
	return 0;
}

static int on_close(nghttp2_session *session, int32_t id, uint32_t error, void *connection)
{
	struct stream *st = nghttp2_session_get_stream_user_data(session, id);
	struct connection *c = connection;

	(void)error;
	if (!st)
		return 0;
	if (st->reply.fault == H2_GOAWAY_AFTER)
		c->is_over = true;
	free_stream(c, st);
	nghttp2_session_set_stream_user_data(session, id, NULL);
	return 0;
}

/* ---- connections ------------------------------------------------------------------------ */

static nghttp2_session *new_session(struct connection *c)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_session *session;

	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_send_callback(callbacks, on_send);
	nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin);
	nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_chunk);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
	nghttp2_session_server_new(&session, callbacks, c);
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
	return session;
}

static void serve_session(struct connection *c)
{
	uint8_t in[64 * 1024];

	for (;;) {
		ssize_t n;

		if (nghttp2_session_send(c->session) != 0 || c->is_over)
			return;
		n = recv(c->fd, in, sizeof(in), 0);
		if (n <= 0 || nghttp2_session_mem_recv(c->session, in, (size_t)n) < 0)
			return;
	}
}

static void *serve(void *connection)
{
	struct connection *c = connection;
	struct h2_server *s = c->server;
	struct pollfd left = {.fd = c->fd, .events = POLLRDHUP};

	if (s->is_mute) {
		poll(&left, 1, -1);
	} else {
		c->session = new_session(c);
		serve_session(c);
		nghttp2_session_del(c->session);
	}
	while (c->streams)
		free_stream(c, c->streams);
	pthread_mutex_lock(&s->lock);
	close(c->fd);
	s->connections[c->slot].fd = -1;
	s->n_open--;
	pthread_mutex_unlock(&s->lock);
	free(c);
	return NULL;
}

static void *accept_all(void *server)
{
	struct h2_server *s = server;

	for (;;) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
		struct connection *c;

		if (fd < 0)
			return NULL;
		pthread_mutex_lock(&s->lock);
		assert_true(s->n_accepted < H2_SERVER_MAX_CONNECTIONS);
		c = calloc(1, sizeof(*c));
		*c = (struct connection){.server = s, .slot = s->n_accepted, .fd = fd};
		s->n_open++;
		s->connections[s->n_accepted].fd = fd;
		assert_int_equal(
			pthread_create(&s->connections[s->n_accepted].thread, NULL, serve, c), 0);
		s->n_accepted++;
		pthread_mutex_unlock(&s->lock);
	}
}

void h2_server_start(struct h2_server *s)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	assert_true(strlen(s->path) < sizeof(addr.sun_path));
	memcpy(addr.sun_path, s->path, strlen(s->path) + 1);
	unlink(s->path);
	s->n_accepted = s->n_open = 0;
	pthread_mutex_init(&s->lock, NULL);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->fd, 64), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, accept_all, s), 0);
}

void h2_server_stop(struct h2_server *s)
{
	if (s->fd <= 0)
		return;
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	unlink(s->path);
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->n_accepted; i++) {
		if (s->connections[i].fd >= 0)
			shutdown(s->connections[i].fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&s->lock);
	for (unsigned i = 0; i < s->n_accepted; i++)
		pthread_join(s->connections[i].thread, NULL);
	pthread_mutex_destroy(&s->lock);
	s->fd = -1;
}

static unsigned read_locked(struct h2_server *s, const unsigned *value)
{
	unsigned v;

	pthread_mutex_lock(&s->lock);
	v = *value;
	pthread_mutex_unlock(&s->lock);
	return v;
}

unsigned h2_server_accepted(struct h2_server *s)
{
	return read_locked(s, &s->n_accepted);
}

unsigned h2_server_open(struct h2_server *s)
{
	return read_locked(s, &s->n_open);
}
