/*
 * Clients of the SQL port that leave, and such that ask more than their share: real connections,
 * the real engine, which is asked what it runs. The environment names libchdb.so as CHDB_LIBRARY.
 */
#include "cluster-agent/store/row_batch.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/metrics.h"
#include "test/lib/raw_client.h"
#include "test/lib/unit.h"
#include "test/store/sql_fixture.h"

#define POLLS 12000 /* of 10 ms */
#define MARK "sipHash64"
#define ENDLESS "SELECT count() FROM numbers(1000000000000) WHERE " MARK "(number) = 1"
#define LARGE "SELECT repeat('x', 1000000) FROM numbers(32)"
#define IDLE_NS (60 * NS_PER_S) /* IDLE_TIMEOUT_S of clickhouse_port.c */
#define T(s) ((struct row_text){s, sizeof(s) - 1})

static struct metrics *metrics;

static int start(void **state)
{
	int r = sql_fixture_start(state);

	if (r == 0)
		r = metrics_new(&metrics);
	return r == 0 ? clickhouse_port_register(sql_port, metrics) : r;
}

static int stop(void **state)
{
	metrics_free(metrics);
	return sql_fixture_stop(state);
}

/* ---- clients ---- */

static int send_query(const char *address, const char *sql)
{
	int fd = raw_client_connect_from(address, clickhouse_port_number(sql_port));
	char request[1000];

	snprintf(request, sizeof(request),
		 "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n"
		 "Connection: close\r\n\r\n%s",
		 strlen(sql), sql);
	raw_client_send(fd, request);
	return fd;
}

/* The answer must be 200 with this body, and nothing before or after it. */
static void expect_answer(int fd, const char *body)
{
	AUTO_FREE char *text = raw_client_read(fd, NULL);
	const char *end = strstr(text, "\r\n\r\n");

	close(fd);
	assert_non_null(end);
	if (strncmp(text, "HTTP/1.1 200 ", 13) != 0)
		fail_msg("%s", text);
	assert_string_equal(end + 4, body);
}

static void expect_exception(int fd, const char *code)
{
	AUTO_FREE char *text = raw_client_read(fd, NULL);

	close(fd);
	assert_non_null(strstr(text, code));
}

/* ---- what can be seen from outside ---- */

static unsigned n_running(void)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1000);
	assert_int_equal(store_maintain(sql_store,
					"SELECT count() FROM system.processes WHERE query LIKE "
					"'%" MARK "%' AND query NOT LIKE '%system.processes%'",
					&out, NULL),
			 0);
	return (unsigned)strtoul(out.data, NULL, 10);
}

static void wait_until_running(unsigned n)
{
	for (int i = 0; n_running() != n; i++) {
		if (i == POLLS)
			fail_msg("%u, not %u queries run", n_running(), n);
		usleep(10000);
	}
}

static unsigned metric(const char *name)
{
	CLEANUP(buf_fini) struct buf out;
	const char *at;

	buf_init(&out, 100000);
	assert_int_equal(metrics_write(metrics, &out), 0);
	at = strstr(out.data, name);
	assert_non_null(at);
	return (unsigned)strtoul(at + strlen(name), NULL, 10);
}

#define CANCELLED "\ncoroot_cluster_agent_sql_queries_cancelled_total{reason=\"client_left\"}"
#define RUNNING "\ncoroot_cluster_agent_sql_queries_running "
#define REFUSED "\ncoroot_cluster_agent_sql_queries_total{result=\"refused\"} "
#define WAITING "\ncoroot_cluster_agent_sql_queries_waiting "

static void wait_for_metric(const char *name, unsigned n)
{
	for (int i = 0; metric(name) != n; i++) {
		if (i == POLLS)
			fail_msg("%s is %u, not %u", name + 1, metric(name), n);
		usleep(10000);
	}
}

static void wait_until_idle(void)
{
	wait_for_metric(WAITING, 0);
	wait_for_metric(RUNNING, 0);
	wait_until_running(0);
}

static uint64_t own_memory(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[200];

	assert_non_null(status);
	while (fgets(line, sizeof(line), status) && sscanf(line, "RssAnon: %llu kB", &kib) != 1)
		;
	fclose(status);
	assert_true(kib > 0);
	return kib * 1024;
}

/* ---- tests ---- */

/* Their queries would run for half a minute, two at a time, and the next one wait for them. */
TEST(six_clients_leave_and_the_next_is_answered)
{
	unsigned before = metric(CANCELLED);
	int clients[6];

	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		clients[i] = send_query("127.0.0.1", ENDLESS);
	wait_until_running(2);
	wait_for_metric(WAITING, 4);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		close(clients[i]);
	expect_answer(send_query("127.0.0.1", "SELECT 1"), "1\n");
	wait_for_metric(CANCELLED, before + 6);
	wait_until_idle();
}

TEST(nobody_takes_all_connections)
{
	int greedy[8];

	for (size_t i = 0; i < ARRAY_SIZE(greedy); i++)
		greedy[i] = send_query("127.0.0.2", ENDLESS);
	wait_until_running(2);
	for (int i = 0; i < 10; i++)
		expect_answer(send_query("127.0.0.3", "SELECT 2"), "2\n");
	assert_int_equal(n_running(), 2);
	for (size_t i = 0; i < ARRAY_SIZE(greedy); i++)
		raw_client_reset(greedy[i]);
	wait_until_idle();
}

