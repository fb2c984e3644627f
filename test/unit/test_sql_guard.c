#include <errno.h>

#include "cluster-agent/sql/sql_guard.h"
#include "common/data/buf.h"
#include "test/lib/unit.h"

static int check(const char *sql, struct sql_facts *facts)
{
	struct err err = {0};
	int r = sql_guard_check(sql, strlen(sql), facts, &err);

	assert_true(r == 0 || err.msg[0]);
	return r;
}

TEST(lets_reading_pass)
{
	static const char *const sql[] = {
		"SELECT 1",
		"  /* why */ select count() from profiling_samples; ",
		"-- note\nWITH x AS (SELECT 1 AS a) SELECT a FROM x",
		"(SELECT 1) UNION ALL (SELECT 2)",
		"SHOW TABLES",
		"SHOW SETTINGS LIKE 'max_threads'",
		"SELECT s.name FROM system.settings AS s WHERE s.name = 'x'",
		"DESCRIBE TABLE profiling_stacks",
		"DESC (SELECT 1)",
		"EXISTS TABLE profiling_stacks",
		"EXPLAIN PLAN SELECT 1",
		"SELECT 'it''s; DROP TABLE \\' x -- ' AS \"a (b\", `c`",
		"SELECT Labels['host.name'], StackHash % 7, 1.5e3, -1 FROM profiling_samples",
		"SELECT {name:String}, {n:Array(UInt64)}",
		"SELECT * FROM numbers(10), profiling_samples",
		"SELECT name AS file, url FROM (SELECT 'a' AS name, 'b' AS url)",
		"SELECT * APPLY(sum) FROM numbers(3)",
		"SELECT * APPLY toString FROM numbers(3)",
		"SELECT 'höflich “so” $x$ #'",
		"SELECT sumIf(a, b), quantileTDigestOrNullIf(0.5)(a, 1), uniqExactState(x) FROM t",
		"SELECT CAST(1 AS Decimal(10, 2)), x::Array(Nullable(String)), toDateTime64(1, 3)",
		"SELECT CASE WHEN (1) THEN (2) ELSE (3) END, NOT (1), x IN (1), x BETWEEN (1) AND "
		"(2)",
		"SELECT count() OVER (PARTITION BY (a) ORDER BY (b)) FROM t WINDOW w AS (ORDER BY "
		"x)",
		"SELECT * EXCEPT (a) REPLACE (1 AS b) FROM t",
		"SELECT COLUMNS('a') APPLY(x -> toString(x)) FROM t",
		"SELECT a FROM t GROUP BY ROLLUP(a) HAVING (a) LIMIT (1) OFFSET (2)",
		"SELECT * FROM a ANY LEFT JOIN (SELECT 1) AS b USING (x) ARRAY JOIN (y) AS z",
		"SELECT format('{}', 'a') AS format, format, toString(format) FROM t ORDER BY "
		"format DESC",
		"SELECT DATE_ADD(DAY, 1, now()), EXTRACT(YEAR FROM now()), INTERVAL (1) DAY",
		"SELECT {from:DateTime64(3)}, {m:Map(String, UInt8)}",
		"SELECT * FROM `system`.`tables` WHERE database = 'system'",
		"select name from system.columns",
		"SELECT * FROM information_schema.tables",
		"EXPLAIN PIPELINE header = 1, graph = 0 SELECT 1",
		"EXPLAIN SYNTAX run_query_tree_passes = 1 WITH 1 AS x SELECT x",
		"EXPLAIN (SELECT 1)",
		"EXPLAIN ESTIMATE SELECT 1",
		"SHOW CREATE TABLE profiling_samples",
		"SHOW DATABASES LIKE 'c%'",
		"SHOW FULL TABLES FROM coroot",
		"SHOW COLUMNS FROM profiling_samples",
	};
	struct sql_facts facts;

	for (size_t i = 0; i < ARRAY_SIZE(sql); i++) {
		if (check(sql[i], &facts) != 0)
			fail_msg("refused: %s", sql[i]);
	}
}

