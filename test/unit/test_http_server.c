#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "common/data/gzip.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/thread/queue.h"
#include "test/lib/unit.h"

#define PATIENCE_MS 300000
#define BIG_TEXT_BYTES 5000

struct fixture {
	struct http_server *server;
	struct queue *kept; /* exchanges of /later */
	char *reply;        /* of the last ask() */
	size_t reply_len;
};

/* ---- handlers ---------------------------------------------------------------- */

static void add_param(void *ctx, const char *name, const char *value)
{
	assert_int_equal(buf_addf(ctx, "[%s=%s]", name, value), 0);
}

static void echo(void *ctx, struct http_exchange *x)
{
	const char *header = http_exchange_header(x, "x-test");
	const char *param = http_exchange_param(x, "service");
	struct buf text;
	size_t len;
	const char *body = http_exchange_body(x, &len);
	char *taken;

	(void)ctx;
	buf_init(&text, 1 << 20);
	assert_int_equal(buf_addf(&text, "path=%s service=%s header=%s body=%.*s params=",
				  http_exchange_path(x), param ? param : "-", header ? header : "-",
				  (int)len, body),
			 0);
	http_exchange_each_param(x, add_param, &text);
	taken = buf_take(&text, &len);
	http_respond(x, 200, "text/plain", taken, len);
}

static void later(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;

	assert_int_equal(queue_push(f->kept, x), 0);
}

static void big(void *ctx, struct http_exchange *x)
{
	char *text = malloc(BIG_TEXT_BYTES);

	(void)ctx;
	memset(text, 'a', BIG_TEXT_BYTES);
	http_respond(x, 200, "application/json", text, BIG_TEXT_BYTES);
}

static void page(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_static(x, "text/html; charset=utf-8", "<p>", 3, false);
}

static void prefix(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_text(x, 200, "prefix %s", http_exchange_path(x));
}

static void with_headers(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	assert_int_equal(http_exchange_set_header(x, "X-One", "1"), 0);
	assert_int_equal(http_exchange_set_header(x, "X-Two", "a\r\nX-Evil: 1"), -EINVAL);
	assert_int_equal(http_exchange_set_header(x, "X-Two: ", "a"), -EINVAL);
	assert_int_equal(http_exchange_set_header(x, "", "a"), -EINVAL);
	for (int i = 0; i < 15; i++)
		assert_int_equal(http_exchange_set_header(x, "X-More", "2"), 0);
	assert_int_equal(http_exchange_set_header(x, "X-TooMany", "3"), -ENOSPC);
	http_respond(x, 204, NULL, NULL, 0);
}

/* ---- fixture ------------------------------------------------------------------- */

static void start(struct fixture *f, const struct http_server_config *overrides)
{
	const struct http_route routes[] = {
		{"GET", "/files/*", 0, prefix, f},
		{"GET", "/files/exact", 0, echo, f},
		{"GET", "/echo", 0, echo, f},
		{"POST", "/echo", 1000, echo, f},
		{"POST", "/large", 1 << 20, echo, f},
		{"GET", "/later", 0, later, f},
		{"POST", "/later", 100000, later, f},
		{"GET", "/big", 0, big, f},
		{"POST", "/big", 10, big, f},
		{"GET", "/page", 0, page, f},
		{"GET", "/headers", 0, with_headers, f},
		{0},
	};
	struct http_server_config cfg = *overrides;
	struct err err = {""};

	cfg.routes = routes;
	if (!cfg.listen)
		cfg.listen = "127.0.0.1:0";
	if (!cfg.max_connections)
		cfg.max_connections = 20;
	if (!cfg.timeout_s)
		cfg.timeout_s = 300;
	if (!cfg.max_body_memory_bytes)
		cfg.max_body_memory_bytes = 16 << 20;
	if (http_server_new(&f->server, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	return queue_new(&f->kept, 64);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_server_free(f->server);
	queue_free(f->kept);
	free(f->reply);
	free(f);
	return 0;
}

static int try_connect(unsigned port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_port = htons((uint16_t)port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return fd;
}

static int connect_to(struct fixture *f)
{
	int fd = try_connect(http_server_port(f->server));

	assert_true(fd >= 0);
	return fd;
}

static void send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		assert_true(n > 0);
		data += n;
		len -= (size_t)n;
	}
}

static void send_text(int fd, const char *text)
{
	send_all(fd, text, strlen(text));
}

/* Reads until the server closes, or until wanted (if not NULL) has arrived. */
static const char *read_until(struct fixture *f, int fd, const char *wanted)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct buf in;

	buf_init(&in, 1 << 20);
	while (!wanted || !in.data || !strstr(in.data, wanted)) {
		char part[4096];
		ssize_t n;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		n = recv(fd, part, sizeof(part), 0);
		if (n <= 0)
			break;
		assert_int_equal(buf_add(&in, part, (size_t)n), 0);
	}
	assert_int_equal(buf_add(&in, "", 0), 0);
	free(f->reply);
	f->reply = buf_take(&in, &f->reply_len);
	return f->reply;
}

