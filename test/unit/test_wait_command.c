#include <errno.h>

#include "cluster-agent/wait_command.h"
#include "test/lib/script_server.h"
#include "test/lib/tls_server.h"
#include "test/lib/unit.h"

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define BUSY "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"

static struct err error;

static int run(const char *first, const char *second, const char *third)
{
	char *args[] = {(char *)(uintptr_t)first, (char *)(uintptr_t)second,
			(char *)(uintptr_t)third, NULL};

	error.msg[0] = '\0';
	return wait_command.run(args, &error);
}

TEST(each_url_is_asked_until_it_answers_200)
{
	const struct script_reply replies[] = {{OK, SCRIPT_CLOSE, 0},
					       {BUSY, SCRIPT_CLOSE, 0},
					       {"", SCRIPT_RESET, 0},
					       {OK, SCRIPT_CLOSE, 0}};
	struct script_server server = {.replies = replies, .n_replies = ARRAY_SIZE(replies)};
	char first[96], second[96];

	script_server_start(&server);
	snprintf(first, sizeof(first), "%s/readyz", server.url);
	snprintf(second, sizeof(second), "%s/api/session", server.url);
	assert_int_equal(run("--timeout=1h", first, second), 0);
	script_server_stop(&server);
	assert_int_equal(server.n_requests, 4);
	assert_string_equal(server.requests[0], "GET /readyz");
	for (size_t i = 1; i < 4; i++)
		assert_string_equal(server.requests[i], "GET /api/session");
}

TEST(the_last_answer_is_in_the_error)
{
	const struct script_reply replies[] = {{BUSY, SCRIPT_CLOSE, 0}};
	struct script_server server = {.replies = replies, .n_replies = 1};
	char url[96], expected[160];

	script_server_start(&server);
	snprintf(url, sizeof(url), "%s/readyz", server.url);
	assert_int_equal(run("--timeout=0s", url, NULL), -EIO);
	script_server_stop(&server);
	snprintf(expected, sizeof(expected), "%s: answered with status 503", url);
	assert_string_equal(error.msg, expected);
	assert_int_equal(run("--timeout=0s", url, NULL), -ECONNREFUSED);
	assert_non_null(strstr(error.msg, url));
}

TEST(certificates_are_verified_unless_that_is_switched_off)
{
	struct tls_server server = {0};
	char url[96], ca[96];

	tls_server_start(&server);
	snprintf(url, sizeof(url), "https://127.0.0.1:%u/", server.port);
	snprintf(ca, sizeof(ca), "--ca-file=%s", server.cert_file);
	assert_int_equal(run("--timeout=0s", url, NULL), -EKEYREJECTED);
	assert_int_equal(run("--insecure-skip-verify", url, NULL), 0);
	assert_int_equal(run(ca, url, NULL), 0);
	tls_server_stop(&server);
}

TEST(bad_arguments_are_one_line)
{
	assert_int_equal(run(NULL, NULL, NULL), -EINVAL);
	assert_non_null(strstr(error.msg, "usage: wait-for "));
	assert_int_equal(run("--timeout=soon", "http://x", NULL), -EINVAL);
	assert_non_null(strstr(error.msg, "bad argument \"--timeout=soon\""));
	assert_int_equal(run("--ca-file=", "http://x", NULL), -EINVAL);
	assert_int_equal(run("--speed=9", "http://x", NULL), -EINVAL);
	assert_int_equal(run("not a url", NULL, NULL), -EINVAL);
	assert_string_equal(error.msg, "\"not a url\" is not a URL");
}
