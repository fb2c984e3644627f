/* On a server of this process, which has debug files of the build abcdef01. */
#include "common/debuginfod/debuginfod_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/http/http_server.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "test/lib/slow_symbols.h"
#include "test/lib/unit.h"

#define BUILD "abcdef01"

struct fixture {
	char *url, *cache;
	struct http_server *server;
	atomic_uint status; /* of answers */
	atomic_uint n_asked;
	char *data; /* of answers with 200 */
	size_t len;
};

static void serve(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	unsigned status = atomic_load(&f->status);
	char *copy;

	atomic_fetch_add(&f->n_asked, 1);
	if (status == 302) {
		assert_int_equal(http_exchange_set_header(x, "Location", "/elsewhere"), 0);
		atomic_store(&f->status, 200);
	}
	if (status != 200) {
		http_respond_text(x, status, "no");
		return;
	}
	copy = malloc(f->len);
	assert_non_null(copy);
	memcpy(copy, f->data, f->len);
	http_respond(x, 200, "application/octet-stream", copy, f->len);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct http_route routes[] = {
		{"GET", "/buildid/*", 0, serve, f}, {"GET", "/elsewhere", 0, serve, f}, {0}};
	const struct http_server_config cfg = {
		.listen = "127.0.0.1:0",
		.max_connections = 10,
		.timeout_s = 300,
		.max_body_memory_bytes = MIB,
		.max_answer_memory_bytes = 64 * MIB,
		.routes = routes,
	};
	AUTO_CLOSE int fd = slow_symbols_file(1000);
	struct stat st;
	static unsigned n;

	assert_non_null(f);
	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(fstat(fd, &st), 0);
	f->len = (size_t)st.st_size;
	f->data = malloc(f->len);
	assert_int_equal(pread(fd, f->data, f->len, 0), f->len);
	assert_true(asprintf(&f->cache, "%s/made/for/%u", temp_dir(), n++) > 0);
	assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", f->cache, 1), 0);
	assert_int_equal(http_server_new(&f->server, &cfg, NULL), 0);
	assert_true(asprintf(&f->url, "http://127.0.0.1:%u", http_server_port(f->server)) > 0);
	atomic_store(&f->status, 200);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_server_free(f->server);
	free(f->data);
	free(f->url);
	free(f->cache);
	free(f);
	return 0;
}

static struct debuginfod_client *client(const char *urls, uint64_t max_bytes, uint64_t time_ns)
{
	const struct debuginfod_client_config cfg = {
		.urls = urls, .max_file_bytes = max_bytes, .time_ns = time_ns};
	struct debuginfod_client *c = NULL;

	assert_int_equal(debuginfod_client_new(&c, &cfg, NULL), 0);
	assert_non_null(c);
	return c;
}

/* The size of a file of the cache, or -errno. */
static int64_t cached(const struct fixture *f, const char *path)
{
	AUTO_FREE char *name = NULL;
	struct stat st;

	assert_true(asprintf(&name, "%s/%s", f->cache, path) > 0);
	return stat(name, &st) == 0 ? st.st_size : -errno;
}

TEST_FIXTURE(a_debug_file_gets_into_the_cache, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(debuginfod_client_freep)
	struct debuginfod_client *c = client(f->url, 64 * MIB, 60 * NS_PER_S);

	assert_int_equal(debuginfod_client_get(c, BUILD), 0);
	assert_int_equal(cached(f, BUILD "/debuginfo"), f->len);
	assert_int_equal(debuginfod_client_counts(c).n_files, 1);
	assert_int_equal(debuginfod_client_counts(c).n_bytes, f->len);
	assert_false(debuginfod_client_counts(c).is_late);
	assert_null(debuginfod_client_problem(c));
}

TEST_FIXTURE(a_redirect_of_a_server_is_followed, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(debuginfod_client_freep)
	struct debuginfod_client *c = client(f->url, 64 * MIB, 60 * NS_PER_S);

	atomic_store(&f->status, 302);
	assert_int_equal(debuginfod_client_get(c, BUILD), 0);
	assert_int_equal(atomic_load(&f->n_asked), 2);
}

