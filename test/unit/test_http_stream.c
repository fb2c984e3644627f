/* Requests that do not simply end: streams, idle time-outs, cancelling, shared limits. */
#include <curl/curl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>

#include "common/http/http.h"
#include "common/system/clock.h"
#include "test/lib/raw_server.h"
#include "test/lib/unit.h"

#define MAX_TRANSFERS 5
#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

struct fixture;

/* One request and its result. */
struct ask {
	struct fixture *f;
	struct raw_server server;
	struct http_transfer *transfer;
	int (*on_data)(void *ask, const char *data, size_t len);
	void (*then)(struct ask *a); /* when done */
	struct ask *other;           /* for those two */

	char data[256];
	size_t len;
	int n_pieces;
	int n_done;
	int error, status;
	char msg[256];
	size_t body_len;
	char body[64]; /* the start of it */
	uint64_t done_ns;
};

struct fixture {
	struct loop *loop;
	struct loop_source *timer;
	struct http_client *client;
	int n_left; /* the loop stops after so many requests */
	struct ask asks[MAX_TRANSFERS];
};

/* How many of the next calls of curl_multi_add_handle() fail. */
static int n_adds_to_fail;

/* Overrides libcurl's function in this program. */
CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy)
{
	CURLMcode (*real)(CURLM *, CURL *);

	if (n_adds_to_fail > 0) {
		n_adds_to_fail--;
		return CURLM_OUT_OF_MEMORY;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "curl_multi_add_handle");
	return real(multi, easy);
}

static void stop(void *ctx)
{
	struct fixture *f = ctx;

	loop_stop(f->loop);
}

