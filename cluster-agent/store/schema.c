/*
 * The statements that make a database ours, as one table of tables.
 *
 * Coroot reads profiling_stacks, profiling_samples and profiling_profiles, so their columns are
 * fixed. The frames of a stack are stored once per service and day (ReplacingMergeTree by
 * hash), and samples refer to it by its hash: a stack is hundreds of bytes, a sample a dozen
 * after compression. profiling_profiles is a materialized view that says which services and
 * types exist without reading samples. profiling_quality, with one row per profile, is what
 * Coroot has no place for: how much of a profile is missing, and its total, so that overviews
 * need not add up samples either.
 *
 * There is no version number: each step (CREATE … IF NOT EXISTS, ADD COLUMN IF NOT EXISTS, a
 * TTL that is compared first) does nothing where it has been done.
 */
#include "cluster-agent/store/schema.h"

#include <errno.h>
#include <inttypes.h>

#include "common/system/clock.h"

#define TEXT "LowCardinality(String) CODEC(ZSTD(1))"
#define NUMBER "UInt64 CODEC(ZSTD(1))"
#define TOTAL "Value Int64 CODEC(ZSTD(1))"
#define INSTANCE "Instance UInt64 CODEC(ZSTD(1))"
#define TIME "DateTime64(9) CODEC(Delta, ZSTD(1))"

/*
 * fsync: an answered upload must survive a power cut as well. Merged parts need none, as their
 * sources are kept for eight minutes, long after the kernel has written the result.
 * ttl_only_drop_parts: a partition is a day, so expired rows go with their part and nothing is
 * rewritten.
 */
#define SETTINGS                                                                      \
	"ttl_only_drop_parts = 1, fsync_after_insert = 1, fsync_part_directory = 1, " \
	"non_replicated_deduplication_window = 1000"
_Static_assert(STORE_TOKENS_KEPT == 1000, "SETTINGS spells this number");

struct table {
	const char *name;
	const char *columns;
	const char *engine; /* up to the time to live */
	const char *time;   /* the column from which the time to live counts */
};

/* LastSeen as the version: a late, old profile must not make a stack look older than it is. */
static const struct table tables[] = {
	{
		"profiling_stacks",
		"ServiceName " TEXT ", Hash " NUMBER ", LastSeen " TIME
		", Stack Array(String) CODEC(ZSTD(1))",
		"ReplacingMergeTree(LastSeen) PARTITION BY toDate(LastSeen) PRIMARY KEY "
		"(ServiceName, Hash) "
		"ORDER BY (ServiceName, Hash)",
		"LastSeen",
	},
	{
		"profiling_samples",
		"ServiceName " TEXT ", Type " TEXT ", Start " TIME ", End " TIME
		", Labels Map(LowCardinality(String), String) CODEC(ZSTD(1)), StackHash " NUMBER
		", Value Int64 CODEC(ZSTD(1))",
		"MergeTree PARTITION BY toDate(Start) "
		"ORDER BY (ServiceName, Type, toUnixTimestamp(Start), toUnixTimestamp(End))",
		"Start",
	},
	{
		"profiling_quality",
		"ServiceName " TEXT ", Type " TEXT ", Start " TIME ", End " TIME ", Host " TEXT
		", Samples " NUMBER ", Truncated " NUMBER ", " TOTAL ", " INSTANCE
		", Lost Map(LowCardinality(String), UInt64) CODEC(ZSTD(1))",
		"MergeTree PARTITION BY toDate(Start) "
		"ORDER BY (ServiceName, Type, toUnixTimestamp(Start))",
		"Start",
	},
	{
		"profiling_profiles",
		"ServiceName " TEXT ", Type " TEXT ", LastSeen " TIME,
		"ReplacingMergeTree(LastSeen) PARTITION BY toDate(LastSeen) PRIMARY KEY "
		"(ServiceName, Type) "
		"ORDER BY (ServiceName, Type)",
		"LastSeen",
	},
};

static const char *const insert_columns[] = {
	[STORE_STACKS] = "(ServiceName, Hash, LastSeen, Stack)",
	[STORE_SAMPLES] = "(ServiceName, Type, Start, End, Labels, StackHash, Value)",
	[STORE_QUALITY] = ("(ServiceName, Type, Start, End, Host, Samples, Truncated, Value, "
			   "Instance, Lost)"),
};

