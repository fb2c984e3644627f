/*
 * The configuration that the operator makes, read by two real ClickHouse: Debian's server, and the
 * engine inside the agent. The server, release 18.16, is older than what the operator installs, so
 * the file's root is renamed for it, and a size added that it insists on. The engine is newer, and
 * is asked for what the server does not know: disks and policies; nothing is behind its bucket.
 * Ports and the directory of data are the test's.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "cluster-agent/operator/render/clickhouse_config_xml.h"
#include "cluster-agent/store/chdb_api.h"
#include "cluster-agent/store/clickhouse_client.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

static const char *dir;
static unsigned port;
static pid_t pid;

/* Replaces the first place; text is by malloc(3). */
static char *replace(char *text, const char *what, const char *by)
{
	const char *at = strstr(text, what);
	char *made = NULL;

	assert_non_null(at);
	assert_true(asprintf(&made, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what)) > 0);
	free(text);
	return made;
}

static char *replace_number(char *text, const char *what, const char *element, unsigned number)
{
	char by[64];

	snprintf(by, sizeof(by), "<%s>%u</%s>", element, number, element);
	return replace(text, what, by);
}

/* Hosts of the cluster have no names here, so the only one is this machine. */
static char *make_config(const char *endpoint, const char *data_dir)
{
	struct coroot_spec s = {
		.name = "main",
		.namespace = "coroot",
		.clickhouse = {.shards = 1,
			       .replicas = 1,
			       .log_level = "fatal",
			       .keeper.replicas = 3,
			       .s3 = {.endpoint = endpoint,
				      .cache_size = "10Gi",
				      .move_factor = "0.25"}},
	};
	struct buf out;
	char *text;
	size_t len;

	buf_init(&out, 1 << 20);
	assert_int_equal(clickhouse_config_xml(&out, &s), 0);
	text = replace(buf_take(&out, &len),
		       "<host>main-clickhouse-shard-0-0.main-clickhouse-headless.coroot</host>",
		       "<host>127.0.0.1</host>");
	while (strstr(text, "/var/lib/clickhouse/"))
		text = replace(text, "/var/lib/clickhouse/", data_dir);
	return text;
}

static char *make_old_config(void)
{
	char data[96], *text;

	snprintf(data, sizeof(data), "%s/data/", dir);
	text = make_config("https://b.example/?a=1&b=<2>/", data);
	text = replace(text, "<clickhouse>", "<yandex><mark_cache_size>5000000</mark_cache_size>");
	text = replace(text, "</clickhouse>", "</yandex>");
	text = replace_number(text, "<http_port>8123</http_port>", "http_port", port);
	text = replace_number(text, "<interserver_http_port>9009</interserver_http_port>",
			      "interserver_http_port", port + 10000);
	return replace_number(text, "<tcp_port>9000</tcp_port>", "tcp_port", port + 20000);
}

static int ask(const char *password, const char *sql, struct buf *out, int *ret_code)
{
	CLEANUP(clickhouse_client_freep) struct clickhouse_client *c = NULL;
	struct clickhouse_address address = {0};
	const struct clickhouse_client_config cfg = {
		.addresses = &address, .n_addresses = 1, .user = "default", .password = password};
	const struct clickhouse_statement st = {.sql = sql,
						.timeout_ns = 120 * NS_PER_S,
						.attempt_timeout_ns = 120 * NS_PER_S,
						.repeatable = true};
	struct clickhouse_failure f;
	int r;

	snprintf(address.url, sizeof(address.url), "http://127.0.0.1:%u/", port);
	assert_int_equal(clickhouse_client_new(&c, &cfg, NULL), 0);
	r = clickhouse_client_run(c, &st, out, &f, NULL);
	*ret_code = f.code;
	return r;
}

static bool answers(void)
{
	CLEANUP(buf_fini) struct buf out;
	int code;

	buf_init(&out, 1000);
	return ask("s3cret", "SELECT 1", &out, &code) == 0;
}

/* Takes text over. */
static void write_config(const char *name, char *text)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	free(text);
}

/* Ports are chosen by chance, as the server cannot choose; one that is taken makes it exit. */
static int start(void **state)
{
	char argument[96], program[] = "clickhouse-server";
	const char *path = getenv("CLICKHOUSE_OLD_SERVER");
	char *args[] = {program, argument, NULL};

	(void)state;
	if (!path)
		return -1;
	dir = temp_dir();
	snprintf(argument, sizeof(argument), "--config-file=%s/config.xml", dir);
	/* what the pods have */
	assert_int_equal(setenv(CLICKHOUSE_ENV_SHARD, "shard-0", 1), 0);
	assert_int_equal(setenv(CLICKHOUSE_ENV_REPLICA, "main-clickhouse-shard-0-0", 1), 0);
	assert_int_equal(setenv(CLICKHOUSE_ENV_PASSWORD, "s3cret", 1), 0);
	for (unsigned attempt = 0; attempt < 20; attempt++) {
		port = 20000 + (unsigned)(clock_realtime_ns() / 1000 + (unsigned)getpid()) % 10000;
		write_config("config.xml", make_old_config());
		assert_int_equal(posix_spawn(&pid, path, NULL, NULL, args, environ), 0);
		for (int i = 0; i < 6000 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
			if (answers())
				return 0;
			usleep(20000);
		}
	}
	fail_msg("the server did not start");
	return -1;
}

