/*
 * The statements for servers and clusters, word by word, and what is done when a server refuses
 * them. A function here plays the server; test_schema_engine.c has a real one.
 */
#include "cluster-agent/store/schema.h"

#include <errno.h>

#include "cluster-agent/store/schema_text.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "test/lib/unit.h"

#define WEEK_NS (UINT64_C(604800) * NS_PER_S)

static const struct schema_topology single, cloud = {.cloud = true}, cluster = {.cluster = "main"};
static const struct schema_config config = {.ttl_ns = WEEK_NS};
static const struct schema_config with_all = {
	.ttl_ns = WEEK_NS, .function_ttl_ns = 2 * WEEK_NS, .note_ttl_ns = 3 * WEEK_NS};

/* ---- texts ---- */

static const char *const statements[] = {
	"CREATE TABLE IF NOT EXISTS profiling_stacks ("
	"ServiceName LowCardinality(String) CODEC(ZSTD(1)), Hash UInt64 CODEC(ZSTD(1)), "
	"LastSeen DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"Stack Array(String) CODEC(ZSTD(1))) "
	"ENGINE = ReplacingMergeTree(LastSeen) PARTITION BY toDate(LastSeen) "
	"PRIMARY KEY (ServiceName, Hash) ORDER BY (ServiceName, Hash) "
	"TTL toDateTime(LastSeen) + toIntervalSecond(604800) "
	"SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
	"fsync_part_directory = 1, non_replicated_deduplication_window = 1000",

	"CREATE TABLE IF NOT EXISTS profiling_samples ("
	"ServiceName LowCardinality(String) CODEC(ZSTD(1)), "
	"Type LowCardinality(String) CODEC(ZSTD(1)), "
	"Start DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"End DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"Labels Map(LowCardinality(String), String) CODEC(ZSTD(1)), "
	"StackHash UInt64 CODEC(ZSTD(1)), Value Int64 CODEC(ZSTD(1))) "
	"ENGINE = MergeTree() PARTITION BY toDate(Start) "
	"ORDER BY (ServiceName, Type, toUnixTimestamp(Start), toUnixTimestamp(End)) "
	"TTL toDateTime(Start) + toIntervalSecond(604800) "
	"SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
	"fsync_part_directory = 1, non_replicated_deduplication_window = 1000",

	"CREATE TABLE IF NOT EXISTS profiling_quality ("
	"ServiceName LowCardinality(String) CODEC(ZSTD(1)), "
	"Type LowCardinality(String) CODEC(ZSTD(1)), "
	"Start DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"End DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"Host LowCardinality(String) CODEC(ZSTD(1)), Samples UInt64 CODEC(ZSTD(1)), "
	"Truncated UInt64 CODEC(ZSTD(1)), Value Int64 CODEC(ZSTD(1)), "
	"Instance UInt64 CODEC(ZSTD(1)), "
	"Lost Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)), "
	"Upload UInt64 CODEC(ZSTD(1)), "
	"Runtimes Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)), "
	"Unwinding Map(LowCardinality(String), UInt64) CODEC(ZSTD(1)), "
	"Starts Map(String, UInt64) CODEC(ZSTD(1)), "
	"Labels Map(LowCardinality(String), String) CODEC(ZSTD(1)), "
	"LabelSet UInt64 CODEC(ZSTD(1))) "
	"ENGINE = MergeTree() PARTITION BY toDate(Start) "
	"ORDER BY (ServiceName, Type, toUnixTimestamp(Start)) "
	"TTL toDateTime(Start) + toIntervalSecond(604800) "
	"SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
	"fsync_part_directory = 1, non_replicated_deduplication_window = 1000",

	"CREATE TABLE IF NOT EXISTS profiling_functions ("
	"Name String CODEC(ZSTD(1)), Type LowCardinality(String) CODEC(ZSTD(1)), "
	"ServiceName LowCardinality(String) CODEC(ZSTD(1)), "
	"Version LowCardinality(String) CODEC(ZSTD(1)), Day Date CODEC(ZSTD(1)), "
	"Self Int64 CODEC(ZSTD(1)), Total Int64 CODEC(ZSTD(1)), "
	"Covered UInt32 CODEC(ZSTD(1)), Summed DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"INDEX names lower(Name) TYPE ngrambf_v1(3, 1024, 2, 0) GRANULARITY 1) "
	"ENGINE = ReplacingMergeTree(Summed) PARTITION BY toDate(Day) "
	"ORDER BY (Name, Type, ServiceName, Version, Day) "
	"TTL toDateTime(Day) + toIntervalSecond(1209600) "
	"SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
	"fsync_part_directory = 1, non_replicated_deduplication_window = 1000",

	"CREATE TABLE IF NOT EXISTS profiling_notes ("
	"Id UInt64 CODEC(ZSTD(1)), ServiceName LowCardinality(String) CODEC(ZSTD(1)), "
	"Type LowCardinality(String) CODEC(ZSTD(1)), At DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"Created DateTime64(9) CODEC(Delta, ZSTD(1)), "
	"Written DateTime64(9) CODEC(Delta, ZSTD(1)), Deleted UInt8, "
	"Name String CODEC(ZSTD(1)), Text String CODEC(ZSTD(1)), Url String CODEC(ZSTD(1)), "
	"Size UInt64, BaseSize UInt64, Body String CODEC(NONE), Base String CODEC(NONE)) "
	"ENGINE = ReplacingMergeTree(Written) PARTITION BY toDate(Created) ORDER BY Id "
	"TTL toDateTime(Created) + toIntervalSecond(1814400) "
	"SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
	"fsync_part_directory = 1, non_replicated_deduplication_window = 1000",

	"CREATE TABLE IF NOT EXISTS profiling_profiles ("
	"ServiceName LowCardinality(String) CODEC(ZSTD(1)), "
	"Type LowCardinality(String) CODEC(ZSTD(1)), "
	"LastSeen DateTime64(9) CODEC(Delta, ZSTD(1))) "
	"ENGINE = ReplacingMergeTree(LastSeen) PARTITION BY toDate(LastSeen) "
	"PRIMARY KEY (ServiceName, Type) ORDER BY (ServiceName, Type) "
	"TTL toDateTime(LastSeen) + toIntervalSecond(604800) "
	"SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
	"fsync_part_directory = 1, non_replicated_deduplication_window = 1000",

	"CREATE TABLE IF NOT EXISTS profiling_claims ("
	"Upload UInt64 CODEC(ZSTD(1)), Claimant String CODEC(ZSTD(1)), "
	"Time DateTime64(9) DEFAULT now64(9) CODEC(Delta, ZSTD(1))) "
	"ENGINE = MergeTree() PARTITION BY toDate(Time) ORDER BY Upload "
	"TTL toDateTime(Time) + toIntervalSecond(604800) "
	"SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
	"fsync_part_directory = 1, non_replicated_deduplication_window = 1000",
};

