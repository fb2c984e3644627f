#include "common/access/session.h"
#include "test/lib/unit.h"

TEST(a_session_is_valid_for_its_key_until_it_expires)
{
	char value[SESSION_VALUE_BYTES];

	assert_int_equal(session_make("key", 1000, value), 0);
	/* HMAC-SHA256 by openssl, so that sessions survive a new release */
	assert_string_equal(
		value, "1000.e240cdc76884bad6acbc09dd9b01ffd38984af4fe9c3d3be48b8914824d12da2");
	assert_true(session_fits("key", value, 999));
	assert_false(session_fits("key", value, 1000));
	assert_false(session_fits("key", value, 1001));
	assert_false(session_fits("kez", value, 999));
	assert_false(session_fits("", value, 999));
}

TEST(whoever_changes_a_session_ends_it)
{
	char value[SESSION_VALUE_BYTES], changed[SESSION_VALUE_BYTES];
	static const char *const bad[] = {"", ".", "1000", "1000.", "99999999999999999999.ab", "x"};

	assert_int_equal(session_make("key", UINT64_MAX, value), 0);
	assert_true(session_fits("key", value, 1));
	for (size_t i = 0; value[i]; i++) {
		memcpy(changed, value, sizeof(value));
		changed[i] = changed[i] == '1' ? '2' : '1';
		assert_false(session_fits("key", changed, 1));
		changed[i] = '\0';
		assert_false(session_fits("key", changed, 1));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(session_fits("key", bad[i], 1));
}

TEST(cookies_are_found_by_their_whole_name)
{
	static const char header[] =
		"a=1; coroot_session=x; coroot_session_80=y;coroot_session_8=z; "
		"coroot_session_80=y2; coroot_session_80";
	char value[SESSION_VALUE_BYTES], big[300];

	assert_true(session_find(header, "coroot_session_80", 0, value));
	assert_string_equal(value, "y");
	assert_true(session_find(header, "coroot_session_80", 1, value));
	assert_string_equal(value, "y2");
	assert_false(session_find(header, "coroot_session_80", 2, value));
	assert_true(session_find(header, "coroot_session", 0, value));
	assert_string_equal(value, "x");
	assert_false(session_find("", "a", 0, value));
	assert_false(session_find(";;; ;", "a", 0, value));
	assert_true(session_find("a=", "a", 0, value));
	assert_string_equal(value, "");

	memset(big, 'v', sizeof(big));
	memcpy(big, "a=", 2);
	big[sizeof(big) - 1] = '\0';
	assert_true(session_find(big, "a", 0, value));
	assert_string_equal(value, "");
}

TEST(two_ports_of_a_host_have_cookies_of_their_own)
{
	struct host_name with_port, without_port;
	char name[SESSION_NAME_BYTES];

	assert_int_equal(host_name_parse(&with_port, "localhost:65535"), 0);
	assert_int_equal(host_name_parse(&without_port, "profiles.example.com"), 0);
	session_name(&with_port, name);
	assert_string_equal(name, "coroot_session_65535");
	session_name(&without_port, name);
	assert_string_equal(name, "coroot_session");
}
