/*
 * The schema on a server: beside tables that Coroot made, on tables of an earlier agent, with
 * several agents that start at once.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "cluster-agent/store/schema.h"
#include "cluster-agent/store/schema_text.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/unit.h"
#include "test/store/clickhouse_process.h"

/* profiling_claims is one of them; the view comes on top */
#define N_TABLES 5
#define DAY_S UINT64_C(86400)
#define N_AGENTS 6

static struct clickhouse_process server;
static char config_path[96];
static char disk_path[96];
static const struct schema_topology single;
static const struct schema_config week = {.ttl_ns = 7 * DAY_S * NS_PER_S};

/* A server with a second disk, and with policies that do and do not contain the default one. */
static void write_config(void)
{
	FILE *f = fopen(config_path, "we");

	assert_non_null(f);
	assert_true(fprintf(f,
			    "<clickhouse><logger><level>fatal</level></logger>"
			    "<macros><shard>1</shard><replica>r</replica></macros>"
			    "<background_pool_size>2</background_pool_size>"
			    "<merge_tree>"
			    "<number_of_free_entries_in_pool_to_execute_mutation>1"
			    "</number_of_free_entries_in_pool_to_execute_mutation>"
			    "<number_of_free_entries_in_pool_to_lower_max_size_of_merge>1"
			    "</number_of_free_entries_in_pool_to_lower_max_size_of_merge>"
			    "<number_of_free_entries_in_pool_to_execute_optimize_entire_partition>1"
			    "</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>"
			    "</merge_tree>"
			    "<storage_configuration><disks><slow><path>%s/</path></slow></disks>"
			    "<policies>"
			    "<tiered><volumes><default><disk>default</disk></default>"
			    "<cold><disk>slow</disk></cold></volumes></tiered>"
			    "<other><volumes><cold><disk>slow</disk></cold></volumes></other>"
			    "</policies></storage_configuration></clickhouse>\n",
			    disk_path) > 0);
	assert_int_equal(fclose(f), 0);
}

static int start(void **state)
{
	char option[128];
	const char *const args[] = {option, NULL};

	(void)state;
	clickhouse_process_init(&server);
	snprintf(config_path, sizeof(config_path), "%s.xml", server.dir);
	snprintf(disk_path, sizeof(disk_path), "%s.slow", server.dir);
	snprintf(option, sizeof(option), "--config=%s", config_path);
	write_config();
	clickhouse_process_start(&server, args);
	return 0;
}

static int stop(void **state)
{
	char command[128];

	(void)state;
	clickhouse_process_fini(&server);
	unlink(config_path);
	snprintf(command, sizeof(command), "rm -rf %s", disk_path);
	return system(command);
}

/* Each test has a database of its own. ctx is its name, or NULL before it exists. */
static int run(void *ctx, const char *sql, struct buf *out, struct err *err)
{
	CLEANUP(buf_fini) struct buf answer;
	char params[128] = "";
	long status;

	buf_init(&answer, 10000000);
	if (ctx)
		snprintf(params, sizeof(params), "database=%s", (const char *)ctx);
	status = clickhouse_process_ask(&server, params, sql, strlen(sql), &answer);
	if (status != 200)
		return err_set(err, -EREMOTEIO, "%s", answer.data);
	return out ? buf_add(out, answer.data, answer.len) : 0;
}

static void apply(const char *database, const struct schema_config *cfg)
{
	char name[64];
	struct err err = {0};

	snprintf(name, sizeof(name), "%s", database);
	if (schema_create_database(run, NULL, &single, database, &err) < 0 ||
	    schema_apply(run, name, &single, cfg, &err) < 0)
		fail_msg("%s", err.msg);
}