static const char *const refused_statements[] = {
	"INSERT INTO t VALUES (1)",
	"/* SELECT */ INSERT INTO t SELECT 1",
	"SELECT 1; DROP TABLE t",
	"SELECT 1;;",
	"DROP TABLE t",
	"USE system",
	"SET max_threads = 1",
	"KILL QUERY WHERE 1",
	"SYSTEM STOP MERGES",
	"ATTACH TABLE t FROM '/etc' (x Int8) ENGINE = File(TSV)",
	"CREATE NAMED COLLECTION c AS a = 1",
	"1",
	"FROM t SELECT 1",
	"SELECT 1 INTO OUTFILE '/tmp/x'",
	"SELECT 1 into/**/outfile '/tmp/x'",
	"SELECT file('/etc/passwd')",
	"SELECT FILE ('/etc/passwd')",
	"SELECT file/* */('/etc/passwd')",
	"SELECT file-- \n('/etc/passwd')",
	"SELECT `file`('/etc/passwd')",
	"SELECT \"f\\x69le\"('/etc/passwd')",
	"SELECT * APPLY file FROM (SELECT '/etc/passwd')",
	"SELECT * APPLY(file) FROM (SELECT '/etc/passwd')",
	"SELECT * APPLY(`file`) FROM (SELECT '/etc/passwd')",
	"SELECT * APPLY {f:Identifier} FROM (SELECT '/etc/passwd')",
	"SELECT {f:Identifier}('/etc/passwd')",
	"SELECT * FROM url('http://127.0.0.1/')",
	"DESCRIBE TABLE s3('http://127.0.0.1/a/b')",
	"DESCRIBE file('/etc/passwd')",
	"EXPLAIN TABLE OVERRIDE mysql('a', 'b', 'c', 'd') PARTITION BY 1",
	"SELECT catboostEvaluate('/etc/passwd', 1)",
	"SELECT * FROM filesystem('/')",
	"SELECT * FROM system.stack_trace",
	"SELECT * FROM system.processes",
	"SELECT * FROM system /* */ . -- \n processes",
	"SELECT * FROM `system`.`processes`",
	"SELECT * FROM \"System\".processes",
	"SELECT * FROM system.{t:Identifier}",
	"SELECT * FROM {t:Identifier}",
	"SELECT * FROM { t /**/ : identifier }",
	"SELECT * FROM {t:`Identifier`}",
	"SELECT * FROM merge('system', '.*')",
	"SELECT * FROM system.parts",
	"DESCRIBE system.parts",
	"SHOW CREATE TABLE system.parts",
	"SELECT * FROM format(LineAsString, 'x')",
	"SELECT formatRow('Protobuf', 1)",
	"SELECT 1 FORMAT Protobuf",
	"SELECT 1 FORMAT \"Protobuf\"",
	"SELECT 1 FORMAT `Template`",
};

