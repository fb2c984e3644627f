#include <errno.h>

#include "common/http/http.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "test/lib/raw_server.h"
#include "test/lib/unit.h"

struct fixture {
	struct loop *loop;
	struct http_client *client;
	struct http_server *server;
	struct loop_source *stopper; /* a wake, fired by each answer */
	char url[64];

	struct raw_server raw;

	/* the last result */
	int n_done;
	int error, status;
	char *body;
	size_t body_len;
	uint64_t retry_after_ns;
	char msg[256];
};

/* ---- a well-behaved server -------------------------------------------------------------- */

static void echo(void *ctx, struct http_exchange *x)
{
	size_t len;
	const char *body = http_exchange_body(x, &len);
	char *copy = malloc(len + 1);

	(void)ctx;
	memcpy(copy, body, len);
	http_respond(x, 200, "text/plain", copy, len);
}

static void describe(void *ctx, struct http_exchange *x)
{
	const char *type = http_exchange_header(x, "Content-Type");
	const char *agent = http_exchange_header(x, "User-Agent");
	const char *extra = http_exchange_header(x, "X-Extra");
	const char *encoding = http_exchange_header(x, "Accept-Encoding");

	(void)ctx;
	http_respond_text(x, 202, "type=%s agent=%s extra=%s encoding=%s", type ? type : "-",
			  agent ? agent : "-", extra ? extra : "-", encoding ? encoding : "-");
}

static void start_server(struct fixture *f)
{
	static const struct http_route routes[] = {{"GET", "/describe", 0, describe, NULL},
						   {"POST", "/describe", 100, describe, NULL},
						   {"POST", "/echo", 4 << 20, echo, NULL},
						   {0}};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.n_threads = 2,
		.max_connections = 100,
		.timeout_s = 300,
		.max_body_memory_bytes = 64 << 20,
		.routes = routes,
	};

	assert_int_equal(http_server_new(&f->server, &cfg, NULL), 0);
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u/", http_server_port(f->server));
}

static void start_raw(struct fixture *f, const char *reply, enum after_reply then)
{
	f->raw = (struct raw_server){.reply = reply, .then = then};
	raw_server_start(&f->raw);
	snprintf(f->url, sizeof(f->url), "%s", f->raw.url);
}

/* ---- fixture --------------------------------------------------------------------------- */

static void stop(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_client_config cfg = {.user_agent = "unit/1"};
	int r;

	*state = f;
	r = loop_new(&f->loop);
	if (r == 0)
		r = loop_add_wake(f->loop, stop, f, &f->stopper);
	if (r == 0)
		r = http_client_new(&f->client, f->loop, &cfg);
	return r;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_client_free(f->client);
	http_server_free(f->server);
	loop_free(f->loop);
	raw_server_stop(&f->raw);
	free(f->body);
	free(f);
	return 0;
}

static void keep_result(void *ctx, const struct http_result *result)
{
	struct fixture *f = ctx;

	f->n_done++;
	f->error = result->error;
	f->status = result->status;
	f->retry_after_ns = result->retry_after_ns;
	free(f->body);
	f->body = NULL;
	f->body_len = 0;
	if (result->error) {
		snprintf(f->msg, sizeof(f->msg), "%s", result->msg);
	} else {
		f->body = malloc(result->body_len + 1);
		memcpy(f->body, result->body, result->body_len);
		f->body[result->body_len] = '\0';
		f->body_len = result->body_len;
	}
	loop_wake(f->stopper);
}

/* Sends one request to f->url + path; f has the result. */
static void ask(struct fixture *f, struct http_request req, const char *path)
{
	char url[128];
	int n_before = f->n_done;

	snprintf(url, sizeof(url), "%s%s", f->url, path);
	req.url = url;
	if (!req.method)
		req.method = "GET";
	if (!req.timeout_ns)
		req.timeout_ns = 300 * NS_PER_S;
	if (!req.max_response_bytes)
		req.max_response_bytes = 8 << 20;
	assert_int_equal(http_send(f->client, &req, keep_result, f), 0);
	assert_int_equal(f->n_done, n_before);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_done, n_before + 1);
}

static void assert_failed(const struct fixture *f, int error)
{
	if (f->error != error)
		fail_msg("%d is not %d: %s", f->error, error, f->msg);
	assert_int_equal(f->status, 0);
	assert_true(strlen(f->msg) > 5);
}

/* ---- a well-behaved server: tests ---- */

