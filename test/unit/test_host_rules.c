#include <errno.h>

#include "common/access/host_rules.h"
#include "test/lib/unit.h"

TEST(hosts_are_parsed)
{
	static const struct {
		const char *text, *name;
		unsigned port;
		bool is_ip;
	} cases[] = {
		{"Example.COM", "example.com", 0, false},
		{"example.com.:8080", "example.com", 8080, false},
		{"localhost:1", "localhost", 1, false},
		{"127.0.0.1:10301", "127.0.0.1", 10301, true},
		{"[::1]:80", "::1", 80, true},
		{"[0:0::0:1]", "::1", 0, true},
		{"my_service.default.svc:65535", "my_service.default.svc", 65535, false},
		{"1.2.3", "1.2.3", 0, false},
	};
	struct host_name h;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(host_name_parse(&h, cases[i].text), 0);
		assert_string_equal(h.text, cases[i].name);
		assert_int_equal(h.port, cases[i].port);
		assert_int_equal(h.is_ip, cases[i].is_ip);
	}
}

TEST(what_no_client_sends_is_no_host)
{
	static const char *const bad[] = {
		"",    ".",          ":80",     "a:",   "a:0",       "a:65536",   "a:80:80",
		"a b", "a/b",        "a@b",     "[::1", "[::1]a",    "[1.2.3.4]", "[]",
		"::1", "a:8o",       "a,b.com", "\x01", "h\xc3\xa9", "[::1]:",    "a:+80",
		"*",   "[::1%eth0]", "a..",     "a..b", ".a",        "..",
	};
	char too_long[HOST_NAME_BYTES + 1];
	struct host_name h;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(host_name_parse(&h, bad[i]), -EINVAL);
	memset(too_long, 'a', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	assert_int_equal(host_name_parse(&h, too_long), -EINVAL);
	assert_int_equal(host_name_parse(&h, too_long + 1), 0);
}

TEST(an_origin_is_ours_if_host_and_port_are)
{
	static const struct {
		const char *host, *origin;
		bool ours;
	} cases[] = {
		{"a.com:80", "http://a.com", true},
		{"a.com", "http://a.com", true},
		{"A.com", "https://a.com", true},
		{"a.com:443", "https://a.com", true},
		{"a.com:8443", "https://a.com:8443", true},
		{"a.com:8443", "https://a.com", false},
		{"a.com", "http://a.com:8080", false},
		{"localhost:10301", "http://localhost:3000", false},
		{"localhost:10301", "http://127.0.0.1:10301", false},
		{"[::1]:1", "http://[::1]:1", true},
		{"a.com", "http://b.a.com", false},
		{"b.a.com", "http://a.com", false},
	};
	static const char *const bad[] = {
		"null",        "",        "file://",       "a.com",
		"ftp://a.com", "http://", "http://a.com/", "chrome-extension://abc"};
	struct host_name host, origin;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(host_name_parse(&host, cases[i].host), 0);
		assert_int_equal(host_name_parse_origin(&origin, cases[i].origin), 0);
		assert_int_equal(host_name_is_origin(&host, &origin), cases[i].ours);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(host_name_parse_origin(&origin, bad[i]), -EINVAL);
}

static bool allows(const struct host_rules *r, const char *text)
{
	struct host_name h;

	assert_int_equal(host_name_parse(&h, text), 0);
	return host_rules_allow(r, &h);
}

static bool lists(const struct host_rules *r, const char *text)
{
	struct host_name h;

	assert_int_equal(host_name_parse(&h, text), 0);
	return host_rules_list(r, &h);
}

TEST(names_that_nobody_else_can_resolve_are_ours)
{
	CLEANUP(host_rules_freep) struct host_rules *r = NULL;
	static const char *const ours[] = {
		"127.0.0.1:1",
		"10.2.3.4",
		"[fe80::1]:80",
		"localhost",
		"a.localhost:80",
		"collector",
		"agent.a.svc",
		"agent.a.svc:10301",
		"agent.a.svc.cluster.local",
		"Node7.Corp.example",
		"node7.corp.example.",
	};
	static const char *const foreign[] = {
		"evil.example", "localhost.evil.example", "svc.evil.example",
		"evilsvc.com",  "127.0.0.1.nip.io",       "1.2.3",
		"corp.example", "a.node7.corp.example",   "agent.svc.cluster.local.evil.example",
	};

	assert_int_equal(host_rules_new(&r, NULL, "node7.Corp.example", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		assert_true(allows(r, ours[i]));
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		assert_false(allows(r, foreign[i]));
	assert_false(lists(r, "localhost"));
}

TEST(listed_names_are_ours_too)
{
	CLEANUP(host_rules_freep) struct host_rules *r = NULL;

	assert_int_equal(
		host_rules_new(&r, "Profiles.example.com,*.corp.example\n10.0.0.1", "n", NULL), 0);
	assert_true(allows(r, "profiles.example.com:443"));
	assert_true(allows(r, "a.corp.example"));
	assert_true(allows(r, "a.b.corp.example"));
	assert_false(allows(r, "corp.example"));
	assert_false(allows(r, "evilcorp.example"));
	assert_false(allows(r, "a.profiles.example.com"));
	assert_true(lists(r, "profiles.example.com"));
	assert_true(lists(r, "10.0.0.1"));
	assert_false(lists(r, "10.0.0.2"));
}

TEST(a_star_allows_every_name_and_lists_none)
{
	CLEANUP(host_rules_freep) struct host_rules *r = NULL;

	assert_int_equal(host_rules_new(&r, "*", NULL, NULL), 0);
	assert_true(allows(r, "evil.example"));
	assert_false(lists(r, "evil.example"));
}

TEST(what_is_no_name_is_refused_with_a_sentence)
{
	static const char *const bad[] = {"a.com:80", "http://a.com", "*a.com",  "a.*",
					  "*.",       "**",           "a.com/x", "a.com,b c/d"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct host_rules *r = NULL;
		struct err err = {""};

		assert_int_equal(host_rules_new(&r, bad[i], NULL, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "is not a name"));
	}
}

static int make(void *arg)
{
	struct host_rules *r = NULL;
	int e = host_rules_new(&r, "a.com,*.b.com", "n", NULL);

	(void)arg;
	host_rules_free(r);
	return e;
}

TEST(lack_of_memory_is_reported)
{
	check_oom(make, NULL);
}
