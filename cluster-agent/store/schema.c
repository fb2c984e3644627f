/*
 * Runs the statements of schema_text.h, as far as they are needed.
 *
 * There is no version number. What exists is read from system.tables, and each step (CREATE … IF
 * NOT EXISTS, ADD COLUMN IF NOT EXISTS, settings that are compared first) does nothing where it has
 * been done. So agents of different versions may start on one database at once, and tables that
 * Coroot made need no special case.
 *
 * On one server a table that exists is not created again: the account may not be allowed to. On a
 * cluster it may be missing elsewhere, so CREATE is always sent to all servers. One of them may be
 * down: it then catches up by itself, and what has been created here is enough to begin.
 */
#include "cluster-agent/store/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "cluster-agent/store/schema_text.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"

#define SQL_BYTES 8192
#define ANSWER_BYTES 65536
#define ATTEMPTS 7
#define FIRST_PAUSE_NS (100 * NS_PER_MS)

/* ClickHouse's numbers of exceptions */
enum {
	CODE_TABLE_ALREADY_EXISTS = 57,
	CODE_DATABASE_ALREADY_EXISTS = 82,
	CODE_TIMEOUT_EXCEEDED = 159,
	CODE_TABLE_IS_DROPPED = 218,
	CODE_ABORTED = 236,
	CODE_TABLE_IS_READ_ONLY = 242,
	CODE_UNEXPECTED_ZOOKEEPER_ERROR = 244,
	CODE_REPLICA_ALREADY_EXISTS = 253,
	CODE_UNFINISHED = 341,
	CODE_DEADLOCK_AVOIDED = 473,
	CODE_ACCESS_DENIED = 497,
	CODE_CANNOT_ASSIGN_ALTER = 517,
	CODE_KEEPER_EXCEPTION = 999,
};

/* A table as system.tables shows it. */
struct found_table {
	bool exists;
	char *engine; /* engine_full */
	char *policy; /* storage_policy */
};

struct schema {
	schema_run_fn run;
	void *ctx;
	const struct schema_topology *topology;
	const struct schema_config *cfg;
	struct found_table found[SCHEMA_TABLE_MAX];
};

static const char *const insert_columns[] = {
	[STORE_STACKS] = "(ServiceName, Hash, LastSeen, Stack)",
	[STORE_SAMPLES] = "(ServiceName, Type, Start, End, Labels, StackHash, Value)",
	[STORE_QUALITY] = ("(ServiceName, Type, Start, End, Host, Samples, Truncated, Value, "
			   "Instance, Lost, Upload, Runtimes, Unwinding, Starts, Labels, "
			   "LabelSet)"),
	[STORE_FUNCTIONS] = "(Name, Type, ServiceName, Version, Day, Self, Total, Covered, Summed)",
	[STORE_NOTES] = ("(Id, ServiceName, Type, At, Created, Written, Deleted, Name, Text, Url, "
			 "Size, BaseSize, Body, Base)"),
};

/* Columns of tables that an earlier release created. */
static const char *const earlier_quality_columns[] = {
	[STORE_MISSING_LABELS] =
		("(ServiceName, Type, Start, End, Host, Samples, Truncated, Value, Instance, Lost, "
		 "Upload, Runtimes, Unwinding, Starts)"),
	[STORE_MISSING_STARTS] =
		("(ServiceName, Type, Start, End, Host, Samples, Truncated, Value, Instance, Lost, "
		 "Upload, Runtimes, Unwinding)"),
	[STORE_MISSING_UNWINDING] =
		("(ServiceName, Type, Start, End, Host, Samples, Truncated, Value, Instance, Lost, "
		 "Upload, Runtimes)"),
	[STORE_MISSING_RUNTIMES] = ("(ServiceName, Type, Start, End, Host, Samples, Truncated, "
				    "Value, Instance, Lost, Upload)"),
};

/* ---- statements that may have to be repeated ---- */

static int code_of(const struct err *err)
{
	return store_exception_code(err->msg, strlen(err->msg));
}