TEST(tables_of_a_server_have_these_statements)
{
	for (unsigned t = 0; t < SCHEMA_TABLE_MAX; t++) {
		CLEANUP(buf_fini) struct buf sql;

		buf_init(&sql, 8192);
		assert_int_equal(schema_text_create(&sql, t, &single, &with_all), 0);
		assert_string_equal(sql.data, statements[t]);
	}
}

/* What is different: the name's end, the engine, the settings. */
static void expect_create(const struct schema_topology *t, const struct schema_config *cfg,
			  const char *name, const char *engine, const char *end)
{
	CLEANUP(buf_fini) struct buf sql;

	buf_init(&sql, 8192);
	assert_int_equal(schema_text_create(&sql, STORE_STACKS, t, cfg), 0);
	assert_memory_equal(sql.data, name, strlen(name));
	assert_non_null(strstr(sql.data, engine));
	assert_true(sql.len > strlen(end));
	assert_string_equal(sql.data + sql.len - strlen(end), end);
}

TEST(tables_of_a_cluster_are_replicated)
{
	CLEANUP(buf_fini) struct buf sql;

	expect_create(&cluster, &config,
		      "CREATE TABLE IF NOT EXISTS profiling_stacks ON CLUSTER `main` (ServiceName ",
		      " ENGINE = ReplicatedReplacingMergeTree("
		      "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}', LastSeen) "
		      "PARTITION BY ",
		      " TTL toDateTime(LastSeen) + toIntervalSecond(604800) "
		      "SETTINGS ttl_only_drop_parts = 1, fsync_after_insert = 1, "
		      "fsync_part_directory = 1, replicated_deduplication_window = 10000, "
		      "replicated_deduplication_window_seconds = 604800");
	buf_init(&sql, 8192);
	assert_int_equal(schema_text_create(&sql, STORE_SAMPLES, &cluster, &config), 0);
	assert_non_null(strstr(sql.data, " ENGINE = ReplicatedMergeTree("
					 "'/clickhouse/tables/{shard}/{database}/{table}', "
					 "'{replica}') PARTITION BY toDate(Start) "));
}