static const char *const refused_names[] = {
	"SELECT 1 FORMAT NoSuchFormat",
	"SELECT 1 FORMAT Protobuf SETTINGS extremes = 1",
	"SELECT 1 FORMAT Protobuf FORMAT CSV",
	"EXPLAIN SELECT 1 FORMAT Protobuf",
	"(SELECT 1 FORMAT Protobuf)",
	"SELECT sleep(1)",
	"SELECT SLEEPEACHROW(1)",
	"SELECT dictGet('a', 'b', 1)",
	"SELECT joinGet('a', 'b', 1)",
	"SELECT sleepIf(1)",
	"SELECT unknownFunction(1)",
	"SELECT 'abs'(1)",
	"SELECT 1file('/etc/passwd')",
	"WITH x AS (SELECT 1) INSERT INTO t SELECT 1",
	"SELECT 1 PARALLEL WITH DROP TABLE t",
	"EXPLAIN INSERT INTO t SELECT 1",
	"EXPLAIN AST DROP TABLE t",
	"EXPLAIN CURRENT TRANSACTION",
	"EXPLAIN SYSTEM RELOAD CONFIG",
	"EXPLAIN header = 1, DROP TABLE t",
	"SHOW PROCESSLIST",
	"SHOW GRANTS",
	"SHOW ACCESS",
	"SHOW USERS",
	"SHOW CREATE USER default",
	"SHOW CREATE SETTINGS PROFILE default",
	"SHOW MERGES",
	"SHOW CLUSTERS",
	"SHOW FILESYSTEM CACHES",
	"SET ROLE owner",
	"EXECUTE AS default SELECT 1",
	"EXISTS TABLE system.processes",
	"SELECT * FROM system.`stack_trace`",
	"SELECT $$;DROP TABLE t$$",
	"SELECT 1 /* /* */ ; DROP TABLE t -- */",
	"SELECT 1 --; \r DROP TABLE t",
	"SELECT 1 --x",
	"SELECT 1 //'\n, file('/etc/passwd') //'",
	"SELECT 1//2",
	"SELECT 1. FORMAT Protobuf",
	"SELECT 1.\nFORMAT Protobuf",
	"SELECT 1./**/FORMAT Protobuf",
	"SELECT 0x1. SETTINGS max_threads = 1",
	"SELECT arrayMap(file, ['/etc/passwd'])",
	"SELECT arrayMap(`File`, ['/etc/passwd'])",
	"SELECT arrayMap((file), ['/etc/passwd'])",
	"SELECT arrayMap(ALL file, ['/etc/passwd'])",
	"SELECT arrayMap(/**/file AS f, ['/etc/passwd'])",
	"SELECT 1 SETTINGS final, max_threads = 7",
	"SELECT * FROM (SELECT 1 SETTINGS allow_introspection_functions)",
	"SELECT 1 SETTINGS `final`",
	"SELECT 1 # x",
	"SELECT \xe2\x80\x98x\xe2\x80\x99",
	"SELECT 1 \\G",
	"SELECT 1 SETTINGS format_schema = 'x'",
	"SELECT 1 SETTINGS readonly = 0",
	"SELECT 1 SETTINGS max_result_rows = 1, readonly_x = 0",
	"SELECT 1 SETTINGS max_result_rows = 1 UNION ALL SELECT 2",
	"SELECT 1 SETTINGS max_result_rows = -1",
	"SELECT 1 SETTINGS session_timezone = '../x'",
	"SELECT 1 SETTINGS additional_table_filters = {'t': '1'}",
	"SELECT * FROM (SELECT 1 settings `readonly` = 0)",
	"SELECT * FROM (SELECT 1 SETTINGS a.b = 0)",
	"SELECT 1 SETTINGS {a:String}",
};

static void expect_refused(const char *const *sql, size_t n)
{
	struct sql_facts facts;

	for (size_t i = 0; i < n; i++) {
		if (check(sql[i], &facts) != -EPERM)
			fail_msg("not refused: %s", sql[i]);
	}
}

TEST(refuses_everything_else)
{
	expect_refused(refused_statements, ARRAY_SIZE(refused_statements));
	expect_refused(refused_names, ARRAY_SIZE(refused_names));
}

TEST(reports_broken_text_as_invalid_and_not_as_refused)
{
	static const char *const sql[] = {
		"SELECT (FORMAT JSON",
		"SELECT 1 FORMAT JSON FORMAT CSV",
		"",
		" -- only a comment",
		";",
		"SELECT 'x",
		"SELECT 'x\\",
		"SELECT `x",
		"SELECT /* x",
	};
	struct sql_facts facts;
	char *big = test_malloc(SQL_GUARD_MAX_BYTES + 1);

	for (size_t i = 0; i < ARRAY_SIZE(sql); i++) {
		int r = check(sql[i], &facts);

		/* a lone ; begins with something that is not allowed */
		assert_int_equal(r, sql[i][0] == ';' ? -EPERM : -EINVAL);
	}
	assert_int_equal(sql_guard_check("SELECT 1\0", 9, &facts, NULL), -EINVAL);
	memset(big, ' ', SQL_GUARD_MAX_BYTES + 1);
	memcpy(big, "SELECT 1", 8);
	assert_int_equal(sql_guard_check(big, SQL_GUARD_MAX_BYTES, &facts, NULL), 0);
	assert_int_equal(sql_guard_check(big, SQL_GUARD_MAX_BYTES + 1, &facts, NULL), -EFBIG);
	test_free(big);
}

