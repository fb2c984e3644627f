#include <errno.h>

#include "common/system/clock.h"
#include "test/lib/kube_fixture.h"
#include "test/lib/raw_server.h"
#include "test/lib/unit.h"

static char token[] = "abc";

/* ---- requests ---- */

/* Checks the path that is sent for a request to base, a path. */
static void record(struct kube_fixture *f, struct raw_server *s, const char *base,
		   struct kube_request req)
{
	s->reply = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	raw_server_start(s);
	snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%u%s", s->port, base);
	f->cfg.server = f->url;
	kube_fixture_connect(f);
	kube_fixture_ask(f, req);
	kube_client_free(TAKE_PTR(f->client));
	raw_server_stop(s);
	kube_fixture_assert_ok(f);
	assert_string_equal(f->body, "ok");
}

TEST_FIXTURE(requests_carry_what_they_were_given, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {0};

	f->cfg.token = token;
	record(f, &s, "", (struct kube_request){.path = "/api/v1/pods?limit=5"});
	assert_memory_equal(s.request, "GET /api/v1/pods?limit=5 HTTP/1.1\r\n", 35);
	assert_non_null(strstr(s.request, "\r\nAccept: application/json\r\n"));
	assert_non_null(strstr(s.request, "\r\nAuthorization: Bearer abc\r\n"));
	assert_non_null(strstr(s.request, "\r\nUser-Agent: coroot-cluster-agent/"));
	assert_null(strstr(s.request, "Content-Type"));

	record(f, &s, "/base",
	       (struct kube_request){.method = "PATCH",
				     .path = "/apis/x",
				     .accept = "a/b",
				     .content_type = "application/merge-patch+json",
				     .body = "{\"a\":1}",
				     .body_len = 7});
	assert_memory_equal(s.request, "PATCH /base/apis/x HTTP/1.1\r\n", 29);
	assert_non_null(strstr(s.request, "\r\nAccept: a/b\r\n"));
	assert_non_null(strstr(s.request, "\r\nContent-Type: application/merge-patch+json\r\n"));
	assert_non_null(strstr(s.request, "\r\n\r\n{\"a\":1}"));
}

TEST_FIXTURE(every_method_reaches_the_server, kube_fixture_set_up, kube_fixture_tear_down)
{
	static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
	struct kube_fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		struct raw_server s = {0};

		record(f, &s, "", (struct kube_request){.method = methods[i], .path = "/x"});
		assert_memory_equal(s.request, methods[i], strlen(methods[i]));
		assert_null(strstr(s.request, "Authorization"));
	}
}

TEST_FIXTURE(the_body_may_be_freed_after_sending, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
	char path[] = "/path", body[] = "body", method[] = "PUT";
	const struct kube_request req = {
		.method = method, .path = path, .body = body, .body_len = 4};

	raw_server_start(&s);
	s.url[strlen(s.url) - 1] = '\0';
	f->cfg.server = s.url;
	kube_fixture_connect(f);
	kube_fixture_send(f, req);
	memset(path, 'x', 4);
	memset(body, 'x', 4);
	memset(method, 'x', 3);
	kube_fixture_wait(f);
	kube_client_free(TAKE_PTR(f->client));
	raw_server_stop(&s);
	assert_memory_equal(s.request, "PUT /path ", 10);
	assert_non_null(strstr(s.request, "\r\n\r\nbody"));
}

TEST_FIXTURE(a_password_is_sent_as_basic_authentication, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	static char user[] = "Aladdin", password[] = "open sesame";
	struct kube_fixture *f = *state;

	f->cfg.username = user;
	f->cfg.password = password;
	kube_fixture_serve(f, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
}

TEST_FIXTURE(requests_that_make_no_sense_are_refused, kube_fixture_set_up, kube_fixture_tear_down)
{
	static const struct kube_request refused[] = {
		{.method = "GET", .path = "pods", .timeout_ns = 1},
		{.method = "GET", .path = "", .timeout_ns = 1},
		{.method = "GET", .path = "/a\r\nX: 1", .timeout_ns = 1},
		{.method = "GET", .path = "/", .accept = "a\nb", .timeout_ns = 1},
		{.method = "PUT", .path = "/", .content_type = "a\rb", .timeout_ns = 1},
		{.method = "GET", .path = "/"},
	};
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "");
	kube_fixture_connect(f);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_int_equal(
			kube_client_send(f->client, &refused[i], kube_fixture_keep_result, f, NULL),
			-EINVAL);
	/* errors of the HTTP client arrive as a result */
	kube_fixture_ask(f, (struct kube_request){.method = "BREW"});
	kube_fixture_assert_failed(f, -EINVAL, "Invalid argument");
	kube_fixture_ask(f, (struct kube_request){.path = "/a b"});
	kube_fixture_assert_failed(f, -EINVAL, "Invalid argument");
	assert_int_equal(kube_fixture_requests(f), 0);
}