TEST(the_cloud_has_its_own_deduplication)
{
	expect_create(&cloud, &config, "CREATE TABLE IF NOT EXISTS profiling_stacks (ServiceName ",
		      " ENGINE = ReplacingMergeTree(LastSeen) PARTITION BY ",
		      " SETTINGS ttl_only_drop_parts = 1");
}

TEST(old_rows_move_to_another_volume)
{
	const struct schema_config cfg = {.ttl_ns = WEEK_NS,
					  .storage_policy = "tiered",
					  .move_after_ns = 2 * 86400 * NS_PER_S,
					  .move_volume = "cold"};

	expect_create(&cloud, &cfg, "CREATE TABLE IF NOT EXISTS profiling_stacks (ServiceName ",
		      " TTL toDateTime(LastSeen) + toIntervalSecond(604800), "
		      "toDateTime(LastSeen) + toIntervalSecond(172800) TO VOLUME 'cold' SETTINGS ",
		      " SETTINGS ttl_only_drop_parts = 1, storage_policy = 'tiered'");
}

TEST(distributed_tables_are_sharded_by_what_their_readers_join)
{
	static const char *const expected[] = {
		"CREATE TABLE IF NOT EXISTS profiling_stacks_distributed ON CLUSTER `main` "
		"AS profiling_stacks "
		"ENGINE = Distributed('main', currentDatabase(), 'profiling_stacks', Hash)",
		"CREATE TABLE IF NOT EXISTS profiling_samples_distributed ON CLUSTER `main` "
		"AS profiling_samples "
		"ENGINE = Distributed('main', currentDatabase(), 'profiling_samples', StackHash)",
		"CREATE TABLE IF NOT EXISTS profiling_quality_distributed ON CLUSTER `main` "
		"AS profiling_quality "
		"ENGINE = Distributed('main', currentDatabase(), 'profiling_quality', Upload)",
		"CREATE TABLE IF NOT EXISTS profiling_functions_distributed ON CLUSTER `main` "
		"AS profiling_functions "
		"ENGINE = Distributed('main', currentDatabase(), 'profiling_functions', "
		"cityHash64(ServiceName))",
		"CREATE TABLE IF NOT EXISTS profiling_notes_distributed ON CLUSTER `main` "
		"AS profiling_notes "
		"ENGINE = Distributed('main', currentDatabase(), 'profiling_notes', Id)",
		"CREATE TABLE IF NOT EXISTS profiling_profiles_distributed ON CLUSTER `main` "
		"AS profiling_profiles "
		"ENGINE = Distributed('main', currentDatabase(), 'profiling_profiles')",
		"CREATE TABLE IF NOT EXISTS profiling_claims_distributed ON CLUSTER `main` "
		"AS profiling_claims "
		"ENGINE = Distributed('main', currentDatabase(), 'profiling_claims')",
	};

	for (unsigned t = 0; t < SCHEMA_TABLE_MAX; t++) {
		CLEANUP(buf_fini) struct buf sql;

		buf_init(&sql, 8192);
		assert_int_equal(schema_text_create_distributed(&sql, t, &cluster), 0);
		assert_string_equal(sql.data, expected[t]);
	}
}

TEST(a_time_to_live_is_compared_as_a_whole)
{
	static const char ttl[] = "toDateTime(Start) + toIntervalSecond(60)";

	assert_true(schema_text_has_ttl(
		"MergeTree ORDER BY a TTL toDateTime(Start) + toIntervalSecond(60)", ttl));
	assert_true(schema_text_has_ttl("MergeTree ORDER BY a TTL toDateTime(Start) + "
					"toIntervalSecond(60) SETTINGS index_granularity = 8192",
					ttl));
	assert_false(schema_text_has_ttl("MergeTree ORDER BY a TTL toDateTime(Start) + "
					 "toIntervalSecond(60), toDateTime(Start) + "
					 "toIntervalSecond(6) TO VOLUME 'x' SETTINGS a = 1",
					 ttl));
	assert_false(schema_text_has_ttl(
		"MergeTree ORDER BY a TTL toDateTime(Start) + toIntervalSecond(600)", ttl));
	assert_false(schema_text_has_ttl("MergeTree ORDER BY a", ttl));
	assert_false(schema_text_has_ttl("", ttl));
}