static void sql(const char *database, const char *text)
{
	char name[64];
	struct err err = {0};

	snprintf(name, sizeof(name), "%s", database);
	if (run(name, text, NULL, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
}

static uint64_t number(const char *database, const char *text)
{
	CLEANUP(buf_fini) struct buf out;
	char name[64];
	struct err err = {0};

	buf_init(&out, 10000);
	snprintf(name, sizeof(name), "%s", database);
	if (run(name, text, &out, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return strtoull(out.data, NULL, 10);
}

/* How many tables of the database have this in their definition. */
static uint64_t tables_with(const char *database, const char *text)
{
	char query[512];

	snprintf(query, sizeof(query),
		 "SELECT count() FROM system.tables WHERE database = '%s' AND "
		 "position(engine_full, '%s') > 0",
		 database, text);
	return number(database, query);
}

TEST(a_server_gets_all_tables)
{
	struct schema_topology t;
	struct err err = {0};

	assert_int_equal(schema_find_cluster(run, NULL, NULL, &t, &err), 0);
	assert_string_equal(t.cluster, "");
	assert_false(t.cloud);
	apply("fresh", &week);
	assert_int_equal(number("fresh", "SELECT count() FROM system.tables "
					 "WHERE database = 'fresh'"),
			 N_TABLES + 1);
	assert_int_equal(tables_with("fresh", "toIntervalSecond(604800)"), N_TABLES);
	assert_int_equal(tables_with("fresh", "non_replicated_deduplication_window = 1000"),
			 N_TABLES);
	/* and again, as each start of an agent does */
	apply("fresh", &week);
}

/* As a Coroot server creates them; it has no settings, and no version of what it replaces. */
static void make_tables_of_coroot(const char *database)
{
	static const char *const tables[] = {
		"CREATE TABLE profiling_stacks (ServiceName LowCardinality(String) CODEC(ZSTD(1)),"
		" Hash UInt64 CODEC(ZSTD(1)), LastSeen DateTime64(9) CODEC(Delta, ZSTD(1)),"
		" Stack Array(String) CODEC(ZSTD(1))) ENGINE ReplacingMergeTree()"
		" PRIMARY KEY (ServiceName, Hash)"
		" TTL toDateTime(LastSeen) + toIntervalSecond(86400)"
		" PARTITION BY toDate(LastSeen) ORDER BY (ServiceName, Hash)",
		"CREATE TABLE profiling_samples (ServiceName LowCardinality(String) CODEC(ZSTD(1)),"
		" Type LowCardinality(String) CODEC(ZSTD(1)),"
		" Start DateTime64(9) CODEC(Delta, ZSTD(1)),"
		" End DateTime64(9) CODEC(Delta, ZSTD(1)),"
		" Labels Map(LowCardinality(String), String) CODEC(ZSTD(1)),"
		" StackHash UInt64 CODEC(ZSTD(1)), Value Int64 CODEC(ZSTD(1)))"
		" ENGINE MergeTree() TTL toDateTime(Start) + toIntervalSecond(86400)"
		" PARTITION BY toDate(Start)"
		" ORDER BY (ServiceName, Type, toUnixTimestamp(Start), toUnixTimestamp(End))",
		"CREATE TABLE profiling_profiles ("
		"ServiceName LowCardinality(String) CODEC(ZSTD(1)),"
		" Type LowCardinality(String) CODEC(ZSTD(1)),"
		" LastSeen DateTime64(9) CODEC(Delta, ZSTD(1)))"
		" ENGINE ReplacingMergeTree() PRIMARY KEY (ServiceName, Type)"
		" TTL toDateTime(LastSeen) + toIntervalSecond(86400)"
		" PARTITION BY toDate(LastSeen)",
		"CREATE MATERIALIZED VIEW profiling_profiles_mv TO profiling_profiles AS"
		" SELECT ServiceName, Type, max(End) AS LastSeen FROM profiling_samples"
		" GROUP BY ServiceName, Type",
	};
	char create[128];

	snprintf(create, sizeof(create), "CREATE DATABASE %s", database);
	clickhouse_process_run(&server, create);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		sql(database, tables[i]);
}

TEST(tables_of_coroot_are_used_as_they_are)
{
	static const char insert[] =
		"INSERT INTO profiling_samples SETTINGS insert_deduplication_token = 'a' "
		"VALUES ('/svc', 'a:b:c', now64(9), now64(9), {'x':'y'}, 1, 2)";

	make_tables_of_coroot("theirs");
	sql("theirs", "INSERT INTO profiling_samples SELECT '/old', 'a:b:c', now64(9), now64(9), "
		      "map(), number, 1 FROM numbers(1000)");
	sql("theirs", "INSERT INTO profiling_stacks VALUES ('/old', 1, now64(9), ['f a.c:1'])");
	apply("theirs", &week);
	assert_int_equal(number("theirs", "SELECT count() FROM profiling_samples"), 1000);
	assert_int_equal(number("theirs", "SELECT count() FROM profiling_stacks"), 1);
	assert_int_equal(tables_with("theirs", "ReplacingMergeTree PARTITION BY"), 2);
	assert_int_equal(tables_with("theirs", "toIntervalSecond(604800)"), N_TABLES);
	assert_int_equal(number("theirs", "SELECT count() FROM profiling_quality"), 0);
	/* a batch that is sent again is recognised */
	sql("theirs", insert);
	sql("theirs", insert);
	assert_int_equal(number("theirs", "SELECT count() FROM profiling_samples"), 1001);
	assert_int_equal(number("theirs", "SELECT uniqExact(ServiceName) FROM profiling_profiles"),
			 2);
	/* the server goes on to write its way */
	sql("theirs", "INSERT INTO profiling_samples VALUES ('/new', 'a:b:c', now64(9), now64(9), "
		      "map(), 1, 1)");
	assert_int_equal(number("theirs", "SELECT count() FROM profiling_samples"), 1002);
}

TEST(tables_of_an_earlier_agent_are_extended)
{
	clickhouse_process_run(&server, "CREATE DATABASE earlier");
	sql("earlier", "CREATE TABLE profiling_quality (ServiceName LowCardinality(String), "
		       "Type LowCardinality(String), Start DateTime64(9), End DateTime64(9), "
		       "Host LowCardinality(String), Samples UInt64, Truncated UInt64, "
		       "Lost Map(LowCardinality(String), UInt64)) ENGINE = MergeTree "
		       "PARTITION BY toDate(Start) ORDER BY ServiceName "
		       "TTL toDateTime(Start) + toIntervalDay(7)");
	sql("earlier", "INSERT INTO profiling_quality VALUES ('/svc', 'a:b:c', now64(9), now64(9), "
		       "'h', 5, 0, map())");
	apply("earlier", &week);
	assert_int_equal(number("earlier", "SELECT Samples + Value + Instance + Upload + "
					   "length(Runtimes) + length(Unwinding) "
					   "FROM profiling_quality"),
			 5);
	assert_int_equal(tables_with("earlier", "TTL toDateTime(Start) + toIntervalSecond(604800)"),
			 2);
}

TEST(the_time_to_live_follows_the_setting)
{
	struct schema_config hour = {.ttl_ns = 3600 * NS_PER_S};

	apply("ttl", &week);
	sql("ttl", "INSERT INTO profiling_samples SELECT '/old', 'a:b:c', now64(9) - 7200, "
		   "now64(9) - 7200, map(), number, 1 FROM numbers(10)");
	apply("ttl", &hour);
	assert_int_equal(tables_with("ttl", "toIntervalSecond(3600)"), N_TABLES);
	/* what is too old by the new setting goes, without a merge that it must wait for */
	do {
		sql("ttl", "OPTIMIZE TABLE profiling_samples FINAL");
		usleep(20000);
	} while (number("ttl", "SELECT count() FROM profiling_samples") > 0);
	apply("ttl", &week);
	assert_int_equal(tables_with("ttl", "toIntervalSecond(604800)"), N_TABLES);
}

static void *start_agent(void *database)
{
	apply(database, &week);
	return NULL;
}

TEST(several_agents_may_start_at_once)
{
	pthread_t threads[N_AGENTS];
	char name[] = "together_0";

	for (int round = 0; round < 5; round++, name[sizeof(name) - 2]++) {
		for (size_t i = 0; i < N_AGENTS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, start_agent, name), 0);
		for (size_t i = 0; i < N_AGENTS; i++)
			assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(number(name, "SELECT count() FROM system.tables "
					      "WHERE database = currentDatabase()"),
				 N_TABLES + 1);
	}
}

TEST(old_rows_move_to_the_volume_of_a_policy)
{
	struct schema_config tiered = week, moved;
	char name[] = "tiers";
	struct err err = {0};

	apply(name, &week);
	tiered.storage_policy = "tiered";
	moved = tiered;
	moved.move_after_ns = 3600 * NS_PER_S;
	moved.move_volume = "cold";
	apply(name, &tiered);
	assert_int_equal(tables_with(name, "storage_policy = \\'tiered\\'"), N_TABLES);
	sql(name, "INSERT INTO profiling_samples SELECT '/old', 'a:b:c', now64(9) - 86400, "
		  "now64(9) - 86400, map(), number, 1 FROM numbers(10)");
	assert_int_equal(number(name, "SELECT count() FROM system.parts WHERE active AND "
				      "database = 'tiers' AND disk_name = 'slow'"),
			 0);
	apply(name, &moved);
	apply(name, &moved);
	assert_int_equal(tables_with(name, "toIntervalSecond(3600) TO VOLUME \\'cold\\'"),
			 N_TABLES);
	while (number(name, "SELECT count() FROM system.parts WHERE active AND database = 'tiers' "
			    "AND table = 'profiling_samples' AND disk_name = 'slow'") == 0)
		usleep(20000);
	assert_int_equal(number(name, "SELECT count() FROM profiling_samples"), 10);

	/* a policy without the disk that the tables are on */
	tiered.storage_policy = "other";
	assert_int_equal(schema_apply(run, name, &single, &tiered, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "profiling_stacks from 'tiered' to 'other'"));
}

/* remote() makes a distributed table whose only shard is this server. */
TEST(a_token_is_known_behind_a_distributed_table)
{
	char insert[512];

	apply("shards", &week);
	sql("shards", "CREATE TABLE profiling_samples_distributed AS remote('127.0.0.1', "
		      "'shards', 'profiling_samples', 'default', '', StackHash)");
	for (int i = 0; i < 4; i++) {
		snprintf(insert, sizeof(insert),
			 "INSERT INTO profiling_samples_distributed SETTINGS "
			 "insert_distributed_sync = 1, insert_deduplication_token = 'token%d' "
			 "SELECT '/svc', 'a:b:c', now64(9), now64(9), map(), number, 1 "
			 "FROM numbers(100)",
			 i / 2);
		sql("shards", insert);
	}
	assert_int_equal(number("shards", "SELECT count() FROM profiling_samples"), 200);
	assert_int_equal(number("shards", "SELECT count() FROM profiling_samples_distributed"),
			 200);
	assert_int_equal(number("shards", "SELECT count() FROM profiling_profiles FINAL"), 1);
}

static void expect_syntax(const struct buf *statement)
{
	CLEANUP(buf_fini) struct buf text;
	struct err err = {0};

	buf_init(&text, 10000);
	assert_int_equal(buf_addf(&text, "EXPLAIN AST %s", statement->data), 0);
	if (run(NULL, text.data, NULL, &err) < 0)
		fail_msg("%s: %s", statement->data, err.msg);
}

/*
 * Nothing but the coordination service is missing for a replicated table: its engine, settings and
 * columns are fine. (ON CLUSTER would fail before that.)
 */
static void expect_only_keeper_missing(unsigned table, const struct schema_topology *t)
{
	static const char on_cluster[] = " ON CLUSTER `main-1`";
	CLEANUP(buf_fini) struct buf text;
	struct err err = {0};
	char *at;

	buf_init(&text, 10000);
	assert_int_equal(schema_text_create(&text, table, t, &week), 0);
	at = strstr(text.data, on_cluster);
	assert_non_null(at);
	memset(at, ' ', sizeof(on_cluster) - 1);
	assert_int_equal(run(NULL, text.data, NULL, &err), -EREMOTEIO);
	if (store_exception_code(err.msg, strlen(err.msg)) != 225)
		fail_msg("%s: %s", text.data, err.msg);
}

/* There is no cluster here; but the server can at least read what would be sent to one. */
TEST(a_server_understands_the_statements_for_clusters)
{
	const struct schema_topology t = {.cluster = "main-1"};
	const struct schema_config cfg = {.ttl_ns = DAY_S * NS_PER_S,
					  .storage_policy = "p",
					  .move_after_ns = NS_PER_S,
					  .move_volume = "v"};
	CLEANUP(buf_fini) struct buf s;

	buf_init(&s, 10000);
	for (unsigned i = 0; i < SCHEMA_TABLE_MAX; i++) {
		assert_int_equal(schema_text_create(&s, i, &t, &cfg), 0);
		expect_syntax(&s);
		expect_only_keeper_missing(i, &t);
		s.len = 0;
		assert_int_equal(schema_text_create_distributed(&s, i, &t), 0);
		expect_syntax(&s);
		s.len = 0;
		assert_int_equal(schema_text_alter(&s, i, SCHEMA_DISTRIBUTED, &t), 0);
		assert_int_equal(buf_addf(&s, "%s", schema_text_quality_columns), 0);
		expect_syntax(&s);
		s.len = 0;
	}
	assert_int_equal(schema_text_create_view(&s, &t), 0);
	expect_syntax(&s);
	s.len = 0;
	assert_int_equal(schema_text_database(&s, &t, "coroot"), 0);
	expect_syntax(&s);
	s.len = 0;
	assert_int_equal(buf_addf(&s, "ALTER TABLE profiling_samples ON CLUSTER `main-1` DROP "
				      "PARTITION ID '20260101' SETTINGS "
				      "max_partition_size_to_drop = 0"),
			 0);
	expect_syntax(&s);
}

GROUP_FIXTURE(start, stop)
