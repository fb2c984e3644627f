/*
 * Queries that nobody waits for any more, on the real engine: embedded, and as a server. They are
 * ended at every stage, and what they leave behind reaches nobody else. The environment names
 * libchdb.so as CHDB_LIBRARY and the server as CLICKHOUSE_SERVER.
 */
#include <errno.h>
#include <pthread.h>

#include "cluster-agent/store/row_batch.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_clickhouse.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"

#define DAY_S UINT64_C(86400)
#define POLLS 12000 /* of 10 ms */
#define ENDLESS "SELECT count() FROM numbers(1000000000000) WHERE sipHash64(number) = 1"

static bool on_server;
static struct clickhouse_process server;
static struct store *store;

static void open_embedded(void)
{
	const struct store_chdb_config cfg = {
		.data_dir = temp_dir(),
		.profiles_ttl_ns = DAY_S * NS_PER_S,
		.chdb_library = getenv("CHDB_LIBRARY"),
	};
	struct err err = {0};

	if (store_chdb_open(&store, &cfg, &err) < 0)
		fail_msg("open: %s", err.msg);
}

static void open_on_server(void)
{
	struct store_clickhouse_config cfg = {
		.database = "coroot",
		.schema = {.ttl_ns = DAY_S * NS_PER_S},
	};
	struct clickhouse_address address;
	struct err err = {0};
	char text[32];

	clickhouse_process_init(&server);
	clickhouse_process_start(&server, NULL);
	snprintf(text, sizeof(text), "127.0.0.1:%u", server.port);
	assert_int_equal(clickhouse_addresses_parse(text, false, &address, NULL), 1);
	cfg.client.addresses = &address;
	cfg.client.n_addresses = 1;
	if (store_clickhouse_open(&store, &cfg, &err) < 0)
		fail_msg("open: %s", err.msg);
	for (int i = 0; store_ping(store) < 0; i++) {
		assert_true(i < POLLS);
		usleep(10000);
	}
}

static int begin_embedded(void **state)
{
	(void)state;
	on_server = false;
	open_embedded();
	return 0;
}

static int begin_on_server(void **state)
{
	(void)state;
	on_server = true;
	open_on_server();
	return 0;
}

static int end(void **state)
{
	(void)state;
	store_close(store);
	if (!on_server)
		return 0;
	clickhouse_process_fini(&server);
	return 0;
}

/* ---- a query on a thread of its own ---- */

struct asked {
	const char *sql;
	struct buf out;
	pthread_t thread;
	struct err err;
	enum store_lane lane;
	int r;
	struct store_ticket ticket;
	atomic_bool returned;
};

static void *ask(void *ctx)
{
	struct asked *a = ctx;
	const struct store_query q = {
		.lane = a->lane, .ticket = &a->ticket, .sql = a->sql, .format = "TSV"};

	a->r = store_query(store, &q, &a->out, &a->err);
	atomic_store(&a->returned, true);
	return NULL;
}

static void start(struct asked *a, enum store_lane lane, const char *sql)
{
	*a = (struct asked){.lane = lane, .sql = sql};
	buf_init(&a->out, 100000000);
	assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
}

/* Returns what store_query() has; the answer must be expected, or nothing if that is NULL. */
static int finish(struct asked *a, const char *expected)
{
	int r;

	assert_int_equal(pthread_join(a->thread, NULL), 0);
	r = a->r;
	if (expected && r == 0) {
		assert_int_equal(a->out.len, strlen(expected));
		assert_memory_equal(a->out.data, expected, a->out.len);
	} else if (r == -ECANCELED) {
		assert_int_equal(a->out.len, 0);
		assert_string_equal(a->err.msg, "the query was cancelled");
	}
	buf_fini(&a->out);
	return r;
}

/* How many queries of this text the engine runs. */
static unsigned n_running(const char *part)
{
	CLEANUP(buf_fini) struct buf out;
	char sql[300];

	buf_init(&out, 1000);
	snprintf(sql, sizeof(sql),
		 "SELECT count() FROM system.processes WHERE query LIKE '%%%s%%' "
		 "AND query NOT LIKE '%%system.processes%%'",
		 part);
	assert_int_equal(store_maintain(store, sql, &out, NULL), 0);
	return (unsigned)strtoul(out.data, NULL, 10);
}

static void wait_until_running(const char *part, unsigned n)
{
	for (int i = 0; n_running(part) != n; i++) {
		if (i == POLLS)
			fail_msg("%s: %u, not %u run", part, n_running(part), n);
		usleep(10000);
	}
}

/* Asks each connection of the lane something that only it can answer, all at the same time. */
static void expect_clean_connections(enum store_lane lane)
{
	struct asked asked[STORE_MAX_QUERIES];
	char sql[STORE_MAX_QUERIES][100], expected[STORE_MAX_QUERIES][32];

	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < STORE_MAX_QUERIES; i++) {
			unsigned n = round * 100 + i;

			snprintf(sql[i], sizeof(sql[i]), "SELECT %u, sleepEachRow(0.01)", n);
			snprintf(expected[i], sizeof(expected[i]), "%u\t0\n", n);
			start(&asked[i], lane, sql[i]);
		}
		for (unsigned i = 0; i < STORE_MAX_QUERIES; i++)
			assert_int_equal(finish(&asked[i], expected[i]), 0);
	}
}

/* ---- tests ---- */

