/*
 * The transport against a ClickHouse server of another make: Debian's, release 18.16. It has none
 * of what our tables need, but is a real server: users, exceptions, limits, kept connections,
 * bodies in chunks. It knows neither zstd nor most of our settings, so falling back is tested, too.
 * The environment names its program as CLICKHOUSE_OLD_SERVER.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <zstd.h>

#include "cluster-agent/store/clickhouse_client.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

#define N_ROWS 100000u

extern char **environ;

static const char *dir;
static unsigned port;
static pid_t pid;

static const char config[] =
	"<yandex><logger><level>fatal</level><console>1</console></logger>"
	"<listen_host>127.0.0.1</listen_host><http_port>%u</http_port><tcp_port>%u</tcp_port>"
	"<path>%s/data/</path><tmp_path>%s/tmp/</tmp_path><users_config>users.xml</users_config>"
	"<format_schema_path>%s/tmp/</format_schema_path>"
	"<default_profile>default</default_profile><default_database>default</default_database>"
	"<mark_cache_size>5000000</mark_cache_size></yandex>\n";

static const char users[] =
	"<yandex><profiles><default></default><limited><max_execution_time>1</max_execution_time>"
	"<readonly>1</readonly></limited></profiles><users>"
	"<default><password>secret</password><networks><ip>127.0.0.1</ip></networks>"
	"<profile>default</profile><quota>default</quota></default>"
	"<limited><password></password><networks><ip>127.0.0.1</ip></networks>"
	"<profile>limited</profile><quota>default</quota></limited>"
	"</users><quotas><default></default></quotas></yandex>\n";

/* ---- the server ---- */