static void use_client(struct fixture *f, const struct http_client_config *cfg)
{
	http_client_free(f->client);
	assert_int_equal(http_client_new(&f->client, f->loop, cfg), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	for (size_t i = 0; i < MAX_TRANSFERS; i++)
		f->asks[i].f = f;
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(loop_add_timer(f->loop, stop, f, &f->timer), 0);
	use_client(f, &(struct http_client_config){0});
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_client_free(f->client);
	for (size_t i = 0; i < MAX_TRANSFERS; i++)
		raw_server_stop(&f->asks[i].server);
	loop_free(f->loop);
	free(f);
	return 0;
}

static void serve(struct ask *a, const char *reply, enum after_reply then)
{
	raw_server_stop(&a->server);
	a->server = (struct raw_server){.reply = reply, .then = then};
	raw_server_start(&a->server);
}

static int keep(void *ctx, const char *data, size_t len)
{
	struct ask *a = ctx;

	if (len < sizeof(a->data) - a->len) {
		memcpy(a->data + a->len, data, len);
		a->len += len;
	}
	a->n_pieces++;
	return 0;
}

static void on_done(void *ctx, const struct http_result *result)
{
	struct ask *a = ctx;

	a->n_done++;
	a->transfer = NULL;
	a->done_ns = clock_monotonic_ns();
	a->error = result->error;
	a->status = result->status;
	if (result->error) {
		snprintf(a->msg, sizeof(a->msg), "%s", result->msg);
	} else {
		a->body_len = result->body_len;
		snprintf(a->body, sizeof(a->body), "%s", result->body);
	}
	if (a->then)
		a->then(a);
	if (--a->f->n_left == 0)
		loop_stop(a->f->loop);
}

static void start(struct ask *a, struct http_request req)
{
	char url[80];

	snprintf(url, sizeof(url), "%sx", a->server.url);
	if (!req.url)
		req.url = url;
	if (!req.method)
		req.method = "GET";
	if (!req.timeout_ns && !req.idle_timeout_ns)
		req.timeout_ns = 300 * NS_PER_S;
	if (!req.max_response_bytes)
		req.max_response_bytes = 8 << 20;
	req.on_data = a->on_data;
	assert_int_equal(http_start(a->f->client, &req, on_done, a, &a->transfer), 0);
}

/* Runs the loop until n requests are done. */
static void run(struct fixture *f, int n)
{
	f->n_left = n;
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(f->n_left, 0);
}

static void run_for(struct fixture *f, unsigned ms)
{
	loop_set_timer(f->timer, ms * NS_PER_MS);
	assert_int_equal(loop_run(f->loop), 0);
}

/* ---- streams -------------------------------------------------------------------------- */

static int stop_after_six(void *ctx, const char *data, size_t len)
{
	struct ask *a = ctx;

	keep(a, data, len);
	if (a->len >= 6)
		loop_stop(a->f->loop);
	return 0;
}

TEST_FIXTURE(a_stream_is_read_as_it_comes_and_ends_when_cancelled, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	serve(a, CHUNKED "3\r\nabc\r\n3\r\ndef\r\n", THEN_HANG);
	a->on_data = stop_after_six;
	start(a, (struct http_request){.idle_timeout_ns = 300 * NS_PER_S, .max_response_bytes = 1});
	assert_int_equal(loop_run(f->loop), 0);
	assert_string_equal(a->data, "abcdef");

	http_cancel(a->transfer);
	http_cancel(NULL);
	raw_server_stop(&a->server); /* which waits for the client to leave */
	run_for(f, 10);
	assert_int_equal(a->n_done, 0);
}

TEST_FIXTURE(a_stream_that_ends_has_no_body, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	serve(a, CHUNKED "3\r\nabc\r\n0\r\n\r\n", THEN_HANG);
	a->on_data = keep;
	start(a, (struct http_request){0});
	run(f, 1);
	assert_int_equal(a->error, 0);
	assert_int_equal(a->status, 200);
	assert_string_equal(a->data, "abc");
	assert_int_equal(a->body_len, 0);
	assert_string_equal(a->body, "");
}

TEST_FIXTURE(an_error_status_gives_its_body_instead_of_a_stream, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	serve(a, "HTTP/1.1 410 Gone\r\nContent-Length: 7\r\n\r\ntoo old", THEN_CLOSE);
	a->on_data = keep;
	start(a, (struct http_request){.max_response_bytes = 7});
	run(f, 1);
	assert_int_equal(a->error, 0);
	assert_int_equal(a->status, 410);
	assert_string_equal(a->body, "too old");
	assert_int_equal(a->n_pieces, 0);

	start(a, (struct http_request){.max_response_bytes = 6});
	run(f, 1);
	assert_int_equal(a->error, -EFBIG);
	assert_non_null(strstr(a->msg, "larger than allowed"));
}

static int refuse(void *ctx, const char *data, size_t len)
{
	keep(ctx, data, len);
	return -EBADMSG;
}

TEST_FIXTURE(what_the_reader_refuses_ends_the_request, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	serve(a, CHUNKED "3\r\nabc\r\n", THEN_HANG);
	a->on_data = refuse;
	start(a, (struct http_request){0});
	run(f, 1);
	assert_int_equal(a->error, -EBADMSG);
	assert_non_null(strstr(a->msg, "refused"));
	assert_int_equal(a->n_pieces, 1);
}

/* ---- idle time-out ----------------------------------------------------------------------- */

TEST_FIXTURE(silence_ends_a_request_and_says_so, set_up, tear_down)
{
	static const struct {
		const char *reply;
		size_t len; /* of its data */
	} cases[] = {
		{"", 0}, /* before the answer */
		{"HTTP/1.1 200 OK\r\n", 0},
		{CHUNKED "3\r\nabc\r\n", 3},
		{CHUNKED "5\r\nabc", 3},
	};
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	a->on_data = keep;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* on a busy machine the time may be over before the data: allow more */
		for (unsigned ms = 60;; ms *= 4) {
			uint64_t start_ns = clock_monotonic_ns();
			char expected[32];

			a->len = 0;
			serve(a, cases[i].reply, THEN_HANG);
			start(a, (struct http_request){.idle_timeout_ns = ms * NS_PER_MS});
			run(f, 1);
			assert_int_equal(a->error, -ETIMEDOUT);
			snprintf(expected, sizeof(expected), "silent for %s",
				 ms == 60 ? "60 ms" : "");
			assert_memory_equal(a->msg, expected, strlen(expected));
			assert_true(a->done_ns - start_ns >= ms * NS_PER_MS);
			if (a->len == cases[i].len || ms > 10000)
				break;
		}
		assert_int_equal(a->len, cases[i].len);
		assert_memory_equal(a->data, "abc", a->len);
	}
}

/* A machine that pauses makes the stream silent, but not every time. */
#define SLOW_TRIES 5

