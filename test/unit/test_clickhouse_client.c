/* Servers that answer strangely. The real engine is in test/store/. */
#include "cluster-agent/store/clickhouse_client.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "common/system/clock.h"
#include "test/lib/script_server.h"
#include "test/lib/tls_server.h"
#include "test/lib/unit.h"

#define CH "X-ClickHouse-Query-Id: x\r\n"
#define OK(body) "HTTP/1.1 200 OK\r\n" CH "Connection: close\r\n\r\n" body
#define REFUSED_PORT "http://127.0.0.1:1/"

static struct clickhouse_client *make_client(const char *const *urls, size_t n,
					     const struct clickhouse_client_config *more)
{
	struct clickhouse_client_config cfg = more ? *more : (struct clickhouse_client_config){0};
	struct clickhouse_address addresses[CLICKHOUSE_MAX_ADDRESSES] = {0};
	struct clickhouse_client *c = NULL;
	struct err err = {0};

	for (size_t i = 0; i < n; i++)
		snprintf(addresses[i].url, sizeof(addresses[i].url), "%s", urls[i]);
	cfg.addresses = addresses;
	cfg.n_addresses = n;
	if (clickhouse_client_new(&c, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static int ask_as(bool cancellable, struct clickhouse_client *c, struct buf *out,
		  struct clickhouse_failure *f, struct err *err)
{
	const struct clickhouse_statement st = {
		.sql = "SELECT 1",
		.timeout_ns = 60 * NS_PER_S,
		.attempt_timeout_ns = 60 * NS_PER_S,
		.cancellable = cancellable,
		.repeatable = true,
	};

	*f = (struct clickhouse_failure){0};
	return clickhouse_client_run(c, &st, out, f, err);
}

static int ask(struct clickhouse_client *c, struct buf *out, struct clickhouse_failure *f,
	       struct err *err)
{
	return ask_as(true, c, out, f, err);
}

static const struct {
	const char *reply;
	enum script_end end;
	int error;
	enum clickhouse_advice advice;
	const char *text; /* in out if there was an exception or an answer, else in err */
} answers[] = {
	{OK("1\n"), SCRIPT_CLOSE, 0, 0, "1\n"},
	/* an ingress, a proxy's login page */
	{"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n1\n", SCRIPT_CLOSE, -EAGAIN,
	 CLICKHOUSE_ELSEWHERE, "not that of a ClickHouse server"},
	{"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: "
	 "0\r\n\r\n",
	 SCRIPT_CLOSE, -EAGAIN, CLICKHOUSE_ELSEWHERE, "redirects are not followed"},
	{"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\nno upstream", SCRIPT_CLOSE, -EAGAIN,
	 CLICKHOUSE_ELSEWHERE, "HTTP status 503: no upstream"},
	{"HTTP/1.1 403 No\r\nConnection: close\r\n\r\n", SCRIPT_CLOSE, -EAGAIN, CLICKHOUSE_DENIED,
	 "HTTP status 403"},
	{"HTTP/1.1 413 Large\r\nConnection: close\r\n\r\n", SCRIPT_CLOSE, -EREMOTEIO,
	 CLICKHOUSE_TOO_LARGE, NULL},
	{"HTTP/1.0 400 Bad Request\r\n\r\nPort 9000 is for clickhouse-client program\r\n",
	 SCRIPT_CLOSE, -EAGAIN, CLICKHOUSE_ELSEWHERE, "Port 9000 is for"},
	{"HTTP/1.1 404 Not Found\r\n" CH "Connection: close\r\n\r\n"
	 "Code: 60. DB::Exception: no\n",
	 SCRIPT_CLOSE, -EREMOTEIO, CLICKHOUSE_SCHEMA, "Code: 60. DB::Exception: no\n"},
	{"HTTP/1.1 500 Oh\r\nX-ClickHouse-Exception-Code: 241\r\nConnection: close\r\n\r\n"
	 "(total) memory limit exceeded",
	 SCRIPT_CLOSE, -EREMOTEIO, CLICKHOUSE_BUSY, "(total) memory limit"},
	/* in the middle of the answer */
	{"HTTP/1.1 200 OK\r\n" CH "X-ClickHouse-Exception-Tag: tag45678\r\n"
	 "Connection: close\r\n\r\n1\n\r\n__exception__\r\ntag45678\r\n"
	 "Code: 243. DB::Exception: full\r\n31 tag45678\r\n__exception__\r\n",
	 SCRIPT_CLOSE, -EREMOTEIO, CLICKHOUSE_ELSEWHERE, "Code: 243. DB::Exception: full"},
	{"HTTP/1.1 200 OK\r\n" CH "Content-Length: 10\r\n\r\n1\n", SCRIPT_CLOSE, -EAGAIN,
	 CLICKHOUSE_ELSEWHERE, ""},
	{"HTTP/1.1 200 OK\r\n" CH "Transfer-Encoding: chunked\r\n\r\n2\r\n1\n\r\n", SCRIPT_CLOSE,
	 -EAGAIN, CLICKHOUSE_ELSEWHERE, ""},
	{"HTTP/1.1 200 OK\r\n" CH "Transfer-Encoding: chunked\r\n\r\n2\r\n1\n\r\n", SCRIPT_RESET,
	 -EAGAIN, CLICKHOUSE_ELSEWHERE, ""},
	{"", SCRIPT_RESET, -EAGAIN, CLICKHOUSE_ELSEWHERE, ""},
	{"rubbish", SCRIPT_CLOSE, -EAGAIN, CLICKHOUSE_ELSEWHERE, ""},
};

TEST(answers_are_judged)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		const struct script_reply replies[] = {{answers[i].reply, answers[i].end, 0}};
		struct script_server s = {.replies = replies, .n_replies = 1};
		struct clickhouse_client *c;
		struct clickhouse_failure f;
		CLEANUP(buf_fini) struct buf out;
		struct err err = {0};
		char url[80];
		int r;

		script_server_start(&s);
		snprintf(url, sizeof(url), "%s/", s.url);
		c = make_client(&(const char *){url}, 1, NULL);
		buf_init(&out, 1000);
		assert_int_equal(buf_add(&out, "before", 6), 0);
		r = ask(c, &out, &f, &err);
		if (r != answers[i].error || f.advice != answers[i].advice)
			fail_msg("case %zu: %d, advice %d, \"%s\"", i, r, f.advice, err.msg);
		if (r == 0 || r == -EREMOTEIO)
			assert_true(!answers[i].text || strstr(out.data, answers[i].text) ==
								out.data + strlen("before"));
		else if (!strstr(err.msg, answers[i].text) || out.len != strlen("before"))
			fail_msg("case %zu: \"%s\", \"%s\"", i, err.msg, out.data);
		clickhouse_client_free(c);
		script_server_stop(&s);
	}
}

TEST(an_answer_larger_than_the_buffer_is_refused)
{
	const struct script_reply replies[] = {{OK("0123456789"), SCRIPT_CLOSE, 0}};
	struct script_server s = {.replies = replies, .n_replies = 1};
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;
	char url[80];

	script_server_start(&s);
	snprintf(url, sizeof(url), "%s/", s.url);
	c = make_client(&(const char *){url}, 1, NULL);
	buf_init(&out, 5);
	assert_int_equal(ask(c, &out, &f, NULL), -EFBIG);
	script_server_stop(&s);
}

TEST(the_next_server_is_asked_and_kept)
{
	const struct script_reply bad[] = {
		{"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n", SCRIPT_CLOSE, 0}};
	const struct script_reply good[] = {{OK("1\n"), SCRIPT_CLOSE, 0},
					    {OK("2\n"), SCRIPT_CLOSE, 0}};
	struct script_server first = {.replies = bad, .n_replies = 1};
	struct script_server second = {.replies = good, .n_replies = 2};
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	char urls[2][80];
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;
	const char *list[3];

	script_server_start(&first);
	script_server_start(&second);
	snprintf(urls[0], sizeof(urls[0]), "%s/", first.url);
	snprintf(urls[1], sizeof(urls[1]), "%s/", second.url);
	list[0] = REFUSED_PORT;
	list[1] = urls[0];
	list[2] = urls[1];
	c = make_client(list, 3, NULL);
	buf_init(&out, 100);
	assert_int_equal(ask(c, &out, &f, NULL), 0);
	assert_int_equal(ask(c, &out, &f, NULL), 0);
	assert_string_equal(out.data, "1\n2\n");
	assert_int_equal(script_server_requests(&first), 1);
	script_server_stop(&first);
	script_server_stop(&second);
}

TEST(a_server_that_does_not_know_the_user_is_left_for_another)
{
	const struct script_reply bad[] = {
		{"HTTP/1.1 403 No\r\n" CH "Connection: close\r\n\r\n"
		 "Code: 516. DB::Exception: ann: Authentication failed\n",
		 SCRIPT_CLOSE, 0}};
	const struct script_reply good[] = {{OK("1\n"), SCRIPT_CLOSE, 0}};
	struct script_server first = {.replies = bad, .n_replies = 1};
	struct script_server second = {.replies = good, .n_replies = 1};
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	char urls[2][80];
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;

	script_server_start(&first);
	script_server_start(&second);
	snprintf(urls[0], sizeof(urls[0]), "%s/", first.url);
	snprintf(urls[1], sizeof(urls[1]), "%s/", second.url);
	c = make_client((const char *[]){urls[0], urls[1]}, 2, NULL);
	buf_init(&out, 100);
	assert_int_equal(ask(c, &out, &f, NULL), 0);
	assert_string_equal(out.data, "1\n");
	script_server_stop(&first);
	script_server_stop(&second);
}

TEST(what_may_not_be_repeated_is_not_sent_to_the_next_server)
{
	const struct script_reply replies[] = {{"", SCRIPT_RESET, 0}};
	const struct script_reply good[] = {{OK("1\n"), SCRIPT_CLOSE, 0}};
	struct script_server first = {.replies = replies, .n_replies = 1};
	struct script_server second = {.replies = good, .n_replies = 1};
	const struct clickhouse_statement st = {
		.sql = "CREATE TABLE t",
		.timeout_ns = 60 * NS_PER_S,
		.attempt_timeout_ns = 60 * NS_PER_S,
	};
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	char urls[2][80];

	script_server_start(&first);
	script_server_start(&second);
	snprintf(urls[0], sizeof(urls[0]), "%s/", first.url);
	snprintf(urls[1], sizeof(urls[1]), "%s/", second.url);
	c = make_client((const char *[]){urls[0], urls[1]}, 2, NULL);
	assert_int_equal(clickhouse_client_run(c, &st, NULL, NULL, NULL), -EAGAIN);
	assert_int_equal(script_server_requests(&second), 0);
	script_server_stop(&first);
	script_server_stop(&second);
}

static void *stop_soon(void *client)
{
	usleep(100000);
	clickhouse_client_stop(client);
	return NULL;
}

static void *end_soon(void *client)
{
	usleep(100000);
	clickhouse_client_end(client);
	return NULL;
}

TEST(a_stop_ends_what_waits_and_what_comes_later)
{
	struct script_server s = {0}; /* never answers */
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	uint64_t start_ns = clock_monotonic_ns();
	struct clickhouse_failure f;
	pthread_t thread;
	char url[80];

	script_server_start(&s);
	snprintf(url, sizeof(url), "%s/", s.url);
	c = make_client(&(const char *){url}, 1, NULL);
	buf_init(&out, 100);
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, c), 0);
	assert_int_equal(ask(c, &out, &f, NULL), -EPIPE);
	assert_true(clock_monotonic_ns() - start_ns < 30 * NS_PER_S);
	assert_int_equal(ask(c, &out, &f, NULL), -EPIPE);
	pthread_join(thread, NULL);
	/* the others continue until they are ended, too */
	assert_int_equal(pthread_create(&thread, NULL, end_soon, c), 0);
	assert_int_equal(ask_as(false, c, &out, &f, NULL), -EPIPE);
	assert_int_equal(ask_as(false, c, &out, &f, NULL), -EPIPE);
	pthread_join(thread, NULL);
	clickhouse_client_free(TAKE_PTR(c));
	script_server_stop(&s);
}

