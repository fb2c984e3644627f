/* Assets, which are stored gzipped, for clients that take gzip and for those that do not. */
#include "common/http/http_server.h"
#include "test/lib/raw_client.h"
#include "test/lib/unit.h"

/* "p{color:red}", by "gzip -n" */
static const char zipped[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x2b\xa8\x4e\xce\xcf\xc9"
			     "\x2f\xb2\x2a\x4a\x4d\xa9\x05\x00\xc1\x24\x58\xcc\x0c\x00\x00\x00";

static void zipped_asset(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_respond_static(x, "text/css", zipped, sizeof(zipped) - 1, true);
}

static int set_up(void **state)
{
	const struct http_route routes[] = {{"GET", "/asset", 0, zipped_asset, NULL}, {0}};
	struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.max_connections = 10,
		.timeout_s = 300,
		.max_body_memory_bytes = 1 << 20,
		.routes = routes,
	};
	struct http_server *server = NULL;
	int r = http_server_new(&server, &cfg, NULL);

	*state = server;
	return r;
}

static int tear_down(void **state)
{
	http_server_free(*state);
	return 0;
}

/* Returns the reply up to its first zero byte. */
static char *get(const struct http_server *s, const char *header)
{
	int fd = raw_client_connect(http_server_port(s));
	char request[200], *reply;

	snprintf(request, sizeof(request),
		 "GET /asset HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", header);
	raw_client_send(fd, request);
	reply = raw_client_read(fd, NULL);
	close(fd);
	return reply;
}

TEST_FIXTURE(who_takes_gzip_gets_the_stored_bytes, set_up, tear_down)
{
	AUTO_FREE char *reply = get(*state, "Accept-Encoding: br, gzip\r\n");
	const char *body = strstr(reply, "\r\n\r\n") + 4;

	assert_non_null(strstr(reply, "\r\nContent-Encoding: gzip\r\n"));
	assert_non_null(strstr(reply, "\r\nVary: Accept-Encoding\r\n"));
	assert_memory_equal(body, zipped, 3);
}

TEST_FIXTURE(others_get_what_they_hold, set_up, tear_down)
{
	static const char *const headers[] = {"", "Accept-Encoding: identity\r\n",
					      "Accept-Encoding: gzip;q=0\r\n",
					      "Accept-Encoding: *;q=0, br\r\n"};

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		AUTO_FREE char *reply = get(*state, headers[i]);

		assert_null(strstr(reply, "Content-Encoding"));
		assert_non_null(strstr(reply, "\r\nVary: Accept-Encoding\r\n"));
		assert_non_null(strstr(reply, "\r\nContent-Length: 12\r\n"));
		assert_non_null(strstr(reply, "\r\n\r\np{color:red}"));
	}
}