TEST_FIXTURE(a_slow_stream_is_not_silent, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *slow = &f->asks[0], *hung = &f->asks[1];

	/* takes a second; the hung request makes the timer expire meanwhile */
	slow->on_data = keep;
	for (int tries = 0; tries == 0 || (slow->error && tries < SLOW_TRIES); tries++) {
		memset(slow->data, 0, sizeof(slow->data));
		slow->len = 0;
		raw_server_stop(&slow->server);
		slow->server = (struct raw_server){.reply = CHUNKED "3\r\nabc\r\n0\r\n\r\n",
						   .then = THEN_HANG,
						   .byte_pause_us = 16000};
		raw_server_start(&slow->server);
		serve(hung, "", THEN_HANG);
		start(slow, (struct http_request){.idle_timeout_ns = 700 * NS_PER_MS});
		start(hung, (struct http_request){.idle_timeout_ns = 300 * NS_PER_MS});
		run(f, 2);
		assert_int_equal(hung->error, -ETIMEDOUT);
	}
	assert_int_equal(slow->error, 0);
	assert_string_equal(slow->data, "abc");
}

TEST_FIXTURE(a_slow_upload_is_not_silent, set_up, tear_down)
{
	static const char *const headers[] = {"Expect:", NULL};
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];
	size_t len = 24 << 20;
	char *body = calloc(1, len);
	uint64_t start_ns = 0;

	for (int tries = 0; tries == 0 || (a->error && tries < SLOW_TRIES); tries++) {
		start_ns = clock_monotonic_ns();
		raw_server_stop(&a->server);
		a->server =
			(struct raw_server){.reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
					    .read_pause_us = 3000};
		raw_server_start(&a->server);
		start(a, (struct http_request){.method = "PUT",
					       .headers = headers,
					       .body = body,
					       .body_len = len,
					       .idle_timeout_ns = 600 * NS_PER_MS});
		run(f, 1);
	}
	free(body);
	if (a->error)
		fail_msg("%d: %s", a->error, a->msg);
	assert_int_equal(a->status, 200);
	assert_true(a->done_ns - start_ns > 600 * NS_PER_MS);
}

static void start_other(struct ask *a)
{
	start(a->other, (struct http_request){.idle_timeout_ns = 50 * NS_PER_MS});
}

TEST_FIXTURE(a_request_started_when_another_timed_out_has_its_own_time, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0], *b = &f->asks[1];

	serve(a, "", THEN_HANG);
	serve(b, "", THEN_HANG);
	a->other = b;
	a->then = start_other;
	start(a, (struct http_request){.idle_timeout_ns = 50 * NS_PER_MS});
	run(f, 2);
	assert_int_equal(a->error, -ETIMEDOUT);
	assert_int_equal(b->error, -ETIMEDOUT);
	assert_true(b->done_ns - a->done_ns >= 49 * NS_PER_MS);
}

/* ---- cancelling ------------------------------------------------------------------------ */

static void cancel_other(struct ask *a)
{
	if (a->other)
		http_cancel(TAKE_PTR(a->other->transfer));
}

TEST_FIXTURE(a_done_function_may_cancel_the_others, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0], *b = &f->asks[1];

	/* both end at about the same time, or have both timed out when the timer expires */
	for (int i = 0; i < 20; i++) {
		bool by_silence = i % 2 == 1;

		a->n_done = b->n_done = 0;
		a->other = b;
		b->other = a;
		a->then = b->then = cancel_other;
		serve(a, by_silence ? "" : CHUNKED "0\r\n\r\n", THEN_HANG);
		serve(b, by_silence ? "" : CHUNKED "0\r\n\r\n", THEN_HANG);
		start(a, (struct http_request){.idle_timeout_ns =
						       by_silence ? 5 * NS_PER_MS : 9 * NS_PER_S});
		start(b, (struct http_request){.idle_timeout_ns =
						       by_silence ? 5 * NS_PER_MS : 9 * NS_PER_S});
		run(f, 1);
		run_for(f, 5);
		assert_int_equal(a->n_done + b->n_done, 1);
		assert_null(a->transfer);
		assert_null(b->transfer);
		use_client(f, &(struct http_client_config){0});
	}
}

static int cancel_in_reader(void *ctx, const char *data, size_t len)
{
	struct ask *a = ctx;

	keep(a, data, len);
	http_cancel(TAKE_PTR(a->other->transfer));
	loop_set_timer(a->f->timer, 20 * NS_PER_MS);
	return 0;
}