static int stop(void **state)
{
	(void)state;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

static void assert_answer(const char *sql, const char *expected)
{
	CLEANUP(buf_fini) struct buf out;
	int code;

	buf_init(&out, 100000);
	assert_int_equal(ask("s3cret", sql, &out, &code), 0);
	assert_int_equal(buf_add(&out, "", 1), 0);
	assert_string_equal(out.data, expected);
}

TEST(the_password_of_the_pod_is_needed)
{
	CLEANUP(buf_fini) struct buf out;
	int code;

	buf_init(&out, 10000);
	assert_int_equal(ask("", "SELECT 1", &out, &code), -EREMOTEIO);
	assert_int_equal(code, 194);
	assert_int_equal(ask("wrong", "SELECT 1", &out, &code), -EREMOTEIO);
	assert_int_equal(code, 193);
}

TEST(macros_are_those_of_the_pod)
{
	assert_answer("SELECT * FROM system.macros ORDER BY macro",
		      "replica\tmain-clickhouse-shard-0-0\nshard\tshard-0\n");
}

TEST(the_cluster_is_the_one_that_is_configured)
{
	assert_answer("SELECT cluster, shard_num, replica_num, port, user FROM system.clusters",
		      "default\t1\t1\t9000\tdefault\n");
}

/* ---- the engine ---- */

static void assert_engine_answers(const struct chdb_api *api, chdb_handle conn, const char *sql,
				  const char *expected)
{
	struct chdb_result *r = api->query(conn, sql, strlen(sql), "TabSeparated",
					   strlen("TabSeparated"), NULL, NULL, NULL, NULL, 0);

	if (api->error(r))
		fail_msg("%s: %s", sql, api->error(r));
	assert_int_equal(api->length(r), strlen(expected));
	assert_memory_equal(api->buffer(r), expected, strlen(expected));
	api->destroy(r);
}

TEST(disks_and_policies_are_those_of_the_resource)
{
	char data[96], path[96], config[128], program[] = "clickhouse";
	char *args[] = {program, path, config};
	struct err err = {""};
	struct chdb_api api;
	chdb_handle *conn;
	char *text;

	snprintf(data, sizeof(data), "%s/engine/", dir);
	snprintf(path, sizeof(path), "--path=%s/engine/", dir);
	snprintf(config, sizeof(config), "--config-file=%s/engine.xml", dir);
	text = make_config("http://127.0.0.1:9/bucket/p/", data);
	text = replace(text, "<type>s3</type>",
		       "<type>s3</type><skip_access_check>true</skip_access_check>");
	write_config("engine.xml", text);
	assert_int_equal(setenv("AWS_ACCESS_KEY_ID", "id", 1), 0);
	assert_int_equal(setenv("AWS_SECRET_ACCESS_KEY", "key", 1), 0);
	if (chdb_api_load(&api, getenv("CHDB_LIBRARY"), &err) < 0)
		fail_msg("%s", err.msg);
	conn = api.connect(3, args);
	assert_non_null(conn);
	assert_engine_answers(&api, *conn,
			      "SELECT policy_name, volume_name, disks, round(move_factor, 2), "
			      "perform_ttl_move_on_insert FROM system.storage_policies "
			      "WHERE policy_name = 's3_tiered' ORDER BY volume_priority",
			      "s3_tiered\thot\t['default']\t0.25\t1\n"
			      "s3_tiered\tcold\t['s3_cache']\t0.25\t0\n");
	assert_engine_answers(&api, *conn,
			      "SELECT cache_name, max_size, cache_on_write_operations "
			      "FROM system.filesystem_cache_settings",
			      "s3_cache\t10737418240\t1\n");
	assert_engine_answers(&api, *conn,
			      "SELECT value FROM system.merge_tree_settings "
			      "WHERE name = 'storage_policy'",
			      "s3_tiered\n");
	assert_engine_answers(&api, *conn,
			      "SELECT macro, substitution FROM system.macros ORDER BY macro",
			      "replica\tmain-clickhouse-shard-0-0\nshard\tshard-0\n");
	api.close(conn);
}

GROUP_FIXTURE(start, stop)