TEST(a_client_has_so_many_queries_waiting)
{
	int running[2], waiting[24];

	/* those that run no longer wait, however late their threads begin */
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		running[i] = send_query("127.0.0.2", ENDLESS);
	wait_for_metric(RUNNING, ARRAY_SIZE(running));
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		waiting[i] = send_query("127.0.0.2", ENDLESS);
	wait_for_metric(WAITING, ARRAY_SIZE(waiting));
	wait_until_running(ARRAY_SIZE(running));
	expect_exception(send_query("127.0.0.2", "SELECT 1"), "Code: 202. ");
	expect_answer(send_query("127.0.0.3", "SELECT 3"), "3\n");
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		close(running[i]);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		close(waiting[i]);
	wait_until_idle();
}

/* Clients leave at any time: while their query waits, starts, runs, and is sent. */
TEST(what_is_left_reaches_nobody_else)
{
	for (unsigned i = 0; i < 60; i++) {
		int victims[4], fd;
		char sql[64], body[32];

		for (size_t k = 0; k < ARRAY_SIZE(victims); k++)
			victims[k] = send_query(k % 2 ? "127.0.0.2" : "127.0.0.4",
						k < 2 ? "SELECT 'secret', number "
							"FROM numbers(100000000)"
						      : "SELECT 'secret' FROM numbers(100000)");
		snprintf(sql, sizeof(sql), "SELECT %u", i);
		snprintf(body, sizeof(body), "%u\n", i);
		fd = send_query("127.0.0.3", sql);
		usleep(i % 10 * 2000);
		for (size_t k = 0; k < ARRAY_SIZE(victims); k++) {
			if (i % 2)
				close(victims[k]);
			else
				raw_client_reset(victims[k]);
		}
		expect_answer(fd, body);
		expect_answer(send_query("127.0.0.2", sql), body);
	}
	wait_until_idle();
}

/* The answer to LARGE, whose first bytes are read. */
static bool is_answered(int fd)
{
	AUTO_FREE char *text = raw_client_read(fd, "\r\n\r\n");

	if (strncmp(text, "HTTP/1.1 200 ", 13) == 0)
		return true;
	assert_int_equal(strncmp(text, "HTTP/1.1 503 ", 13), 0);
	assert_non_null(strstr(text, "X-ClickHouse-Exception-Code: 202\r\n"));
	return false;
}

/* 40 answers of 32 MB would be 1.3 GB. */
TEST(answers_that_nobody_reads_take_a_limited_memory)
{
	int readers[40];
	unsigned refused_before, n_answered = 0;
	uint64_t memory_before, start_ns = clock_monotonic_ns();
	int i, fd;

	fd = send_query("127.0.0.2", LARGE);
	assert_true(is_answered(fd));
	close(fd);
	refused_before = metric(REFUSED);
	memory_before = own_memory();
	for (i = 0; i < 40; i++) {
		readers[i] = send_query("127.0.0.2", LARGE);
		n_answered += is_answered(readers[i]);
	}
	assert_true(n_answered >= 7);
	/* if this takes longer, the first ones are given up, and there is room again */
	if (clock_monotonic_ns() - start_ns < IDLE_NS)
		assert_true(n_answered <= 8);
	assert_int_equal(metric(REFUSED), refused_before + 40 - n_answered);
	assert_true(own_memory() < memory_before + 2 * LIMIT_ANSWERS_MEMORY_BYTES);
	expect_answer(send_query("127.0.0.3", "SELECT 4"), "4\n");

	for (i = 0; i < 40; i++)
		close(readers[i]);
	for (i = 0; i < POLLS; i++) {
		bool answered;

		fd = send_query("127.0.0.3", LARGE);
		answered = is_answered(fd);
		close(fd);
		if (answered)
			break;
		usleep(10000);
	}
	assert_true(i < POLLS);
	wait_until_idle();
}

/* Whatever clients ask, rows get in. */
TEST(inserts_succeed_while_clients_ask_much)
{
	static const char *const queries[] = {
		ENDLESS,
		"SELECT " MARK "(1), number FROM numbers(100000000000) ORDER BY rand() LIMIT 9",
		"SELECT " MARK "(1), sum(a.number * b.number) FROM numbers(1000000) AS a "
		"CROSS JOIN numbers(1000000) AS b",
		"SELECT " MARK "(1), count() FROM numbers(100000000000) "
		"WHERE match(repeat(toString(number), 50), '.*1.*2.*3.*4.*5.*6')",
		"SELECT " MARK "(1), uniqExact(number), groupArray(number) "
		"FROM numbers(100000000000)",
	};
	const int64_t now = (int64_t)clock_realtime_ns();
	int clients[16];

	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		char address[16];

		snprintf(address, sizeof(address), "127.0.0.%zu", 2 + i % 8);
		clients[i] = send_query(address, queries[i % ARRAY_SIZE(queries)]);
	}
	wait_for_metric(RUNNING, STORE_MAX_QUERIES);
	for (int i = 0; i < 30; i++) {
		CLEANUP(row_batch_fini) struct row_batch b;
		const struct stack_row stack = {T("/svc"), (uint64_t)i, now, &T("leaf a.c:1"), 1};
		const struct store_frame *frames;
		struct err err = {0};
		size_t n;

		row_batch_init(&b, 10000, 10000);
		assert_int_equal(row_batch_add_stack(&b, &stack), 0);
		assert_int_equal(row_batch_finish(&b), 0);
		frames = row_batch_frames(&b, STORE_STACKS, &n);
		if (store_insert(sql_store, STORE_STACKS, NULL, frames, n, &err) < 0)
			fail_msg("insert %d: %s", i, err.msg);
		assert_int_equal(store_ping(sql_store), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		close(clients[i]);
	wait_until_idle();
}

GROUP_FIXTURE(start, stop)
