#include "test/store/server_engine.h"

#include <errno.h>
#include <fcntl.h>

#include "cluster-agent/store/store_dir.h"

/* The settings that matter to the memory and the idle threads; all others are ClickHouse's. */
static const char default_config[] =
	"<clickhouse><logger><level>fatal</level></logger>\n"
	"<background_pool_size>2</background_pool_size>\n"
	"<background_schedule_pool_size>4</background_schedule_pool_size>\n"
	"<background_common_pool_size>2</background_common_pool_size>\n"
	"<max_server_memory_usage>2147483648</max_server_memory_usage>\n"
	"<mark_cache_size>33554432</mark_cache_size>\n"
	"<merge_tree>\n"
	"<number_of_free_entries_in_pool_to_execute_mutation>1"
	"</number_of_free_entries_in_pool_to_execute_mutation>\n"
	"<number_of_free_entries_in_pool_to_lower_max_size_of_merge>1"
	"</number_of_free_entries_in_pool_to_lower_max_size_of_merge>\n"
	"<number_of_free_entries_in_pool_to_execute_optimize_entire_partition>1"
	"</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>\n"
	"</merge_tree></clickhouse>\n";

chdb_handle *server_engine_connect(struct server_engine *e)
{
	char program[] = "clickhouse";
	char *argv[] = {program, e->path_arg, e->config_arg};
	chdb_handle *conn;

	pthread_mutex_lock(&e->connecting);
	conn = e->api.connect(3, argv);
	pthread_mutex_unlock(&e->connecting);
	return conn && *conn ? conn : NULL;
}

void server_engine_close(struct server_engine *e, chdb_handle *conn)
{
	pthread_mutex_lock(&e->connecting);
	e->api.close(conn);
	pthread_mutex_unlock(&e->connecting);
}

struct chdb_result *server_engine_run(struct server_engine *e, chdb_handle *conn, const char *sql)
{
	static const char format[] = "TabSeparated";

	return e->api.query(*conn, sql, strlen(sql), format, sizeof(format) - 1, NULL, NULL, NULL,
			    NULL, 0);
}

/* libchdb.so is linked into the directory of the build, two above the program. */
static int load_library(struct server_engine *e, const char *given, struct err *err)
{
	char path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	for (int up = 0; up < 3 && n > 0; up++) {
		path[n] = '\0';
		n = strrchr(path, '/') - path;
	}
	if (n <= 0)
		return err_set(err, -ENOENT, "the program has no path");
	snprintf(path + n, 32, "/libchdb.so");
	return chdb_api_load(&e->api, given ? given : path, err);
}

static int write_config(const char *path, struct err *err)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t len = sizeof(default_config) - 1;

	if (fd < 0 || write(fd, default_config, len) != (ssize_t)len)
		return err_set(err, -EIO, "write %s: %m", path);
	return 0;
}

static int run_once(struct server_engine *e, const char *sql, struct err *err)
{
	struct chdb_result *result = server_engine_run(e, e->first, sql);
	const char *text = result ? e->api.error(result) : "no answer";
	int r = text ? err_set(err, -EIO, "%s: %s", sql, text) : 0;

	if (result)
		e->api.destroy(result);
	return r;
}

/*
 * A server has an ordinary database "default", chDB one that reads unknown tables from files. After
 * a restart chDB's is in front of the one that is made here, and shows its tables.
 */
static int make_default_database(struct server_engine *e, struct err *err)
{
	int r = run_once(e, "DROP DATABASE default", err);

	return r < 0 ? r : run_once(e, "CREATE DATABASE default ENGINE = Atomic", err);
}

int server_engine_start(struct server_engine *e, const struct server_engine_config *cfg,
			struct err *err)
{
	AUTO_FREE char *dir = NULL;
	char config[PATH_MAX];
	int lock_fd, r;
	bool is_new;

	pthread_mutex_init(&e->connecting, NULL);
	r = store_dir_lock(cfg->data, 0, &lock_fd, err);
	if (r < 0)
		return r;
	dir = realpath(cfg->data, NULL);
	if (!dir || strlen(dir) > PATH_MAX - 64)
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", cfg->data);
	snprintf(config, sizeof(config), "%s/config.xml", dir);
	r = cfg->config ? 0 : write_config(config, err);
	if (r < 0)
		return r;
	snprintf(e->path_arg, sizeof(e->path_arg), "--path=%s/clickhouse", dir);
	snprintf(e->config_arg, sizeof(e->config_arg), "--config-file=%s",
		 cfg->config ? cfg->config : config);
	is_new = access(e->path_arg + strlen("--path="), F_OK) < 0;
	r = load_library(e, cfg->library, err);
	if (r < 0)
		return r;
	e->first = server_engine_connect(e);
	if (!e->first)
		return err_set(err, -EIO, "the engine cannot open %s/clickhouse", dir);
	return is_new ? make_default_database(e, err) : 0;
}

void server_engine_stop(struct server_engine *e)
{
	server_engine_close(e, e->first);
}