/* Sends one request on a connection of its own and reads everything that comes back. */
static const char *ask(struct fixture *f, const char *request)
{
	AUTO_CLOSE int fd = connect_to(f);

	send_text(fd, request);
	return read_until(f, fd, NULL);
}

static const char *get(struct fixture *f, const char *path, const char *headers)
{
	char request[10000];

	snprintf(request, sizeof(request),
		 "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", path, headers);
	return ask(f, request);
}

#define assert_has(text, part)                                       \
	do {                                                         \
		if (!strstr(text, part))                             \
			fail_msg("no \"%s\" in \"%s\"", part, text); \
	} while (0)
#define assert_has_not(text, part) assert_null(strstr(text, part))

static unsigned status_of(const char *reply)
{
	assert_int_equal(strncmp(reply, "HTTP/1.1 ", 9), 0);
	return (unsigned)strtoul(reply + 9, NULL, 10);
}

/* ---- requests -------------------------------------------------------------------- */

TEST_FIXTURE(a_handler_sees_path_parameters_headers_and_body, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	assert_has(get(f, "/echo?service=%2Fsystem.slice%2fa+b%26&x=&y&z=%00%zz&service=2",
		       "X-Test: yes\r\n"),
		   "path=/echo service=/system.slice/a b& header=yes body= "
		   "params=[service=/system.slice/a b&][x=][y=][z=%00%zz][service=2]");
	assert_int_equal(status_of(f->reply), 200);
	assert_has(ask(f, "POST /echo?q HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			  "Content-Length: 5\r\n\r\nhello"),
		   "path=/echo service=- header=- body=hello params=[q=]");
	assert_has(ask(f, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			  "Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"),
		   "body=hello params=");
}

TEST_FIXTURE(a_bad_content_length_is_answered_with_a_sentence, set_up, tear_down)
{
	static const struct {
		const char *length, *body;
		unsigned status;
	} cases[] = {
		{"abc", "\r\n\r\nthe header Content-Length is not a number\n", 400},
		{"-1", "\r\n\r\nthe header Content-Length is not a number\n", 400},
		{"5 5", "\r\n\r\nthe header Content-Length is not a number\n", 400},
		{"5x", "\r\n\r\nthe header Content-Length is not a number\n", 400},
		{"99999999999999999999999",
		 "\r\n\r\nthe header Content-Length is more than 64 bits\n", 413},
	};
	struct fixture *f = *state;
	char request[200];

	start(f, &(struct http_server_config){0});
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *reply;

		snprintf(request, sizeof(request),
			 "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %s\r\n\r\nhello",
			 cases[i].length);
		reply = ask(f, request);
		assert_int_equal(status_of(reply), cases[i].status);
		assert_has(reply, cases[i].body);
		/* one head, and nothing behind the body */
		assert_null(strstr(reply + 1, "HTTP/1.1"));
		assert_string_equal(strstr(reply, "\r\n\r\n"), cases[i].body);
	}
	/* the next one is read as ever */
	assert_has(ask(f, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			  "Content-Length: 5\r\n\r\nhello"),
		   "body=hello");
}

TEST_FIXTURE(a_parameter_of_8_kib_fits_and_endless_ones_are_refused, set_up, tear_down)
{
	struct fixture *f = *state;
	char path[9000], *request = calloc(1, 100001);

	start(f, &(struct http_server_config){0});
	memset(path, 'a', 8192);
	memcpy(path, "/echo?service=", 14);
	path[8192] = '\0';
	assert_has(get(f, path, ""), "service=aaaa");
	assert_int_equal(status_of(f->reply), 200);

	memset(request, 'a', 100000);
	memcpy(request, "GET /", 5);
	memcpy(request + 100000 - 14, " HTTP/1.1\r\n\r\n", 14);
	assert_int_equal(status_of(ask(f, request)), 414);
	free(request);
}

