#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/http/http_server.h"
#include "test/lib/unit.h"

#define BIG_BYTES ((size_t)8 << 20)

struct fixture {
	struct access *access;
	struct metrics *metrics;
	struct http_server *server;
	size_t n_served;
};

static void serve(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	f->n_served++;
	http_respond_text(x, 200, "served");
}

static void serve_by_accept(void *ctx, struct http_exchange *x)
{
	if (http_exchange_header(x, "Accept") || http_exchange_require(x, ACCESS_READ))
		serve(ctx, x);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_route routes[] = {
		{"GET", "/read", 0, serve, f},
		{"POST", "/write", BIG_BYTES, serve, f, .scope = ACCESS_WRITE},
		{"GET", "/open", 0, serve, f, .scope = ACCESS_NO_KEY},
		{"GET", "/page", 0, serve_by_accept, f, .scope = ACCESS_BEFORE_KEY},
		{"GET", "/anyone", 0, serve, f, .scope = ACCESS_ANYONE},
		{},
	};
	struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.max_connections = 10,
		.timeout_s = 60,
		.max_body_memory_bytes = 2 * BIG_BYTES,
		.routes = routes,
	};

	if (!f || metrics_new(&f->metrics) < 0 ||
	    access_new(&f->access, &(struct access_config){.write_key = "w", .read_key = "r"},
		       NULL) < 0)
		return -1;
	cfg.access = f->access;
	cfg.metrics = f->metrics;
	*state = f;
	return http_server_new(&f->server, &cfg, NULL);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_server_free(f->server);
	access_free(f->access);
	metrics_free(f->metrics);
	free(f);
	return 0;
}

/* Sends a request whose body is n zeros; the answer is in ret. Returns its status. */
static int ask(const struct fixture *f, const char *head, size_t n, char ret[static 2048])
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_server_port(f->server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	AUTO_FREE char *request = calloc(1, 2048 + n);
	size_t len, got = 0;
	ssize_t r;

	assert_non_null(request);
	len = (size_t)snprintf(request, 2048,
			       "%sHost: localhost\r\nConnection: close\r\n"
			       "Content-Length: %zu\r\n\r\n",
			       head, n) +
	      n;
	assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&addr, sizeof(addr)),
			 0);
	for (size_t sent = 0; sent < len; sent += (size_t)r) {
		r = send(fd, request + sent, len - sent, MSG_NOSIGNAL);
		assert_true(r > 0);
	}
	while (got < 2047 && (r = recv(fd, ret + got, 2047 - got, 0)) > 0)
		got += (size_t)r;
	ret[got] = '\0';
	assert_true(got > 12);
	return (int)strtol(ret + 9, NULL, 10);
}

static uint64_t counted(const struct fixture *f, const char *line)
{
	CLEANUP(buf_fini) struct buf text;
	const char *at;

	buf_init(&text, 1 << 20);
	assert_int_equal(metrics_write(f->metrics, &text), 0);
	assert_int_equal(buf_add(&text, "", 1), 0);
	at = strstr(text.data, line);
	assert_non_null(at);
	return strtoull(at + strlen(line), NULL, 10);
}

TEST_FIXTURE(a_route_opens_by_the_key_of_its_scope, set_up, tear_down)
{
	static const struct {
		const char *head;
		int status;
	} cases[] = {
		{"GET /read HTTP/1.1\r\n", 401},
		{"GET /read HTTP/1.1\r\nX-Api-Key: w\r\n", 401},
		{"GET /read HTTP/1.1\r\nx-api-key: r\r\n", 200},
		{"GET /read HTTP/1.1\r\nX-Api-Key:\r\n", 401},
		{"POST /write HTTP/1.1\r\nX-Api-Key: r\r\n", 401},
		{"POST /write HTTP/1.1\r\nX-Api-Key: w\r\n", 200},
		{"POST /write HTTP/1.1\r\nX-Api-Key: w\r\nOrigin: http://evil.example\r\n", 403},
		{"GET /open HTTP/1.1\r\n", 200},
		{"GET /open HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n", 403},
		{"GET /anyone HTTP/1.1\r\nSec-Fetch-Site: cross-site\r\n", 200},
		{"GET /page HTTP/1.1\r\nAccept: text/html\r\n", 200},
		{"GET /page HTTP/1.1\r\n", 401},
		{"GET /page HTTP/1.1\r\nX-Api-Key: r\r\n", 200},
	};
	struct fixture *f = *state;
	size_t n_200 = 0;
	char answer[2048];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(ask(f, cases[i].head, 0, answer), cases[i].status);
		n_200 += cases[i].status == 200;
		assert_int_equal(f->n_served, n_200);
	}
	assert_int_equal(counted(f, "http_server_refused_total{reason=\"key\"} "), 5);
	assert_int_equal(counted(f, "http_server_refused_total{reason=\"origin\"} "), 2);
}

TEST_FIXTURE(a_refusal_says_what_to_do, set_up, tear_down)
{
	struct fixture *f = *state;
	char answer[2048];

	assert_int_equal(ask(f, "GET /read HTTP/1.1\r\n", 0, answer), 401);
	assert_non_null(strstr(answer, "send it in the header X-Api-Key"));
}

/* The body is read and discarded, so that the client sees the answer; none of it is kept. */
TEST_FIXTURE(a_body_with_a_wrong_key_is_not_kept, set_up, tear_down)
{
	struct fixture *f = *state;
	char answer[2048];

	assert_int_equal(ask(f, "POST /write HTTP/1.1\r\nX-Api-Key: no\r\n", BIG_BYTES, answer),
			 401);
	assert_int_equal(f->n_served, 0);
	assert_int_equal(ask(f, "POST /write HTTP/1.1\r\nX-Api-Key: no\r\nExpect: 100-continue\r\n",
			     0, answer),
			 401);
}