TEST_FIXTURE(requests_carry_what_they_were_given, set_up, tear_down)
{
	static const char *const headers[] = {"X-Extra: 1 2", "content-type: a/b", NULL};
	struct fixture *f = *state;

	start_server(f);
	ask(f, (struct http_request){0}, "describe");
	assert_int_equal(f->status, 202);
	assert_string_equal(f->body, "type=- agent=unit/1 extra=- encoding=-\n");
	ask(f, (struct http_request){.method = "POST", .body = "x", .body_len = 1}, "describe");
	assert_string_equal(f->body, "type=- agent=unit/1 extra=- encoding=-\n");
	ask(f, (struct http_request){.method = "POST", .headers = headers}, "describe");
	assert_string_equal(f->body, "type=a/b agent=unit/1 extra=1 2 encoding=-\n");
	assert_int_equal(f->retry_after_ns, 0);
}

TEST_FIXTURE(each_method_goes_out_with_and_without_a_body, set_up, tear_down)
{
	static const struct {
		const char *method, *body;
		const char *start, *end;
	} cases[] = {
		{"GET", NULL, "GET /x HTTP/1.1\r\n", "\r\n\r\n"},
		{"POST", "b", "POST /x HTTP/1.1\r\n", "Content-Length: 1\r\n\r\nb"},
		{"POST", NULL, "POST /x HTTP/1.1\r\n", "Content-Length: 0\r\n\r\n"},
		{"PUT", "{}", "PUT /x HTTP/1.1\r\n", "Content-Length: 2\r\n\r\n{}"},
		{"PUT", NULL, "PUT /x HTTP/1.1\r\n", "Content-Length: 0\r\n\r\n"},
		{"PATCH", "[]", "PATCH /x HTTP/1.1\r\n", "Content-Length: 2\r\n\r\n[]"},
		{"DELETE", "now", "DELETE /x HTTP/1.1\r\n", "Content-Length: 3\r\n\r\nnow"},
		{"DELETE", NULL, "DELETE /x HTTP/1.1\r\n", "\r\n\r\n"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *body = cases[i].body;
		const char *got = f->raw.request;
		bool says_length;

		start_raw(f, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", THEN_CLOSE);
		ask(f,
		    (struct http_request){.method = cases[i].method,
					  .body = body,
					  .body_len = body ? strlen(body) : 0},
		    "x");
		raw_server_stop(&f->raw);
		assert_int_equal(f->status, 200);
		assert_memory_equal(got, cases[i].start, strlen(cases[i].start));
		assert_string_equal(got + strlen(got) - strlen(cases[i].end), cases[i].end);
		says_length = strstr(got, "Content-Length") != NULL;
		assert_int_equal(says_length, strstr(cases[i].end, "Content-Length") != NULL);
		assert_null(strstr(got, "Content-Type"));
	}
}

TEST_FIXTURE(large_bodies_go_both_ways_unchanged, set_up, tear_down)
{
	struct fixture *f = *state;
	size_t len = 3 << 20;
	char *body = malloc(len);

	start_server(f);
	for (size_t i = 0; i < len; i++)
		body[i] = (char)(i * 7 + i / 1000);
	ask(f, (struct http_request){.method = "POST", .body = body, .body_len = len}, "echo");
	assert_int_equal(f->status, 200);
	assert_int_equal(f->body_len, len);
	assert_memory_equal(f->body, body, len);
	free(body);
}

TEST_FIXTURE(the_answer_to_an_oversize_body_is_seen, set_up, tear_down)
{
	struct fixture *f = *state;
	size_t len = 6 << 20;
	char *body = calloc(1, len);

	start_server(f);
	/* with "Expect: 100-continue", and without */
	ask(f, (struct http_request){.method = "POST", .body = body, .body_len = len}, "echo");
	assert_int_equal(f->status, 413);
	ask(f, (struct http_request){.method = "POST", .body = body, .body_len = 500000},
	    "describe");
	assert_int_equal(f->status, 413);
	free(body);
}

struct chain {
	struct fixture *f;
	int n_left;
	int *n_running;
	char body[16];
};

static void send_next(struct chain *c);

static void on_link_done(void *ctx, const struct http_result *result)
{
	struct chain *c = ctx;

	assert_int_equal(result->error, 0);
	assert_string_equal(result->body, c->body);
	if (--c->n_left > 0)
		send_next(c);
	else if (--*c->n_running == 0)
		loop_stop(c->f->loop);
}

static void send_next(struct chain *c)
{
	char url[80];
	struct http_request req = {.method = "POST",
				   .url = url,
				   .body = c->body,
				   .timeout_ns = 300 * NS_PER_S,
				   .max_response_bytes = 100};

	snprintf(c->body, sizeof(c->body), "%d", c->n_left);
	snprintf(url, sizeof(url), "%secho", c->f->url);
	req.body_len = strlen(c->body);
	assert_int_equal(http_send(c->f->client, &req, on_link_done, c), 0);
}

TEST_FIXTURE(many_requests_run_at_once_and_send_the_next_when_done, set_up, tear_down)
{
	struct fixture *f = *state;
	struct chain chains[30];
	int n_running = ARRAY_SIZE(chains);

	start_server(f);
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		chains[i] = (struct chain){.f = f, .n_left = 10, .n_running = &n_running};
		send_next(&chains[i]);
	}
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(n_running, 0);
}

/* ---- servers that misbehave ------------------------------------------------------- */

TEST_FIXTURE(redirects_are_answers_like_any_other, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f,
		  "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n"
		  "Content-Length: 0\r\n\r\n",
		  THEN_CLOSE);
	ask(f, (struct http_request){0}, "");
	assert_int_equal(f->error, 0);
	assert_int_equal(f->status, 302);
	assert_string_equal(f->body, "");
}