TEST(only_tables_that_forget_tokens_are_changed)
{
	assert_string_equal(schema_text_deduplication("MergeTree ORDER BY a SETTINGS x = 1"),
			    "non_replicated_deduplication_window = 1000");
	assert_null(schema_text_deduplication(
		"MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 1000"));
	assert_string_equal(schema_text_deduplication("ReplicatedMergeTree('/a', 'b') ORDER BY a"),
			    "replicated_deduplication_window = 10000, "
			    "replicated_deduplication_window_seconds = 604800");
	assert_null(schema_text_deduplication(
		"ReplicatedReplacingMergeTree('/a', 'b') ORDER BY a SETTINGS "
		"replicated_deduplication_window = 10000, "
		"replicated_deduplication_window_seconds = 604800"));
	/* what somebody has set higher stays, in any order */
	assert_null(schema_text_deduplication(
		"MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 5000"));
	assert_non_null(schema_text_deduplication(
		"MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 999"));
	assert_null(schema_text_deduplication(
		"ReplicatedMergeTree('/a', 'b') ORDER BY a SETTINGS "
		"replicated_deduplication_window_seconds = 1000000, a = 1, "
		"replicated_deduplication_window = 20000"));
	assert_non_null(
		schema_text_deduplication("ReplicatedMergeTree('/a', 'b') ORDER BY a SETTINGS "
					  "non_replicated_deduplication_window = 10000, "
					  "replicated_deduplication_window_seconds = 604800"));
	assert_null(schema_text_deduplication("SharedMergeTree('/a', 'b') ORDER BY a"));
}

/* ---- a server that is played ---- */

struct rule {
	const char *begin; /* of the statement */
	const char *answer;
	int code; /* of an exception; 0: none */
	int n;    /* how many times; 0: always */
};

struct server {
	struct rule rules[12];
	struct buf log;    /* the statements that change something, one per line */
	bool lacks_extras; /* the tables have no projections */
	bool has_gone;     /* they have those of an earlier release */
};

/* How many of an index or a projection there are. */
static const char *count_extra(const struct server *s, const char *sql)
{
	bool is_gone =
		strstr(sql, "'PROJECTION label_sets'") || strstr(sql, "'PROJECTION windows'");

	return (is_gone ? s->has_gone : !s->lacks_extras) ? "1\n" : "0\n";
}

static bool is_reading(const char *sql)
{
	return strncmp(sql, "SELECT", 6) == 0 || strncmp(sql, "EXISTS", 6) == 0;
}

static int run(void *ctx, const char *sql, struct buf *out, struct err *err)
{
	struct server *s = ctx;

	if (!is_reading(sql))
		assert_int_equal(buf_addf(&s->log, "%.60s\n", sql), 0);
	for (size_t i = 0; i < ARRAY_SIZE(s->rules) && s->rules[i].begin; i++) {
		struct rule *r = &s->rules[i];

		if (strncmp(sql, r->begin, strlen(r->begin)) != 0 || r->n < 0)
			continue;
		if (r->n > 0 && --r->n == 0)
			r->n = -1;
		if (r->code)
			return err_set(err, -EREMOTEIO, "Code: %d. DB::Exception: refused",
				       r->code);
		return out && r->answer ? buf_add(out, r->answer, strlen(r->answer)) : 0;
	}
	if (strncmp(sql, "SELECT count() FROM system.tables", 33) == 0)
		return buf_add(out, count_extra(s, sql), 2);
	return 0;
}

static void server_init(struct server *s)
{
	*s = (struct server){0};
	buf_init(&s->log, 100000);
	assert_int_equal(buf_add(&s->log, "", 0), 0);
}

static void server_fini(struct server *s)
{
	buf_fini(&s->log);
}

static int find(const char *cloud_mode, const char *zookeeper, const char *clusters,
		const char *wanted, struct schema_topology *ret)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};
	int r;

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT value FROM system.settings", cloud_mode, 0, 0};
	s.rules[1] = (struct rule){"EXISTS TABLE system.zookeeper", zookeeper, 0, 0};
	s.rules[2] = (struct rule){"SELECT DISTINCT cluster", clusters, 0, 0};
	r = schema_find_cluster(run, &s, wanted, ret, &err);
	assert_true(r == 0 || err.msg[0]);
	assert_int_equal(s.log.len, 0);
	return r;
}