/* Another agent, or a server of the cluster, is at the same table at this moment. */
static bool is_passing(int code)
{
	static const int codes[] = {
		CODE_TABLE_ALREADY_EXISTS,   CODE_DATABASE_ALREADY_EXISTS,
		CODE_TABLE_IS_DROPPED,       CODE_ABORTED,
		CODE_TABLE_IS_READ_ONLY,     CODE_UNEXPECTED_ZOOKEEPER_ERROR,
		CODE_REPLICA_ALREADY_EXISTS, CODE_UNFINISHED,
		CODE_DEADLOCK_AVOIDED,       CODE_CANNOT_ASSIGN_ALTER,
		CODE_KEEPER_EXCEPTION,
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (codes[i] == code)
			return true;
	}
	return false;
}

static void pause_ns(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

/* err keeps the exception's text, so that code_of() works on it. */
static int run_patiently(schema_run_fn run, void *ctx, const char *sql, struct err *err)
{
	uint64_t ns = FIRST_PAUSE_NS;
	int r = -EAGAIN;

	for (int i = 0; i < ATTEMPTS; i++, ns *= 2) {
		*err = (struct err){0};
		r = run(ctx, sql, NULL, err);
		if (r != -EREMOTEIO || !is_passing(code_of(err)))
			return r;
		if (i + 1 < ATTEMPTS)
			pause_ns(ns);
	}
	return -EAGAIN;
}

/* ---- the cluster ---- */

static int ask(schema_run_fn run, void *ctx, const char *sql, struct buf *answer, struct err *err)
{
	buf_init(answer, ANSWER_BYTES);
	return run(ctx, sql, answer, err);
}

static int ask_number(schema_run_fn run, void *ctx, const char *sql, uint64_t *ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf answer;
	int r = ask(run, ctx, sql, &answer, err);

	if (r == 0)
		*ret = answer.len > 0 ? strtoull(answer.data, NULL, 10) : 0;
	return r;
}

/* Whether name is a line of lines. */
static bool has_line(const char *lines, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = lines; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, len) == 0 && (at[len] == '\n' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* clusters has a line for each. */
static int choose_cluster(const char *clusters, const char *wanted, char *ret, struct err *err)
{
	size_t first = strcspn(clusters, "\n");
	const char *name = wanted;

	if (wanted && !has_line(clusters, wanted))
		return err_set(err, -EINVAL, "ClickHouse knows no cluster '%s'", wanted);
	if (!wanted && strlen(clusters) <= first + 1) {
		if (first >= SCHEMA_NAME_BYTES)
			return err_set(err, -EINVAL, "the cluster's name is too long");
		memcpy(ret, clusters, first);
		ret[first] = '\0';
		name = ret;
	} else if (!wanted) {
		name = has_line(clusters, "coroot")    ? "coroot"
		       : has_line(clusters, "default") ? "default"
						       : NULL;
	}
	if (!name)
		return err_set(err, -EINVAL,
			       "ClickHouse has several clusters, none of them 'coroot' or "
			       "'default'; choose one with --clickhouse-cluster");
	if (*name && !schema_name_is_plain(name))
		return err_set(err, -EINVAL, "the cluster's name '%s' has unusual characters",
			       name);
	if (name != ret)
		snprintf(ret, SCHEMA_NAME_BYTES, "%s", name);
	return 0;
}

int schema_find_cluster(schema_run_fn run, void *ctx, const char *wanted,
			struct schema_topology *ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf clusters;
	uint64_t cloud = 0, coordinated = 0;
	int r;

	buf_init(&clusters, ANSWER_BYTES);
	*ret = (struct schema_topology){0};
	r = ask_number(run, ctx,
		       "SELECT value FROM system.settings WHERE name = 'cloud_mode_engine'", &cloud,
		       err);
	if (r < 0)
		return err_wrap(err, r, "look for a cluster");
	ret->cloud = cloud >= 2;
	if (ret->cloud || (wanted && strcmp(wanted, "none") == 0))
		return 0;
	r = ask_number(run, ctx, "EXISTS TABLE system.zookeeper", &coordinated, err);
	if (r == 0 && (coordinated || wanted))
		r = ask(run, ctx, "SELECT DISTINCT cluster FROM system.clusters ORDER BY cluster",
			&clusters, err);
	if (r < 0)
		return err_wrap(err, r, "look for a cluster");
	return choose_cluster(clusters.len > 0 ? clusters.data : "", wanted, ret->cluster, err);
}

/* ---- what exists ---- */

static void schema_fini(struct schema *s)
{
	for (size_t i = 0; i < SCHEMA_TABLE_MAX; i++) {
		free(s->found[i].engine);
		free(s->found[i].policy);
		s->found[i] = (struct found_table){0};
	}
}

/* A field of TSV up to the tab or newline, unescaped; *at moves past it. NULL without memory. */
static char *take_field(const char **at)
{
	size_t len = strcspn(*at, "\t\n"), n = 0;
	char *out = malloc(len + 1);

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if ((*at)[i] == '\\' && i + 1 < len)
			i++;
		out[n++] = (*at)[i];
	}
	out[n] = '\0';
	*at += len;
	*at += **at != '\0';
	return out;
}

static int keep_line(struct schema *s, const char **at)
{
	AUTO_FREE char *name = take_field(at);
	AUTO_FREE char *engine = take_field(at);
	AUTO_FREE char *policy = take_field(at);

	if (!name || !engine || !policy)
		return -ENOMEM;
	for (unsigned t = 0; t < SCHEMA_TABLE_MAX; t++) {
		struct found_table *f = &s->found[t];

		if (f->exists || strcmp(schema_text_name(t), name) != 0)
			continue;
		f->exists = true;
		f->engine = TAKE_PTR(engine);
		f->policy = TAKE_PTR(policy);
		break;
	}
	return 0;
}

static int find_tables(struct schema *s, struct err *err)
{
	static const char sql[] = "SELECT name, engine_full, storage_policy FROM system.tables "
				  "WHERE database = currentDatabase() AND "
				  "startsWith(name, 'profiling_') ORDER BY name";
	CLEANUP(buf_fini) struct buf answer;
	const char *at;
	int r = ask(s->run, s->ctx, sql, &answer, err);

	schema_fini(s);
	for (at = answer.len > 0 ? answer.data : ""; r == 0 && *at;)
		r = keep_line(s, &at);
	return r < 0 ? err_wrap(err, r, "read system.tables") : 0;
}

static int exists(struct schema *s, const char *name, bool *ret, struct err *err)
{
	char sql[160];
	uint64_t n = 0;
	int r;

	snprintf(sql, sizeof(sql), "EXISTS TABLE %s", name);
	r = ask_number(s->run, s->ctx, sql, &n, err);
	*ret = n > 0;
	return r;
}

/* ---- creating ---- */

/*
 * Runs a CREATE. Other servers of the cluster may be down, or the account may not create tables: if
 * the table is here, that is enough.
 */
static int create(struct schema *s, const char *name, const struct buf *sql, struct err *err)
{
	struct err why = {0}, other = {0};
	bool is_here = false;
	int r, code;

	r = run_patiently(s->run, s->ctx, sql->data, &why);
	if (r == 0)
		return 0;
	code = code_of(&why);
	if ((code == CODE_TIMEOUT_EXCEEDED || code == CODE_ACCESS_DENIED) &&
	    exists(s, name, &is_here, &other) == 0 && is_here) {
		log_warn("table exists on this server, and perhaps not on all of the cluster",
			 "table=%s reason=%s", name, LOG_QUOTED(why.msg));
		return 0;
	}
	if (code == CODE_TIMEOUT_EXCEEDED)
		r = -EAGAIN;
	return err_set(err, r, "create %s: %s", name, why.msg);
}

static int create_table(struct schema *s, unsigned table, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, SQL_BYTES);
	if (s->found[table].exists && !s->topology->cluster[0])
		return 0;
	r = schema_text_create(&sql, table, s->topology, s->cfg);
	if (r < 0)
		return err_set(err, r, "create tables: %s", strerror(-r));
	return create(s, schema_text_name(table), &sql, err);
}