TEST(takes_the_clauses_off_the_end)
{
	static const struct {
		const char *sql;
		const char *rest;
		const char *format;
		const char *settings;
	} cases[] = {
		{"SELECT 1", "SELECT 1", "", ""},
		{"SELECT 1 ;", "SELECT 1 ", "", ""},
		{"SELECT 1 -- x", "SELECT 1 -- x", "", ""},
		{"SELECT 1 FORMAT json", "SELECT 1 ", "JSON", ""},
		{"SELECT 1 FORMAT JSON SETTINGS join_use_nulls = 1;", "SELECT 1 ", "JSON",
		 "join_use_nulls=1 "},
		{"SELECT 1 SETTINGS join_use_nulls = true, log_queries = 0, "
		 "max_execution_time=1000 "
		 "FORMAT CSV",
		 "SELECT 1 ", "CSV", "join_use_nulls=true max_execution_time=30 "},
		{"SELECT 1 SETTINGS format_csv_null_representation = '\\\\N\\'\\t'", "SELECT 1 ",
		 "", "format_csv_null_representation=\\N'\t "},
		{"SELECT a AS format FROM b SETTINGS extremes = 1", "SELECT a AS format FROM b ",
		 "", "extremes=1 "},
		{"SELECT * FROM system.settings", "SELECT * FROM system.settings", "", ""},
		{"SELECT x FROM settings WHERE format = 1",
		 "SELECT x FROM settings WHERE format = 1", "", ""},
		{"SHOW TABLES FORMAT TSV", "SHOW TABLES ", "TSV", ""},
		{"EXPLAIN SELECT 1 FORMAT TSV", "EXPLAIN SELECT 1 ", "TSV", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char settings[200] = "";
		struct sql_facts f;

		if (check(cases[i].sql, &f) != 0)
			fail_msg("%s", cases[i].sql);
		assert_int_equal(f.len, strlen(cases[i].rest));
		assert_memory_equal(cases[i].sql, cases[i].rest, f.len);
		assert_string_equal(f.format, cases[i].format);
		for (size_t k = 0; k < f.n_settings; k++)
			snprintf(settings + strlen(settings), sizeof(settings) - strlen(settings),
				 "%s=%s ", f.settings[k].name, f.settings[k].value);
		assert_string_equal(settings, cases[i].settings);
	}
}

TEST(limits_how_often_a_query_selects)
{
	CLEANUP(buf_fini) struct buf sql;
	struct sql_facts facts;

	buf_init(&sql, SQL_GUARD_MAX_BYTES);
	assert_int_equal(buf_addf(&sql, "SELECT 1"), 0);
	for (int i = 1; i < 256; i++)
		assert_int_equal(buf_addf(&sql, " UNION ALL SELECT 1"), 0);
	assert_int_equal(check(sql.data, &facts), 0);
	assert_int_equal(buf_addf(&sql, " UNION ALL SELECT 1"), 0);
	assert_int_equal(check(sql.data, &facts), -EPERM);
}

TEST(names_what_is_refused)
{
	static const struct {
		const char *sql;
		const char *text;
	} cases[] = {
		{"SELECT sleep(3)", "sleep is a function"},
		{"SELECT 1 FORMAT Protobuf", "format Protobuf"},
		{"SELECT 1 SETTINGS format_schema = 'x'", "the setting format_schema"},
		{"SELECT * FROM system.processes", "processes is not a table"},
		{"SHOW PROCESSLIST", "PROCESSLIST cannot be shown"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sql_facts facts;
		struct err err = {0};

		assert_int_equal(sql_guard_check(cases[i].sql, strlen(cases[i].sql), &facts, &err),
				 -EPERM);
		if (!strstr(err.msg, cases[i].text))
			fail_msg("%s: %s", cases[i].sql, err.msg);
	}
}

TEST(finds_the_format_of_the_answer)
{
	static const struct {
		const char *sql;
		const char *format;
	} cases[] = {
		{"SELECT 1", ""},
		{"SELECT 1 FORMAT JSON", "JSON"},
		{"SELECT 1 format /* x */ CSV ;", "CSV"},
		{"SELECT format('{}', 'a') AS format, 'FORMAT JSON'", ""},
		{"SELECT * FROM (SELECT 1 AS format) AS x", ""},
	};
	struct sql_facts facts;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(check(cases[i].sql, &facts), 0);
		assert_string_equal(facts.format, cases[i].format);
	}
}
