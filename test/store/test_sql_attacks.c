/*
 * What somebody could try at the SQL port, on the real engine. /tmp is the process's own, so that
 * every file that appears in it is seen.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "cluster-agent/sql/sql_guard.h"
#include "cluster-agent/store/store.h"
#include "cluster-agent/store/system_tables.h"
#include "test/lib/own_mounts.h"
#include "test/lib/unit.h"
#include "test/store/sql_fixture.h"

#define VICTIM "/tmp/victim"

static int start_apart(void **state)
{
	char library[64];
	/* the checkout may be below /tmp */
	int fd = open(getenv("CHDB_LIBRARY"), O_RDONLY | O_CLOEXEC);

	snprintf(library, sizeof(library), "/proc/self/fd/%d", fd);
	if (fd < 0 || setenv("CHDB_LIBRARY", library, 1) < 0 || !own_mounts_enter() ||
	    mount("tmp", "/tmp", "tmpfs", 0, "size=64m,mode=1777") < 0 ||
	    mkdir("/tmp/cwd", 0700) < 0 || chdir("/tmp/cwd") < 0) {
		fprintf(stderr, "/tmp: %s\n", strerror(errno));
		return -1;
	}
	return sql_fixture_start(state);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends the names in a directory to out, sorted; a missing one has none. */
static void list(struct buf *out, const char *dir)
{
	char *names[200];
	size_t n = 0;
	struct dirent *e;
	DIR *d = opendir(dir);

	assert_int_equal(buf_addf(out, "%s:\n", dir), 0);
	while (d && (e = readdir(d)) && n < ARRAY_SIZE(names))
		names[n++] = strdup(e->d_name);
	if (d)
		closedir(d);
	qsort(names, n, sizeof(names[0]), by_text);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(buf_addf(out, "%s\n", names[i]), 0);
		free(names[i]);
	}
}

/* All places where the engine might leave something. */
static void look_around(struct buf *out)
{
	static const char *const below[] = {"", "/tmp", "/tmp/schemas", "/tmp/files",
					    "/clickhouse"};
	char path[200];

	buf_init(out, 1 << 20);
	list(out, "/tmp");
	list(out, ".");
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		snprintf(path, sizeof(path), "%s%s", sql_dir, below[i]);
		list(out, path);
	}
}

static void expect_alive(void)
{
	CLEANUP(answer_fini) struct answer a;

	ask(&a, "/", "SELECT 1", NULL);
	assert_string_equal(a.body.data, "1\n");
}

static void expect_refusal(const char *target, const char *sql)
{
	CLEANUP(answer_fini) struct answer a;

	ask(&a, target, sql, NULL);
	if (a.status == 200 || strncmp(a.body.data, "Code: ", 6) != 0 ||
	    strstr(a.body.data, "root:x:") || strstr(a.body.data, "/bin/"))
		fail_msg("%s %s: %ld %.300s", target, sql, a.status, a.body.data);
}

/* ---- files and network ---- */