TEST_FIXTURE(a_reader_may_cancel_another_request, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *reader = &f->asks[0], *victim = &f->asks[1];

	serve(reader, CHUNKED "3\r\nabc\r\n", THEN_HANG);
	serve(victim, CHUNKED "3\r\nabc\r\n", THEN_HANG);
	reader->on_data = cancel_in_reader;
	reader->other = victim;
	victim->on_data = cancel_in_reader;
	victim->other = reader;
	start(reader, (struct http_request){0});
	start(victim, (struct http_request){0});
	assert_int_equal(loop_run(f->loop), 0);
	/* either may be first */
	assert_int_equal(reader->n_pieces + victim->n_pieces, 1);
	assert_int_equal(reader->n_done + victim->n_done, 0);
	assert_true((reader->transfer == NULL) != (victim->transfer == NULL));
}

TEST_FIXTURE(a_reader_may_cancel_its_own_request, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	serve(a, CHUNKED "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", THEN_HANG);
	a->on_data = cancel_in_reader;
	a->other = a;
	start(a, (struct http_request){0});
	assert_int_equal(loop_run(f->loop), 0);
	assert_int_equal(a->n_pieces, 1);
	assert_int_equal(a->n_done, 0);
	raw_server_stop(&a->server);
}

static int start_in_reader(void *ctx, const char *data, size_t len)
{
	struct ask *a = ctx;

	keep(a, data, len);
	if (a->n_pieces > 1)
		return 0;
	/* one that runs, and one that is cancelled at once */
	a->other[0].on_data = keep;
	start(&a->other[0], (struct http_request){0});
	start(&a->other[1], (struct http_request){0});
	http_cancel(TAKE_PTR(a->other[1].transfer));
	return 0;
}

TEST_FIXTURE(a_reader_may_start_requests, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	for (int i = 0; i < 3; i++)
		serve(&f->asks[i], CHUNKED "3\r\nabc\r\n0\r\n\r\n", THEN_CLOSE);
	a->on_data = start_in_reader;
	a->other = &f->asks[1];
	start(a, (struct http_request){0});
	run(f, 2);
	assert_int_equal(a->error, 0);
	assert_int_equal(f->asks[1].error, 0);
	assert_string_equal(f->asks[1].data, "abc");
	run_for(f, 10);
	assert_int_equal(f->asks[2].n_done, 0);
}

static int start_two_that_fail(void *ctx, const char *data, size_t len)
{
	struct ask *a = ctx;

	keep(a, data, len);
	start(&a->other[0], (struct http_request){0});
	start(&a->other[1], (struct http_request){0});
	n_adds_to_fail = 1;
	return 0;
}

TEST_FIXTURE(a_deferred_request_that_cannot_start_may_cancel_another_deferred_one, set_up,
	     tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0], *b = &f->asks[1], *c = &f->asks[2];

	for (int i = 0; i < 3; i++)
		serve(&f->asks[i], CHUNKED "3\r\nabc\r\n0\r\n\r\n", THEN_CLOSE);
	a->on_data = start_two_that_fail;
	a->other = b;
	b->other = c;
	c->other = b;
	b->then = c->then = cancel_other;
	start(a, (struct http_request){0});
	run(f, 2);
	run_for(f, 10);
	assert_int_equal(a->error, 0);
	assert_int_equal(b->n_done + c->n_done, 1);
	assert_int_equal(b->error + c->error, -ENOMEM);
	assert_null(b->transfer);
	assert_null(c->transfer);
}

/* ---- limits of several requests ---- */

TEST_FIXTURE(bodies_share_one_limit, set_up, tear_down)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 700000\r\n\r\n";
	const struct http_client_config cfg = {.max_memory_bytes = 3 << 19};
	struct fixture *f = *state;
	struct ask *kept, *ended;
	char *reply = malloc(strlen(head) + 700000);

	memcpy(reply, head, strlen(head));
	memset(reply + strlen(head), 'x', 700000);
	use_client(f, &cfg);
	/* each takes a megabyte and does not end */
	for (int i = 0; i < 2; i++) {
		f->asks[i].server = (struct raw_server){
			.reply = reply, .reply_len = strlen(head) + 600000, .then = THEN_HANG};
		raw_server_start(&f->asks[i].server);
		start(&f->asks[i], (struct http_request){0});
	}
	run(f, 1);
	ended = f->asks[0].n_done ? &f->asks[0] : &f->asks[1];
	kept = f->asks[0].n_done ? &f->asks[1] : &f->asks[0];
	assert_int_equal(ended->error, -ENOBUFS);
	assert_non_null(strstr(ended->msg, "beside the others"));
	assert_int_equal(kept->n_done, 0);

	/* cancelled and finished requests make room */
	http_cancel(kept->transfer);
	for (int i = 0; i < 3; i++) {
		struct ask *a = &f->asks[2];

		raw_server_stop(&a->server);
		a->server = (struct raw_server){.reply = reply, .reply_len = strlen(head) + 700000};
		raw_server_start(&a->server);
		start(a, (struct http_request){0});
		run(f, 1);
		assert_int_equal(a->error, 0);
		assert_int_equal(a->body_len, 700000);
	}
	http_client_free(TAKE_PTR(f->client));
	for (int i = 0; i < 3; i++)
		raw_server_stop(&f->asks[i].server);
	free(reply);
}