static void a_query_that_runs_is_ended(void **state)
{
	static const struct {
		const char *sql;
		const char *part;
	} cases[] = {
		{ENDLESS, "sipHash64"},
		{"SELECT sum(a.number * b.number) FROM numbers(1000000) AS a "
		 "CROSS JOIN numbers(1000000) AS b",
		 "CROSS JOIN"},
		{"SELECT number FROM numbers(100000000000) ORDER BY cityHash64(number) LIMIT 10",
		 "cityHash64"},
		{"SELECT count() FROM numbers(1000000000) "
		 "WHERE match(repeat(toString(number), 50), '.*1.*2.*3.*4.*5.*6')",
		 "match"},
		{"SELECT (SELECT count() FROM numbers(1000000000001))", "1000000000001"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct asked a;

		start(&a, STORE_FOR_SQL, cases[i].sql);
		wait_until_running(cases[i].part, 1);
		store_cancel(store, &a.ticket);
		assert_int_equal(finish(&a, NULL), -ECANCELED);
		wait_until_running(cases[i].part, 0);
	}
	expect_clean_connections(STORE_FOR_SQL);
}

static void a_query_that_waits_is_ended_and_the_others_run_on(void **state)
{
	struct asked running[STORE_MAX_QUERIES], waiting, page;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		start(&running[i], STORE_FOR_SQL, ENDLESS);
	wait_until_running("sipHash64", STORE_MAX_QUERIES);
	start(&waiting, STORE_FOR_SQL, "SELECT 2");
	/* other lanes do not wait */
	start(&page, STORE_FOR_PAGE, "SELECT 1");
	assert_int_equal(finish(&page, "1\n"), 0);
	assert_int_equal(store_ping(store), 0);
	assert_false(atomic_load(&waiting.returned));
	store_cancel(store, &waiting.ticket);
	assert_int_equal(finish(&waiting, NULL), -ECANCELED);
	assert_int_equal(n_running("sipHash64"), STORE_MAX_QUERIES);
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		store_cancel(store, &running[i].ticket);
	for (size_t i = 0; i < ARRAY_SIZE(running); i++)
		assert_int_equal(finish(&running[i], NULL), -ECANCELED);
	expect_clean_connections(STORE_FOR_SQL);
}

static void a_cancelled_ticket_starts_nothing(void **state)
{
	CLEANUP(buf_fini) struct buf out;
	struct store_ticket ticket = {0};
	const struct store_query q = {.ticket = &ticket, .sql = "SELECT 1", .format = "TSV"};

	(void)state;
	buf_init(&out, 100);
	store_cancel(store, &ticket);
	assert_int_equal(store_query(store, &q, &out, NULL), -ECANCELED);
	assert_int_equal(out.len, 0);
	ticket = (struct store_ticket){0};
	assert_int_equal(store_query(store, &q, &out, NULL), 0);
}

/*
 * Queries that produce output from the beginning are ended at any time, also while they start and
 * while they end, as others ask on the same connections. Nothing of an answer is in another one.
 */
static void what_is_ended_leaves_nothing_to_others(void **state)
{
	unsigned n = on_server ? 5 : 100, n_cancelled = 0;

	(void)state;
	for (unsigned i = 0; i < n; i++) {
		struct asked victims[2], others[3];
		char sql[100], expected[32];

		start(&victims[0], STORE_FOR_SQL,
		      "SELECT 'secret', number FROM numbers(100000000)");
		start(&victims[1], STORE_FOR_SQL, "SELECT 'secret', sleepEachRow(0.001)");
		snprintf(sql, sizeof(sql), "SELECT %u", i);
		snprintf(expected, sizeof(expected), "%u\n", i);
		for (size_t k = 0; k < ARRAY_SIZE(others); k++)
			start(&others[k], STORE_FOR_SQL, sql);
		usleep(i % 10 * 1500);
		store_cancel(store, &victims[0].ticket);
		store_cancel(store, &victims[1].ticket);
		for (size_t k = 0; k < ARRAY_SIZE(others); k++)
			assert_int_equal(finish(&others[k], expected), 0);
		n_cancelled += finish(&victims[0], NULL) == -ECANCELED;
		(void)finish(&victims[1], "secret\t0\n");
	}
	assert_true(n_cancelled > n / 2);
	expect_clean_connections(STORE_FOR_SQL);
}

static void stopping_ends_what_runs_and_what_waits(void **state)
{
	struct asked asked[STORE_MAX_QUERIES + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		start(&asked[i], STORE_FOR_SQL, ENDLESS);
	wait_until_running("sipHash64", STORE_MAX_QUERIES);
	store_stop_queries(store);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		assert_int_equal(finish(&asked[i], NULL), -EPIPE);
	if (!on_server) /* which takes no statements after that */
		wait_until_running("sipHash64", 0);
}

#define SHARED                                                                               \
	cmocka_unit_test(a_query_that_runs_is_ended),                                        \
		cmocka_unit_test(a_query_that_waits_is_ended_and_the_others_run_on),         \
		cmocka_unit_test(a_cancelled_ticket_starts_nothing),                         \
		cmocka_unit_test(what_is_ended_leaves_nothing_to_others), /* the last one */ \
		cmocka_unit_test(stopping_ends_what_runs_and_what_waits)

int main(void)
{
	const struct CMUnitTest embedded[] = {SHARED};
	const struct CMUnitTest on_a_server[] = {SHARED};
	int r = cmocka_run_group_tests_name("embedded", embedded, begin_embedded, end);

	return r ? r : cmocka_run_group_tests_name("server", on_a_server, begin_on_server, end);
}
