#include "common/debuginfod/debuginfod_urls.h"

#include <errno.h>

#include "test/lib/unit.h"

static void expect(const char *text, size_t n, const char *first, const char *last)
{
	struct debuginfod_urls u;

	assert_int_equal(debuginfod_urls_parse(&u, text, NULL), 0);
	assert_int_equal(u.n, n);
	if (n > 0) {
		assert_string_equal(u.urls[0], first);
		assert_string_equal(u.urls[n - 1], last);
	}
	debuginfod_urls_fini(&u);
}

TEST(servers_are_separated_by_blanks_or_commas)
{
	expect(NULL, 0, NULL, NULL);
	expect("", 0, NULL, NULL);
	expect(" \n", 0, NULL, NULL);
	expect("https://a.example/", 1, "https://a.example", "https://a.example");
	expect("https://a http://b:8002/x//", 2, "https://a", "http://b:8002/x");
	expect("ima:enforcing https://a,\thttps://b ima:ignore", 2, "https://a", "https://b");
}

TEST(what_is_no_server_is_refused)
{
	static const char *const wrong[] = {"file:///srv", "debuginfod.example.org", "ftp://a",
					    "https://a b"};
	struct debuginfod_urls u;
	struct err err = {.msg = ""};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(debuginfod_urls_parse(&u, wrong[i], &err), -EINVAL);
	assert_non_null(strstr(err.msg, "\"b\": not an http://"));
	assert_int_equal(
		debuginfod_urls_parse(&u,
				      "http://1 http://2 http://3 http://4 http://5 http://6 "
				      "http://7 http://8 http://9",
				      &err),
		-EINVAL);
	assert_int_equal(u.n, 0);
}

static void expect_redirect(const char *url, const char *location, const char *to)
{
	AUTO_FREE char *got = NULL;
	int r = debuginfod_redirect(&got, url, location);

	assert_int_equal(r, to ? 0 : -EINVAL);
	if (to)
		assert_string_equal(got, to);
}

TEST(a_redirect_leads_to_http_servers_only_and_not_out_of_tls)
{
	static const char url[] = "https://a.example:8/x/buildid/ab/debuginfo";
	AUTO_FREE char *made = NULL;

	expect_redirect(url, "https://b.example/f", "https://b.example/f");
	expect_redirect(url, "/f?q", "https://a.example:8/f?q");
	expect_redirect("http://a/x", "https://b/f", "https://b/f");
	expect_redirect("http://a", "/f", "http://a/f");
	expect_redirect(url, "http://b.example/f", NULL);
	expect_redirect(url, "//b.example/f", NULL);
	expect_redirect(url, "f", NULL);
	expect_redirect(url, "file:///etc/passwd", NULL);
	expect_redirect(url, "", NULL);
	expect_redirect(url, NULL, NULL);
	assert_int_equal(debuginfod_url_of(&made, "http://a", "abcd", DEBUGINFOD_EXECUTABLE), 0);
	assert_string_equal(made, "http://a/buildid/abcd/executable");
}
