#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "common/http/http_base_path.h"
#include "common/http/http_server.h"
#include "test/lib/unit.h"

TEST(a_slash_at_the_end_says_nothing)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{NULL, ""},
		{"", ""},
		{"/", ""},
		{"/coroot", "/coroot"},
		{"/coroot/", "/coroot"},
		{"/a/b-c_d~e.f/0", "/a/b-c_d~e.f/0"},
		{"/.well-known", "/.well-known"},
		{"/...", "/..."},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[HTTP_BASE_PATH_BYTES];

		assert_int_equal(http_base_path_parse(path, cases[i].text, NULL), 0);
		assert_string_equal(path, cases[i].path);
	}
}

TEST(what_proxies_may_rewrite_is_refused)
{
	static const char *const texts[] = {
		"coroot", "//",    "/a//b", "/a//",      "//a",   "/.",    "/..",  "/a/../b",
		"/a/./b", "/a/..", "/a b",  "/a%2f",     "/a?b",  "/a#b",  "/a;b", "/\xc3\xa4",
		"/a\nb",  "/a\\b", "/a:b",  "http://x/", "/a\"b", "/a{b}", "/a,b",
	};
	char path[HTTP_BASE_PATH_BYTES] = "unchanged", longest[HTTP_BASE_PATH_BYTES + 2];
	struct err err = {""};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		err.msg[0] = '\0';
		if (http_base_path_parse(path, texts[i], &err) != -EINVAL)
			fail_msg("\"%s\" is taken", texts[i]);
		assert_string_not_equal(err.msg, "");
	}
	assert_string_equal(path, "unchanged");
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	longest[HTTP_BASE_PATH_BYTES] = '\0';
	assert_int_equal(http_base_path_parse(path, longest, &err), -EINVAL);
	longest[HTTP_BASE_PATH_BYTES - 1] = '\0';
	assert_int_equal(http_base_path_parse(path, longest, &err), 0);
	assert_string_equal(path, longest);
}

TEST(what_is_below_ends_at_a_slash)
{
	assert_string_equal(http_base_path_below("/a", "/a/b"), "/b");
	assert_string_equal(http_base_path_below("/a", "/a/"), "/");
	assert_string_equal(http_base_path_below("/a", "/a"), "");
	assert_string_equal(http_base_path_below("/a/b", "/a/b/c"), "/c");
	assert_null(http_base_path_below("/a", "/ab"));
	assert_null(http_base_path_below("/a/b", "/a"));
	assert_null(http_base_path_below("/a", "/"));
	assert_null(http_base_path_below("", "/a"));
}

TEST(paths_of_the_server_itself_collide)
{
	static const struct http_route routes[] = {
		{.method = "GET", .path = "/"},
		{.method = "GET", .path = "/page"},
		{.method = "POST", .path = "/v1/send"},
		{.method = "GET", .path = "/api/*"},
		{},
	};

	assert_true(http_base_path_collides("/page", routes));
	assert_true(http_base_path_collides("/v1", routes));
	assert_true(http_base_path_collides("/v1/send", routes));
	assert_true(http_base_path_collides("/api", routes));
	assert_true(http_base_path_collides("/api/x", routes));
	assert_false(http_base_path_collides("/apis", routes));
	assert_false(http_base_path_collides("/v1/sender", routes));
	assert_false(http_base_path_collides("/pages", routes));
	assert_false(http_base_path_collides("", routes));
}

/* ---- a server ---- */

static void serve(void *ctx, struct http_exchange *x)
{
	const struct access_request req = http_exchange_access(x);

	(void)ctx;
	http_respond_text(x, 200, "path=%s base=%s", http_exchange_path(x), req.base_path);
}

static const struct http_route server_routes[] = {
	{"GET", "/", 0, serve, NULL, .scope = ACCESS_ANYONE},
	{"POST", "/send", 100, serve, NULL, .scope = ACCESS_ANYONE},
	{"GET", "/files/*", 0, serve, NULL, .scope = ACCESS_ANYONE},
	{},
};

static struct http_server_config config_of(const char *base_path)
{
	return (struct http_server_config){
		.listen = "127.0.0.1:0",
		.max_connections = 10,
		.timeout_s = 60,
		.max_body_memory_bytes = 1000,
		.routes = server_routes,
		.base_path = base_path,
	};
}

static void ask(const struct http_server *s, const char *line, char ret[static 2048])
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)http_server_port(s)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char request[512];
	size_t got = 0;
	ssize_t r;

	snprintf(request, sizeof(request),
		 "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", line);
	assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&addr, sizeof(addr)),
			 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	while (got < 2047 && (r = recv(fd, ret + got, 2047 - got, 0)) > 0)
		got += (size_t)r;
	ret[got] = '\0';
}

TEST(every_route_is_below_the_path_and_at_the_root)
{
	static const struct {
		const char *line, *answer;
	} cases[] = {
		{"GET /", "path=/ base=\n"},
		{"GET /x/y/", "path=/ base=/x/y\n"},
		{"GET /files/a", "path=/files/a base=\n"},
		{"GET /x/y/files/a?b=c", "path=/files/a base=/x/y\n"},
		{"POST /send", "path=/send base=\n"},
		{"POST /x/y/send", "path=/send base=/x/y\n"},
		{"GET /x/y//", "HTTP/1.1 404 "},
		{"GET /x/y/none", "HTTP/1.1 404 "},
		{"GET /x/yz/", "HTTP/1.1 404 "},
		{"GET /x", "HTTP/1.1 404 "},
		{"POST /x/y", "HTTP/1.1 405 "},
		{"POST /x/y/files/a", "HTTP/1.1 405 "},
	};
	const struct http_server_config cfg = config_of("/x/y/");
	CLEANUP(http_server_freep) struct http_server *s = NULL;
	char answer[2048];

	assert_int_equal(http_server_new(&s, &cfg, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ask(s, cases[i].line, answer);
		if (!strstr(answer, cases[i].answer))
			fail_msg("%s: %s", cases[i].line, answer);
	}
}

TEST(the_path_itself_leads_to_what_is_below)
{
	static const struct {
		const char *line, *location;
	} cases[] = {
		{"GET /x", "Location: /x/\r\n"},
		{"HEAD /x", "Location: /x/\r\n"},
		{"GET /x?a=%2Fb%26c&d&a=2", "Location: /x/?a=/b%26c&d=&a=2\r\n"},
		{"GET /x?a=%0D%0AX:y", "Location: /x/?a=%0D%0AX%3Ay\r\n"},
	};
	const struct http_server_config cfg = config_of("/x");
	CLEANUP(http_server_freep) struct http_server *s = NULL;
	char answer[2048];

	assert_int_equal(http_server_new(&s, &cfg, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ask(s, cases[i].line, answer);
		assert_non_null(strstr(answer, "HTTP/1.1 302 "));
		if (!strstr(answer, cases[i].location))
			fail_msg("%s: %s", cases[i].line, answer);
	}
}

TEST(a_server_refuses_a_path_of_its_own)
{
	const struct http_server_config own = config_of("/files"), bad = config_of("x");
	struct http_server *s = NULL;
	struct err err = {""};

	assert_int_equal(http_server_new(&s, &own, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "/files is a path of the agent itself"));
	assert_int_equal(http_server_new(&s, &bad, &err), -EINVAL);
	assert_null(s);
}
