/*
 * Whatever the text of a query looks like, the embedded engine checks what it reads after it has
 * resolved every name: behind aliases, views, merge() and parameters. So the strongest lock is
 * the engine's own. It knows one user, "default", which every connection of a library is, and
 * that user's rights come from two roles, of which a connection can give one up:
 *
 *  - "owner" may do everything; the connection that inserts keeps it.
 *  - "reader" may read the tables in our database and the public ones of the database "system";
 *    every other connection switches to it before its first query. It has no right to read files
 *    or URLs by table functions, to write, or to create even a temporary table.
 *
 * What remains: the engine lets everybody read the whole database "system", and a library has no
 * option against that. Therefore its tables that nobody needs are dropped, which the engine
 * forgets when it stops, and "tables" and "databases" are replaced by views that list the tables
 * of our database without the paths of their files. The few that only the agent may read
 * (system_tables.h) are refused to clients by sql_guard.h alone.
 *
 * The functions that read files without any right (file(), and the like), INTO OUTFILE, and several
 * statements in one are refused by sql_guard.h, too. A statement that got past it could take the
 * role "owner"; so connections of clients take "reader" again before each query, and the kernel
 * refuses writing outside the data directory (common/privilege/write_limit.h).
 */
#include "cluster-agent/store/engine_access.h"

#include <errno.h>
#include <inttypes.h>

#include "cluster-agent/store/system_tables.h"

#define MAX_SQL ((size_t)64 * 1024)

const char engine_access_reader[] = "SET ROLE reader";

static int add_public_tables(struct buf *out)
{
	const struct system_table *t;
	int r = 0;

	for (size_t i = 0; r == 0 && (t = system_table_at(i)); i++) {
		if (t->kind == SYSTEM_TABLE_PUBLIC)
			r = buf_addf(out, "<query>GRANT SELECT ON system.%s</query>\n", t->name);
	}
	return r;
}

int engine_access_config(struct buf *out, const struct engine_memory *memory)
{
	int r = buf_addf(out,
			 "<profiles><default><constraints>\n"
			 "<max_memory_usage><max>%" PRIu64 "</max></max_memory_usage>\n"
			 "<max_execution_time><max>%d</max></max_execution_time>\n"
			 "</constraints></default></profiles>\n"
			 "<quotas><default></default></quotas>\n"
			 "<users><default><password></password>\n"
			 "<networks><ip>::/0</ip></networks>\n"
			 "<profile>default</profile><quota>default</quota>\n"
			 "<grants><query>GRANT owner</query><query>GRANT reader</query></grants>\n"
			 "</default></users>\n"
			 "<roles>\n"
			 "<owner><grants><query>GRANT ALL ON *.*</query></grants></owner>\n"
			 "<reader><grants>\n"
			 "<query>GRANT SELECT ON " SCHEMA_DATABASE ".*</query>\n"
			 "<query>GRANT SELECT ON information_schema.*</query>\n"
			 "<query>GRANT SELECT ON INFORMATION_SCHEMA.*</query>\n",
			 memory->query_bytes, STORE_QUERY_TIMEOUT_S);

	if (r == 0)
		r = add_public_tables(out);
	return r < 0 ? r : buf_addf(out, "</grants></reader>\n</roles>\n");
}

static int add_names(struct buf *out, bool all)
{
	const struct system_table *t;
	int r = 0;

	for (size_t i = 0; r == 0 && (t = system_table_at(i)); i++) {
		if (all || t->kind == SYSTEM_TABLE_PUBLIC)
			r = buf_addf(out, "%s'%s'", i > 0 ? ", " : "", t->name);
	}
	return r;
}

/* Drops what nobody needs, in one statement. */
static int drop_others(schema_run_fn run, void *ctx, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql, names;
	int r;

	buf_init(&sql, MAX_SQL);
	buf_init(&names, MAX_SQL);
	r = buf_addf(&sql, "SELECT arrayStringConcat(groupArray(concat('system.', name)), ', ') "
			   "FROM system.tables WHERE database = 'system' AND name NOT IN (");
	if (r == 0)
		r = add_names(&sql, true);
	if (r == 0)
		r = buf_addf(&sql, ")");
	if (r == 0)
		r = run(ctx, sql.data, &names, err);
	if (r < 0)
		return r;
	while (names.len > 0 && names.data[names.len - 1] == '\n')
		buf_truncate(&names, names.len - 1);
	if (names.len == 0)
		return 0;
	buf_truncate(&sql, 0);
	r = buf_addf(&sql, "DROP TABLE %.*s", (int)names.len, names.data);
	return r < 0 ? r : run(ctx, sql.data, NULL, err);
}

/* Makes known_tables: what the view "tables" shows, apart from what changes all the time. */
static int keep_tables(schema_run_fn run, void *ctx, struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, MAX_SQL);
	r = buf_addf(&sql, "CREATE TABLE system.known_tables ENGINE = Memory AS "
			   "SELECT * REPLACE (arrayMap(p -> '', data_paths) AS data_paths, "
			   /* drivers take a table without paths for a remote one */
			   "'' AS metadata_path) FROM system.tables WHERE database IN "
			   "('" SCHEMA_DATABASE "', 'information_schema') "
			   "OR database = 'system' AND name IN (");
	if (r == 0)
		r = add_names(&sql, false);
	if (r == 0)
		r = buf_addf(&sql, ")");
	return r < 0 ? r : run(ctx, sql.data, NULL, err);
}

int engine_access_restrict(schema_run_fn run, void *ctx, struct err *err)
{
	static const char *const views[] = {
		"CREATE TABLE system.known_databases ENGINE = Memory AS "
		"SELECT * REPLACE ('' AS data_path, '' AS metadata_path) FROM system.databases "
		"WHERE name IN ('" SCHEMA_DATABASE "', 'system', 'information_schema')",
		"DROP TABLE system.tables, system.databases",
		"CREATE VIEW system.databases AS SELECT * FROM system.known_databases",
		"CREATE VIEW system.tables AS SELECT t.* REPLACE ("
		"if(p.n_parts > 0, p.n_rows, t.total_rows) AS total_rows, "
		"if(p.n_parts > 0, p.n_bytes, t.total_bytes) AS total_bytes, "
		"if(p.n_parts > 0, p.n_parts, t.active_parts) AS active_parts) "
		"FROM system.known_tables AS t LEFT JOIN "
		"(SELECT database, table, sum(rows) AS n_rows, sum(bytes_on_disk) AS n_bytes, "
		"count() AS n_parts FROM system.parts WHERE active GROUP BY database, table) AS p "
		"ON p.database = t.database AND p.table = t.name",
	};
	int r = keep_tables(run, ctx, err);

	if (r < 0)
		return r;
	/* as long as system.tables lists all */
	r = drop_others(run, ctx, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		r = run(ctx, views[i], NULL, err);
		if (r < 0)
			return r;
	}
	return 0;
}