static int create_view(struct schema *s, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	bool is_here = false;
	int r;

	buf_init(&sql, SQL_BYTES);
	r = exists(s, SCHEMA_VIEW, &is_here, err);
	if (r < 0 || (is_here && !s->topology->cluster[0]))
		return r;
	r = schema_text_create_view(&sql, s->topology);
	return r < 0 ? err_set(err, r, "create tables: %s", strerror(-r))
		     : create(s, SCHEMA_VIEW, &sql, err);
}

static int create_distributed(struct schema *s, unsigned table, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	char name[64];
	int r;

	buf_init(&sql, SQL_BYTES);
	snprintf(name, sizeof(name), "%s" SCHEMA_DISTRIBUTED, schema_text_name(table));
	r = schema_text_create_distributed(&sql, table, s->topology);
	return r < 0 ? err_set(err, r, "create tables: %s", strerror(-r))
		     : create(s, name, &sql, err);
}

/* For tables of earlier versions. A Distributed table has columns of its own. */
static int add_columns(struct schema *s, const char *suffix, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	struct err why = {0};
	char count[256];
	uint64_t n = 0;
	int r;

	buf_init(&sql, SQL_BYTES);
	snprintf(count, sizeof(count),
		 "SELECT count() FROM system.columns WHERE database = currentDatabase() AND "
		 "table = 'profiling_quality%s' AND name IN ('Value', 'Instance', 'Upload', "
		 "'Runtimes', 'Unwinding', 'Starts', 'Labels', 'LabelSet')",
		 suffix);
	r = ask_number(s->run, s->ctx, count, &n, err);
	if (r < 0 || n == 8)
		return r;
	r = schema_text_alter(&sql, STORE_QUALITY, suffix, s->topology);
	if (r == 0)
		r = buf_addf(&sql, "%s", schema_text_quality_columns);
	if (r == 0)
		r = run_patiently(s->run, s->ctx, sql.data, &why);
	if (r < 0 && code_of(&why) == CODE_TIMEOUT_EXCEEDED)
		r = -EAGAIN;
	return r < 0 ? err_set(err, r, "add columns to profiling_quality%s: %s", suffix, why.msg)
		     : 0;
}