static void write_file(const char *name, const char *format, ...) PRINTF_LIKE(2, 3);
static void write_file(const char *name, const char *format, ...)
{
	char path[128];
	va_list args;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

static int run_on(const char *user, const char *password, const char *sql, struct buf *out,
		  struct clickhouse_failure *f);

static bool answers(void)
{
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;

	buf_init(&out, 1000);
	return run_on("default", "secret", "SELECT 1", &out, &f) == 0;
}

/* Ports are chosen by chance, as the server cannot choose; one that is taken makes it exit. */
static void start_server(void)
{
	char argument[96];
	const char *path = getenv("CLICKHOUSE_OLD_SERVER");
	const char *args[] = {"clickhouse-server", argument, NULL};

	for (unsigned attempt = 0; attempt < 20; attempt++) {
		port = 20000 + (unsigned)(clock_realtime_ns() / 1000 + (unsigned)getpid()) % 10000;
		write_file("config.xml", config, port, port + 10000, dir, dir, dir);
		write_file("users.xml", "%s", users);
		snprintf(argument, sizeof(argument), "--config-file=%s/config.xml", dir);
		assert_int_equal(posix_spawn(&pid, path, NULL, NULL, (char *const *)(uintptr_t)args,
					     environ),
				 0);
		for (int i = 0; i < 6000 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
			if (answers())
				return;
			usleep(20000);
		}
	}
	fail_msg("the server did not start");
}

static void stop_server(int signo)
{
	kill(pid, signo);
	waitpid(pid, NULL, 0);
}

static int start(void **state)
{
	(void)state;
	dir = temp_dir();
	start_server();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	stop_server(SIGKILL);
	return 0;
}

/* ---- its client ---- */

static struct clickhouse_client *make_client(const char *user, const char *password,
					     const char *password_file)
{
	struct clickhouse_address address = {0};
	const struct clickhouse_client_config cfg = {.addresses = &address,
						     .n_addresses = 1,
						     .user = user,
						     .password = password,
						     .password_file = password_file};
	struct clickhouse_client *c = NULL;

	snprintf(address.url, sizeof(address.url), "http://127.0.0.1:%u/", port);
	assert_int_equal(clickhouse_client_new(&c, &cfg, NULL), 0);
	return c;
}

static const struct clickhouse_setting whole = {"wait_end_of_query", "1"};

static int run(struct clickhouse_client *c, const char *sql, struct buf *out,
	       struct clickhouse_failure *f)
{
	const struct clickhouse_statement st = {
		.sql = sql,
		.settings = &whole,
		.n_settings = 1,
		.timeout_ns = 120 * NS_PER_S,
		.attempt_timeout_ns = 120 * NS_PER_S,
		.cancellable = true,
		.repeatable = true,
	};

	return clickhouse_client_run(c, &st, out, f, NULL);
}

static int run_on(const char *user, const char *password, const char *sql, struct buf *out,
		  struct clickhouse_failure *f)
{
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;

	c = make_client(user, password, NULL);
	return run(c, sql, out, f);
}

/* ---- tests ---- */

TEST(exceptions_have_code_and_advice)
{
	static const struct {
		const char *user;
		const char *password;
		const char *sql;
		int code;
		enum clickhouse_advice advice;
	} cases[] = {
		{"nobody", "", "SELECT 1", 192, CLICKHOUSE_DENIED},
		{"default", "wrong", "SELECT 1", 193, CLICKHOUSE_DENIED},
		{"default", "", "SELECT 1", 194, CLICKHOUSE_DENIED},
		{"default", "secret", "SELECT * FROM nothing", 60, CLICKHOUSE_SCHEMA},
		{"default", "secret", "SELEKT 1", 62, CLICKHOUSE_FAULT},
		{"default", "secret", "SELECT 1 SETTINGS nothing = 1", 115, CLICKHOUSE_SETTING},
		{"limited", "", "CREATE TABLE x (a Int8) ENGINE = Memory", 164, CLICKHOUSE_DENIED},
		{"limited", "", "SELECT count() FROM system.numbers", 159, CLICKHOUSE_BUSY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_fini) struct buf out;
		struct clickhouse_failure f;
		int r;

		buf_init(&out, 10000);
		r = run_on(cases[i].user, cases[i].password, cases[i].sql, &out, &f);
		if (r != -EREMOTEIO || f.code != cases[i].code || f.advice != cases[i].advice)
			fail_msg("%s: %d, code %d, advice %d", cases[i].sql, r, f.code, f.advice);
		assert_int_equal(clickhouse_code(out.data, out.len), f.code);
	}
}

TEST(a_new_password_is_read_from_its_file)
{
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;
	char path[96];

	buf_init(&out, 10000);
	snprintf(path, sizeof(path), "%s/password", dir);
	write_file("password", "old\n");
	c = make_client("default", NULL, path);
	assert_int_equal(run(c, "SELECT 1", &out, &f), -EREMOTEIO);
	assert_int_equal(f.advice, CLICKHOUSE_DENIED);
	write_file("password", "secret\n");
	out.len = 0;
	assert_int_equal(run(c, "SELECT 1", &out, &f), 0);
	assert_string_equal(out.data, "1\n");
}

TEST(long_parameters_arrive_as_a_form)
{
	char text[8001];
	const struct store_param param = {"long", text};
	const struct clickhouse_statement st = {
		.sql = "SELECT 1",
		.params = &param,
		.n_params = 1,
		.timeout_ns = 120 * NS_PER_S,
		.attempt_timeout_ns = 120 * NS_PER_S,
	};
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	buf_init(&out, 100000);
	c = make_client("default", "secret", NULL);
	/* it binds no parameters, and takes them for settings: it has read the name */
	assert_int_equal(clickhouse_client_run(c, &st, &out, &f, NULL), -EREMOTEIO);
	assert_non_null(strstr(out.data, "Unknown setting param_long"));
}

TEST(compressed_answers_are_inflated)
{
	static const struct clickhouse_setting settings[] = {{"enable_http_compression", "1"},
							     {"wait_end_of_query", "1"}};
	const struct clickhouse_statement st = {
		.sql = "SELECT number FROM system.numbers LIMIT 100000",
		.settings = settings,
		.n_settings = 2,
		.timeout_ns = 120 * NS_PER_S,
		.attempt_timeout_ns = 120 * NS_PER_S,
	};
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;

	buf_init(&out, 1000000);
	c = make_client("default", "secret", NULL);
	assert_int_equal(clickhouse_client_run(c, &st, &out, &f, NULL), 0);
	assert_int_equal(out.len, 588890);
	assert_string_equal(out.data + out.len - 7, "\n99999\n");
}

static int insert(struct clickhouse_client *c, size_t n_frames, struct clickhouse_failure *f)
{
	CLEANUP(buf_fini) struct buf rows, packed, answer;
	struct store_frame frames[4];
	const struct clickhouse_statement st = {
		.sql = "INSERT INTO t FORMAT RowBinary",
		.frames = frames,
		.n_frames = n_frames,
		.timeout_ns = 120 * NS_PER_S,
		.attempt_timeout_ns = 120 * NS_PER_S,
	};

	buf_init(&rows, SIZE_MAX);
	buf_init(&packed, SIZE_MAX);
	buf_init(&answer, 10000);
	for (uint64_t i = 0; i < N_ROWS; i++)
		assert_int_equal(buf_add(&rows, &i, sizeof(i)), 0);
	assert_int_equal(buf_reserve(&packed, ZSTD_compressBound(rows.len)), 0);
	packed.len = ZSTD_compress(packed.data, packed.cap, rows.data, rows.len, 1);
	assert_false(ZSTD_isError(packed.len));
	for (size_t i = 0; i < n_frames; i++)
		frames[i] = (struct store_frame){.data = packed.data, .len = packed.len};
	return clickhouse_client_run(c, &st, &answer, f, NULL);
}

TEST(rows_are_inflated_for_a_server_without_zstd)
{
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;

	buf_init(&out, 10000);
	c = make_client("default", "secret", NULL);
	assert_int_equal(run(c, "CREATE TABLE t (n UInt64) ENGINE = Memory", &out, &f), 0);
	assert_int_equal(insert(c, 4, &f), 0);
	assert_int_equal(insert(c, 1, &f), 0);
	assert_int_equal(run(c, "SELECT count(), sum(n) FROM t", &out, &f), 0);
	assert_string_equal(out.data, "500000\t24999750000\n");
}

static void *stop_soon(void *client)
{
	usleep(300000);
	clickhouse_client_stop(client);
	return NULL;
}

TEST(a_stop_ends_a_query_that_runs)
{
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;
	pthread_t thread;

	buf_init(&out, 10000);
	c = make_client("default", "secret", NULL);
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, c), 0);
	assert_int_equal(run(c, "SELECT count() FROM system.numbers", &out, &f), -EPIPE);
	pthread_join(thread, NULL);
}

static void *kill_soon(void *arg)
{
	(void)arg;
	usleep(300000);
	stop_server(SIGKILL);
	return NULL;
}

TEST(a_killed_server_is_no_answer)
{
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	CLEANUP(buf_fini) struct buf out;
	struct clickhouse_failure f;
	pthread_t thread;

	buf_init(&out, 10000);
	c = make_client("default", "secret", NULL);
	assert_int_equal(pthread_create(&thread, NULL, kill_soon, NULL), 0);
	assert_int_equal(run(c, "SELECT count() FROM system.numbers", &out, &f), -EAGAIN);
	pthread_join(thread, NULL);
	assert_int_equal(insert(c, 1, &f), -EAGAIN);
	start_server();
}

int main(void)
{
	if (!getenv("CLICKHOUSE_OLD_SERVER")) {
		fprintf(stderr, "CLICKHOUSE_OLD_SERVER is not set\n");
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	return unit_run(start, stop);
}