TEST(the_cluster_is_found_as_coroot_finds_it)
{
	static const struct {
		const char *cloud_mode;
		const char *zookeeper;
		const char *clusters;
		const char *wanted;
		int r;
		const char *found;
		bool cloud;
	} cases[] = {
		{"1\n", "0\n", "default\n", NULL, 0, "", false},
		{"", "1\n", "", NULL, 0, "", false},
		{"1\n", "1\n", "one\n", NULL, 0, "one", false},
		{"1\n", "1\n", "a\ncoroot\ndefault\n", NULL, 0, "coroot", false},
		{"1\n", "1\n", "a\ndefault\n", NULL, 0, "default", false},
		{"1\n", "1\n", "a\ncoroot2\n", NULL, -EINVAL, NULL, false},
		{"1\n", "1\n", "a\ndefault\n", "a", 0, "a", false},
		{"1\n", "1\n", "ab\n", "a", -EINVAL, NULL, false},
		{"1\n", "0\n", "a\n", "a", 0, "a", false},
		{"1\n", "1\n", "one\n", "none", 0, "", false},
		{"2\n", "1\n", "default\n", NULL, 0, "", true},
		{"1\n", "1\n", "it`s\n", NULL, -EINVAL, NULL, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct schema_topology t;

		assert_int_equal(find(cases[i].cloud_mode, cases[i].zookeeper, cases[i].clusters,
				      cases[i].wanted, &t),
				 cases[i].r);
		if (cases[i].r < 0)
			continue;
		assert_string_equal(t.cluster, cases[i].found);
		assert_int_equal(t.cloud, cases[i].cloud);
	}
}

TEST(an_empty_cluster_gets_all_tables_and_their_distributed_ones)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	assert_int_equal(schema_create_database(run, &s, &cluster, "coroot", &err), 0);
	assert_int_equal(schema_apply(run, &s, &cluster, &config, &err), 0);
	assert_string_equal(s.log.data,
			    "CREATE DATABASE IF NOT EXISTS `coroot` ON CLUSTER `main`\n"
			    "CREATE TABLE IF NOT EXISTS profiling_stacks ON CLUSTER `main\n"
			    "CREATE TABLE IF NOT EXISTS profiling_samples ON CLUSTER `mai\n"
			    "CREATE TABLE IF NOT EXISTS profiling_quality ON CLUSTER `mai\n"
			    "CREATE TABLE IF NOT EXISTS profiling_profiles ON CLUSTER `ma\n"
			    "CREATE TABLE IF NOT EXISTS profiling_claims ON CLUSTER `main\n"
			    "CREATE MATERIALIZED VIEW IF NOT EXISTS profiling_profiles_mv\n"
			    "CREATE TABLE IF NOT EXISTS profiling_stacks_distributed ON C\n"
			    "CREATE TABLE IF NOT EXISTS profiling_samples_distributed ON \n"
			    "CREATE TABLE IF NOT EXISTS profiling_quality_distributed ON \n"
			    "CREATE TABLE IF NOT EXISTS profiling_profiles_distributed ON\n"
			    "CREATE TABLE IF NOT EXISTS profiling_claims_distributed ON C\n");
}

TEST(older_tables_get_the_new_columns_in_front_of_the_shards_too)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "5\n", 0, 0};
	assert_int_equal(schema_apply(run, &s, &cluster, &config, &err), 0);
	assert_non_null(strstr(s.log.data, "\nALTER TABLE profiling_quality ON CLUSTER `main` "));
	assert_non_null(strstr(s.log.data,
			       "\nALTER TABLE profiling_quality_distributed ON CLUSTER `main` "));
}

TEST(what_is_optional_has_a_table_if_it_is_wanted)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	assert_int_equal(schema_apply(run, &s, &cluster, &with_all, &err), 0);
	assert_non_null(strstr(s.log.data, "\nCREATE TABLE IF NOT EXISTS profiling_functions ON "));
	assert_non_null(strstr(s.log.data, "\nCREATE TABLE IF NOT EXISTS profiling_functions_dis"));
	assert_non_null(strstr(s.log.data, "\nCREATE TABLE IF NOT EXISTS profiling_notes ON "));
	assert_non_null(strstr(s.log.data, "\nCREATE TABLE IF NOT EXISTS profiling_notes_dis"));
}

