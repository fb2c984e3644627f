/*
 * The queries of the page on distributed tables. There is no cluster here, but remote() makes the
 * same kind of table, with servers that are all this one: of one shard, which must answer as the
 * plain tables do, and of two shards with the same rows. The environment names libchdb.so as
 * CHDB_LIBRARY.
 */
#include <jansson.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/store/store_chdb.h"
#include "cluster-agent/store/store_clickhouse.h"
#include "cluster-agent/store/store_engine.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"

#define SERVICE "/k8s/shop/cart"
#define CPU "ebpf:cpu:nanoseconds"
#define HEAP "go:heap_inuse_space:bytes"

static struct store *store;

static void run(const char *sql)
{
	struct err err = {0};

	if (store_maintain(store, sql, NULL, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
}

/* 600 profiles of two hosts within the last hour, each with 20 of 500 stacks. */
static void fill(void)
{
	run("INSERT INTO profiling_stacks SELECT '" SERVICE "', number, now64(9), "
	    "['leaf' || toString(number) || ' a.c:1', 'mid' || toString(number % 7) || ' a.c:2', "
	    "'main a.c:3'] FROM numbers(500)");
	run("INSERT INTO profiling_samples SELECT '" SERVICE "', "
	    "['" CPU "', '" HEAP "'][1 + p % 2], t - 10, t, "
	    "map('host.name', ['a', 'b'][1 + p % 2], 'container.id', "
	    "'/k8s/shop/cart-' || toString(p % 3) || '/app', 'namespace', 'shop', 'pod', "
	    "'cart-' || toString(p % 3)), (p * 13 + n * 31) % 500, 1000000 + n * 1000 "
	    "FROM (SELECT number % 20 AS n, intDiv(number, 20) AS p, "
	    "toDateTime64('2026-01-10 12:00:00', 9, 'UTC') + p * 5 AS t FROM numbers(12000))");
	run("INSERT INTO profiling_quality SELECT '" SERVICE "', "
	    "['" CPU "', '" HEAP "'][1 + number % 2], t - 10, t, ['a', 'b'][1 + number % 2], 20, "
	    "1, 20000000, number % 3, map('ring_full', 2), number, map('java:off', 1), map(), "
	    "map(), map('host.name', ['a', 'b'][1 + number % 2], 'container.id', "
	    "'/k8s/shop/cart-' || toString(number % 3) || '/app', 'namespace', 'shop', 'pod', "
	    "'cart-' || toString(number % 3)), 1 + number % 6 "
	    "FROM (SELECT number, toDateTime64('2026-01-10 12:00:00', 9, 'UTC') + number * 5 AS t "
	    "FROM numbers(600))");
}

static int start(void **state)
{
	struct store_chdb_config cfg = {temp_dir(), UINT64_C(3650) * 86400 * NS_PER_S,
					getenv("CHDB_LIBRARY")};
	struct err err = {0};

	(void)state;
	if (store_chdb_open(&store, &cfg, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	fill();
	return 0;
}

static int stop(void **state)
{
	(void)state;
	store_close(store);
	return 0;
}

/* servers: "127.0.0.1", or a pattern of several; NULL: back to the plain tables. */
static void use_servers(const char *servers)
{
	static const char *const tables[] = {"stacks", "samples", "quality", "profiles"};

	store->cluster = servers ? "here" : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tables) && servers; i++) {
		char sql[256];

		snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS profiling_%s_distributed",
			 tables[i]);
		run(sql);
		snprintf(sql, sizeof(sql),
			 "CREATE TABLE profiling_%s_distributed AS "
			 "remote('%s', currentDatabase(), 'profiling_%s')",
			 tables[i], servers, tables[i]);
		run(sql);
	}
}

typedef int (*query_fn)(struct store *, const struct query_request *, struct buf *, struct err *);

/* Ranges that are read from projections. */
static int movers_of_days(struct store *s, const struct query_request *p, struct buf *out,
			  struct err *err)
{
	struct query_request days = *p;

	days.filter.from_ns -= INT64_C(86400) * (int64_t)NS_PER_S;
	days.base.from_ns -= INT64_C(2 * 86400) * (int64_t)NS_PER_S;
	days.has_base = true;
	return profile_query_movers(s, &days, out, err);
}

static int timeline_of_days(struct store *s, const struct query_request *p, struct buf *out,
			    struct err *err)
{
	struct query_request days = *p;

	days.filter.from_ns -= INT64_C(7 * 86400) * (int64_t)NS_PER_S;
	return profile_query_timeline(s, &days, out, err);
}

static const query_fn queries[] = {
	profile_query_applications, profile_query_timeline,  profile_query_flamegraph,
	profile_query_labels,       profile_query_functions, profile_query_stacks,
	profile_query_movers,       movers_of_days,          timeline_of_days};

static void ask(query_fn fn, const char *type, const char *instance, struct buf *out)
{
	const int64_t noon_s = 1768046400; /* 2026-01-10 12:00 UTC */
	const struct query_request request = {
		.filter = {.service = SERVICE,
			   .type = type,
			   .instance = instance,
			   .from_ns = noon_s * (int64_t)NS_PER_S,
			   .to_ns = (noon_s + 3600) * (int64_t)NS_PER_S},
		/* of movers only: the others do not compare */
		.base = {.from_ns = noon_s * (int64_t)NS_PER_S,
			 .to_ns = (noon_s + 1200) * (int64_t)NS_PER_S},
		.has_base = fn == profile_query_movers,
		.n_points = 60,
		.max_nodes = 5000,
		.label = "pod",
		.limit = 10,
	};
	struct err err = {0};

	buf_init(out, 10000000);
	if (fn(store, &request, out, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(out->len > 0);
}

static void one_shard_answers_as_plain_tables_do(void **state)
{
	static const char *const types[] = {CPU, HEAP};
	static const char *const instances[] = {NULL, "/k8s/shop/cart-1/app"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(queries) * 4; i++) {
		const char *type = types[i % 2], *instance = instances[i / 2 % 2];
		CLEANUP(buf_fini) struct buf plain;
		CLEANUP(buf_fini) struct buf distributed;

		use_servers(NULL);
		ask(queries[i / 4], type, instance, &plain);
		use_servers("127.0.0.1");
		ask(queries[i / 4], type, instance, &distributed);
		assert_string_equal(distributed.data, plain.data);
	}
	use_servers(NULL);
}

static json_int_t total_of_flamegraph(void)
{
	CLEANUP(buf_fini) struct buf out;
	json_int_t total;
	json_t *json;

	ask(profile_query_flamegraph, CPU, NULL, &out);
	json = json_loads(out.data, 0, NULL);
	assert_non_null(json);
	total = json_integer_value(json_object_get(json, "total"));
	json_decref(json);
	return total;
}

/* Of the function that moved most. */
static json_int_t value_of_mover(query_fn fn)
{
	CLEANUP(buf_fini) struct buf out;
	json_int_t value;
	json_t *json;

	ask(fn, CPU, NULL, &out);
	json = json_loads(out.data, 0, NULL);
	assert_non_null(json);
	value = json_integer_value(
		json_object_get(json_array_get(json_object_get(json, "movers"), 0), "self"));
	json_decref(json);
	return value;
}

/* Subqueries reach all shards, too, or a function would have the stacks of one of them. */
static void movers_of_shards_are_added(void **state)
{
	static const query_fn fns[] = {profile_query_movers, movers_of_days};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
		json_int_t one;

		use_servers(NULL);
		one = value_of_mover(fns[i]);
		assert_true(one > 0);
		use_servers("127.0.0.1,127.0.0.1");
		assert_int_equal(value_of_mover(fns[i]), 2 * one);
	}
	use_servers(NULL);
}

static void the_values_of_shards_are_added(void **state)
{
	json_int_t one;

	(void)state;
	use_servers(NULL);
	one = total_of_flamegraph();
	assert_true(one > 0);
	use_servers("127.0.0.1,127.0.0.1");
	assert_int_equal(total_of_flamegraph(), 2 * one);
	use_servers(NULL);
}

/* ---- a cluster that does not answer ---- */

static struct clickhouse_process server;
static char config_path[96];

static void start_server_with_cluster(void)
{
	char option[128];
	const char *const args[] = {option, NULL};
	FILE *f;

	clickhouse_process_init(&server);
	snprintf(config_path, sizeof(config_path), "%s.xml", server.dir);
	snprintf(option, sizeof(option), "--config=%s", config_path);
	f = fopen(config_path, "we");
	assert_non_null(f);
	/* nothing listens on port 1 */
	assert_true(fputs("<clickhouse><logger><level>fatal</level></logger><remote_servers><far>"
			  "<shard><replica><host>127.0.0.1</host><port>1</port></replica></shard>"
			  "<shard><replica><host>127.0.0.1</host><port>1</port></replica></shard>"
			  "</far></remote_servers></clickhouse>",
			  f) > 0);
	assert_int_equal(fclose(f), 0);
	clickhouse_process_start(&server, args);
}

static struct store *open_on_server(void)
{
	struct store_clickhouse_config c = {.database = "coroot",
					    .cluster = "none",
					    .schema = {.ttl_ns = UINT64_C(86400) * NS_PER_S}};
	struct clickhouse_address address;
	struct err err = {0};
	struct store *s = NULL;
	char text[32];

	snprintf(text, sizeof(text), "127.0.0.1:%u", server.port);
	assert_int_equal(clickhouse_addresses_parse(text, false, &address, NULL), 1);
	c.client.addresses = &address;
	c.client.n_addresses = 1;
	if (store_clickhouse_open(&s, &c, &err) < 0)
		fail_msg("%s", err.msg);
	eventually(store_ping(s) >= 0);
	return s;
}

/*
 * A query that may not be distributed as it is written fails before any shard is asked: with 288 if
 * a subquery is not GLOBAL. Here all fail later, because no shard answers.
 */
static void the_queries_may_be_distributed(void **state)
{
	static const char *const tables[] = {"stacks", "samples", "quality", "profiles"};
	CLEANUP(store_closep) struct store *s = NULL;
	const struct query_request request = {
		.filter = {.service = SERVICE, .type = CPU, .to_ns = 3600 * (int64_t)NS_PER_S},
		.n_points = 60,
		.max_nodes = 5000,
		.label = "pod",
		.limit = 10};

	(void)state;
	start_server_with_cluster();
	s = open_on_server();
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		char sql[256];

		snprintf(sql, sizeof(sql),
			 "CREATE TABLE coroot.profiling_%s_distributed AS coroot.profiling_%s "
			 "ENGINE = Distributed('far', 'coroot', 'profiling_%s')",
			 tables[i], tables[i], tables[i]);
		clickhouse_process_run(&server, sql);
	}
	s->cluster = "far";
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		CLEANUP(buf_fini) struct buf out;
		struct err err = {0};

		buf_init(&out, 1000000);
		assert_true(queries[i](s, &request, &out, &err) < 0);
		if (!strstr(err.msg, "Code: 279."))
			fail_msg("%s", err.msg);
	}
	unlink(config_path);
	clickhouse_process_fini(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_shard_answers_as_plain_tables_do),
		cmocka_unit_test(the_values_of_shards_are_added),
		cmocka_unit_test(movers_of_shards_are_added),
		cmocka_unit_test(the_queries_may_be_distributed),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
