#include "test/lib/script_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "test/lib/unit.h"

static bool read_request(int fd, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	while (len < size - 1 && !strstr(text, "\r\n\r\n")) {
		ssize_t n = recv(fd, text + len, size - 1 - len, 0);

		if (n <= 0)
			return false;
		len += (size_t)n;
		text[len] = '\0';
	}
	return true;
}

/* The reply for the connection; NULL if none is left. */
static const struct script_reply *note(struct script_server *s, char *text)
{
	const struct script_reply *reply = NULL;
	char *end = strstr(text, " HTTP/1.1\r\n");

	if (end)
		*end = '\0';
	pthread_mutex_lock(&s->lock);
	if (s->n_requests < s->n_replies)
		reply = &s->replies[s->n_requests];
	if (s->n_requests < SCRIPT_SERVER_MAX_REQUESTS)
		snprintf(s->requests[s->n_requests++], sizeof(s->requests[0]), "%.511s", text);
	pthread_mutex_unlock(&s->lock);
	return reply;
}

static void hold(int fd)
{
	char rest[1024];

	while (recv(fd, rest, sizeof(rest), 0) > 0)
		;
}

static void serve_one(struct script_server *s, int fd)
{
	const struct linger reset = {.l_onoff = 1};
	const struct script_reply *reply;
	char text[4096];
	size_t len, sent = 0;

	if (!read_request(fd, text, sizeof(text)))
		return;
	reply = note(s, text);
	len = reply ? strlen(reply->text) : 0;
	while (sent < len) {
		ssize_t n = send(fd, reply->text + sent, len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		sent += (size_t)n;
	}
	if (!reply || reply->end == SCRIPT_HOLD) {
		hold(fd);
		return;
	}
	usleep(reply->hold_ms * 1000);
	if (reply->end == SCRIPT_RESET)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

static void *serve(void *server)
{
	struct script_server *s = server;

	for (;;) {
		AUTO_CLOSE int fd = accept(s->fd, NULL, NULL);

		if (fd < 0)
			return NULL;
		serve_one(s, fd);
	}
}

void script_server_start(struct script_server *s)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);

	pthread_mutex_init(&s->lock, NULL);
	s->n_requests = 0;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(s->fd, 8), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&addr, &len), 0);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", ntohs(addr.sin_port));
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

void script_server_stop(struct script_server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
	pthread_mutex_destroy(&s->lock);
}

size_t script_server_requests(struct script_server *s)
{
	size_t n;

	pthread_mutex_lock(&s->lock);
	n = s->n_requests;
	pthread_mutex_unlock(&s->lock);
	return n;
}