TEST_FIXTURE(retry_after_is_read_and_capped, set_up, tear_down)
{
	static const struct {
		const char *reply;
		uint64_t seconds;
	} cases[] = {
		{"HTTP/1.1 503 No\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 7},
		{"HTTP/1.1 503 No\r\nRetry-After: 999999999\r\nContent-Length: 0\r\n\r\n", 86400},
		{"HTTP/1.1 503 No\r\nRetry-After: -5\r\nContent-Length: 0\r\n\r\n", 0},
		{"HTTP/1.1 503 No\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 0},
		{"HTTP/1.1 503 No\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
		 "Content-Length: 0\r\n\r\n",
		 0},
		{"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", 0},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		start_raw(f, cases[i].reply, THEN_CLOSE);
		ask(f, (struct http_request){0}, "");
		assert_int_equal(f->status, 503);
		assert_int_equal(f->retry_after_ns, cases[i].seconds * NS_PER_S);
		raw_server_stop(&f->raw);
	}
}

TEST_FIXTURE(a_refused_connection_is_econnrefused, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f, "", THEN_CLOSE);
	raw_server_stop(&f->raw);
	ask(f, (struct http_request){0}, "");
	assert_failed(f, -ECONNREFUSED);
}

TEST_FIXTURE(a_server_that_hangs_is_etimedout, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f, "", THEN_HANG);
	ask(f, (struct http_request){.timeout_ns = 100 * NS_PER_MS}, "");
	assert_failed(f, -ETIMEDOUT);
}

TEST_FIXTURE(a_server_that_hangs_in_the_body_is_etimedout, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", THEN_HANG);
	ask(f, (struct http_request){.timeout_ns = 100 * NS_PER_MS}, "");
	assert_failed(f, -ETIMEDOUT);
}

TEST_FIXTURE(a_response_up_to_the_limit_is_taken_and_a_longer_one_is_efbig, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789", THEN_CLOSE);
	ask(f, (struct http_request){.max_response_bytes = 10}, "");
	assert_int_equal(f->error, 0);
	assert_string_equal(f->body, "0123456789");
	ask(f, (struct http_request){.max_response_bytes = 9}, "");
	assert_failed(f, -EFBIG);
}

TEST_FIXTURE(endless_headers_are_efbig, set_up, tear_down)
{
	struct fixture *f = *state;
	size_t len = 200000;
	char *reply = calloc(1, len + 1);

	memcpy(reply, "HTTP/1.1 200 OK\r\n", 17);
	for (size_t at = 17; at + 10 <= len; at += 10)
		memcpy(reply + at, "X-A: bbb\r\n", 10);
	start_raw(f, reply, THEN_HANG);
	ask(f, (struct http_request){0}, "");
	assert_failed(f, -EFBIG);
	http_client_free(TAKE_PTR(f->client));
	raw_server_stop(&f->raw);
	free(reply);
}

TEST_FIXTURE(a_connection_that_ends_too_early_is_econnreset, set_up, tear_down)
{
	static const struct {
		const char *reply;
		enum after_reply then;
	} cases[] = {
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", THEN_CLOSE},
		{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", THEN_RESET},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", THEN_CLOSE},
		{"", THEN_CLOSE},
		{"", THEN_RESET},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		start_raw(f, cases[i].reply, cases[i].then);
		ask(f, (struct http_request){0}, "");
		assert_failed(f, -ECONNRESET);
		raw_server_stop(&f->raw);
	}
}

/* libcurl would send it again over a new connection, and its caller not learn of that. */
TEST_FIXTURE(a_request_to_be_sent_once_is, set_up, tear_down)
{
	static const struct http_request once = {
		.method = "POST", .body = "b", .body_len = 1, .once = true};
	struct fixture *f = *state;

	/* the second request on the connection gets no answer */
	start_raw(f, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", THEN_IGNORE);
	ask(f, once, "");
	assert_int_equal(f->error, 0);
	ask(f, once, "");
	assert_failed(f, -ECONNRESET);
	/* the connection was the reason */
	ask(f, once, "");
	assert_int_equal(f->error, 0);
}

TEST_FIXTURE(what_is_no_http_is_an_error, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f, "SSH-2.0-OpenSSH_9.2\r\n", THEN_CLOSE);
	ask(f, (struct http_request){0}, "");
	assert_failed(f, -EIO);
}

