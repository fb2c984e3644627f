/*
 * chDB behind store.h: connections to one engine, and the ways around its quirks.
 *
 * The engine runs one statement of a connection at a time. So there is one connection for
 * inserts, and a fixed number for queries (chdb_readers.h), which are the limit on concurrent
 * queries as well. Those are locked with readonly = 1, which the engine does not allow to be
 * undone, so a query that gets past sql_guard.h still cannot write.
 *
 * What the engine needs help with:
 *  - Rows may contain any byte, also those that end a statement, so they are passed as a file
 *    (memfd_create) that INSERT … FROM INFILE reads; no byte of them is parsed as SQL.
 *  - Its allocator keeps freed memory until it is busy again; give_memory_back() asks for a
 *    purge, on a connection of its own, as a query that ends must not wait for an insert.
 *
 * Why embedded at all: one binary with one data directory is enough for most clusters.
 */
#include "cluster-agent/store/store_chdb.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "cluster-agent/store/chdb_api.h"
#include "cluster-agent/store/chdb_readers.h"
#include "cluster-agent/store/clickhouse_error.h"
#include "cluster-agent/store/engine_access.h"
#include "cluster-agent/store/engine_config.h"
#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/store_dir.h"
#include "cluster-agent/store/store_engine.h"
#include "cluster-agent/store/store_marker.h"
#include "common/system/clock.h"
#include "common/system/memory_limit.h"
#include "common/telemetry/log.h"

#define PURGE_EVERY_NS (10 * NS_PER_S)
#define MAX_CONFIG_BYTES ((size_t)64 * 1024)
#define MAX_ANSWER_BYTES ((size_t)1024 * 1024)
#define MAX_DAMAGED_LOGGED 10u
#define MAX_WHY 200u /* of the engine's words, in an error */
#define WHY_HEAD 115u

struct store_chdb {
	struct store store;
	struct chdb_api api;
	int lock_fd;
	struct engine_memory memory;
	chdb_handle *writer; /* the engine runs one statement of it at a time */
	chdb_handle *purger;
	struct chdb_readers *readers;
	_Atomic uint64_t purge_ns; /* when the next give_memory_back() is due */
};

static const struct schema_topology topology; /* a single server */

static int run_sql(struct store_chdb *s, chdb_handle *conn, const char *sql, struct err *err)
{
	return chdb_run_sql(&s->api, conn, sql, NULL, err);
}

/*
 * The engine's allocator keeps what it freed until it is busy again: tens of MiB after a large
 * query, for as long as the agent lives.
 */
static void give_memory_back(struct store_chdb *s)
{
	uint64_t due = atomic_load(&s->purge_ns), now = clock_monotonic_ns();

	/* a failure only costs memory */
	if (now >= due && atomic_compare_exchange_strong(&s->purge_ns, &due, now + PURGE_EVERY_NS))
		(void)run_sql(s, s->purger, "SYSTEM JEMALLOC PURGE", NULL);
}

/* Returns an anonymous file with the frames, one after the other. */
static int make_row_file(const struct store_frame *frames, size_t n_frames, struct err *err)
{
	AUTO_CLOSE int fd = memfd_create("rows", MFD_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "memfd_create: %m");
	for (size_t i = 0; i < n_frames; i++) {
		size_t done = 0;

		while (done < frames[i].len) {
			ssize_t n = write(fd, (const char *)frames[i].data + done,
					  frames[i].len - done);

			if (n < 0 && errno != EINTR)
				return err_set(err, -errno, "keep rows: %m");
			done += n > 0 ? (size_t)n : 0;
		}
	}
	return TAKE_FD(fd);
}

/*
 * Only an exception about the rows counts against them. All others pass, or somebody has to do
 * something about the machine: memory that queries have taken, a full or failing disk.
 */
static int classify_failed_insert(const struct err *err)
{
	size_t len = strlen(err->msg);

	switch (clickhouse_advice(clickhouse_code(err->msg, len), err->msg, len)) {
	case CLICKHOUSE_REFUSED:
		return -EREMOTEIO;
	case CLICKHOUSE_TOO_LARGE:
		return -ENOMEM;
	default:
		return -EAGAIN;
	}
}

