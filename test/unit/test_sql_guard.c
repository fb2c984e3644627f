#include <errno.h>

#include "cluster-agent/sql/sql_guard.h"
#include "test/lib/unit.h"

static int check(const char *sql, struct sql_facts *facts)
{
	struct err err = {0};
	int r = sql_guard_check(sql, strlen(sql), facts, &err);

	assert_true(r == 0 || err.msg[0]);
	return r;
}

static void lets_reading_pass(void **state)
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
		"SELECT * FROM numbers(10), merge('coroot', '^profiling')",
		"SELECT name AS file, url FROM (SELECT 'a' AS name, 'b' AS url)",
		"SELECT * APPLY(sum) FROM numbers(3)",
		"SELECT * APPLY toString FROM numbers(3)",
		"SELECT 'höflich “so” $x$ #'",
	};
	struct sql_facts facts;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sql); i++) {
		if (check(sql[i], &facts) != 0)
			fail_msg("refused: %s", sql[i]);
	}
}

static void refuses_everything_else(void **state)
{
	static const char *const sql[] = {
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
		"SELECT * FROM system.`stack_trace`",
		"SELECT $$;DROP TABLE t$$",
		"SELECT 1 /* /* */ ; DROP TABLE t -- */",
		"SELECT 1 --; \r DROP TABLE t",
		"SELECT 1 --x",
		"SELECT 1 # x",
		"SELECT \xe2\x80\x98x\xe2\x80\x99",
		"SELECT 1 \\G",
		"SELECT 1 SETTINGS max_threads = 1",
		"SELECT * FROM (SELECT 1 settings `readonly` = 0)",
		"SELECT * FROM (SELECT 1 SETTINGS a.b = 0)",
		"SELECT 1 SETTINGS {a:String}",
	};
	struct sql_facts facts;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sql); i++) {
		if (check(sql[i], &facts) != -EPERM)
			fail_msg("not refused: %s", sql[i]);
	}
}

static void reports_broken_text_as_invalid_and_not_as_refused(void **state)
{
	static const char *const sql[] = {
		"",          " -- only a comment", ";", "SELECT 'x", "SELECT 'x\\",
		"SELECT `x", "SELECT /* x",
	};
	struct sql_facts facts;
	char *big = test_malloc(SQL_GUARD_MAX_BYTES + 1);

	(void)state;
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

static void finds_the_format_of_the_answer(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(check(cases[i].sql, &facts), 0);
		assert_string_equal(facts.format, cases[i].format);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lets_reading_pass),
		cmocka_unit_test(refuses_everything_else),
		cmocka_unit_test(reports_broken_text_as_invalid_and_not_as_refused),
		cmocka_unit_test(finds_the_format_of_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