static int n_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST_FIXTURE(idle_connections_are_limited, set_up, tear_down)
{
	const struct http_client_config cfg = {.max_idle_connections = 2};
	struct fixture *f = *state;
	int n_before, n_idle = -1;

	use_client(f, &cfg);
	for (int i = 0; i < MAX_TRANSFERS; i++)
		serve(&f->asks[i], CHUNKED "0\r\n\r\n", THEN_REPEAT);
	n_before = n_descriptors();
	for (int i = 0; i < MAX_TRANSFERS; i++)
		start(&f->asks[i], (struct http_request){0});
	run(f, MAX_TRANSFERS);
	for (int i = 0; i < MAX_TRANSFERS; i++) {
		start(&f->asks[i], (struct http_request){0});
		run(f, 1);
		assert_int_equal(f->asks[i].error, 0);
	}
	/* the servers in this process close their ends a moment later */
	for (int tries = 0; n_idle != 4 && tries < 1000; tries++) {
		usleep(5000);
		n_idle = n_descriptors() - n_before;
	}
	assert_int_equal(n_idle, 4);
}

/* ---- addresses and proxies ---- */

TEST_FIXTURE(a_request_goes_to_the_address_it_was_given, set_up, tear_down)
{
	static const struct {
		const char *host, *name;
	} cases[] = {{"127.0.0.1", "127.0.0.1"}, {"::1", "[::1]"}};
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];
	char address[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		raw_server_stop(&a->server);
		a->server = (struct raw_server){
			.host = cases[i].host, .reply = CHUNKED "0\r\n\r\n", .then = THEN_CLOSE};
		raw_server_start(&a->server);
		snprintf(address, sizeof(address), "%s:%u", cases[i].name, a->server.port);
		start(a, (struct http_request){.url = "http://name.invalid:1/p",
					       .connect_to = address});
		run(f, 1);
		assert_int_equal(a->error, 0);
		raw_server_stop(&a->server);
		assert_memory_equal(a->server.request, "GET /p HTTP/1.1\r\n", 17);
		assert_non_null(strstr(a->server.request, "\r\nHost: name.invalid:1\r\n"));
	}
}

TEST_FIXTURE(addresses_of_ipv6_are_hosts, set_up, tear_down)
{
	struct fixture *f = *state;
	struct ask *a = &f->asks[0];

	a->server = (struct raw_server){.host = "::1", .reply = CHUNKED "0\r\n\r\n"};
	raw_server_start(&a->server);
	start(a, (struct http_request){0});
	run(f, 1);
	assert_int_equal(a->error, 0);
	assert_int_equal(a->status, 200);
}

TEST_FIXTURE(a_proxy_is_that_of_the_configuration_or_none, set_up, tear_down)
{
	struct http_client_config cfg = {0};
	struct fixture *f = *state;
	struct ask *proxy = &f->asks[0], *direct = &f->asks[1];

	serve(proxy, CHUNKED "3\r\nabc\r\n0\r\n\r\n", THEN_CLOSE);
	cfg.proxy = proxy->server.url;
	use_client(f, &cfg);
	start(proxy, (struct http_request){.url = "http://name.invalid/p"});
	run(f, 1);
	assert_int_equal(proxy->error, 0);
	assert_string_equal(proxy->body, "abc");
	raw_server_stop(&proxy->server);
	assert_memory_equal(proxy->server.request, "GET http://name.invalid/p HTTP/1.1\r\n", 35);

	/* the proxy of the environment is not used */
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	cfg.proxy = "";
	use_client(f, &cfg);
	serve(direct, CHUNKED "0\r\n\r\n", THEN_CLOSE);
	start(direct, (struct http_request){0});
	run(f, 1);
	unsetenv("http_proxy");
	assert_int_equal(direct->error, 0);
}

int main(void)
{
	/* of the user who runs the tests */
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	return unit_run(NULL, NULL);
}
