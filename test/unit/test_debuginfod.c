/*
 * On a server of this process. The program that reads files is this one, executed with the agent's
 * command; so are the files.
 */
#include "cluster-agent/symbols/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster-agent/symbols/symbol_helper.h"
#include "common/data/buf.h"
#include "common/http/http_server.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "test/lib/slow_symbols.h"
#include "test/lib/unit.h"

#define WAIT_NS (300 * NS_PER_S)

static char own_path[PATH_MAX]; /* /proc/self/exe would be valgrind's */

struct fixture {
	char *dir, *url;
	struct symbol_store *store;
	struct debuginfod *d;
	struct http_server *server;
	struct metrics *metrics;
	_Atomic unsigned status; /* of answers */
	atomic_uint n_asked;
	const char *_Atomic location; /* of redirects */
	char *data;                   /* of answers with 200 */
	size_t len;
};

static void serve(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	unsigned status = atomic_load(&f->status);
	const char *location = atomic_load(&f->location);
	char *copy;

	atomic_fetch_add(&f->n_asked, 1);
	if (status == 302) {
		assert_int_equal(http_exchange_set_header(x, "Location", location), 0);
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

static void start(struct fixture *f, uint64_t max_file_bytes)
{
	struct err err = {.msg = ""};
	const struct debuginfod_config cfg = {
		.urls = f->url,
		.max_file_bytes = max_file_bytes,
		.store = f->store,
		.reader_program = own_path,
		.retry_min_ns = 10 * NS_PER_MS,
	};

	assert_int_equal(metrics_new(&f->metrics), 0);
	assert_int_equal(debuginfod_new(&f->d, &cfg, &err), 0);
	assert_non_null(f->d);
	assert_ptr_equal(symbol_store_debuginfod(f->store), f->d);
	assert_int_equal(debuginfod_register(f->d, f->metrics), 0);
}

static void stop(struct fixture *f)
{
	debuginfod_free(TAKE_PTR(f->d));
	assert_null(symbol_store_debuginfod(f->store));
	metrics_free(TAKE_PTR(f->metrics));
}

static void read_all(int fd, struct fixture *f)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	f->len = (size_t)st.st_size;
	free(f->data);
	f->data = malloc(f->len);
	assert_int_equal(pread(fd, f->data, f->len, 0), f->len);
	close(fd);
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
		.max_answer_memory_bytes = 512 * MIB,
		.routes = routes,
	};
	static unsigned n;

	assert_true(asprintf(&f->dir, "%s/symbols%u", temp_dir(), n++) > 0);
	assert_int_equal(
		symbol_store_open(&f->store, &(struct symbol_store_config){f->dir, 64 * MIB}, NULL),
		0);
	assert_int_equal(http_server_new(&f->server, &cfg, NULL), 0);
	assert_true(asprintf(&f->url, "http://127.0.0.1:%u/", http_server_port(f->server)) > 0);
	atomic_store(&f->status, 200);
	read_all(slow_symbols_file(1000), f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	if (f->d)
		stop(f);
	http_server_free(f->server);
	symbol_store_close(f->store);
	free(f->data);
	free(f->url);
	free(f->dir);
	free(f);
	return 0;
}

static const struct asked_want wanted = {.key = {.id = {0xab, 0xcd, 0xef, 0x01}, .n_bytes = 4},
					 .weight = 1};

static struct debuginfod_status want(struct fixture *f)
{
	struct debuginfod_status s;

	debuginfod_want(f->d, &wanted, 1, WAIT_NS);
	debuginfod_status(f->d, &wanted.key, &s);
	return s;
}

/* The value of a metric, by its whole name. */
static unsigned long counted(struct fixture *f, const char *name)
{
	CLEANUP(buf_fini) struct buf text;
	AUTO_FREE char *line = NULL;
	const char *at;

	buf_init(&text, MIB);
	assert_int_equal(metrics_write(f->metrics, &text), 0);
	assert_true(asprintf(&line, "\ncoroot_cluster_agent_debuginfod_%s ", name) > 0);
	at = strstr(text.data, line);
	assert_non_null(at);
	return strtoul(at + strlen(line), NULL, 10);
}

TEST_FIXTURE(symbols_come_once, set_up, tear_down)
{
	struct fixture *f = *state;
	struct debuginfod_status s;

	start(f, 64 * MIB);
	assert_int_equal(atomic_load(&f->n_asked), 0);
	s = want(f);
	assert_false(s.is_coming);
	assert_string_equal(s.why, "");
	assert_true(symbol_store_has(f->store, &wanted.key, false));
	assert_int_equal(atomic_load(&f->n_asked), 1);
	assert_int_equal(counted(f, "builds_total{result=\"named\"}"), 1);
	assert_int_equal(counted(f, "waiting"), 0);
}

TEST_FIXTURE(what_is_absent_is_not_asked_for_again_after_a_restart, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, 64 * MIB);
	atomic_store(&f->status, 404);
	assert_string_equal(want(f).why, asked_reason_texts[ASKED_ABSENT]);
	assert_string_equal(want(f).why, asked_reason_texts[ASKED_ABSENT]);
	assert_int_equal(counted(f, "remembered"), 1);
	stop(f);
	start(f, 64 * MIB);
	assert_string_equal(want(f).why, asked_reason_texts[ASKED_ABSENT]);
	assert_int_equal(atomic_load(&f->n_asked), 1);
}