TEST_FIXTURE(clients_that_make_no_sense_are_refused, kube_fixture_set_up, kube_fixture_tear_down)
{
	static char spaced[] = "a b", server[] = "http://name.example.test", name[] = "other";
	struct kube_fixture *f = *state;
	struct kube_client *c = NULL;
	struct err err = {""};

	f->cfg.server = server;
	f->cfg.token = spaced;
	assert_int_equal(kube_client_new(&c, f->loop, &f->cfg, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "token"));
	assert_null(strstr(err.msg, spaced));
	f->cfg.token = NULL;
	f->cfg.tls_server_name = name;
	assert_int_equal(kube_client_new(&c, f->loop, &f->cfg, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "tls-server-name"));
	assert_null(c);
}

TEST_FIXTURE(it_knows_its_server_and_namespace, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "");
	kube_fixture_connect(f);
	assert_string_equal(kube_client_server(f->client), f->url);
	assert_string_equal(kube_client_namespace(f->client), "default");
}

/* ---- answers ---- */

static void start_raw(struct kube_fixture *f, struct raw_server *s)
{
	raw_server_start(s);
	s->url[strlen(s->url) - 1] = '\0';
	f->cfg.server = s->url;
	kube_fixture_connect(f);
}

static void stop_raw(struct kube_fixture *f, struct raw_server *s)
{
	kube_client_free(TAKE_PTR(f->client));
	raw_server_stop(s);
}

TEST_FIXTURE(refusals_come_with_the_servers_own_message, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {.reply = "HTTP/1.1 503 No\r\nRetry-After: 7\r\n"
					"Content-Length: 8\r\n\r\nstarting"};

	kube_fixture_serve(f, "");
	kube_fixture_connect(f);
	/* also if the limit for the body of a success is smaller */
	kube_fixture_ask(f,
			 (struct kube_request){.path = "/api/forbidden", .max_response_bytes = 1});
	assert_int_equal(f->error, 0);
	assert_int_equal(f->status, 403);
	assert_string_equal(f->msg, "pods is forbidden");
	assert_non_null(strstr(f->body, "\"code\":403"));

	start_raw(f, &s);
	kube_fixture_ask(f, (struct kube_request){0});
	assert_int_equal(f->status, 503);
	assert_string_equal(f->msg, "HTTP status 503: starting");
	assert_int_equal(f->retry_after_ns, 7 * NS_PER_S);
	stop_raw(f, &s);
}

TEST_FIXTURE(a_body_up_to_the_limit_is_taken_and_a_longer_one_is_efbig, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){.max_response_bytes = 12});
	kube_fixture_assert_ok(f);
	assert_string_equal(f->body, "{\"items\":[]}");
	kube_fixture_ask(f, (struct kube_request){.max_response_bytes = 11});
	kube_fixture_assert_failed(f, -EFBIG, "larger than allowed");
}

TEST_FIXTURE(failures_of_the_connection_have_a_sentence, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
			       .then = THEN_HANG};

	start_raw(f, &s);
	kube_fixture_ask(f, (struct kube_request){.timeout_ns = 100 * NS_PER_MS});
	kube_fixture_assert_failed(f, -ETIMEDOUT, "");
	kube_fixture_ask(f, (struct kube_request){.idle_timeout_ns = 100 * NS_PER_MS});
	kube_fixture_assert_failed(f, -ETIMEDOUT, "");
	assert_true(strlen(f->msg) > 5);
	stop_raw(f, &s);
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_failed(f, -ECONNREFUSED, "");
	assert_true(strlen(f->msg) > 5);
}

/* ---- streams ---- */

static char streamed[64];
static struct kube_call *to_cancel;

static int keep_piece(void *ctx, const char *data, size_t len)
{
	struct kube_fixture *f = ctx;
	size_t have = strlen(streamed);

	snprintf(streamed + have, sizeof(streamed) - have, "%.*s", (int)len, data);
	if (to_cancel) {
		kube_call_cancel(to_cancel);
		f->n_expected--;
		loop_set_timer(f->stopper, 50 * NS_PER_MS);
	}
	return strstr(streamed, "bad") ? -EBADMSG : 0;
}