static const char *const reads[] = {
	"SELECT file('/etc/passwd')",
	"SELECT * FROM file('/etc/passwd', 'LineAsString')",
	"SELECT * FROM file('/etc/passwd')",
	"SELECT * FROM '/etc/passwd'",
	"SELECT * FROM \"/etc/passwd\"",
	"SELECT * FROM `/etc/passwd`",
	"SELECT * FROM default.`/etc/passwd`",
	"SELECT * FROM coroot.`/etc/passwd`",
	"SELECT * FROM coroot.`../../../../etc/passwd`",
	"SELECT * FROM INFILE '/etc/passwd' FORMAT LineAsString",
	"SELECT * FROM url('file:///etc/passwd', 'LineAsString')",
	"SELECT * FROM url('http://127.0.0.1:9/', 'LineAsString')",
	"SELECT * FROM s3('file:///etc/passwd', 'LineAsString')",
	"SELECT * FROM s3('http://127.0.0.1:9/a/b', 'LineAsString')",
	"SELECT * FROM remote('127.0.0.1:9', 'system.one')",
	"SELECT * FROM mysql('127.0.0.1:9', 'a', 'b', 'c', 'd')",
	"SELECT * FROM sqlite('/etc/passwd', 't')",
	"SELECT * FROM executable('cat /etc/passwd', 'LineAsString', 'x String')",
	"SELECT * FROM filesystem('/etc')",
	"SELECT * FROM icebergLocal('/etc')",
	"SELECT * FROM deltaLakeLocal('/etc')",
	"SELECT * FROM dictionary('/etc/passwd')",
	"SELECT * FROM format(LineAsString, file('/etc/passwd'))",
	"SELECT dictGet('/etc/passwd', 'x', 1)",
	"SELECT catboostEvaluate('/etc/passwd', 1)",
	"SELECT naiveBayesClassifier('/etc/passwd', 'x')",
	"SELECT regionToName(toUInt32(1))",
	"SELECT toDateTime(0, '/etc/passwd')",
	"SELECT toDateTime(0, '../../../../../etc/passwd')",
	"SELECT 1 SETTINGS session_timezone = '/etc/passwd'",
	"SELECT * APPLY(file) FROM (SELECT '/etc/passwd')",
	"SELECT * APPLY file FROM (SELECT '/etc/passwd')",
	"SELECT arrayMap(x -> file(x), ['/etc/passwd'])",
	"WITH (x) -> file(x) AS f SELECT f('/etc/passwd')",
	"WITH x AS (SELECT * FROM url('http://127.0.0.1:9/')) SELECT * FROM x",
	"DESCRIBE TABLE file('/etc/passwd', 'CSVWithNames')",
	"DESCRIBE file('/etc/passwd')",
	"DESCRIBE '/etc/passwd'",
	"DESCRIBE `/etc/passwd`",
	"EXPLAIN SELECT file('/etc/passwd')",
	"EXPLAIN SYNTAX SELECT * FROM file('/etc/passwd')",
	"EXPLAIN QUERY TREE SELECT file('/etc/passwd')",
	"EXPLAIN ESTIMATE SELECT * FROM file('/etc/passwd')",
	"EXPLAIN TABLE OVERRIDE mysql('a', 'b', 'c', 'd') PARTITION BY 1",
	"CREATE TEMPORARY TABLE t ENGINE = File(LineAsString, '/etc/passwd')",
	"CREATE TABLE coroot.t (x String) ENGINE = File(LineAsString, '/etc/passwd')",
	"CREATE DICTIONARY coroot.d (k UInt64) PRIMARY KEY k SOURCE(FILE(PATH '/etc/passwd' FORMAT "
	"CSV)) LAYOUT(FLAT()) LIFETIME(0)",
	"ATTACH TABLE t (x String) ENGINE = File(TSV, '/etc/passwd')",
	"BACKUP TABLE profiling_samples TO File('/tmp/x')",
	"SELECT fi/**/le('/etc/passwd')",
	"SELECT file/**/('/etc/passwd')",
	"SELECT file-- \n('/etc/passwd')",
	"SELECT `file`('/etc/passwd')",
	"SELECT \"f\\x69le\"('/etc/passwd')",
	"SELECT FILE('/etc/passwd')",
	"SELECT 1;SELECT file('/etc/passwd')",
	"SELECT $$x$$, file('/etc/passwd')",
	"SELECT '\\'', file('/etc/passwd') --'",
	"SELECT 1 //'\n, file('/etc/passwd') //'",
	"SELECT arrayMap(file, ['/etc/passwd'])",
	"SELECT arrayMap(ALL file, ['/etc/passwd'])",
	"SELECT arrayMap((`file` AS f), ['/etc/passwd'])",
	"SELECT addressToLine(toUInt64(1))",
	"SELECT hasColumnInTable('127.0.0.1:9', 'system', 'one', 'dummy')",
};