TEST_FIXTURE(a_file_has_a_limit, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, 4096);
	assert_string_equal(want(f).why, asked_reason_texts[ASKED_TOO_LARGE]);
	assert_int_equal(counted(f, "requests_total{result=\"too_large\"}"), 1);
	assert_int_equal(counted(f, "builds_total{result=\"too_large\"}"), 1);
}

TEST_FIXTURE(a_file_of_another_build_is_refused, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, 64 * MIB);
	f->data[SLOW_SYMBOLS_BUILD_ID_OFFSET] ^= 1;
	assert_string_equal(want(f).why, asked_reason_texts[ASKED_NOT_VALID]);
	assert_false(symbol_store_has(f->store, &wanted.key, false));
}

TEST_FIXTURE(a_redirect_is_followed, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, 64 * MIB);
	atomic_store(&f->location, "/elsewhere");
	atomic_store(&f->status, 302);
	want(f);
	assert_true(symbol_store_has(f->store, &wanted.key, false));
	assert_int_equal(atomic_load(&f->n_asked), 2);
}

TEST_FIXTURE(a_server_that_fails_is_asked_again, set_up, tear_down)
{
	struct fixture *f = *state;

	start(f, 64 * MIB);
	atomic_store(&f->status, 500);
	want(f);
	eventually(counted(f, "requests_total{result=\"failed\"}") >= 2);
	assert_false(symbol_store_has(f->store, &wanted.key, false));
	atomic_store(&f->status, 200);
	eventually((want(f), symbol_store_has(f->store, &wanted.key, false)));
}

/* The process that reads: a child of the helper. 0: there is none. */
static pid_t reader(void)
{
	pid_t helper = slow_symbols_helper();

	return helper > 0 ? slow_symbols_child(helper) : 0;
}

TEST_FIXTURE(a_reader_that_is_killed_is_counted_and_the_file_read_again, set_up, tear_down)
{
	struct fixture *f = *state;
	pid_t pid = 0;

	read_all(slow_symbols_file(SLOW_SYMBOLS_MANY), f);
	start(f, 64 * MIB);
	debuginfod_want(f->d, &wanted, 1, 0);
	eventually((pid = reader()) > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	eventually(counted(f, "reader_ended_total") == 1);
	eventually((want(f), symbol_store_has(f->store, &wanted.key, false)));
	assert_int_equal(counted(f, "builds_total{result=\"named\"}"), 1);
}

TEST_FIXTURE(a_helper_that_is_killed_comes_back_and_the_file_is_read_again, set_up, tear_down)
{
	struct fixture *f = *state;

	read_all(slow_symbols_file(SLOW_SYMBOLS_MANY), f);
	start(f, 64 * MIB);
	debuginfod_want(f->d, &wanted, 1, 0);
	eventually(reader() > 0);
	assert_int_equal(kill(slow_symbols_helper(), SIGKILL), 0);
	eventually(counted(f, "reader_ended_total") == 1);
	eventually((want(f), symbol_store_has(f->store, &wanted.key, false)));
	assert_int_equal(counted(f, "builds_total{result=\"named\"}"), 1);
	assert_int_equal(counted(f, "builds_total{result=\"reader\"}"), 0);
}

TEST_FIXTURE(an_idle_helper_that_is_killed_is_counted_and_there_for_the_next_file, set_up,
	     tear_down)
{
	struct fixture *f = *state;
	pid_t helper = 0;

	start(f, 64 * MIB);
	eventually((helper = slow_symbols_helper()) > 0);
	assert_int_equal(kill(helper, SIGKILL), 0);
	eventually(counted(f, "reader_ended_total") == 1);
	eventually((want(f), symbol_store_has(f->store, &wanted.key, false)));
	assert_int_equal(counted(f, "reader_ended_total"), 1);
}

TEST_FIXTURE(without_servers_there_is_none, set_up, tear_down)
{
	struct fixture *f = *state;
	struct debuginfod_config cfg = {.store = f->store};
	struct debuginfod *d = NULL;
	struct err err = {.msg = ""};

	assert_int_equal(debuginfod_new(&d, &cfg, &err), 0);
	assert_null(d);
	cfg.urls = "file:///x";
	assert_int_equal(debuginfod_new(&d, &cfg, &err), -EINVAL);
	assert_null(symbol_store_debuginfod(f->store));
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);

	if (argc == 2 && strcmp(argv[1], SYMBOL_HELPER_COMMAND) == 0)
		return symbol_helper_run(NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	assert_true(n > 0);
	(void)signal(SIGPIPE, SIG_IGN);
	return unit_run(NULL, NULL);
}