/* An account may have the right to store profiles in tables that exist, and no more. */
TEST(what_is_optional_is_done_without_where_its_table_is_refused)
{
	static const char *const tables[] = {"CREATE TABLE IF NOT EXISTS profiling_functions",
					     "CREATE TABLE IF NOT EXISTS profiling_notes"};

	log_set_level(LOG_LEVEL_ERROR);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		CLEANUP(server_fini) struct server s;
		struct err err = {0};

		server_init(&s);
		s.rules[0] = (struct rule){tables[i], NULL, 497, 0};
		s.rules[1] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
		assert_int_equal(schema_apply(run, &s, &single, &with_all, &err), 0);
		assert_string_equal(err.msg, "");
	}
}

TEST(what_passes_is_repeated)
{
	static const int codes[] = {57, 253, 517, 999, 473};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		CLEANUP(server_fini) struct server s;
		struct err err = {0};

		server_init(&s);
		s.rules[0] = (struct rule){"CREATE TABLE IF NOT EXISTS profiling_samples", NULL,
					   codes[i], 2};
		s.rules[1] = (struct rule){"CREATE MATERIALIZED VIEW", NULL, codes[i], 1};
		s.rules[2] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
		assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	}
}

TEST(what_does_not_pass_is_an_error_that_names_the_table)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"CREATE TABLE IF NOT EXISTS profiling_samples", NULL, 62, 0};
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), -EREMOTEIO);
	assert_string_equal(err.msg, "create profiling_samples: Code: 62. DB::Exception: refused");
}

TEST(a_busy_table_is_given_up_for_now)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"CREATE TABLE IF NOT EXISTS profiling_samples", NULL, 253, 0};
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), -EAGAIN);
}

TEST(a_server_that_is_down_does_not_hold_up_the_others)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"CREATE TABLE", NULL, 159, 0};
	s.rules[1] = (struct rule){"EXISTS TABLE profiling_", "1\n", 0, 0};
	s.rules[2] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(schema_apply(run, &s, &cluster, &config, &err), 0);
	/* but if the table is not even here, there is nothing to begin with */
	s.rules[1].answer = "0\n";
	assert_int_equal(schema_apply(run, &s, &cluster, &config, &err), -EAGAIN);
	log_set_level(LOG_LEVEL_INFO);
}

#define EXISTING(ttl, settings)                                                       \
	"profiling_samples\tMergeTree PARTITION BY toDate(Start) ORDER BY a TTL " ttl \
	" SETTINGS " settings "\tdefault\nprofiling_samples_by_someone\tLog\t\n"

TEST(tables_that_exist_are_changed_only_where_they_differ)
{
	static const char expected[] =
		"ALTER TABLE profiling_samples MODIFY TTL toDateTime(Start) +\n"
		"ALTER TABLE profiling_samples MODIFY SETTING non_replicated_\n";
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	s.rules[1] = (struct rule){
		"SELECT name, engine_full",
		EXISTING("toDateTime(Start) + toIntervalSecond(60)", "index_granularity = 8192"), 0,
		0};
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	assert_null(strstr(s.log.data, "EXISTS profiling_samples"));
	assert_string_equal(s.log.data + s.log.len - strlen(expected), expected);

	s.log.len = 0;
	s.rules[1].answer = EXISTING("toDateTime(Start) + toIntervalSecond(604800)",
				     "non_replicated_deduplication_window = 1000");
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	assert_null(strstr(s.log.data, "ALTER"));
}

TEST(agents_with_different_settings_do_not_take_turns)
{
	const struct schema_config again = {.ttl_ns = WEEK_NS, .keep_ttl = true};
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	s.rules[1] = (struct rule){"SELECT name, engine_full",
				   EXISTING("toDateTime(Start) + toIntervalSecond(60)",
					    "non_replicated_deduplication_window = 1000"),
				   0, 0};
	assert_int_equal(schema_apply(run, &s, &single, &again, &err), 0);
	assert_null(strstr(s.log.data, "ALTER"));
}

