#include "cluster-agent/store/clickhouse_address.h"

#include <errno.h>

#include "test/lib/unit.h"

TEST(addresses_become_urls)
{
	static const struct {
		const char *text;
		bool tls;
		const char *url;
		unsigned native_port;
	} cases[] = {
		{"ch", false, "http://ch:8123/", 0},
		{"ch", true, "https://ch:8443/", 0},
		{"ch:9000", false, "http://ch:8123/", 9000},
		{"ch:9000", true, "https://ch:8443/", 9000},
		{"ch:9440", false, "https://ch:8443/", 9440},
		{"http://ch:9000", false, "http://ch:9000/", 0},
		{"HTTPS://ch/a/b", false, "https://ch:8443/a/b", 0},
		{"http://ch", true, "http://ch:8123/", 0},
		{"[::1]:1", false, "http://[::1]:1/", 0},
		{"[::1]", false, "http://[::1]:8123/", 0},
		{"10.0.0.1:8123/", false, "http://10.0.0.1:8123/", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct clickhouse_address a[CLICKHOUSE_MAX_ADDRESSES];
		struct err err = {0};

		if (clickhouse_addresses_parse(cases[i].text, cases[i].tls, a, &err) != 1)
			fail_msg("%s: %s", cases[i].text, err.msg);
		assert_string_equal(a[0].url, cases[i].url);
		assert_int_equal(a[0].native_port, cases[i].native_port);
	}
}

TEST(a_list_has_commas_or_spaces)
{
	struct clickhouse_address a[CLICKHOUSE_MAX_ADDRESSES];

	assert_int_equal(clickhouse_addresses_parse("a:1, b:2 ,,https://c", false, a, NULL), 3);
	assert_string_equal(a[0].url, "http://a:1/");
	assert_string_equal(a[1].url, "http://b:2/");
	assert_string_equal(a[2].url, "https://c:8443/");
}

TEST(bad_addresses_are_refused_and_no_password_is_shown)
{
	static const char *const bad[] = {
		"",
		",",
		":8123",
		"ch:0",
		"ch:65536",
		"ch:x",
		"ch:",
		"tcp://ch",
		"http://",
		"ch?a=b",
		"http://ch/#f",
		"a b:c",
		"[::1",
		"[x]:1",
		"-ch",
		"ch/\x01",
		"http://http://a",
		"a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a",
	};
	struct clickhouse_address a[CLICKHOUSE_MAX_ADDRESSES];
	struct err err = {0};
	char longest[600] = "http://a/";

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (clickhouse_addresses_parse(bad[i], false, a, NULL) != -EINVAL)
			fail_msg("\"%s\" was accepted", bad[i]);
	}
	memset(longest + strlen(longest), 'p', 500);
	assert_int_equal(clickhouse_addresses_parse(longest, false, a, NULL), -EINVAL);
	assert_int_equal(clickhouse_addresses_parse("http://u:geheim@ch:1", false, a, &err),
			 -EINVAL);
	assert_null(strstr(err.msg, "geheim"));
	assert_non_null(strstr(err.msg, "--clickhouse-password-file"));
}