/* An HTTPS server that wants a certificate and answers POST, which OpenSSL's command does not. */
static FILE *start_https(const struct tls_server *files, unsigned *ret_port, int *ret_pid)
{
	char command[1024];
	FILE *out;

	snprintf(command, sizeof(command),
		 "exec node -e '"
		 "const fs = require(\"fs\"), cert = fs.readFileSync(\"%s\");"
		 "require(\"https\").createServer({cert, ca: cert, key: fs.readFileSync(\"%s\"),"
		 " requestCert: true}, (q, a) => { q.resume(); q.on(\"end\", () => {"
		 " a.setHeader(\"X-ClickHouse-Query-Id\", \"x\"); a.end(\"1\\n\"); }); })"
		 ".listen(0, \"127.0.0.1\", function () { console.log(this.address().port, "
		 "process.pid); })'",
		 files->cert_file, files->key_file);
	out = popen(command, "re"); // NOLINT(cert-env33-c)
	assert_non_null(out);
	assert_int_equal(fscanf(out, "%u %d", ret_port, ret_pid), 2);
	return out;
}

TEST(certificates_are_verified)
{
	struct tls_server files = {0};
	struct clickhouse_client_config trusted, other, skipped, nameless;
	char url[80], other_ca[] = "/tmp/test_clickhouse_client.XXXXXX";
	int fd = mkostemp(other_ca, O_CLOEXEC), pid;
	unsigned port;
	FILE *https;
	const struct {
		const struct clickhouse_client_config *cfg;
		int error;
		const char *why;
	} cases[] = {
		{&trusted, 0, ""},
		{&skipped, 0, ""},
		{&other, -EAGAIN, "SSL certificate problem"},
		{&nameless, -EAGAIN, "certificate required"},
	};

	assert_int_equal(write(fd, tls_other_cert, strlen(tls_other_cert)), strlen(tls_other_cert));
	close(fd);
	tls_server_start(&files);
	https = start_https(&files, &port, &pid);
	trusted = (struct clickhouse_client_config){.ca_file = files.cert_file,
						    .cert_file = files.cert_file,
						    .key_file = files.key_file};
	other = trusted;
	other.ca_file = other_ca;
	skipped = other;
	skipped.skip_verify = true;
	nameless = (struct clickhouse_client_config){.ca_file = files.cert_file};
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/", port);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct clickhouse_client *c = make_client(&(const char *){url}, 1, cases[i].cfg);
		struct clickhouse_failure f;
		CLEANUP(buf_fini) struct buf out;
		struct err err = {0};
		int r;

		buf_init(&out, 100000);
		r = ask(c, &out, &f, &err);
		if (r != cases[i].error || !strstr(err.msg, cases[i].why))
			fail_msg("case %zu: %d \"%s\"", i, r, err.msg);
		clickhouse_client_free(c);
	}
	kill(pid, SIGKILL);
	pclose(https);
	tls_server_stop(&files);
	unlink(other_ca);
}

TEST(passwords_are_checked)
{
	struct clickhouse_address address = {.url = REFUSED_PORT};
	struct clickhouse_client_config cfg = {.addresses = &address, .n_addresses = 1};
	struct clickhouse_client *c = NULL;
	struct err err = {0};

	cfg.password = "a\r\nX-Other: b";
	assert_int_equal(clickhouse_client_new(&c, &cfg, &err), -EINVAL);
	cfg.password = NULL;
	cfg.password_file = "/nonexistent/password";
	assert_int_equal(clickhouse_client_new(&c, &cfg, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/password"));
}

static int make_and_free(void *arg)
{
	struct clickhouse_address address = {.url = REFUSED_PORT};
	const struct clickhouse_client_config cfg = {.addresses = &address, .n_addresses = 1};
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;

	(void)arg;
	return clickhouse_client_new(&c, &cfg, NULL);
}

TEST(nothing_leaks_without_memory)
{
	check_oom(make_and_free, NULL);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return unit_run(NULL, NULL);
}