static int chdb_insert(struct store *store, enum store_table table, const char *token,
		       const struct store_frame *frames, size_t n_frames, struct err *err)
{
	struct store_chdb *s = (struct store_chdb *)store;
	AUTO_CLOSE int fd = -1;
	struct err own = {0};
	char sql[512];
	int r;

	err = err ?: &own;
	fd = make_row_file(frames, n_frames, err);
	if (fd < 0)
		return -EAGAIN;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO %s %s FROM INFILE '/proc/self/fd/%d' COMPRESSION 'zstd' "
		 "SETTINGS insert_deduplication_token = '%s' FORMAT RowBinary",
		 schema_table_name(table, &topology), schema_columns(table, frames), fd, token);
	r = run_sql(s, s->writer, sql, err);
	give_memory_back(s);
	return r < 0 ? classify_failed_insert(err) : 0;
}

static int chdb_query(struct store *store, const struct store_query *q, struct buf *out,
		      struct err *err)
{
	struct store_chdb *s = (struct store_chdb *)store;
	int r = chdb_readers_query(s->readers, q, out, err);

	give_memory_back(s);
	return r;
}

static void chdb_cancel(struct store *store)
{
	chdb_readers_wake(((struct store_chdb *)store)->readers);
}

static void chdb_stop_queries(struct store *store)
{
	chdb_readers_stop(((struct store_chdb *)store)->readers);
}

/* ---- open and close ---- */

static void chdb_free(struct store_chdb *s)
{
	if (!s)
		return;
	chdb_readers_free(s->readers);
	if (s->purger)
		s->api.close(s->purger);
	if (s->writer)
		s->api.close(s->writer);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	free(s);
}
DEFINE_CLEANUP(struct store_chdb *, chdb_free);

static void chdb_close(struct store *store)
{
	chdb_free((struct store_chdb *)store);
}

static int run_for_schema(void *ctx, const char *sql, struct buf *out, struct err *err)
{
	struct store_chdb *s = ctx;

	return chdb_run_sql(&s->api, s->writer, sql, out, err);
}

static int write_config(const struct store_chdb *s, const char *data_dir, struct err *err)
{
	CLEANUP(buf_fini) struct buf text;
	AUTO_CLOSE int fd = -1;
	char path[PATH_MAX], tmp[PATH_MAX];
	int r;

	buf_init(&text, MAX_CONFIG_BYTES);
	snprintf(path, sizeof(path), "%s/engine.xml", data_dir);
	snprintf(tmp, sizeof(tmp), "%s/" STORE_DIR_TMP, data_dir);
	r = engine_config_format(&text, path, tmp, &s->memory);
	if (r < 0)
		return err_set(err, r, "make %s: %s", path, strerror(-r));
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "write %s: %m", path);
	if (write(fd, text.data, text.len) != (ssize_t)text.len)
		return err_set(err, -EIO, "write %s: %m", path);
	return 0;
}

/* The beginning says what happened, the end where; what is in between may be long. */
static void shorten(char *text)
{
	size_t len, tail = MAX_WHY - WHY_HEAD;

	text[strcspn(text, "\n")] = '\0';
	len = strlen(text);
	if (len > MAX_WHY) {
		memcpy(text + WHY_HEAD, "...", 3);
		memmove(text + WHY_HEAD + 3, text + len - tail + 3, tail - 2);
	}
}

/*
 * The engine writes to stderr why it cannot open a directory, for example which file is damaged,
 * and returns nothing but failure. So stderr is a file of ours meanwhile.
 */
static chdb_handle *connect_and_listen(struct store_chdb *s, int argc, char **argv, char *why,
				       size_t size)
{
	AUTO_CLOSE int heard = memfd_create("stderr", MFD_CLOEXEC);
	AUTO_CLOSE int before = heard < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	bool listening = before >= 0 && dup2(heard, STDERR_FILENO) >= 0;
	chdb_handle *conn = s->api.connect(argc, argv);
	ssize_t n = 0;

	if (listening && dup2(before, STDERR_FILENO) >= 0)
		n = pread(heard, why, size - 1, 0);
	why[n > 0 ? n : 0] = '\0';
	shorten(why);
	return conn;
}

static int connect_to(struct store_chdb *s, const char *data_dir, chdb_handle **ret,
		      struct err *err)
{
	char path[PATH_MAX], config[PATH_MAX], why[1000];
	char program[] = "clickhouse";
	char *argv[] = {program, path, config, NULL};
	chdb_handle *conn;