static const char *const writes[] = {
	"SELECT 1 AS x FORMAT Protobuf",
	"SELECT 1 AS x format protobuf",
	"SELECT 1 AS x FORMAT /**/ProtobufSingle",
	"SELECT 1 AS x FORMAT `Protobuf`",
	"SELECT 1 AS x FORMAT \"Protobuf\"",
	"SELECT 1 AS x FORMAT ProtobufList SETTINGS max_result_rows = 1",
	"SELECT 1 AS x SETTINGS max_result_rows = 1 FORMAT Protobuf",
	"EXPLAIN SELECT 1 AS x FORMAT Protobuf",
	"SHOW TABLES FORMAT Protobuf",
	"SELECT 1 AS x, 1. FORMAT Protobuf",
	"SELECT 1 AS x FORMAT CapnProto",
	"SELECT 1 SETTINGS final, max_threads = 7",
	"SELECT * FROM (SELECT 1 SETTINGS final, max_threads = 7)",
	"SELECT 1 AS x FORMAT Template SETTINGS format_template_row = '/etc/passwd'",
	"SELECT 1 AS x FORMAT Template",
	"SELECT 1 AS x SETTINGS format_schema = '/tmp/x', output_format_schema = '/tmp/y.proto'",
	"SELECT 1 AS x SETTINGS output_format_schema = '/tmp/y.proto'",
	"SELECT formatRow('Protobuf', x) FROM (SELECT 1 AS x)",
	"SELECT formatRowNoNewline('Protobuf', x) FROM (SELECT 1 AS x)",
	"SELECT structureToProtobufSchema('x UInt8')",
	"SELECT * FROM format(Protobuf, 'x UInt8', '')",
	"DESCRIBE format(Protobuf, 'x UInt8', '')",
	"SELECT 'x' INTO OUTFILE '" VICTIM "'",
	"SELECT 'x' INTO/**/OUTFILE '" VICTIM "' TRUNCATE FORMAT TSV",
	"SELECT 'x' //'\nINTO OUTFILE '" VICTIM "' //'",
	"SELECT 'x' //'\n; SET ROLE owner //'",
	"EXPLAIN SELECT 1 INTO OUTFILE '" VICTIM "'",
	"INSERT INTO FUNCTION file('" VICTIM "', 'TSV', 'x UInt8') VALUES (1)",
	"INSERT INTO profiling_samples (Value) SELECT 1",
	"WITH x AS (SELECT 1) INSERT INTO profiling_samples (Value) SELECT 1",
	"EXPLAIN INSERT INTO profiling_samples (Value) VALUES (1)",
	"SELECT 1; INSERT INTO profiling_samples (Value) VALUES (1)",
	"SELECT 1 PARALLEL WITH CREATE TABLE coroot.t (x UInt8) ENGINE = Log",
	"CREATE TABLE coroot.t (x UInt8) ENGINE = Log",
	"CREATE TEMPORARY TABLE t (x UInt8)",
	"CREATE VIEW coroot.v AS SELECT 1",
	"CREATE FUNCTION f AS x -> x",
	"CREATE USER u",
	"GRANT ALL ON *.* TO default",
	"SET ROLE owner",
	"SET readonly = 0",
	"SELECT 1 SETTINGS readonly = 0",
	"SELECT * FROM (SELECT 1 SETTINGS max_memory_usage = 0)",
	"EXECUTE AS default SELECT 1",
	"ALTER TABLE profiling_samples DELETE WHERE 1",
	"TRUNCATE TABLE profiling_samples",
	"DROP TABLE profiling_samples",
	"RENAME TABLE profiling_samples TO x",
	"OPTIMIZE TABLE profiling_samples",
	"SYSTEM STOP MERGES",
	"SYSTEM RELOAD CONFIG",
	"KILL QUERY WHERE 1",
	"USE system",
};

/* Where the engine made its file: the suffix counts up from "aaaaaa". */
static void lay_links(void)
{
	for (char c = 'a'; c <= 'z'; c++) {
		char path[100];

		snprintf(path, sizeof(path), "/tmp/tmp%daaaaa%c.proto", (int)getpid(), c);
		assert_int_equal(symlink(VICTIM, path), 0);
	}
}

