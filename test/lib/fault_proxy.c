#include "test/lib/fault_proxy.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "test/lib/unit.h"

#define POLL_MS 10
#define DRIP_BYTES 4096

struct connection {
	struct fault_proxy *proxy;
	int fds[2]; /* client, server */
	struct fault fault;
	unsigned generation;
	uint64_t n_passed[2]; /* from fds[i] */
};

static int connect_to(unsigned port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool is_current(struct connection *c)
{
	bool r;

	pthread_mutex_lock(&c->proxy->lock);
	r = c->generation == c->proxy->generation;
	pthread_mutex_unlock(&c->proxy->lock);
	return r;
}

static void count_broken(struct connection *c)
{
	pthread_mutex_lock(&c->proxy->lock);
	c->proxy->n_broken++;
	pthread_mutex_unlock(&c->proxy->lock);
}

/* The fault has come. Returns whether the connection goes on. */
static bool break_connection(struct connection *c, int from, const char *rest, size_t len)
{
	static const char answer[] = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n"
				     "Connection: close\r\n\r\noops";
	const struct linger reset = {.l_onoff = 1};

	switch (c->fault.kind) {
	case FAULT_RESET:
		setsockopt(c->fds[0], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		setsockopt(c->fds[1], SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		return false;
	case FAULT_HTTP:
		/* what the client sends is read, as else the kernel would reset the connection */
		send_all(c->fds[0], answer, sizeof(answer) - 1);
		return true;
	case FAULT_DRIP:
		usleep(1000);
		return send_all(c->fds[!from], rest, len);
	case FAULT_STALL:
		return true;
	default:
		return false;
	}
}

/* Passes on what has come from one side. Returns whether the connection goes on. */
static bool pass_on(struct connection *c, int from)
{
	bool has_fault = c->fault.kind != FAULT_NONE && c->fault.down == (from == 1);
	char data[65536];
	size_t size = sizeof(data), n_free;
	bool was_broken = has_fault && c->n_passed[from] > c->fault.after;
	ssize_t n;

	if (has_fault && c->fault.kind == FAULT_DRIP)
		size = DRIP_BYTES;
	n = recv(c->fds[from], data, size, 0);
	if (n <= 0)
		return false;
	n_free = (size_t)n;
	if (has_fault && c->n_passed[from] + n_free > c->fault.after)
		n_free = c->fault.after > c->n_passed[from]
				 ? (size_t)(c->fault.after - c->n_passed[from])
				 : 0;
	c->n_passed[from] += (size_t)n;
	if (!send_all(c->fds[!from], data, n_free))
		return false;
	if (n_free == (size_t)n)
		return true;
	if (!was_broken)
		count_broken(c);
	else if (c->fault.kind == FAULT_HTTP)
		return true;
	return break_connection(c, from, data + n_free, (size_t)n - n_free);
}

static void *serve(void *connection)
{
	struct connection *c = connection;
	bool goes_on = c->fds[1] >= 0;

	while (goes_on && is_current(c)) {
		struct pollfd fds[2] = {{c->fds[0], POLLIN, 0}, {c->fds[1], POLLIN, 0}};

		poll(fds, 2, POLL_MS);
		for (int i = 0; i < 2 && goes_on; i++) {
			if (fds[i].revents)
				goes_on = pass_on(c, i);
		}
	}
	close(c->fds[0]);
	if (c->fds[1] >= 0)
		close(c->fds[1]);
	free(c);
	return NULL;
}

static void *accept_all(void *proxy)
{
	struct fault_proxy *p = proxy;

	for (;;) {
		int fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC);
		struct connection *c;

		if (fd < 0)
			return NULL;
		c = calloc(1, sizeof(*c));
		if (!c)
			abort();
		*c = (struct connection){.proxy = p, .fds = {fd, connect_to(p->target_port)}};
		pthread_mutex_lock(&p->lock);
		c->generation = p->generation;
		if (p->fault.n_left > 0) {
			p->fault.n_left--;
			c->fault = p->fault;
		}
		if (p->n_threads == ARRAY_SIZE(p->threads) ||
		    pthread_create(&p->threads[p->n_threads++], NULL, serve, c) != 0)
			abort();
		pthread_mutex_unlock(&p->lock);
	}
}

void fault_proxy_start(struct fault_proxy *p)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);

	pthread_mutex_init(&p->lock, NULL);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(p->fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(p->fd, 64), 0);
	assert_int_equal(getsockname(p->fd, (struct sockaddr *)&addr, &len), 0);
	p->port = ntohs(addr.sin_port);
	assert_int_equal(pthread_create(&p->thread, NULL, accept_all, p), 0);
}

void fault_proxy_set(struct fault_proxy *p, struct fault fault)
{
	pthread_mutex_lock(&p->lock);
	p->fault = fault;
	p->generation++;
	pthread_mutex_unlock(&p->lock);
}

unsigned fault_proxy_broken(struct fault_proxy *p)
{
	unsigned n;

	pthread_mutex_lock(&p->lock);
	n = p->n_broken;
	pthread_mutex_unlock(&p->lock);
	return n;
}

void fault_proxy_stop(struct fault_proxy *p)
{
	fault_proxy_set(p, (struct fault){0});
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	for (size_t i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	close(p->fd);
	pthread_mutex_destroy(&p->lock);
}