	if (snprintf(path, sizeof(path), "--path=%s/" STORE_DIR_TABLES, data_dir) >=
		    (int)sizeof(path) ||
	    snprintf(config, sizeof(config), "--config-file=%s/engine.xml", data_dir) >=
		    (int)sizeof(config))
		return err_set(err, -ENAMETOOLONG, "data directory: the path is too long");
	conn = connect_and_listen(s, 3, argv, why, sizeof(why));
	if (!conn || !*conn)
		return err_set(err, -EIO, "%s/" STORE_DIR_TABLES ": %s", data_dir,
			       why[0] ? why : "the embedded engine cannot open it");
	*ret = conn;
	return 0;
}

static int run_all(struct store_chdb *s, chdb_handle *conn, const char *const *sql, size_t n,
		   struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = run_sql(s, conn, sql[i], err);
	return r;
}

static int set_up_writer(struct store_chdb *s, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, MAX_CONFIG_BYTES);
	r = engine_config_writer(&sql, &s->memory);
	return r < 0 ? err_set(err, r, "make settings") : run_sql(s, s->writer, sql.data, err);
}

static int prepare_writer(struct store_chdb *s, const struct store_chdb_config *cfg,
			  struct err *err)
{
	const struct schema_config schema = {.ttl_ns = cfg->profiles_ttl_ns,
					     .function_ttl_ns = cfg->function_ttl_ns,
					     .note_ttl_ns = cfg->note_ttl_ns,
					     .is_alone = true};
	/*
	 * The engine comes with a database "default" that reads the name of an unknown table as the
	 * name of a file in the working directory. It is dropped, so that a query never reads one.
	 */
	static const char *const prepare[] = {
		"CREATE DATABASE IF NOT EXISTS " SCHEMA_DATABASE " ENGINE = Atomic",
		("USE " SCHEMA_DATABASE),
		"DROP DATABASE IF EXISTS default",
	};
	int r = run_all(s, s->writer, prepare, ARRAY_SIZE(prepare), err);

	if (r == 0)
		r = set_up_writer(s, err);
	return r < 0 ? r : schema_apply(run_for_schema, s, &topology, &schema, err);
}

struct connect_ctx {
	struct store_chdb *s;
	const char *data_dir;
};

static int connect_reader(void *ctx, chdb_handle **ret, struct err *err)
{
	const struct connect_ctx *c = ctx;

	return connect_to(c->s, c->data_dir, ret, err);
}

/* A connection begins in the database "default", so all of them connect before that is dropped. */
static int open_engine(struct store_chdb *s, const struct store_chdb_config *cfg, struct err *err)
{
	struct connect_ctx ctx = {.s = s, .data_dir = cfg->data_dir};
	int r = connect_to(s, cfg->data_dir, &s->writer, err);

	if (r == 0)
		r = connect_to(s, cfg->data_dir, &s->purger, err);
	if (r == 0)
		r = chdb_readers_new(&s->readers, &s->api, connect_reader, &ctx, err);
	if (r == 0)
		r = prepare_writer(s, cfg, err);
	return r < 0 ? r : chdb_readers_prepare(s->readers, &s->memory, err);
}

static int chdb_restore_types(struct store *store, int64_t from_ns, int64_t to_ns, struct err *err)
{
	return schema_restore_types(run_for_schema, store, &topology, from_ns, to_ns, err);
}

static int chdb_maintain(struct store *store, const char *sql, struct buf *out, struct err *err)
{
	return run_for_schema(store, sql, out, err);
}

/*
 * Parts that the engine found damaged, in this or an earlier start: it moves them aside and goes on
 * with the rest.
 */