/* ---- bringing existing tables up to date ---- */

static int alter(struct schema *s, unsigned table, const char *what, struct err *why)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, SQL_BYTES);
	r = schema_text_alter(&sql, table, "", s->topology);
	if (r == 0)
		r = buf_addf(&sql, " MODIFY %s", what);
	if (r == 0)
		r = run_patiently(s->run, s->ctx, sql.data, why);
	if (r != -EREMOTEIO || !s->topology->cluster[0] || code_of(why) != CODE_TIMEOUT_EXCEEDED)
		return r;
	log_warn("table is not changed yet on all servers of the cluster; they do it later",
		 "table=%s change=%s reason=%s", schema_text_name(table), LOG_QUOTED(what),
		 LOG_QUOTED(why->msg));
	return 0;
}

static int set_policy(struct schema *s, unsigned table, struct err *err)
{
	struct err why = {0};
	char what[256];
	int r;

	if (!s->cfg->storage_policy || strcmp(s->found[table].policy, s->cfg->storage_policy) == 0)
		return 0;
	snprintf(what, sizeof(what), "SETTING storage_policy = '%s'", s->cfg->storage_policy);
	r = alter(s, table, what, &why);
	if (r == -EREMOTEIO)
		r = -EINVAL;
	return r < 0 ? err_set(err, r, "change the storage policy of %s from '%s' to '%s': %s",
			       schema_text_name(table), s->found[table].policy,
			       s->cfg->storage_policy, why.msg)
		     : 0;
}

/* An ALTER rewrites the time to live of every part, so it is only sent if it differs. */
static int set_ttl(struct schema *s, unsigned table, struct err *err)
{
	CLEANUP(buf_fini) struct buf ttl;
	struct err why = {0};
	char what[512];
	int r;

	buf_init(&ttl, sizeof(what) - 8);
	r = schema_text_ttl(&ttl, table, s->cfg);
	if (r < 0)
		return err_set(err, r, "time to live: %s", strerror(-r));
	if (s->cfg->keep_ttl || schema_text_has_ttl(s->found[table].engine, ttl.data))
		return 0;
	snprintf(what, sizeof(what), "TTL %s", ttl.data);
	r = alter(s, table, what, &why);
	if (r == 0)
		log_info("changed the time to live of existing rows", "table=%s ttl=%s",
			 schema_text_name(table), LOG_QUOTED(ttl.data));
	if (r == -EREMOTEIO && code_of(&why) == CODE_ACCESS_DENIED) {
		log_warn("rows are kept for as long as before: the account may not change that",
			 "table=%s reason=%s", schema_text_name(table), LOG_QUOTED(why.msg));
		return 0;
	}
	return r < 0 ? err_set(err, r, "change the time to live of %s: %s", schema_text_name(table),
			       why.msg)
		     : 0;
}