static int create(schema_run_fn run, void *ctx, const struct table *t, uint64_t ttl_s,
		  struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, 4096);
	r = buf_addf(&sql,
		     "CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = %s "
		     "TTL toDateTime(%s) + toIntervalSecond(%" PRIu64 ") SETTINGS " SETTINGS,
		     t->name, t->columns, t->engine, t->time, ttl_s);
	if (r < 0)
		return err_set(err, r, "create %s: %s", t->name, strerror(-r));
	r = run(ctx, sql.data, NULL, err);
	return r < 0 ? err_wrap(err, r, "create %s", t->name) : 0;
}

/* An ALTER rewrites the TTL of every part, so it is only sent if the TTL differs. */
static int set_ttl(schema_run_fn run, void *ctx, const struct table *t, uint64_t ttl_s,
		   struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	CLEANUP(buf_fini) struct buf answer;
	int r;

	buf_init(&sql, 4096);
	buf_init(&answer, 4096);
	r = buf_addf(&sql,
		     "SELECT position(engine_full, 'toIntervalSecond(%" PRIu64 ")') > 0 "
		     "FROM system.tables WHERE database = currentDatabase() AND name = '%s'",
		     ttl_s, t->name);
	if (r == 0)
		r = run(ctx, sql.data, &answer, err);
	if (r < 0)
		return err_wrap(err, r, "time to live of %s", t->name);
	if (answer.len > 0 && answer.data[0] == '1')
		return 0;

	buf_fini(&sql);
	r = buf_addf(&sql,
		     "ALTER TABLE %s MODIFY TTL toDateTime(%s) + toIntervalSecond(%" PRIu64 ")",
		     t->name, t->time, ttl_s);
	if (r == 0)
		r = run(ctx, sql.data, NULL, err);
	return r < 0 ? err_wrap(err, r, "change the time to live of %s", t->name) : 0;
}

int schema_apply(schema_run_fn run, void *ctx, uint64_t ttl_ns, struct err *err)
{
	uint64_t ttl_s = ttl_ns / NS_PER_S;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r == 0; i++) {
		r = create(run, ctx, &tables[i], ttl_s, err);
		if (r == 0)
			r = set_ttl(run, ctx, &tables[i], ttl_s, err);
	}
	if (r < 0)
		return r;
	/* for directories made before these columns existed */
	r = run(ctx,
		"ALTER TABLE profiling_quality ADD COLUMN IF NOT EXISTS " TOTAL
		", ADD COLUMN IF NOT EXISTS " INSTANCE,
		NULL, err);
	if (r < 0)
		return err_wrap(err, r, "extend profiling_quality");
	r = run(ctx,
		"CREATE MATERIALIZED VIEW IF NOT EXISTS profiling_profiles_mv "
		"TO profiling_profiles AS "
		"SELECT ServiceName, Type, max(End) AS LastSeen FROM profiling_samples "
		"GROUP BY ServiceName, Type",
		NULL, err);
	return r < 0 ? err_wrap(err, r, "create profiling_profiles_mv") : 0;
}

int schema_restore_types(schema_run_fn run, void *ctx, int64_t from_ns, int64_t to_ns,
			 struct err *err)
{
	CLEANUP(buf_fini) struct buf sql;
	int r;

	buf_init(&sql, 4096);
	r = buf_addf(&sql,
		     "INSERT INTO profiling_profiles (ServiceName, Type, LastSeen) "
		     "SETTINGS insert_deduplicate = 0 "
		     "SELECT ServiceName, Type, max(End) FROM profiling_samples "
		     "WHERE Start >= fromUnixTimestamp64Nano(%" PRId64 ") "
		     "AND Start <= fromUnixTimestamp64Nano(%" PRId64 ") "
		     "GROUP BY ServiceName, Type",
		     from_ns, to_ns);
	if (r == 0)
		r = run(ctx, sql.data, NULL, err);
	return r < 0 ? err_wrap(err, r, "list types again") : 0;
}

const char *schema_table_name(enum store_table table)
{
	return tables[table].name;
}

const char *schema_columns(enum store_table table)
{
	return insert_columns[table];
}