TEST(no_query_reads_or_writes_files_or_leaves_the_machine)
{
	static const char *const targets[] = {
		"/?default_format=Protobuf",
		"/?default_format=Template",
		"/?output_format_schema=%2ftmp%2fx.proto",
		"/?format_schema=%2fetc%2fpasswd",
		"/?session_timezone=%2fetc%2fpasswd",
		"/?readonly_=0",
		"/?dialect=kusto",
		"/?role=owner",
	};
	CLEANUP(answer_fini) struct answer a;
	CLEANUP(buf_fini) struct buf before;
	CLEANUP(buf_fini) struct buf after;

	lay_links();
	look_around(&before);
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++)
		expect_refusal("/", reads[i]);
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++)
		expect_refusal("/", writes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		expect_refusal(targets[i], "SELECT 1 AS x");
	look_around(&after);
	assert_string_equal(after.data, before.data);
	ask(&a, "/",
	    "SELECT count(), getSetting('readonly'), currentRoles() FROM profiling_samples", NULL);
	assert_string_equal(a.body.data, "0\t2\t['reader']\n");
}

TEST(a_header_is_no_way_to_another_format)
{
	CLEANUP(answer_fini) struct answer a;

	ask(&a, "/", "SELECT 1 AS x", "X-ClickHouse-Format: Protobuf");
	assert_int_equal(a.status, 404);
	assert_non_null(strstr(a.body.data, "Code: 73."));
	assert_int_equal(access(VICTIM, F_OK), -1);
}

/* ---- tables ---- */

TEST(no_query_sees_what_is_not_ours)
{
	static const char *const attacks[] = {
		"SELECT * FROM system.processes",
		"SELECT * FROM `system`.\"processes\"",
		"SELECT * FROM system/**/./**/processes",
		"SELECT * FROM system.query_log",
		"SELECT * FROM system.users",
		"SELECT * FROM system.parts",
		"SELECT * FROM system.disks",
		"SELECT * FROM system.stack_trace",
		"SELECT * FROM system.server_settings",
		"SELECT * FROM System.processes",
		"SELECT * FROM merge('system', 'processes')",
		"SELECT * FROM merge(REGEXP('.*'), 'processes')",
		"SELECT * FROM {t:Identifier}",
		"SELECT * FROM system.{t:Identifier}",
		"SELECT * FROM {d:Identifier}.{t:Identifier}",
		"SELECT * FROM { d /**/ : /**/ Identifier }.processes",
		"SELECT (SELECT count() FROM system.processes)",
		"SELECT 1 IN system.processes",
		"SELECT * FROM view(SELECT * FROM system.processes)",
		"SELECT * FROM numbers(1) JOIN system.processes ON 1",
		"WITH x AS (SELECT * FROM system.processes) SELECT * FROM x",
		"SELECT * FROM loop(system.processes)",
		"SELECT * FROM cluster('default', system.processes)",
		"SELECT * FROM clusterAllReplicas('default', 'system', 'processes')",
		"SELECT * FROM mergeTreeIndex(coroot, profiling_samples)",
		"DESCRIBE system.processes",
		"EXISTS system.processes",
		"SHOW CREATE TABLE system.processes",
		"EXPLAIN SELECT * FROM system.processes",
		"SHOW PROCESSLIST",
		"SHOW GRANTS",
		"SHOW ACCESS",
		"SHOW USERS",
		"SHOW CREATE USER default",
		"SHOW MERGES",
		"SHOW CLUSTERS",
		"SHOW FILESYSTEM CACHES",
	};

	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++)
		expect_refusal("/?param_d=system&param_t=processes", attacks[i]);
}