/* Returns whether table recognises repeated inserts for as long as it should. */
static bool set_deduplication(struct schema *s, unsigned table, struct err *why)
{
	const char *setting = schema_text_deduplication(s->found[table].engine);
	char what[256];

	if (!setting || s->topology->cloud)
		return true;
	snprintf(what, sizeof(what), "SETTING %s", setting);
	return alter(s, table, what, why) == 0;
}

/* Whether the table has it already; so an account that may not alter tables is enough later. */
static int has_extra(struct schema *s, const struct schema_extra *e, bool *ret, struct err *why)
{
	char sql[256];
	uint64_t n = 0;
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT count() FROM system.tables WHERE database = currentDatabase() AND "
		 "name = '%s' AND position(create_table_query, '%s') > 0",
		 schema_text_name(e->table), e->name);
	r = ask_number(s->run, s->ctx, sql, &n, why);
	*ret = n > 0;
	return r;
}

/* Nothing depends on them but time, so that a server that refuses them is used without. */
static int add_extra(struct schema *s, const struct schema_extra *e, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	struct err why = {0};
	bool has = false;
	int r = has_extra(s, e, &has, &why);

	buf_init(&sql, SQL_BYTES);
	if (r == 0 && has != e->is_gone)
		return 0;
	if (r == 0)
		r = schema_text_alter(&sql, e->table, "", s->topology);
	if (r == 0)
		r = buf_addf(&sql, "%s", e->change);
	if (r == 0)
		r = run_patiently(s->run, s->ctx, sql.data, &why);
	if (r != -EREMOTEIO && r != -EAGAIN)
		return r < 0 ? err_set(err, r, "change %s: %s", schema_text_name(e->table), why.msg)
			     : 0;
	log_warn("queries over weeks take longer: the table cannot be changed",
		 "table=%s change=%s reason=%s", schema_text_name(e->table), LOG_QUOTED(e->name),
		 LOG_QUOTED(why.msg));
	return 0;
}

static int update_tables(struct schema *s, struct err *err)
{
	struct err why = {0};
	int r = 0;

	for (unsigned t = 0; t < SCHEMA_TABLE_MAX && r == 0; t++) {
		if (!s->found[t].exists || !schema_text_is_wanted(t, s->cfg))
			continue;
		r = set_policy(s, t, err);
		if (r == 0)
			r = set_ttl(s, t, err);
		if (r == 0 && !set_deduplication(s, t, &why))
			log_warn("a batch that is sent again after a failure may be stored twice: "
				 "the table cannot be changed",
				 "table=%s reason=%s", schema_text_name(t), LOG_QUOTED(why.msg));
	}
	for (size_t i = 0; i < SCHEMA_EXTRAS && r == 0; i++)
		r = add_extra(s, &schema_text_extras[i], err);
	return r;
}

/* Profiles are stored and shown without the sums of functions and without notes. */
static int create_one(struct schema *s, unsigned table,
		      int (*fn)(struct schema *s, unsigned table, struct err *err), struct err *err)
{
	int r = schema_text_is_wanted(table, s->cfg) ? fn(s, table, err) : 0;

	if (r != -EREMOTEIO || !store_table_is_optional(table))
		return r;
	log_warn(table == STORE_NOTES
			 ? "notes cannot be kept: the table cannot be created"
			 : "functions cannot be searched in all applications: the table cannot be "
			   "created",
		 "table=%s reason=%s", schema_text_name(table), LOG_QUOTED(err->msg));
	*err = (struct err){0};
	return 0;
}

static int create_all(struct schema *s, struct err *err)
{
	int r = 0;

	for (unsigned t = 0; t < SCHEMA_TABLE_MAX && r == 0; t++)
		r = create_one(s, t, create_table, err);
	if (r == 0)
		r = add_columns(s, "", err);
	if (r == 0)
		r = create_view(s, err);
	if (r < 0 || !s->topology->cluster[0])
		return r;
	for (unsigned t = 0; t < SCHEMA_TABLE_MAX && r == 0; t++)
		r = create_one(s, t, create_distributed, err);
	return r < 0 ? r : add_columns(s, SCHEMA_DISTRIBUTED, err);
}