TEST_FIXTURE(a_body_can_be_had_as_it_arrives, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {.reply = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
					"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"};

	start_raw(f, &s);
	streamed[0] = '\0';
	kube_fixture_ask(f, (struct kube_request){.on_data = keep_piece});
	kube_fixture_assert_ok(f);
	assert_string_equal(streamed, "abcde");
	assert_string_equal(f->body, "");
	stop_raw(f, &s);

	s.reply = "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nbad";
	s.then = THEN_HANG;
	start_raw(f, &s);
	streamed[0] = '\0';
	kube_fixture_ask(f, (struct kube_request){.on_data = keep_piece});
	kube_fixture_assert_failed(f, -EBADMSG, "");
	stop_raw(f, &s);

	/* the body of a refusal is not streamed */
	s.reply = "HTTP/1.1 410 Gone\r\nContent-Length: 18\r\n\r\n{\"message\":\"late\"}";
	s.then = THEN_CLOSE;
	start_raw(f, &s);
	streamed[0] = '\0';
	kube_fixture_ask(f, (struct kube_request){.on_data = keep_piece});
	assert_int_equal(f->status, 410);
	assert_string_equal(f->msg, "late");
	assert_string_equal(streamed, "");
	stop_raw(f, &s);
}

TEST_FIXTURE(a_stream_can_be_cancelled_from_inside, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\nabc",
			       .then = THEN_HANG};

	start_raw(f, &s);
	streamed[0] = '\0';
	to_cancel = kube_fixture_send(f, (struct kube_request){.on_data = keep_piece});
	assert_int_equal(loop_run(f->loop), 0);
	to_cancel = NULL;
	assert_string_equal(streamed, "abc");
	assert_int_equal(f->n_done, 0);
	stop_raw(f, &s);
}

/* ---- token files ---- */

TEST_FIXTURE(a_token_in_a_file_is_followed, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_write(f, "token", " first\n");
	f->cfg.token_file = kube_fixture_path(f, "token");
	/* the file wins */
	f->cfg.token = token;
	kube_fixture_serve(f, "Bearer first");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);

	kube_fixture_write(f, "token", "second");
	kube_fixture_want(f, "Bearer second");
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	/* no request failed */
	assert_int_equal(kube_fixture_requests(f), 2);

	/* the last token stays in use */
	unlink(f->cfg.token_file);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	kube_fixture_write(f, "token", "");
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
}

TEST_FIXTURE(a_401_reads_the_token_again_and_repeats_the_request, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_write(f, "token", "first");
	f->cfg.token_file = kube_fixture_path(f, "token");
	kube_fixture_serve(f, "Bearer second");
	/* the file is replaced between the request and its answer */
	snprintf(f->rotate_path, sizeof(f->rotate_path), "%s", f->cfg.token_file);
	snprintf(f->rotate_to, sizeof(f->rotate_to), "second");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){.method = "POST", .body = "x", .body_len = 1});
	kube_fixture_assert_ok(f);
	assert_int_equal(kube_fixture_requests(f), 2);
}

TEST_FIXTURE(a_401_is_an_answer_when_nothing_has_changed, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_write(f, "token", "first");
	f->cfg.token_file = kube_fixture_path(f, "token");
	kube_fixture_serve(f, "Bearer second");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	assert_int_equal(f->status, 401);
	assert_string_equal(f->msg, "Unauthorized");
	assert_int_equal(kube_fixture_requests(f), 1);

	f->cfg.token_file = NULL;
	f->cfg.token = token;
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	assert_int_equal(f->status, 401);
	assert_int_equal(kube_fixture_requests(f), 2);
}

TEST_FIXTURE(without_a_token_nothing_is_sent, kube_fixture_set_up, kube_fixture_tear_down)
{
	static const char *const contents[] = {"", "\n", "\xff", "a\x01"};
	struct kube_fixture *f = *state;

	f->cfg.token_file = kube_fixture_path(f, "token");
	kube_fixture_serve(f, "");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_failed(f, -EACCES, "/token: No such file or directory");
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		kube_fixture_write(f, "token", contents[i]);
		kube_fixture_ask(f, (struct kube_request){0});
		kube_fixture_assert_failed(f, -EACCES, "contains no token");
	}
	assert_int_equal(kube_fixture_requests(f), 0);
	/* and it works once there is one */
	kube_fixture_write(f, "token", "abc");
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	assert_string_equal(f->seen, "Bearer abc");
}