/* The engine's own lock, which holds where the guard does not look. */
TEST(the_engine_itself_gives_readers_nothing_else)
{
	static const struct {
		const char *sql;
		int code;
	} cases[] = {
		{"SELECT * FROM merge('system', 'processes|parts|disks')", 636},
		{"SELECT * FROM system.users", 60},
		{"SELECT * FROM system.stack_trace", 60},
		{"SELECT * FROM system.query_cache", 60},
		{"SELECT * FROM file('/etc/passwd', 'LineAsString')", 497},
		{"SELECT * FROM '/etc/passwd'", 60},
		{"SELECT * FROM url('http://127.0.0.1:9/', 'TSV', 'x String')", 497},
		{"SELECT * FROM remote('127.0.0.1:9', 'system.one')", 497},
		{"SELECT * FROM s3('http://127.0.0.1:9/bucket/b', 'TSV', 'x String')", 497},
		{"SELECT * FROM format(LineAsString, 'x')", 497},
		{"SELECT * FROM executable('x', TSV, 'a UInt8')", 497},
		{"INSERT INTO profiling_samples (Value) SELECT 1", 497},
		{"CREATE TABLE coroot.t (x UInt8) ENGINE = Log", 497},
		{"CREATE TEMPORARY TABLE t (x UInt8)", 497},
		{"ALTER TABLE profiling_samples DELETE WHERE 1", 497},
		{"DROP TABLE profiling_samples", 497},
		{"SYSTEM STOP MERGES coroot.profiling_samples", 497},
		{"SELECT 1 SETTINGS readonly = 0", 164},
		{"SELECT 1 SETTINGS max_memory_usage = 100000000000", 452},
		{"SELECT 1 SETTINGS max_execution_time = 1000", 452},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct store_query q = {
			.lane = STORE_FOR_SQL, .sql = cases[i].sql, .format = "TSV"};
		CLEANUP(buf_fini) struct buf out;
		int r;

		buf_init(&out, 1 << 20);
		r = store_query(sql_store, &q, &out, NULL);
		if (r != -EREMOTEIO || store_exception_code(out.data, out.len) != cases[i].code)
			fail_msg("%s: %d %.300s", cases[i].sql, r, out.len ? out.data : "");
	}
}

TEST(tables_are_listed_without_paths)
{
	CLEANUP(answer_fini) struct answer ours;
	CLEANUP(answer_fini) struct answer views;

	for (size_t i = 0; system_table_at(i); i++) {
		CLEANUP(answer_fini) struct answer a;
		char sql[200];

		if (system_table_at(i)->kind != SYSTEM_TABLE_PUBLIC)
			continue;
		snprintf(sql, sizeof(sql), "SELECT * FROM system.%s LIMIT 300",
			 system_table_at(i)->name);
		ask(&a, "/", sql, NULL);
		if (a.status != 200 || strstr(a.body.data, sql_dir))
			fail_msg("%s: %ld %s", sql, a.status, a.body.data);
	}
	ask(&ours, "/",
	    "SELECT name, engine FROM system.tables WHERE database = 'coroot' ORDER BY 1", NULL);
	assert_string_equal(ours.body.data, "profiling_profiles\tReplacingMergeTree\n"
					    "profiling_profiles_mv\tMaterializedView\n"
					    "profiling_quality\tMergeTree\n"
					    "profiling_samples\tMergeTree\n"
					    "profiling_stacks\tReplacingMergeTree\n");
	ask(&views, "/",
	    "SELECT count(), countIf(table_rows = 0) FROM information_schema.tables "
	    "WHERE table_schema = 'coroot'",
	    NULL);
	assert_string_equal(views.body.data, "5\t4\n");
}

TEST(listed_sizes_are_those_of_the_moment)
{
	CLEANUP(answer_fini) struct answer a;

	assert_int_equal(store_maintain(sql_store,
					"INSERT INTO profiling_quality (Start) SELECT now64(9)",
					NULL, NULL),
			 0);
	ask(&a, "/",
	    "SELECT total_rows, total_bytes > 0, active_parts FROM system.tables "
	    "WHERE database = 'coroot' AND name = 'profiling_quality'",
	    NULL);
	assert_string_equal(a.body.data, "1\t1\t1\n");
}

/* ---- bombs ---- */

/* before, then n times middle, then after */
static char *repeated(const char *before, const char *middle, size_t n, const char *after)
{
	size_t len = strlen(middle);
	char *text = malloc(strlen(before) + n * len + strlen(after) + 1), *at;

	assert_non_null(text);
	at = stpcpy(text, before);
	for (size_t i = 0; i < n; i++)
		at = mempcpy(at, middle, len);
	memcpy(at, after, strlen(after) + 1);
	return text;
}

