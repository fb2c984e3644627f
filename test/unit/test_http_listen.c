#include <arpa/inet.h>
#include <errno.h>

#include "common/http/http_listen.h"
#include "test/lib/unit.h"

TEST(listen_addresses_are_read)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
		bool dual_stack;
	} cases[] = {
		{"127.0.0.1:80", "127.0.0.1", 80, false},
		{"0.0.0.0:0", "0.0.0.0", 0, false},
		{"[::1]:65535", "::1", 65535, false},
		{"[::]:80", "::", 80, false},
		{":8080", "::", 8080, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sockaddr_storage addr;
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)&addr;
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&addr;
		char host[INET6_ADDRSTRLEN];
		bool dual_stack;

		assert_int_equal(http_parse_listen(cases[i].text, &addr, &dual_stack, NULL), 0);
		assert_int_equal(dual_stack, cases[i].dual_stack);
		/* the port is at the same place in both families */
		assert_int_equal(ntohs(v4->sin_port), cases[i].port);
		assert_non_null(inet_ntop(addr.ss_family,
					  addr.ss_family == AF_INET ? (const void *)&v4->sin_addr
								    : &v6->sin6_addr,
					  host, sizeof(host)));
		assert_string_equal(host, cases[i].host);
	}
}

TEST(bad_listen_addresses_are_refused_with_a_sentence)
{
	static const char *const bad[] = {
		"",           "80",        "localhost:80",  "127.0.0.1",   "127.0.0.1:",
		"1.2.3.4:x",  ":65536",    "127.0.0.1:-1",  "::1:80",      "[::1]80",
		"[::1:80",    "]:80",      "[127.0.0.1]:1", "256.0.0.1:1", "[]:80",
		"1.2.3.4 :1", "[::1%lo]:1"};
	char too_long[400];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct sockaddr_storage addr;
		struct err err = {""};
		bool dual_stack;

		assert_int_equal(http_parse_listen(bad[i], &addr, &dual_stack, &err), -EINVAL);
		assert_true(strlen(err.msg) > 10);
	}
	for (size_t len = 30; len < sizeof(too_long) - 3; len++) {
		struct sockaddr_storage addr;
		bool dual_stack;

		memset(too_long, '1', len);
		memcpy(too_long + len, ":1", 3);
		assert_int_equal(http_parse_listen(too_long, &addr, &dual_stack, NULL), -EINVAL);
	}
}

TEST(sockets_listen_where_the_text_says)
{
	static const char *const texts[] = {"127.0.0.1:0", ":0"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct sockaddr_in addr = {.sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		AUTO_CLOSE int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		AUTO_CLOSE int fd = -1;
		unsigned port = 0;

		fd = http_listen(texts[i], &port, NULL);
		assert_true(fd >= 0);
		addr.sin_port = htons((uint16_t)port);
		assert_int_equal(connect(client, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	}
}

TEST(a_taken_port_is_an_error_with_a_sentence)
{
	AUTO_CLOSE int fd = -1;
	struct err err = {""};
	unsigned port = 0, unused;
	char text[32];

	fd = http_listen("127.0.0.1:0", &port, NULL);
	assert_true(fd >= 0);
	snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	assert_int_equal(http_listen(text, &unused, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, text));
	assert_int_equal(http_listen("192.0.2.1:0", &unused, &err), -EADDRNOTAVAIL);
}

TEST(recognizes_loopback_addresses)
{
	static const char *const yes[] = {"127.0.0.1:8123", "127.1.2.3:0", "[::1]:8123"};
	static const char *const no[] = {":8123",           "0.0.0.0:8123",
					 "[::]:8123",       "10.0.0.1:8123",
					 "localhost:8123",  "localhost.evil.com:8123",
					 "127.0.0.1",       "128.0.0.1:8123",
					 "[fe80::1]:8123",  "",
					 "127.0.0.1.evil:1"};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(http_listen_is_loopback(yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(http_listen_is_loopback(no[i]));
}
