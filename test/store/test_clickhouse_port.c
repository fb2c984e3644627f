/* SQL over HTTP on the real engine. The environment names libchdb.so as CHDB_LIBRARY. */
#include <errno.h>

#include "cluster-agent/sql/clickhouse_frames.h"
#include "cluster-agent/sql/clickhouse_http.h"
#include "cluster-agent/sql/clickhouse_port.h"
#include "common/access/access.h"
#include "test/lib/unit.h"
#include "test/store/sql_fixture.h"

#define KEY "c0ffee"

TEST(answers_as_clickhouse_does)
{
	static const struct {
		const char *target;
		const char *body;
		const char *expected;
		const char *type;
	} cases[] = {
		{"/ping", NULL, "Ok.\n", ""},
		{"/", NULL, "Ok.\n", ""},
		{"/?query=SELECT%201", NULL, "1\n", "text/tab-separated-values"},
		{"/", "SELECT 1 + 1", "2\n", "text/tab-separated-values"},
		{"/?query=SELECT%203", "AS x FORMAT CSVWithNames", "\"x\"\n3\n",
		 "text/csv; charset=UTF-8; header=present"},
		{"/?default_format=JSONEachRow", "SELECT 'a' AS x", "{\"x\":\"a\"}\n",
		 "application/x-ndjson; charset=UTF-8"},
		{"/?default_format=JSON", "SELECT 4 FORMAT TSV", "4\n",
		 "text/tab-separated-values"},
		{"/?database=default&param_a=it%27s&param_b=7&max_threads=1",
		 "SELECT {a:String}, {b:UInt8}", "it\\'s\t7\n", "text/tab-separated-values"},
		{"/", "SELECT count() FROM profiling_samples", "0\n", ""},
		{"/?max_threads=1&max_execution_time=5", "SELECT 5; -- the end", "5\n", ""},
		{"/?session_id=a&session_timeout=60&session_check=1&role=NONE&quota_key=q&user=u",
		 "SELECT 6", "6\n", ""},
		{"/", "SELECT getSetting('max_execution_time') SETTINGS max_execution_time = 0",
		 "30\n", ""},
		{"/?max_execution_time=3600", "SELECT getSetting('max_execution_time')", "30\n",
		 ""},
		{"/?max_block_size=7", "SELECT getSetting('max_block_size') -- x", "7\n", ""},
		{"/?max_block_size=7",
		 "SELECT NULL, getSetting('max_block_size') FORMAT TSV SETTINGS "
		 "format_tsv_null_representation = '\\\\\\'', max_block_size = 8;",
		 "\\'\t8\n", ""},
		{"/", "EXISTS TABLE coroot.profiling_profiles_mv;", "1\n", ""},
		{"/replicas_status", NULL, "Ok.\n", ""},
		{"/", "SET readonly = 1", "", "X-ClickHouse-Query-Id: "},
		{"/?session_id=a", "USE coroot", "", ""},
		{"/", "KILL QUERY WHERE query_id = 'nobody'", "finished\tnobody\tdefault\t\n", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(answer_fini) struct answer a;

		ask(&a, cases[i].target, cases[i].body, NULL);
		assert_string_equal(a.body.data, cases[i].expected);
		assert_int_equal(a.status, 200);
		assert_non_null(strstr(a.headers.data, cases[i].type));
	}
}

TEST(exceptions_have_text_code_and_status)
{
	static const struct {
		const char *target;
		const char *body;
		long status;
		const char *code;
		const char *text;
	} cases[] = {
		{"/", "SELECT FROM WHERE", 400, "62", "(SYNTAX_ERROR) (version "},
		{"/", "SELECT * FROM nowhere", 404, "60", "UNKNOWN_TABLE"},
		{"/", "DROP TABLE profiling_samples", 403, "164", "(READONLY) (version "},
		{"/?database=other", "SELECT 1", 404, "81", "Only the database coroot"},
		{"/?decompress=1", "SELECT 1", 400, "271", "(CANNOT_DECOMPRESS)"},
		{"/?client_protocol_version=x", "SELECT 1", 400, "36", "not a number"},
		{"/?client_protocol_version=54460", "SELECT sumState(1) AS s FORMAT Native", 501,
		 "48", "The column s of type AggregateFunction"},
		{"/", "SELECT {a:UInt8}", 400, "456", "a"},
		{"/?default_format=Nothing", "SELECT 1", 404, "73", "Nothing"},
		{"/?role=admin", "SELECT 1", 404, "511", "(UNKNOWN_ROLE)"},
		{"/?log_comment_x=0", "SELECT 1", 403, "164", "log_comment_x cannot be changed"},
		{"/?max_block_size=x", "SELECT 1", 400, "36", "(BAD_ARGUMENTS)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(answer_fini) struct answer a;
		char header[64], start_of_body[32];

		ask(&a, cases[i].target, cases[i].body, NULL);
		snprintf(header, sizeof(header), "X-ClickHouse-Exception-Code: %s\r\n",
			 cases[i].code);
		snprintf(start_of_body, sizeof(start_of_body),
			 "Code: %s. DB::Exception: ", cases[i].code);
		if (a.status != cases[i].status || !strstr(a.headers.data, header) ||
		    strncmp(a.body.data, start_of_body, strlen(start_of_body)) != 0 ||
		    !strstr(a.body.data, cases[i].text))
			fail_msg("%s: %ld\n%s%s", cases[i].body, a.status, a.headers.data,
				 a.body.data);
	}
}

/* Exceptions, too. */
TEST(answers_come_in_frames_on_demand)
{
	static const struct {
		const char *target;
		const char *sql;
		long status;
		enum clickhouse_method method;
		const char *text;
	} cases[] = {
		{"/?compress=1", "SELECT 1", 200, CLICKHOUSE_METHOD_LZ4, "1\n"},
		{"/?compress=1&network_compression_method=zstd", "SELECT 2", 200,
		 CLICKHOUSE_METHOD_ZSTD, "2\n"},
		{"/?compress=1&network_compression_method=NONE", "SELECT 3", 200,
		 CLICKHOUSE_METHOD_NONE, "3\n"},
		{"/?compress=1&client_protocol_version=54460", "SELECT 4 AS x FORMAT TSVWithNames",
		 200, CLICKHOUSE_METHOD_LZ4, "x\n4\n"},
		{"/?compress=1", "SELECT * FROM nowhere", 404, CLICKHOUSE_METHOD_LZ4, "Code: 60. "},
		{"/?compress=1", "DROP TABLE x", 403, CLICKHOUSE_METHOD_LZ4, "Code: 164. "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(answer_fini) struct answer a;
		CLEANUP(buf_fini) struct buf text;

		ask(&a, cases[i].target, cases[i].sql, NULL);
		assert_int_equal(a.status, cases[i].status);
		assert_true(a.body.len > 25);
		assert_int_equal((uint8_t)a.body.data[16], cases[i].method);
		buf_init(&text, 100000);
		assert_int_equal(clickhouse_frames_decode(a.body.data, a.body.len, &text), 0);
		assert_int_equal(strncmp(text.data, cases[i].text, strlen(cases[i].text)), 0);
	}
}

TEST(queries_may_come_in_frames)
{
	static const char sql[] = "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa'";
	CLEANUP(answer_fini) struct answer a;
	CLEANUP(buf_fini) struct buf frames;

	buf_init(&frames, 1000);
	assert_int_equal(
		clickhouse_frames_encode(sql, sizeof(sql) - 1, CLICKHOUSE_METHOD_LZ4, &frames), 0);
	ask_bytes(&a, "/?decompress=1", frames.data, frames.len, NULL);
	assert_string_equal(a.body.data, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n");
}

/* curl inflates gzip and deflate itself, so only what it does not know is seen here. */
TEST(answers_are_compressed_by_http_on_demand)
{
	static const struct {
		const char *target;
		const char *accept;
		const char *encoding; /* NULL: none */
	} cases[] = {
		{"/", "Accept-Encoding: gzip", NULL},
		{"/?enable_http_compression=0", "Accept-Encoding: zstd", NULL},
		{"/?enable_http_compression=1", NULL, NULL},
		{"/?enable_http_compression=1", "Accept-Encoding: br", NULL},
		{"/?enable_http_compression=1", "Accept-Encoding: zstd, gzip", "gzip"},
		{"/?enable_http_compression=1", "Accept-Encoding: zstd, gzip;q=0", "zstd"},
		{"/?enable_http_compression=1", "Accept-Encoding: br, deflate", "deflate"},
		{"/?enable_http_compression=1", "Accept-Encoding: lz4", "lz4"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(answer_fini) struct answer a;
		char header[64];

		ask(&a, cases[i].target, "SELECT repeat('a', 100000)", cases[i].accept);
		snprintf(header, sizeof(header), "\r\nContent-Encoding: %s\r\n",
			 cases[i].encoding ? cases[i].encoding : "");
		assert_int_equal(a.status, 200);
		if (cases[i].encoding) {
			assert_non_null(strstr(a.headers.data, header));
			assert_true(a.body.len < 2000);
		} else {
			assert_null(strstr(a.headers.data, "Content-Encoding"));
			assert_int_equal(a.body.len, 100001);
		}
	}
}

/* The limit counts what the engine answers, however well it can be compressed. */
TEST(answers_that_are_too_large_are_exceptions)
{
	static const char query[] = "SELECT repeat('x', 1000000) FROM numbers(%u) FORMAT Native";
	static const char target[] = "/?compress=1&client_protocol_version=54460";
	char sql[100];

	for (unsigned rows = 60; rows <= 75; rows += 15) {
		CLEANUP(answer_fini) struct answer a;
		CLEANUP(buf_fini) struct buf text;
		bool fits = rows * UINT64_C(1000000) < CLICKHOUSE_PORT_MAX_ANSWER_BYTES;

		snprintf(sql, sizeof(sql), query, rows);
		ask(&a, target, sql, NULL);
		buf_init(&text, 2 * CLICKHOUSE_PORT_MAX_ANSWER_BYTES);
		assert_int_equal(clickhouse_frames_decode(a.body.data, a.body.len, &text), 0);
		assert_int_equal(a.status == 200, fits);
		assert_int_equal(text.len > rows * UINT64_C(1000000), fits);
		if (!fits)
			assert_int_equal(strncmp(text.data, "Code: 396. ", 11), 0);
	}
}

TEST(with_little_memory_answers_are_smaller)
{
	static const char query[] = "SELECT repeat('x', 1000000) FROM numbers(%u)";
	char sql[100];

	clickhouse_port_free(sql_port);
	assert_int_equal(sql_port_open_within(NULL, UINT64_C(512) << 20), 0);
	for (unsigned rows = 15; rows <= 18; rows += 3) {
		CLEANUP(answer_fini) struct answer a;
		CLEANUP(buf_fini) struct buf text;

		snprintf(sql, sizeof(sql), query, rows);
		ask(&a, "/?compress=1", sql, NULL);
		buf_init(&text, CLICKHOUSE_PORT_MAX_ANSWER_BYTES);
		assert_int_equal(clickhouse_frames_decode(a.body.data, a.body.len, &text), 0);
		assert_int_equal(a.status, rows == 15 ? 200 : 500);
		assert_int_equal(strncmp(text.data, "Code: 396. ", 11) == 0, rows != 15);
	}
	clickhouse_port_free(sql_port);
	assert_int_equal(sql_port_open(NULL), 0);
}

TEST(answers_say_what_clients_read_in_headers)
{
	static const struct {
		const char *target;
		const char *body;
		const char *header;
	} cases[] = {
		{"/?query_id=my-id", "SELECT 1", "\r\nX-ClickHouse-Query-Id: my-id\r\n"},
		{"/?query_id=my-id", "SELECT", "\r\nX-ClickHouse-Query-Id: my-id\r\n"},
		{"/?query_id=a%0ab", "SELECT 1", "-4"}, /* an id of ours */
		{"/", "SELECT 1", "\r\nX-ClickHouse-Format: TabSeparated\r\n"},
		{"/", "SELECT 1", "\r\nX-ClickHouse-Server-Display-Name: "},
		{"/", "SELECT 1", "\r\nKeep-Alive: timeout="},
		{"/?session_timezone=Asia%2FTokyo", "SELECT 1",
		 "\r\nX-ClickHouse-Timezone: Asia/Tokyo\r\n"},
		{"/", "SELECT count() FROM numbers(1000000) WHERE number % 7 = 1",
		 "\r\nX-ClickHouse-Summary: "
		 "{\"read_rows\":\"1000000\",\"read_bytes\":\"8000000\","},
		{"/", "SELECT number FROM numbers(30)", "\"result_rows\":\"30\","},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(answer_fini) struct answer a;

		ask(&a, cases[i].target, cases[i].body, NULL);
		if (!strstr(a.headers.data, cases[i].header) ||
		    !strstr(a.headers.data, "\r\nX-ClickHouse-Query-Id: "))
			fail_msg("%s: no %s in\n%s", cases[i].target, cases[i].header,
				 a.headers.data);
	}
}

TEST(codes_have_the_names_of_the_engine)
{
	CLEANUP(answer_fini) struct answer a;
	unsigned code = 0, n = 0;

	ask(&a, "/", "SELECT errorCodeToName(number) FROM numbers(1100)", NULL);
	for (char *line = a.body.data, *end; (end = strchr(line, '\n')); line = end + 1, code++) {
		const char *name = clickhouse_code_name((int)code);

		*end = '\0';
		if (!name)
			continue;
		assert_string_equal(line, name);
		n++;
	}
	assert_int_equal(code, 1100);
	assert_true(n > 50);
}

TEST(wants_the_key_in_one_of_its_places)
{
	static const struct {
		const char *target;
		const char *header;
		long status;
	} cases[] = {
		{"/?query=SELECT%201", NULL, 401},
		{"/?query=SELECT%201", "X-ClickHouse-Key: " KEY, 200},
		{"/?query=SELECT%201", "X-ClickHouse-Key: wrong", 401},
		{"/?query=SELECT%201", "Authorization: Basic ZGVmYXVsdDpjMGZmZWU=", 200},
		{"/?query=SELECT%201", "Authorization: Basic ZGVmYXVsdDp3cm9uZw==", 401},
		{"/?query=SELECT%201&password=" KEY, NULL, 200},
		{"/?query=SELECT%201&password=", NULL, 401},
		{"/ping", NULL, 200},
		{"/", NULL, 200},
		{"/play", NULL, 404},
	};

	clickhouse_port_free(sql_port);
	assert_int_equal(sql_port_open(KEY), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(answer_fini) struct answer a;

		ask(&a, cases[i].target, NULL, cases[i].header);
		assert_int_equal(a.status, cases[i].status);
	}
	clickhouse_port_free(sql_port);
	assert_int_equal(sql_port_open(NULL), 0);
}

TEST(other_than_loopback_addresses_need_a_key)
{
	const struct clickhouse_port_config cfg = {sql_store, "0.0.0.0:0", NULL};
	CLEANUP(clickhouse_port_freep) struct clickhouse_port *p = NULL;
	struct err err = {0};

	assert_int_equal(clickhouse_port_new(&p, &cfg, &err), -EPERM);
	assert_non_null(strstr(err.msg, "--api-key"));
}

TEST(attacks_neither_read_nor_change_anything)
{
	static const char *const attacks[] = {
		"SELECT * FROM file('/etc/passwd', 'LineAsString')",
		"SELECT * FROM '/etc/passwd'",
		"SELECT * FROM `/etc/passwd`",
		"SELECT * FROM default.`/etc/passwd`",
		"SELECT * FROM format(LineAsString, 'root:x')",
		"SELECT file('/etc/passwd')",
		"SELECT * APPLY(file) FROM (SELECT '/etc/passwd')",
		"DESCRIBE TABLE file('/etc/passwd', 'CSVWithNames')",
		"SELECT 'root:x' INTO OUTFILE '/tmp/test_port_outfile'",
		"SELECT 1 FROM numbers(1) SETTINGS readonly = 0",
		"SELECT * FROM (SELECT 1 SETTINGS max_memory_usage = 0)",
		"WITH x AS (SELECT * FROM url('http://127.0.0.1:9/')) SELECT * FROM x",
		"EXPLAIN SELECT * FROM remote('127.0.0.1:9', 'system.one')",
		"EXPLAIN INSERT INTO profiling_samples (Value) VALUES (1)",
		"INSERT INTO profiling_samples (Value) SELECT 1",
		"SELECT 1; INSERT INTO profiling_samples (Value) VALUES (1)",
		"SELECT dictGet('x', 'y', 1)",
		"SYSTEM STOP MERGES",
		"KILL QUERY WHERE 1",
		"ATTACH TABLE t (x String) ENGINE = File(TSV, '/etc/passwd')",
		"ALTER TABLE profiling_samples DELETE WHERE 1",
		"USE system",
		"SET readonly = 0",
		"SELECT * FROM system.stack_trace",
		"SELECT addressToLine(toUInt64(1))",
	};
	CLEANUP(answer_fini) struct answer last;

	for (size_t i = 0; i < ARRAY_SIZE(attacks); i++) {
		CLEANUP(answer_fini) struct answer a;

		ask(&a, "/", attacks[i], NULL);
		if (a.status == 200 || strncmp(a.body.data, "Code: ", 6) != 0 ||
		    strstr(a.body.data, "root:x:"))
			fail_msg("%s: %ld %s", attacks[i], a.status, a.body.data);
	}
	assert_int_equal(access("/tmp/test_port_outfile", F_OK), -1);
	ask(&last, "/",
	    "SELECT count(), currentDatabase(), getSetting('readonly'), currentRoles() "
	    "FROM profiling_samples",
	    NULL);
	assert_string_equal(last.body.data, "0\tcoroot\t2\t['reader']\n");
}

int main(void)
{
	if (!getenv("CHDB_LIBRARY")) {
		fprintf(stderr, "CHDB_LIBRARY is not set\n");
		return 1;
	}
	return unit_run(sql_fixture_start, sql_fixture_stop);
}