TEST(deep_and_long_statements_end_with_an_answer)
{
	static const struct {
		const char *before;
		const char *middle;
		size_t n;
		const char *after;
	} cases[] = {
		{"SELECT ", "(", 200000, "1"},
		{"SELECT ", "(", 250, "1"},
		{"SELECT ", "[", 100000, ""},
		{"SELECT ", "{'a':", 50000, "1"},
		{"SELECT ", "NOT ", 60000, "1"},
		{"SELECT ", "- ", 100000, "1"},
		{"SELECT 1", "+1", 100000, ""},
		{"SELECT 1", " AND 1", 40000, ""},
		{"SELECT ", "CASE WHEN 1 THEN ", 14000, "1"},
		{"SELECT ", "1 ? ", 60000, "1"},
		{"SELECT 1", ", 1", 80000, ""},
		{"SELECT 1", "::UInt8", 30000, ""},
		{"SELECT x", "[1]", 80000, ""},
		{"SELECT x", ".a", 100000, ""},
		{"SELECT ", "x -> ", 50000, "1"},
		{"SELECT ", "abs(", 200, "1"},
		{"SELECT 1", " UNION ALL SELECT 1", 13000, ""},
		{"SELECT * FROM ", "(SELECT * FROM ", 200, "numbers(1)"},
		{"", "(", 200000, "SELECT 1"},
		{"EXPLAIN ", "EXPLAIN ", 30000, "SELECT 1"},
		{"SELECT CAST(1 AS ", "Array(", 250, "UInt8"},
		{"SELECT ", "/**/", 60000, "1"},
		{"SELECT '", "\\\\", 100000, "'"},
		{"WITH ", "x AS (SELECT 1), ", 14000, "y AS (SELECT 1) SELECT 1"},
		{"SELECT ", "INTERVAL ", 28000, "1"},
		{"SELECT ", "DISTINCT ", 28000, "1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *sql =
			repeated(cases[i].before, cases[i].middle, cases[i].n, cases[i].after);
		CLEANUP(answer_fini) struct answer a;

		ask(&a, "/?max_execution_time=3", sql, NULL);
		expect_alive();
	}
}

TEST(greedy_queries_meet_a_limit)
{
	static const char *const bombs[] = {
		"SELECT sleep(3)",
		"SELECT sleepEachRow(1) FROM numbers(100)",
		"SELECT length(repeat('x', 1000000000))",
		"SELECT length(arrayMap(x -> toString(x), range(400000000)))",
		"SELECT groupArray(number) FROM numbers(10000000000)",
		"SELECT length(arrayStringConcat(arrayWithConstant(1000000000, 'x')))",
		"SELECT randomString(2000000000)",
		"SELECT number FROM system.numbers",
		"SELECT repeat('x', 100000) FROM numbers(1000000)",
		"WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT max(x) "
		"FROM t",
		"SELECT uniqExact(number) FROM numbers(10000000000)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bombs); i++) {
		expect_refusal("/?max_execution_time=1", bombs[i]);
		expect_alive();
	}
}

TEST(patterns_that_blow_up_elsewhere_are_answered)
{
	static const char *const sql[] = {
		"SELECT match(repeat('a', 100000), '(a+)+$b')",
		"SELECT match(repeat('a', 100000), '(a|aa)*c')",
		"SELECT replaceRegexpAll(repeat('a', 100000), '(a*)*b', 'x') != ''",
		"SELECT multiMatchAny(repeat('a', 100000), ['(a+)+b', '(.*){1,20}c'])",
		"SELECT match('x', repeat('(', 100000))",
		"SELECT match('x', concat('x{1000}', repeat('{1000}', 10)))",
		"SELECT like(repeat('a', 100000), repeat('%a', 1000))",
	};

	for (size_t i = 0; i < ARRAY_SIZE(sql); i++) {
		CLEANUP(answer_fini) struct answer a;

		ask(&a, "/?max_execution_time=3", sql[i], NULL);
		expect_alive();
	}
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(start_apart, sql_fixture_stop);
}