TEST(tables_that_another_creates_meanwhile_are_changed_too)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	s.rules[1] = (struct rule){"SELECT name, engine_full", "", 0, 1};
	s.rules[2] = (struct rule){"SELECT name, engine_full", EXISTING("a", "b"), 0, 0};
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	assert_non_null(strstr(s.log.data, "CREATE TABLE IF NOT EXISTS profiling_samples "));
	assert_non_null(
		strstr(s.log.data, "ALTER TABLE profiling_samples MODIFY SETTING non_replicated_"));
}

TEST(a_change_does_not_wait_for_a_server_that_is_down)
{
	const struct schema_config cfg = {.ttl_ns = WEEK_NS, .storage_policy = "tiered"};
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	s.rules[1] = (struct rule){"SELECT name, engine_full", EXISTING("a", "b"), 0, 0};
	s.rules[2] = (struct rule){"ALTER", NULL, 159, 0};
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(schema_apply(run, &s, &cluster, &cfg, &err), 0);
	/* on a single server it has failed */
	assert_int_equal(schema_apply(run, &s, &single, &cfg, &err), -EINVAL);
	log_set_level(LOG_LEVEL_INFO);
}

TEST(an_account_that_may_not_alter_is_enough)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	s.rules[1] = (struct rule){"SELECT name, engine_full", EXISTING("a", "b"), 0, 0};
	s.rules[2] = (struct rule){"ALTER", NULL, 497, 0};
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	log_set_level(LOG_LEVEL_INFO);
}

TEST(what_makes_long_ranges_cheap_is_added_to_tables_without_it)
{
	static const char expected[] =
		"ALTER TABLE profiling_samples ADD INDEX IF NOT EXISTS ends E\n"
		"ALTER TABLE profiling_quality ADD INDEX IF NOT EXISTS ends E\n"
		"ALTER TABLE profiling_quality ADD PROJECTION IF NOT EXISTS s\n"
		"ALTER TABLE profiling_quality ADD PROJECTION IF NOT EXISTS s\n"
		"ALTER TABLE profiling_quality ADD PROJECTION IF NOT EXISTS i\n"
		"ALTER TABLE profiling_samples ADD PROJECTION IF NOT EXISTS s\n";
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.lacks_extras = true;
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	assert_string_equal(s.log.data + s.log.len - strlen(expected), expected);
	/* a server that refuses them is used without */
	s.rules[1] = (struct rule){"ALTER", NULL, 48, 0};
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	log_set_level(LOG_LEVEL_INFO);
}

TEST(projections_of_an_earlier_release_are_dropped)
{
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.has_gone = true;
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	s.rules[1] = (struct rule){"SELECT name, engine_full", EXISTING("a", "b"), 0, 0};
	assert_int_equal(schema_apply(run, &s, &single, &config, &err), 0);
	assert_non_null(strstr(s.log.data,
			       "ALTER TABLE profiling_quality DROP PROJECTION IF EXISTS labe\n"
			       "ALTER TABLE profiling_quality DROP PROJECTION IF EXISTS wind\n"));
}

TEST(a_storage_policy_that_cannot_be_had_is_an_error)
{
	const struct schema_config cfg = {.ttl_ns = WEEK_NS, .storage_policy = "tiered"};
	const struct schema_config bad = {.ttl_ns = WEEK_NS, .storage_policy = "it's"};
	CLEANUP(server_fini) struct server s;
	struct err err = {0};

	server_init(&s);
	s.rules[0] = (struct rule){"SELECT count() FROM system.columns", "8\n", 0, 0};
	s.rules[1] = (struct rule){"SELECT name, engine_full", EXISTING("a", "b"), 0, 0};
	s.rules[2] = (struct rule){"ALTER TABLE profiling_samples MODIFY SETTING storage_policy",
				   NULL, 36, 0};
	assert_int_equal(schema_apply(run, &s, &single, &cfg, &err), -EINVAL);
	assert_string_equal(err.msg, "change the storage policy of profiling_samples from "
				     "'default' to 'tiered': Code: 36. DB::Exception: refused");
	assert_int_equal(schema_apply(run, &s, &single, &bad, &err), -EINVAL);
}

TEST(inserts_and_queries_name_the_tables_of_the_topology)
{
	assert_string_equal(schema_table_name(STORE_QUALITY, &single), "profiling_quality");
	assert_string_equal(schema_table_name(STORE_QUALITY, &cloud), "profiling_quality");
	assert_string_equal(schema_table_name(STORE_SAMPLES, &cluster),
			    "profiling_samples_distributed");
}