TEST_FIXTURE(the_token_of_the_file_wins_but_the_other_will_do, kube_fixture_set_up,
	     kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	f->cfg.token_file = kube_fixture_path(f, "token");
	f->cfg.token = token;
	kube_fixture_serve(f, "Bearer abc");
	kube_fixture_connect(f);
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
	kube_fixture_write(f, "token", "file");
	kube_fixture_want(f, "Bearer file");
	kube_fixture_ask(f, (struct kube_request){0});
	kube_fixture_assert_ok(f);
}

/* ---- life ---- */

TEST_FIXTURE(a_cancelled_request_is_never_done, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
			       .then = THEN_HANG};
	struct kube_call *call;

	start_raw(f, &s);
	/* before anything was sent */
	call = kube_fixture_send(f, (struct kube_request){0});
	kube_call_cancel(call);
	kube_fixture_pass(f, 20 * NS_PER_MS);
	/* while the answer is awaited */
	call = kube_fixture_send(f, (struct kube_request){0});
	kube_fixture_pass(f, 50 * NS_PER_MS);
	kube_call_cancel(call);
	kube_fixture_pass(f, 20 * NS_PER_MS);
	kube_call_cancel(NULL);
	assert_int_equal(f->n_done, 0);
	stop_raw(f, &s);
}

TEST_FIXTURE(freeing_the_client_cancels_everything, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct raw_server s = {.reply = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
			       .then = THEN_HANG};

	start_raw(f, &s);
	for (int i = 0; i < 3; i++)
		kube_fixture_send(f, (struct kube_request){0});
	kube_fixture_pass(f, 50 * NS_PER_MS);
	kube_fixture_send(f, (struct kube_request){0});
	stop_raw(f, &s);
	kube_fixture_pass(f, 20 * NS_PER_MS);
	assert_int_equal(f->n_done, 0);
	kube_client_free(NULL);
}

struct chain {
	struct kube_fixture *f;
	struct kube_call *other; /* cancelled by the first result */
	int left;
};

static void send_next(void *ctx, const struct kube_result *result)
{
	const struct kube_request req = {.method = "GET",
					 .path = "/x",
					 .timeout_ns = 300 * NS_PER_S,
					 .max_response_bytes = 100};
	struct chain *chain = ctx;

	assert_int_equal(result->error, chain->f->cfg.token_file ? -EACCES : 0);
	kube_call_cancel(TAKE_PTR(chain->other));
	if (--chain->left == 0) {
		loop_stop(chain->f->loop);
		return;
	}
	assert_int_equal(kube_client_send(chain->f->client, &req, send_next, chain, NULL), 0);
}

TEST_FIXTURE(done_functions_may_send_and_cancel, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;
	struct chain chain = {.f = f};
	const struct kube_request req = {.method = "GET", .path = "/x", .timeout_ns = NS_PER_S};

	kube_fixture_serve(f, "");
	/* with answers, and when every request fails at once */
	for (int i = 0; i < 2; i++) {
		chain.left = 10;
		kube_fixture_connect(f);
		assert_int_equal(kube_client_send(f->client,
						  &(struct kube_request){.method = "GET",
									 .path = "/x",
									 .timeout_ns = NS_PER_S,
									 .max_response_bytes = 100},
						  send_next, &chain, NULL),
				 0);
		/* an answer to this one could come first */
		if (i == 1)
			assert_int_equal(kube_client_send(f->client, &req, kube_fixture_keep_result,
							  f, &chain.other),
					 0);
		assert_int_equal(loop_run(f->loop), 0);
		assert_int_equal(chain.left, 0);
		f->cfg.token_file = kube_fixture_path(f, "none");
	}
	assert_int_equal(f->n_done, 0);
}

static int construct_and_send(void *arg)
{
	static char user[] = "me";
	const struct kube_request req = {
		.method = "PUT", .path = "/", .body = "x", .body_len = 1, .timeout_ns = NS_PER_S};
	struct kube_fixture *f = arg;
	struct kube_config cfg = f->cfg;
	CLEANUP(kube_client_freep) struct kube_client *c = NULL;
	int r;

	cfg.username = user;
	r = kube_client_new(&c, f->loop, &cfg, NULL);
	return r < 0 ? r : kube_client_send(c, &req, kube_fixture_keep_result, f, NULL);
}

TEST_FIXTURE(lack_of_memory_is_enomem, kube_fixture_set_up, kube_fixture_tear_down)
{
	struct kube_fixture *f = *state;

	kube_fixture_serve(f, "");
	check_oom(construct_and_send, f);
}