TEST_FIXTURE(what_is_absent_too_large_or_of_another_build_leaves_nothing, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(debuginfod_client_freep)
	struct debuginfod_client *c = client(f->url, 64 * MIB, 60 * NS_PER_S);
	CLEANUP(debuginfod_client_freep)
	struct debuginfod_client *small = client(f->url, f->len - 1, 60 * NS_PER_S);

	assert_int_equal(debuginfod_client_get(small, BUILD), -ENOENT);
	assert_int_equal(cached(f, BUILD), -ENOENT);
	assert_int_equal(debuginfod_client_get(c, "abcdef02"), -ENOENT);
	assert_int_equal(cached(f, "abcdef02"), -ENOENT);
	atomic_store(&f->status, 404);
	assert_int_equal(debuginfod_client_get(c, BUILD), -ENOENT);
	assert_int_equal(cached(f, BUILD), -ENOENT);
	assert_null(debuginfod_client_problem(c));
	/* it is asked again */
	atomic_store(&f->status, 200);
	assert_int_equal(debuginfod_client_get(c, BUILD), 0);
}

TEST_FIXTURE(a_server_that_fails_is_named_and_not_asked_again, set_up, tear_down)
{
	struct fixture *f = *state;
	CLEANUP(debuginfod_client_freep) struct debuginfod_client *c = NULL;
	AUTO_FREE char *urls = NULL;

	assert_true(asprintf(&urls, "http://a:b@127.0.0.1:1 %s", f->url) > 0);
	c = client(urls, 64 * MIB, 60 * NS_PER_S);
	/* the other one has it */
	assert_int_equal(debuginfod_client_get(c, BUILD), 0);
	assert_non_null(strstr(debuginfod_client_problem(c), "http://127.0.0.1:1: "));
	atomic_store(&f->status, 503);
	assert_int_equal(debuginfod_client_get(c, BUILD), -ENOENT);
	assert_int_equal(atomic_load(&f->n_asked), 2);
	assert_int_equal(debuginfod_client_get(c, BUILD), -ENOENT);
	assert_int_equal(atomic_load(&f->n_asked), 2);
	assert_int_equal(cached(f, BUILD "/debuginfo"), f->len);
}

/* Accepts connections, by the kernel, and says nothing. */
static int silent_server(char **ret_url)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 10), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_true(asprintf(ret_url, "http://127.0.0.1:%u", ntohs(a.sin_port)) > 0);
	return fd;
}

TEST_FIXTURE(nothing_is_asked_once_the_time_is_up, set_up, tear_down)
{
	struct fixture *f = *state;
	AUTO_FREE char *url = NULL;
	AUTO_CLOSE int fd = silent_server(&url);
	CLEANUP(debuginfod_client_freep)
	struct debuginfod_client *c = client(url, 64 * MIB, 20 * NS_PER_MS);

	(void)fd; /* clang takes what is only closed for unused */
	assert_int_equal(debuginfod_client_get(c, BUILD), -ETIMEDOUT);
	assert_true(debuginfod_client_counts(c).is_late);
	assert_int_equal(debuginfod_client_get(c, BUILD), -ETIMEDOUT);
	assert_int_equal(cached(f, BUILD), -ENOENT);
}

static void *stop_soon(void *ctx)
{
	debuginfod_client_stop(ctx);
	return NULL;
}

TEST_FIXTURE(another_thread_ends_the_wait, set_up, tear_down)
{
	AUTO_FREE char *url = NULL;
	AUTO_CLOSE int fd = silent_server(&url);
	CLEANUP(debuginfod_client_freep)
	struct debuginfod_client *c = client(url, 64 * MIB, 3600 * NS_PER_S);
	pthread_t thread;

	(void)fd;
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, c), 0);
	assert_int_equal(debuginfod_client_get(c, BUILD), -ETIMEDOUT);
	assert_false(debuginfod_client_counts(c).is_late);
	assert_int_equal(debuginfod_client_get(c, BUILD), -ETIMEDOUT);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST_FIXTURE(without_urls_there_is_no_client, set_up, tear_down)
{
	struct debuginfod_client_config cfg = {.urls = NULL, .time_ns = NS_PER_S};
	struct debuginfod_client *c = NULL;
	struct err err = {.msg = ""};

	assert_int_equal(debuginfod_client_new(&c, &cfg, &err), 0);
	assert_null(c);
	cfg.urls = "file:///srv/debug";
	assert_int_equal(debuginfod_client_new(&c, &cfg, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "file:///srv/debug"));
}