static int report_damaged_parts(struct store_chdb *s, struct err *err)
{
	static const char sql[] =
		"SELECT concat(table, '/detached/', name, ': ', coalesce(reason, '')) "
		"FROM system.detached_parts WHERE database = currentDatabase() "
		"ORDER BY modification_time DESC LIMIT 1000";
	CLEANUP(buf_fini) struct buf out;
	unsigned n = 0;
	int r;

	buf_init(&out, MAX_ANSWER_BYTES);
	r = run_for_schema(s, sql, &out, err);
	if (r == 0)
		r = buf_add(&out, "", 1);
	if (r < 0)
		return err_wrap(err, r, "list damaged parts");
	for (char *line = out.data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		if (n++ < MAX_DAMAGED_LOGGED)
			log_warn("a damaged part of a table is left out", "part=%s",
				 LOG_QUOTED(line));
	}
	if (n > MAX_DAMAGED_LOGGED)
		log_warn("more damaged parts are left out", "parts=%u", n - MAX_DAMAGED_LOGGED);
	return 0;
}

/* What store_marker_check() wants to see at the next start. */
static int mark_store(struct store_chdb *s, const char *data_dir, struct err *err)
{
	static const char sql[] =
		"SELECT '" STORE_DIR_TABLES "/metadata/" SCHEMA_DATABASE ".sql' "
		"UNION DISTINCT SELECT concat('" STORE_DIR_TABLES "/', metadata_path) "
		"FROM system.tables WHERE database = currentDatabase() "
		"UNION DISTINCT SELECT concat('" STORE_DIR_TABLES "/store/', "
		"substring(toString(uuid), 1, 3), '/', toString(uuid), '/') "
		"FROM system.tables WHERE database = currentDatabase() AND engine LIKE "
		"'%MergeTree'";
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, MAX_ANSWER_BYTES);
	r = run_for_schema(s, sql, &out, err);
	return r < 0 ? err_wrap(err, r, "list tables")
		     : store_marker_write(data_dir, out.data, out.len, err);
}

static const struct store_engine chdb_engine = {
	.maintain = chdb_maintain,
	.insert = chdb_insert,
	.query = chdb_query,
	.cancel = chdb_cancel,
	.restore_types = chdb_restore_types,
	.stop_queries = chdb_stop_queries,
	.close = chdb_close,
};

/*
 * The engine resolves the path of the working directory at its start and with each insert, and
 * fails if its user may not: in root's home, from which root has started the agent as another user.
 */
static void leave_closed_directory(void)
{
	char path[PATH_MAX];

	if ((getcwd(path, sizeof(path)) && access(path, X_OK) == 0) || chdir("/") < 0)
		return;
	log_warn("the agent's user cannot reach the working directory; relative paths in options "
		 "begin at / from now on",
		 "cwd=/");
}

int store_chdb_open(struct store **ret, const struct store_chdb_config *cfg, struct err *err)
{
	CLEANUP(chdb_freep) struct store_chdb *s = calloc(1, sizeof(*s));
	struct store_chdb_config absolute = *cfg;
	AUTO_FREE char *data_dir = NULL;
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->store.engine = &chdb_engine;
	s->store.note_ttl_ns = cfg->note_ttl_ns;
	s->lock_fd = -1;
	if (cfg->profiles_ttl_ns < NS_PER_S)
		return err_set(err, -EINVAL, "profiles must be kept for at least a second");
	r = store_dir_lock(cfg->data_dir, cfg->lock_wait_ns, &s->lock_fd, err);
	if (r < 0)
		return r;
	/* the engine resolves some of its paths relative to others */
	data_dir = realpath(cfg->data_dir, NULL);
	if (!data_dir)
		return err_set(err, -errno, "data directory %s: %m", cfg->data_dir);
	absolute.data_dir = data_dir;
	leave_closed_directory();
	r = chdb_api_load(&s->api, cfg->chdb_library, err);
	if (r < 0)
		return r;
	r = store_dir_prepare(data_dir, err);
	if (r == 0)
		r = store_marker_check(data_dir, err);
	if (r < 0)
		return r;
	/* the engine makes its files with mode 0666, at any time */
	umask(077);
	s->memory = engine_memory_of(memory_limit_read());
	r = write_config(s, data_dir, err);
	if (r == 0)
		r = open_engine(s, &absolute, err);
	if (r == 0)
		r = report_damaged_parts(s, err);
	if (r == 0)
		r = mark_store(s, data_dir, err);
	if (r == 0)
		r = engine_access_restrict(run_for_schema, s, err);
	if (r < 0)
		return err_wrap(err, r == -EREMOTEIO ? -EIO : r, "open store");
	*ret = &s->store;
	s = NULL; /* store_close() frees it */
	return 0;
}