int schema_create_database(schema_run_fn run, void *ctx, const struct schema_topology *t,
			   const char *database, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	char count[SCHEMA_NAME_BYTES + 80];
	struct err why = {0};
	uint64_t n = 0;
	int r;

	buf_init(&sql, SQL_BYTES);
	if (!schema_name_is_plain(database))
		return err_set(err, -EINVAL, "the database's name has unusual characters");
	snprintf(count, sizeof(count), "SELECT count() FROM system.databases WHERE name = '%s'",
		 database);
	r = ask_number(run, ctx, count, &n, err);
	if (r < 0)
		return err_wrap(err, r, "look for database %s", database);
	if (n > 0 && !t->cluster[0])
		return 0;
	r = schema_text_database(&sql, t, database);
	if (r == 0)
		r = run_patiently(run, ctx, sql.data, &why);
	if (r < 0 && n > 0 &&
	    (code_of(&why) == CODE_TIMEOUT_EXCEEDED || code_of(&why) == CODE_ACCESS_DENIED))
		return 0;
	return r < 0 ? err_set(err, r, "create database %s: %s", database, why.msg) : 0;
}

static int check_config(const struct schema_config *cfg, struct err *err)
{
	if (cfg->storage_policy && !schema_name_is_plain(cfg->storage_policy))
		return err_set(err, -EINVAL, "the storage policy's name has unusual characters");
	if (cfg->move_volume && !schema_name_is_plain(cfg->move_volume))
		return err_set(err, -EINVAL, "the volume's name has unusual characters");
	return 0;
}

int schema_apply(schema_run_fn run, void *ctx, const struct schema_topology *t,
		 const struct schema_config *cfg, struct err *err)
{
	CLEANUP(schema_fini) struct schema s = {.run = run, .ctx = ctx, .topology = t, .cfg = cfg};
	int r = check_config(cfg, err);

	if (r == 0)
		r = find_tables(&s, err);
	if (r == 0)
		r = create_all(&s, err);
	/* another, such as a Coroot server, may have created some of them at this moment */
	if (r == 0)
		r = find_tables(&s, err);
	return r < 0 ? r : update_tables(&s, err);
}

int schema_restore_types(schema_run_fn run, void *ctx, const struct schema_topology *t,
			 int64_t from_ns, int64_t to_ns, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, 4096);
	r = buf_addf(&sql,
		     "INSERT INTO profiling_profiles (ServiceName, Type, LastSeen) "
		     "SETTINGS insert_deduplicate = 0 "
		     "SELECT ServiceName, Type, max(End) FROM %s "
		     "WHERE Start >= fromUnixTimestamp64Nano(%" PRId64 ") "
		     "AND Start <= fromUnixTimestamp64Nano(%" PRId64 ") "
		     "GROUP BY ServiceName, Type",
		     schema_table_name(STORE_SAMPLES, t), from_ns, to_ns);
	if (r == 0)
		r = run(ctx, sql.data, NULL, err);
	return r < 0 ? err_wrap(err, r, "list types again") : 0;
}

const char *schema_table_name(enum store_table table, const struct schema_topology *t)
{
	static const char *const distributed[] = {
		[STORE_STACKS] = "profiling_stacks" SCHEMA_DISTRIBUTED,
		[STORE_SAMPLES] = "profiling_samples" SCHEMA_DISTRIBUTED,
		[STORE_QUALITY] = "profiling_quality" SCHEMA_DISTRIBUTED,
		[STORE_FUNCTIONS] = "profiling_functions" SCHEMA_DISTRIBUTED,
		[STORE_NOTES] = "profiling_notes" SCHEMA_DISTRIBUTED,
	};

	return t->cluster[0] ? distributed[table] : schema_text_name(table);
}

const char *schema_columns(enum store_table table, const struct store_frame *frame)
{
	return table == STORE_QUALITY && frame->n_missing > 0
		       ? earlier_quality_columns[frame->n_missing]
		       : insert_columns[table];
}