TEST_FIXTURE(a_request_with_too_many_parameters_gets_an_answer, set_up, tear_down)
{
	static const unsigned numbers[] = {150, 201, 500, 5000};
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char *request = calloc(1, 100000), *at = stpcpy(request, "GET /echo?0");

		for (unsigned k = 1; k < numbers[i]; k++)
			at += snprintf(at, 16, "&%u=1", k);
		stpcpy(at, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
		assert_int_equal(status_of(ask(f, request)), numbers[i] <= 200 ? 200 : 414);
		free(request);
	}
}

TEST_FIXTURE(prefix_routes_come_after_exact_ones, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	assert_has(get(f, "/files/exact", ""), "path=/files/exact");
	assert_has(get(f, "/files/a/b", ""), "prefix /files/a/b\n");
	assert_has(get(f, "/files/", ""), "prefix /files/\n");
	assert_int_equal(status_of(get(f, "/files", "")), 404);
}

TEST_FIXTURE(unknown_paths_and_methods_are_refused, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	assert_int_equal(status_of(get(f, "/nothing", "")), 404);
	assert_has(f->reply, "nosniff");
	assert_int_equal(status_of(ask(f, "DELETE /echo HTTP/1.1\r\nHost: x\r\n"
					  "Connection: close\r\n\r\n")),
			 405);
	assert_has(f->reply, "\r\nAllow: GET, HEAD, POST\r\n");
	assert_int_equal(status_of(ask(f, "POST /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
					  "Content-Length: 2\r\n\r\nab")),
			 405);
	assert_has(f->reply, "\r\nAllow: GET, HEAD\r\n");
}

TEST_FIXTURE(head_has_the_headers_of_get_without_its_body, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	ask(f, "HEAD /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_int_equal(status_of(f->reply), 200);
	assert_has(f->reply, "Content-Length: 3\r\n");
	assert_string_equal(f->reply + f->reply_len - 4, "\r\n\r\n");
}

/* ---- answers --------------------------------------------------------------------- */

TEST_FIXTURE(every_answer_has_security_headers_and_pages_have_a_policy, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	get(f, "/page", "");
	assert_has(f->reply, "\r\nX-Content-Type-Options: nosniff\r\n");
	assert_has(f->reply, "\r\nReferrer-Policy: no-referrer\r\n");
	assert_has(f->reply, "\r\nContent-Security-Policy: default-src 'self'; ");
	assert_has(f->reply, "; object-src 'none'; ");
	assert_has(f->reply, "; base-uri 'none'; ");
	get(f, "/echo", "");
	assert_has(f->reply, "\r\nReferrer-Policy: no-referrer\r\n");
	assert_has_not(f->reply, "Content-Security-Policy");
}

TEST_FIXTURE(handlers_add_headers_but_no_line_breaks, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	get(f, "/headers", "");
	assert_int_equal(status_of(f->reply), 204);
	assert_has(f->reply, "\r\nX-One: 1\r\n");
	assert_has(f->reply, "\r\nX-More: 2\r\n");
	assert_has_not(f->reply, "Evil");
}

TEST_FIXTURE(large_answers_to_get_are_gzipped_when_the_client_takes_it, set_up, tear_down)
{
	struct fixture *f = *state;
	struct buf plain;
	const char *body;

	start(f, &(struct http_server_config){0});
	get(f, "/big", "Accept-Encoding: deflate, gzip\r\n");
	assert_has(f->reply, "\r\nContent-Encoding: gzip\r\n");
	assert_has(f->reply, "\r\nVary: Accept-Encoding\r\n");
	body = strstr(f->reply, "\r\n\r\n") + 4;
	buf_init(&plain, 10000);
	assert_int_equal(gzip_inflate(body, f->reply_len - (size_t)(body - f->reply), &plain), 0);
	assert_int_equal(plain.len, BIG_TEXT_BYTES);
	assert_int_equal(strspn(plain.data, "a"), BIG_TEXT_BYTES);
	buf_fini(&plain);

	assert_has_not(get(f, "/big", ""), "Content-Encoding");
	assert_has_not(get(f, "/big", "Accept-Encoding: gzip;q=0\r\n"), "Content-Encoding");
	assert_has_not(get(f, "/echo", "Accept-Encoding: gzip\r\n"), "Content-Encoding");
	assert_has_not(ask(f, "POST /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			      "Accept-Encoding: gzip\r\nContent-Length: 1\r\n\r\na"),
		       "Content-Encoding");
}

/* ---- limits ---------------------------------------------------------------------- */

TEST_FIXTURE(the_answer_to_an_oversize_body_reaches_a_client_that_sends_on, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;
	size_t len = 4 << 20;
	char *body = calloc(1, len);

	start(f, &(struct http_server_config){0});
	fd = connect_to(f);
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		      "Content-Length: 4194304\r\n\r\n");
	send_all(fd, body, len);
	assert_int_equal(status_of(read_until(f, fd, NULL)), 413);
	free(body);
}

TEST_FIXTURE(a_chunked_body_is_refused_where_it_passes_the_limit, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;
	char chunk[600];

	start(f, &(struct http_server_config){0});
	fd = connect_to(f);
	memset(chunk, 'c', sizeof(chunk));
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 3; i++) {
		send_text(fd, "258\r\n");
		send_all(fd, chunk, sizeof(chunk));
		send_text(fd, "\r\n");
	}
	send_text(fd, "0\r\n\r\n");
	assert_int_equal(status_of(read_until(f, fd, NULL)), 413);
}

