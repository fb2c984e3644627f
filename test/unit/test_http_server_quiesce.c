/* Stops a server while its threads are busy, many times: the races are rare. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#include "common/http/http_server.h"
#include "test/lib/unit.h"

#define N_CLIENTS 4
#define N_SERVERS 300

static void answer(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 200, "ok");
}

static int connect_to(unsigned port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

/* Sends one request after the other until the server closes the connection. */
static void *ask_on(void *fd)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	char in[1000];

	while (send(*(int *)fd, request, strlen(request), MSG_NOSIGNAL) > 0 &&
	       recv(*(int *)fd, in, sizeof(in), 0) > 0)
		;
	return NULL;
}

TEST(a_server_can_be_stopped_while_it_answers)
{
	const struct http_route routes[] = {{"GET", "/", 0, answer, NULL}, {0}};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = 2,
		.max_connections = 100,
		.timeout_s = 300,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};

	for (int n = 0; n < N_SERVERS; n++) {
		pthread_t threads[N_CLIENTS];
		struct http_server *s;
		int fds[N_CLIENTS];

		assert_int_equal(http_server_new(&s, &cfg, NULL), 0);
		for (int i = 0; i < N_CLIENTS; i++) {
			fds[i] = connect_to(http_server_port(s));
			assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &fds[i]), 0);
		}
		usleep(2000);
		http_server_free(s);
		for (int i = 0; i < N_CLIENTS; i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			close(fds[i]);
		}
	}
}