TEST_FIXTURE(a_kept_connection_the_server_closed_does_not_fail_the_next_request, set_up, tear_down)
{
	struct fixture *f = *state;

	start_raw(f, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", THEN_CLOSE);
	for (int i = 0; i < 3; i++) {
		ask(f, (struct http_request){.method = "POST", .body = "b", .body_len = 1}, "");
		assert_int_equal(f->error, 0);
		assert_string_equal(f->body, "ok");
	}
}

/* ---- refused requests, create and destroy ---- */

TEST_FIXTURE(requests_that_make_no_sense_are_refused, set_up, tear_down)
{
	static const char *const urls[] = {"",
					   "127.0.0.1/no/scheme",
					   "http://",
					   "ftp://127.0.0.1/",
					   "file:///etc/passwd",
					   "http://127.0.0.1:99999/",
					   "http://a b/",
					   "http://127.0.0.1/a\r\nX: 1"};
	static const char *const addresses[] = {
		"",         "127.0.0.1", "127.0.0.1:",    "127.0.0.1:0",    "127.0.0.1:65536",
		"::1:80",   "[::1]",     "[127.0.0.1]:1", "local host:80",  "1.2.3.4:80:1.2.3.4:80",
		"[::1]x:1", "[::1:1",    ":80",           "1.2.3.4:80\r\nX"};
	static const char *const smuggled[] = {"X-A: 1\r\nX-B: 2", NULL};
	static const char *const no_colon[] = {"X-A", NULL};
	struct fixture *f = *state;
	struct http_request good = {
		.method = "GET", .url = "http://127.0.0.1:1/", .timeout_ns = NS_PER_S};
	struct http_request req;

	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		req = good;
		req.url = urls[i];
		if (http_send(f->client, &req, keep_result, f) != -EINVAL)
			fail_msg("\"%s\" was accepted", urls[i]);
	}
	req = good;
	req.method = "TRACE";
	assert_int_equal(http_send(f->client, &req, keep_result, f), -EINVAL);
	req = good;
	req.body_len = 1;
	assert_int_equal(http_send(f->client, &req, keep_result, f), -EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		req = good;
		req.connect_to = addresses[i];
		if (http_send(f->client, &req, keep_result, f) != -EINVAL)
			fail_msg("\"%s\" was accepted", addresses[i]);
	}
	req = good;
	req.timeout_ns = 0;
	assert_int_equal(http_send(f->client, &req, keep_result, f), -EINVAL);
	req = good;
	req.headers = smuggled;
	assert_int_equal(http_send(f->client, &req, keep_result, f), -EINVAL);
	req = good;
	req.headers = no_colon;
	assert_int_equal(http_send(f->client, &req, keep_result, f), -EINVAL);
	assert_int_equal(f->n_done, 0);
}

TEST_FIXTURE(freeing_the_client_cancels_without_calling_back, set_up, tear_down)
{
	struct fixture *f = *state;
	struct http_request req = {
		.method = "GET", .timeout_ns = 300 * NS_PER_S, .max_response_bytes = 100};
	struct loop_source *timer;

	start_raw(f, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", THEN_HANG);
	req.url = f->url;
	for (int i = 0; i < 3; i++)
		assert_int_equal(http_send(f->client, &req, keep_result, f), 0);
	assert_int_equal(loop_add_timer(f->loop, stop, f, &timer), 0);
	loop_set_timer(timer, 50 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	http_client_free(TAKE_PTR(f->client));
	loop_set_timer(timer, 10 * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_done, 0);
}

static int construct(void *arg)
{
	static const char *const headers[] = {"X-A: 1", NULL};
	const struct http_client_config cfg = {.ca_file = "/ca", .user_agent = "x"};
	const struct http_request req = {.method = "POST",
					 .url = "http://127.0.0.1:1/",
					 .headers = headers,
					 .timeout_ns = NS_PER_S};
	CLEANUP(loop_freep) struct loop *l = NULL;
	CLEANUP(http_client_freep) struct http_client *c = NULL;
	int r;

	(void)arg;
	r = loop_new(&l);
	if (r == 0)
		r = http_client_new(&c, l, &cfg);
	if (r == 0)
		r = http_send(c, &req, keep_result, NULL);
	return r;
}

TEST(construction_survives_lack_of_memory)
{
	check_oom(construct, NULL);
	http_client_free(NULL);
}

int main(void)
{
	/* of the user who runs the tests */
	unsetenv("http_proxy");
	unsetenv("https_proxy");
	unsetenv("HTTPS_PROXY");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	return unit_run(NULL, NULL);
}