TEST_FIXTURE(a_body_where_none_belongs_is_refused, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, &(struct http_server_config){0});
	assert_int_equal(status_of(ask(f, "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
					  "Content-Length: 1\r\n\r\na")),
			 413);
}

TEST_FIXTURE(a_client_that_expects_continue_is_refused_before_it_sends, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;

	start(f, &(struct http_server_config){0});
	assert_int_equal(status_of(ask(f, "POST /echo HTTP/1.1\r\nHost: x\r\n"
					  "Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n")),
			 413);
	fd = connect_to(f);
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		      "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	assert_int_equal(status_of(read_until(f, fd, "\r\n\r\n")), 100);
	send_text(fd, "hello");
	assert_int_equal(status_of(read_until(f, fd, NULL)), 200);
}

TEST_FIXTURE(an_endless_body_is_cut_off, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;
	size_t sent = 0, len = 1 << 20;
	char *part = calloc(1, len);

	start(f, &(struct http_server_config){0});
	fd = connect_to(f);
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
		      "fffffff0\r\n");
	while (sent < (200 << 20)) {
		ssize_t n = send(fd, part, len, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	free(part);
	assert_in_range(sent, 64 << 20, 100 << 20);
}

TEST_FIXTURE(bodies_beyond_the_memory_for_them_are_asked_to_come_later, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;
	struct http_exchange *x;
	char body[50000];

	start(f, &(struct http_server_config){.max_body_memory_bytes = 100000});
	memset(body, 'b', sizeof(body));
	fd = connect_to(f);
	send_text(fd, "POST /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
		      "Content-Length: 50000\r\n\r\n");
	send_all(fd, body, sizeof(body));
	x = queue_pop(f->kept);

	/* once announced by Content-Length, once noticed while receiving */
	for (int chunked = 0; chunked < 2; chunked++) {
		AUTO_CLOSE int other = connect_to(f);

		send_text(other, "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n");
		send_text(other, chunked ? "Transfer-Encoding: chunked\r\n\r\nc350\r\n"
					 : "Content-Length: 50000\r\n\r\n");
		send_all(other, body, sizeof(body));
		send_text(other, chunked ? "\r\n0\r\n\r\n" : "");
		assert_int_equal(status_of(read_until(f, other, NULL)), 503);
		assert_has(f->reply, "\r\nRetry-After: 5\r\n");
	}

	http_respond_text(x, 200, "now");
	assert_has(read_until(f, fd, NULL), "now\n");
	/* the memory is free again */
	AUTO_CLOSE int again = connect_to(f);

	send_text(again, "POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			 "Content-Length: 50000\r\n\r\n");
	send_all(again, body, sizeof(body));
	assert_int_equal(status_of(read_until(f, again, NULL)), 200);
}

TEST_FIXTURE(a_connection_above_the_limit_gets_503, set_up, tear_down)
{
	struct fixture *f = *state;
	struct http_exchange *busy[3];
	int fds[3];

	start(f, &(struct http_server_config){.max_connections = 3, .n_threads = 2});
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_to(f);
		send_text(fds[i], "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
		busy[i] = queue_pop(f->kept);
	}
	assert_int_equal(status_of(ask(f, "GET /page HTTP/1.1\r\nHost: x\r\n\r\n")), 503);
	assert_has(f->reply, "\r\nRetry-After: 5\r\n");
	/* connections within the limit continue */
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		http_respond_text(busy[i], 200, "late");
		assert_int_equal(status_of(read_until(f, fds[i], "late")), 200);
		send_text(fds[i], "GET /page HTTP/1.1\r\nHost: x\r\n\r\n");
		assert_int_equal(status_of(read_until(f, fds[i], "<p>")), 200);
		close(fds[i]);
	}
}

TEST_FIXTURE(idle_and_trickling_clients_are_cut_off, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int idle = -1;
	int n_sent = 0;

	start(f, &(struct http_server_config){.timeout_s = 1});
	idle = connect_to(f);
	send_text(idle, "GET /echo HT");
	assert_string_equal(read_until(f, idle, NULL), "");

	/* a machine that pauses for a second makes the connection idle, not slow */
	for (int tries = 0; n_sent == 0 && tries < 10; tries++) {
		AUTO_CLOSE int fd = connect_to(f);
		struct pollfd p = {.fd = fd, .events = POLLIN};

		send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
		while (poll(&p, 1, 200) == 0 && send(fd, "a", 1, MSG_NOSIGNAL) == 1)
			n_sent++;
		assert_string_equal(read_until(f, fd, NULL), "");
	}
	assert_in_range(n_sent, 1, 100);
}

/* ---- later answers --------------------------------------------------------------- */

static void *answer_all(void *fixture)
{
	struct fixture *f = fixture;
	struct http_exchange *x;

	while ((x = queue_pop(f->kept)))
		http_respond_text(x, 200, "answer to %s", http_exchange_param(x, "n"));
	return NULL;
}

static void *ask_ten_times(void *fixture)
{
	struct fixture *f = fixture;
	struct fixture own = {.server = f->server};

	for (int i = 0; i < 10; i++) {
		char path[40], expected[40];

		snprintf(path, sizeof(path), "/later?n=%d", i);
		snprintf(expected, sizeof(expected), "\r\n\r\nanswer to %d\n", i);
		assert_has(get(&own, path, ""), expected);
	}
	free(own.reply);
	return NULL;
}

TEST_FIXTURE(other_threads_answer_what_handlers_kept, set_up, tear_down)
{
	struct fixture *f = *state;
	pthread_t answering[2], asking[4];

	start(f, &(struct http_server_config){.n_threads = 2});
	for (size_t i = 0; i < ARRAY_SIZE(answering); i++)
		assert_int_equal(pthread_create(&answering[i], NULL, answer_all, f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asking); i++)
		assert_int_equal(pthread_create(&asking[i], NULL, ask_ten_times, f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asking); i++)
		assert_int_equal(pthread_join(asking[i], NULL), 0);
	queue_close(f->kept);
	for (size_t i = 0; i < ARRAY_SIZE(answering); i++)
		assert_int_equal(pthread_join(answering[i], NULL), 0);
}

TEST_FIXTURE(a_client_that_left_before_the_answer_harms_nobody, set_up, tear_down)
{
	struct fixture *f = *state;
	struct linger reset = {.l_onoff = 1};
	struct http_exchange *x;

	start(f, &(struct http_server_config){0});
	for (int with_reset = 0; with_reset < 2; with_reset++) {
		int fd = connect_to(f);

		send_text(fd, "GET /later?n=1 HTTP/1.1\r\nHost: x\r\n\r\n");
		x = queue_pop(f->kept);
		if (with_reset)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		assert_string_equal(http_exchange_param(x, "n"), "1");
		http_respond(x, 200, "text/plain", strdup("too late"), 8);
		assert_int_equal(status_of(get(f, "/page", "")), 200);
	}
}

TEST_FIXTURE(a_client_that_leaves_in_the_middle_of_its_body_harms_nobody, set_up, tear_down)
{
	struct fixture *f = *state;
	int fd;

	start(f, &(struct http_server_config){0});
	fd = connect_to(f);
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\nabc");
	close(fd);
	assert_int_equal(status_of(get(f, "/page", "")), 200);
}

/* ---- create and destroy ---------------------------------------------------------- */

TEST_FIXTURE(a_quiesced_server_refuses_connections_and_finishes_what_it_has, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;
	struct http_exchange *x;

	start(f, &(struct http_server_config){.n_threads = 2});
	fd = connect_to(f);
	send_text(fd, "GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	x = queue_pop(f->kept);
	http_server_quiesce(f->server);
	http_server_quiesce(f->server);
	assert_int_equal(try_connect(http_server_port(f->server)), -ECONNREFUSED);
	http_respond_text(x, 200, "still here");
	assert_has(read_until(f, fd, NULL), "still here\n");
}

static void *answer_after_a_while(void *exchange)
{
	usleep(1200000); /* longer than the last answers are waited for */
	http_respond_text(exchange, 200, "the last one");
	return NULL;
}

TEST_FIXTURE(freeing_the_server_waits_for_kept_exchanges, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = -1;
	pthread_t thread;

	start(f, &(struct http_server_config){0});
	fd = connect_to(f);
	send_text(fd, "GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	assert_int_equal(pthread_create(&thread, NULL, answer_after_a_while, queue_pop(f->kept)),
			 0);
	http_server_free(f->server);
	f->server = NULL;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_has(read_until(f, fd, NULL), "the last one\n");
}

TEST_FIXTURE(refusals_are_counted_by_reason, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(metrics_freep) struct metrics *ms = NULL;
	struct buf text;

	assert_int_equal(metrics_new(&ms), 0);
	start(f, &(struct http_server_config){.metrics = ms});
	get(f, "/page", "");
	get(f, "/nothing", "");
	ask(f, "DELETE /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	ask(f, "POST /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	       "Content-Length: 11\r\n\r\n01234567890");
	buf_init(&text, 1 << 16);
	assert_int_equal(metrics_write(ms, &text), 0);
	assert_has(text.data, "\nhttp_server_requests_total 1\n");
	assert_has(text.data, "\nhttp_server_refused_total{reason=\"unknown\"} 2\n");
	assert_has(text.data, "\nhttp_server_refused_total{reason=\"body_size\"} 1\n");
	assert_has(text.data, "\nhttp_server_refused_total{reason=\"body_slow\"} 0\n");
	assert_has(text.data, "\nhttp_server_connections ");
	assert_has(text.data, "\nhttp_server_body_memory_bytes 0\n");
	buf_fini(&text);
}

TEST_FIXTURE(addresses_that_cannot_be_listened_on_are_errors_with_a_sentence, set_up, tear_down)
{
	static const struct http_route none[] = {{0}};
	struct fixture *f = *state;
	struct http_server *second = NULL;
	struct http_server_config cfg = {.max_connections = 1, .timeout_s = 1, .routes = none};
	struct err err = {""};
	char taken[32];

	start(f, &(struct http_server_config){0});
	snprintf(taken, sizeof(taken), "127.0.0.1:%u", http_server_port(f->server));
	cfg.listen = taken;
	assert_int_equal(http_server_new(&second, &cfg, &err), -EADDRINUSE);
	assert_has(err.msg, taken);
	cfg.listen = "127.0.0.1";
	assert_int_equal(http_server_new(&second, &cfg, &err), -EINVAL);
	cfg.listen = "192.0.2.1:0";
	assert_int_equal(http_server_new(&second, &cfg, &err), -EADDRNOTAVAIL);
	assert_null(second);
}

TEST_FIXTURE(a_port_alone_listens_on_every_address, set_up, tear_down)
{
	struct fixture *f = *state;
	struct sockaddr_in6 addr = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
	AUTO_CLOSE int v6 = -1;

	start(f, &(struct http_server_config){.listen = ":0"});
	assert_int_equal(status_of(get(f, "/page", "")), 200);

	/* whether IPv6 works depends on the host, but it never refuses the connection */
	v6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	addr.sin6_port = htons((uint16_t)http_server_port(f->server));
	if (v6 >= 0 && connect(v6, (const struct sockaddr *)&addr, sizeof(addr)) < 0)
		assert_int_equal(errno, EADDRNOTAVAIL);
}

static int construct(void *arg)
{
	static const struct http_route none[] = {{0}};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0", .max_connections = 1, .timeout_s = 1, .routes = none};
	CLEANUP(http_server_freep) struct http_server *s = NULL;

	(void)arg;
	return http_server_new(&s, &cfg, NULL);
}

TEST(construction_survives_lack_of_memory)
{
	check_oom(construct, NULL);
}
