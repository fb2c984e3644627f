#include "test/lib/raw_server.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "test/lib/unit.h"

/* Reads and discards the rest of a body. */
static bool read_body(const struct raw_server *s, int fd, size_t left)
{
	char in[64 * 1024];

	while (left > 0) {
		ssize_t n = recv(fd, in, left < sizeof(in) ? left : sizeof(in), MSG_WAITALL);

		if (n <= 0)
			return false;
		left -= (size_t)n;
		if (s->read_pause_us)
			usleep(s->read_pause_us);
	}
	return true;
}

static bool read_request(struct raw_server *s, int fd)
{
	size_t len = 0;

	while (len < sizeof(s->request) - 1) {
		ssize_t n = recv(fd, s->request + len, sizeof(s->request) - 1 - len, 0);
		const char *end, *length;
		size_t body_len, have;

		if (n <= 0)
			return false;
		len += (size_t)n;
		s->request[len] = '\0';
		end = strstr(s->request, "\r\n\r\n");
		if (!end)
			continue;
		length = strstr(s->request, "Content-Length: ");
		body_len = length ? strtoul(length + 16, NULL, 10) : 0;
		have = len - (size_t)(end + 4 - s->request);
		if (have >= body_len)
			return true;
		if (body_len > sizeof(s->request) / 2)
			return read_body(s, fd, body_len - have);
	}
	return false;
}

static bool send_reply(const struct raw_server *s, int fd)
{
	size_t len = s->reply_len ? s->reply_len : strlen(s->reply);

	for (size_t sent = 0; sent < len;) {
		size_t n_wanted = s->byte_pause_us ? 1 : len - sent;
		ssize_t n = send(fd, s->reply + sent, n_wanted, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		sent += (size_t)n;
		if (s->byte_pause_us)
			usleep(s->byte_pause_us);
	}
	return true;
}

static void serve_one(struct raw_server *s, int fd)
{
	const struct linger reset = {.l_onoff = 1};
	char rest[4096];

	do {
		if (!read_request(s, fd) || !send_reply(s, fd))
			return;
	} while (s->then == THEN_REPEAT);
	if (s->then == THEN_IGNORE)
		(void)read_request(s, fd);
	if (s->then == THEN_RESET) {
		/* give the client time to read the reply, which a reset would discard */
		usleep(20000);
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	}
	while (s->then == THEN_HANG && recv(fd, rest, sizeof(rest), 0) > 0)
		;
}

static void *serve(void *server)
{
	struct raw_server *s = server;

	for (;;) {
		AUTO_CLOSE int fd = accept(s->fd, NULL, NULL);

		if (fd < 0)
			return NULL;
		serve_one(s, fd);
	}
}

static void listen_unix(struct raw_server *s)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	assert_true(strlen(s->unix_socket) < sizeof(addr.sun_path));
	memcpy(addr.sun_path, s->unix_socket, strlen(s->unix_socket) + 1);
	unlink(s->unix_socket);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->fd, 64), 0);
	snprintf(s->url, sizeof(s->url), "http://localhost/");
}

static void listen_tcp(struct raw_server *s)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				       .ai_socktype = SOCK_STREAM};
	const char *host = s->host ? s->host : "127.0.0.1";
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	struct addrinfo *ai;
	char port[8];

	assert_int_equal(getaddrinfo(host, "0", &hints, &ai), 0);
	s->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, ai->ai_addr, ai->ai_addrlen), 0);
	freeaddrinfo(ai);
	assert_int_equal(listen(s->fd, 64), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&addr, &len), 0);
	assert_int_equal(getnameinfo((const struct sockaddr *)&addr, len, NULL, 0, port,
				     sizeof(port), NI_NUMERICSERV),
			 0);
	s->port = (unsigned)strtoul(port, NULL, 10);
	snprintf(s->url, sizeof(s->url), strchr(host, ':') ? "http://[%s]:%u/" : "http://%s:%u/",
		 host, s->port);
}

void raw_server_start(struct raw_server *s)
{
	if (s->unix_socket)
		listen_unix(s);
	else
		listen_tcp(s);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void raw_server_stop(struct raw_server *s)
{
	if (s->fd <= 0)
		return;
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	s->fd = -1;
}
