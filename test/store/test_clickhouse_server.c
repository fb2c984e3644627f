/*
 * clickhouse-test-server, on which other tests rely: it does what a ClickHouse server does where
 * clients of ours can tell.
 */
#include <pthread.h>
#include <signal.h>

#include "common/data/gzip.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"
#include "test/store/server_statement.h"

static struct clickhouse_process server;

static int start(void **state)
{
	(void)state;
	clickhouse_process_init(&server);
	clickhouse_process_start(&server, NULL);
	clickhouse_process_run(&server, "CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a "
					"SETTINGS non_replicated_deduplication_window = 100");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	clickhouse_process_fini(&server);
	return 0;
}

static void expect(const char *params, const char *sql, long status, const char *text)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1000000);
	assert_int_equal(clickhouse_process_ask(&server, params, sql, strlen(sql), &out), status);
	if (!strstr(out.data, text))
		fail_msg("%s: %s", sql, out.data);
}

static void binds_parameters_and_applies_settings_to_one_statement(void **state)
{
	(void)state;
	expect("param_x=it%27s&max_threads=3", "SELECT {x:String}, getSetting('max_threads')", 200,
	       "it\\'s\t3\n");
	expect("max_threads=3", "SELECT getSetting('max_threads') = 3", 200, "1\n");
	expect(NULL, "SELECT getSetting('max_threads') = 3 AND currentDatabase() = 'system'", 200,
	       "0\n");
	expect("database=system&default_format=JSONEachRow", "SELECT currentDatabase() AS d", 200,
	       "{\"d\":\"system\"}\n");
}

static void exceptions_have_the_status_of_a_server(void **state)
{
	(void)state;
	expect(NULL, "SELECT * FROM nowhere", 404, "Code: 60. DB::Exception: ");
	expect(NULL, "SELECT FROM WHERE", 400, "Code: 62. DB::Exception: ");
	expect("no_such_setting=1", "SELECT 1", 404, "Code: 115. DB::Exception: ");
	expect("database=nowhere", "SELECT 1", 404, "Code: 81. DB::Exception: ");
	expect(NULL, "SELECT throwIf(1)", 500, "Code: 395. DB::Exception: ");
	expect("readonly=2", "DROP TABLE t", 500, "Code: 164. DB::Exception: ");
	expect("max_execution_time=1",
	       "SELECT sleepEachRow(0.1) FROM numbers(1000000) SETTINGS max_block_size = 2 "
	       "FORMAT Null",
	       408, "Code: 159. DB::Exception: ");
}

static void an_insert_with_a_known_token_adds_nothing(void **state)
{
	static const char insert[] = "query=INSERT+INTO+t+(a)+SETTINGS+async_insert=0+FORMAT+TSV"
				     "&insert_deduplication_token=";
	char params[256];
	CLEANUP(buf_fini) struct buf out;

	(void)state;
	buf_init(&out, 1000000);
	for (int i = 0; i < 4; i++) {
		snprintf(params, sizeof(params), "%s%d", insert, i / 2);
		assert_int_equal(clickhouse_process_ask(&server, params, "1\n2\n", 4, &out), 200);
		if (i == 2) {
			clickhouse_process_stop(&server, SIGKILL);
			clickhouse_process_start(&server, NULL);
		}
	}
	assert_int_equal(clickhouse_process_u64(&server, "SELECT count() FROM t"), 4);
	clickhouse_process_run(&server, "TRUNCATE TABLE t");
}

static void data_may_follow_the_statement_in_the_body(void **state)
{
	(void)state;
	clickhouse_process_run(&server, "INSERT INTO t (a) FORMAT TSV\n7\n8\n");
	clickhouse_process_run(&server, "INSERT INTO t VALUES (9), (10)");
	clickhouse_process_run(&server, "INSERT INTO t SELECT 11");
	assert_int_equal(clickhouse_process_u64(&server, "SELECT sum(a) FROM t"), 45);
	clickhouse_process_run(&server, "TRUNCATE TABLE t");
}

static void *sleep_long(void *ctx)
{
	(void)ctx;
	expect("query_id=mine",
	       "SELECT sleepEachRow(1) FROM numbers(600) SETTINGS max_block_size = 1 FORMAT Null",
	       500, "Code: 394. DB::Exception: ");
	return NULL;
}

static void a_query_is_killed_by_the_id_that_the_client_gave(void **state)
{
	CLEANUP(buf_fini) struct buf out;
	pthread_t thread;

	(void)state;
	buf_init(&out, 1000000);
	assert_int_equal(pthread_create(&thread, NULL, sleep_long, NULL), 0);
	do {
		static const char sql[] = "KILL QUERY WHERE query_id = 'mine' ASYNC";

		usleep(20000);
		assert_int_equal(clickhouse_process_ask(&server, NULL, sql, strlen(sql), &out),
				 200);
	} while (out.len == 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void wants_the_password_that_it_was_given(void **state)
{
	static const char *const args[] = {"--user=ann", "--password=secret", NULL};

	(void)state;
	clickhouse_process_stop(&server, SIGTERM);
	clickhouse_process_start(&server, args);
	expect(NULL, "SELECT 1", 403, "Code: 516. DB::Exception: ");
	expect("user=ann&password=wrong", "SELECT 1", 403, "Code: 516. DB::Exception: ");
	expect("user=ann&password=secret", "SELECT 1", 200, "1\n");
}

static void finds_where_the_data_of_an_insert_begins(void **state)
{
	static const struct {
		const char *text;
		const char *data;   /* NULL: none */
		const char *source; /* the text from where FROM INFILE belongs */
	} cases[] = {
		{"INSERT INTO t FORMAT TSV\n1", "1", "FORMAT TSV\n1"},
		{"insert into `format` (a, `x)`) format RowBinary  \n\n", "\n",
		 "format RowBinary  \n\n"},
		{"INSERT INTO t -- FORMAT x\n SETTINGS a = 'FORMAT' FORMAT TSV 1", "1",
		 "SETTINGS a = 'FORMAT' FORMAT TSV 1"},
		{"INSERT INTO t VALUES (1)", NULL, NULL},
		{"INSERT INTO t SELECT 1 FORMAT TSV", NULL, NULL},
		{"SELECT 1 FORMAT TSV", NULL, NULL},
		{"", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct server_statement st;

		server_statement_split(cases[i].text, strlen(cases[i].text), &st);
		assert_int_equal(st.has_data, cases[i].data != NULL);
		if (!cases[i].data)
			continue;
		assert_string_equal(cases[i].text + st.data_offset, cases[i].data);
		assert_string_equal(cases[i].text + st.source_at, cases[i].source);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_where_the_data_of_an_insert_begins),
		cmocka_unit_test(binds_parameters_and_applies_settings_to_one_statement),
		cmocka_unit_test(exceptions_have_the_status_of_a_server),
		cmocka_unit_test(an_insert_with_a_known_token_adds_nothing),
		cmocka_unit_test(data_may_follow_the_statement_in_the_body),
		cmocka_unit_test(a_query_is_killed_by_the_id_that_the_client_gave),
		cmocka_unit_test(wants_the_password_that_it_was_given),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
