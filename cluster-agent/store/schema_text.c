/*
 * Coroot reads profiling_stacks, profiling_samples and profiling_profiles, so their columns are
 * fixed. The frames of a stack are stored once per service and day (ReplacingMergeTree by hash),
 * and samples refer to it by its hash: a stack is hundreds of bytes, a sample a dozen after
 * compression. profiling_profiles is filled by a materialized view and says which services and
 * types exist without reading samples. profiling_quality, with one row per profile, is what Coroot
 * has no place for: how much of a profile is missing, its total, so that overviews need not add up
 * samples, and the upload that it came with. profiling_functions has the sums of a day by function,
 * which are kept for much longer (function_sums.h). A function is the first column of its key, so
 * that all applications that use it are one piece of each part. profiling_notes has what readers
 * write down, with the flame graphs that they keep (note_store.h): a note that is deleted has a
 * newer row that says so, of the same partition, so that a merge removes its text.
 * profiling_claims, usually empty, is by what several agents agree who inserts an upload
 * (store_claims.h).
 *
 * On a cluster each table exists on all its servers, replicated within a shard, and has a
 * <table>_distributed in front, which knows the shards. The view is between the tables of one
 * server: a sample and its line in profiling_profiles are on the same shard.
 *
 * Settings:
 *  - fsync: what was inserted must survive a power cut as well. Merged parts need none, as their
 *    sources are kept for eight minutes, long after the kernel has written the result.
 *  - ttl_only_drop_parts: a partition is a day, so expired rows go with their part and nothing is
 *    rewritten.
 *  - deduplication windows: for how long a table knows the tokens of inserts. Servers keep those
 *    of replicated tables for an hour only, and an agent may be away for longer with a batch of
 *    which it does not know whether it was stored. ClickHouse Cloud has its own.
 */
#include "cluster-agent/store/schema_text.h"

#include <inttypes.h>

#include "cluster-agent/store/projections.h"
#include "common/system/clock.h"

#define TEXT "LowCardinality(String) CODEC(ZSTD(1))"
#define NUMBER "UInt64 CODEC(ZSTD(1))"
#define TOTAL "Value Int64 CODEC(ZSTD(1))"
#define INSTANCE "Instance UInt64 CODEC(ZSTD(1))"
#define UPLOAD "Upload UInt64 CODEC(ZSTD(1))"
#define COUNTS "Map(LowCardinality(String), UInt64) CODEC(ZSTD(1))"
#define RUNTIMES "Runtimes " COUNTS
#define UNWINDING "Unwinding " COUNTS
#define STARTS "Starts Map(String, UInt64) CODEC(ZSTD(1))"
#define LABELS "Labels Map(LowCardinality(String), String) CODEC(ZSTD(1))"
#define LABEL_SET "LabelSet " NUMBER
#define TIME "DateTime64(9) CODEC(Delta, ZSTD(1))"

#define PATH "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"

#define COMMON_SETTINGS "ttl_only_drop_parts = 1"
#define FSYNC ", fsync_after_insert = 1, fsync_part_directory = 1"
#define WINDOW "non_replicated_deduplication_window = 1000"
#define REPLICATED_WINDOW                           \
	"replicated_deduplication_window = 10000, " \
	"replicated_deduplication_window_seconds = 604800"
_Static_assert(STORE_TOKENS_KEPT == 1000, "WINDOW spells this number");

struct table {
	const char *name;
	const char *columns;
	bool replacing; /* the newest of rows with the same key stays */
	const char *order;
	const char
		*time; /* the column from which the time to live counts; partitions are its days */
	const char *shard;   /* which shard a row goes to; NULL: only the view writes */
	const char *version; /* which of rows with the same key is the newest; NULL: by time */
	const char *index;   /* after the columns; NULL: none */
};

/* LastSeen as the version: a late, old profile must not make a stack look older than it is. */
static const struct table tables[SCHEMA_TABLE_MAX] = {
	[STORE_STACKS] =
		{
			"profiling_stacks",
			"ServiceName " TEXT ", Hash " NUMBER ", LastSeen " TIME
			", Stack Array(String) CODEC(ZSTD(1))",
			true,
			"PRIMARY KEY (ServiceName, Hash) ORDER BY (ServiceName, Hash)",
			"LastSeen",
			"Hash",
		},
	[STORE_SAMPLES] =
		{
			"profiling_samples",
			"ServiceName " TEXT ", Type " TEXT ", Start " TIME ", End " TIME ", " LABELS
			", "
			"StackHash " NUMBER ", Value Int64 CODEC(ZSTD(1))",
			false,
			"ORDER BY (ServiceName, Type, toUnixTimestamp(Start), "
			"toUnixTimestamp(End))",
			"Start",
			"StackHash",
		},
	[STORE_QUALITY] =
		{
			"profiling_quality",
			"ServiceName " TEXT ", Type " TEXT ", Start " TIME ", End " TIME
			", Host " TEXT ", Samples " NUMBER ", Truncated " NUMBER ", " TOTAL
			", " INSTANCE ", Lost " COUNTS ", " UPLOAD ", " RUNTIMES ", " UNWINDING
			", " STARTS ", " LABELS ", " LABEL_SET,
			false,
			"ORDER BY (ServiceName, Type, toUnixTimestamp(Start))",
			"Start",
			"Upload",
		},
	[STORE_FUNCTIONS] =
		{
			"profiling_functions",
			"Name String CODEC(ZSTD(1)), Type " TEXT ", ServiceName " TEXT
			", Version " TEXT ", Day Date CODEC(ZSTD(1)), "
			"Self Int64 CODEC(ZSTD(1)), Total Int64 CODEC(ZSTD(1)), "
			"Covered UInt32 CODEC(ZSTD(1)), Summed " TIME,
			true,
			"ORDER BY (Name, Type, ServiceName, Version, Day)",
			"Day",
			"cityHash64(ServiceName)",
			"Summed",
			", INDEX names lower(Name) TYPE ngrambf_v1(3, 1024, 2, 0) GRANULARITY 1",
		},
	[STORE_NOTES] =
		{
			"profiling_notes",
			"Id " NUMBER ", ServiceName " TEXT ", Type " TEXT ", At " TIME
			", Created " TIME ", Written " TIME ", Deleted UInt8, "
			"Name String CODEC(ZSTD(1)), Text String CODEC(ZSTD(1)), "
			"Url String CODEC(ZSTD(1)), Size UInt64, BaseSize UInt64, "
			"Body String CODEC(NONE), Base String CODEC(NONE)",
			true,
			"ORDER BY Id",
			"Created",
			"Id",
			"Written",
		},
	[SCHEMA_PROFILES] =
		{
			"profiling_profiles",
			"ServiceName " TEXT ", Type " TEXT ", LastSeen " TIME,
			true,
			"PRIMARY KEY (ServiceName, Type) ORDER BY (ServiceName, Type)",
			"LastSeen",
			NULL,
		},
	[SCHEMA_CLAIMS] =
		{
			"profiling_claims",
			UPLOAD ", Claimant String CODEC(ZSTD(1)), Time DateTime64(9) "
			       "DEFAULT now64(9) CODEC(Delta, ZSTD(1))",
			false,
			"ORDER BY Upload",
			"Time",
			NULL,
		},
};

const char schema_text_quality_columns[] =
	" ADD COLUMN IF NOT EXISTS " TOTAL ", ADD COLUMN IF NOT EXISTS " INSTANCE
	", ADD COLUMN IF NOT EXISTS " UPLOAD ", ADD COLUMN IF NOT EXISTS " RUNTIMES
	", ADD COLUMN IF NOT EXISTS " UNWINDING ", ADD COLUMN IF NOT EXISTS " STARTS
	", ADD COLUMN IF NOT EXISTS " LABELS ", ADD COLUMN IF NOT EXISTS " LABEL_SET;

/*
 * Rows are ordered by Start, so that a query for the last hour would have to look at the End of all
 * older ones, as a profile may be long.
 */
#define ENDS " ADD INDEX IF NOT EXISTS ends End TYPE minmax GRANULARITY 1"
#define PROJECTION " ADD PROJECTION IF NOT EXISTS "
#define GONE(name)                                                                          \
	{                                                                                   \
		"PROJECTION " name, " DROP PROJECTION IF EXISTS " name, STORE_QUALITY, true \
	}
#define SELECT " (SELECT ServiceName, Type, "
#define GROUPED " GROUP BY ServiceName, Type, "
#define DAY_KEYS SCHEMA_START_DAY ", " SCHEMA_END_DAY ", LabelSet, Labels"
#define HOUR_KEYS SCHEMA_START_HOUR ", " SCHEMA_END_HOUR ", LabelSet"
#define BLOCKS SCHEMA_START_BLOCK ", " SCHEMA_END_BLOCK
#define INSTANCE_KEYS "Host, Instance, " BLOCKS
#define STACK_KEYS "StackHash, " BLOCKS

const struct schema_extra schema_text_extras[SCHEMA_EXTRAS] = {
	/* what the sums by set and hour stand for now */
	GONE("label_sets"),
	GONE("windows"),
	{"INDEX ends", ENDS, STORE_SAMPLES, false},
	{"INDEX ends", ENDS, STORE_QUALITY, false},
	/* which labels a set has, of those that a day has */
	{"PROJECTION set_labels",
	 PROJECTION "set_labels" SELECT DAY_KEYS ", count()" GROUPED DAY_KEYS ")", STORE_QUALITY,
	 false},
	/* profiles of a set of labels by hour, and whether there are gaps between them */
	{"PROJECTION set_hours",
	 PROJECTION "set_hours" SELECT HOUR_KEYS ", min(Start), max(Start), max(End), " SCHEMA_SUM
		    ", " SCHEMA_INTEGRAL ", " SCHEMA_HEAD_SUM ", " SCHEMA_HEAD_INTEGRAL
		    ", " SCHEMA_LENGTH ", " SCHEMA_JOINTS GROUPED HOUR_KEYS ")",
	 STORE_QUALITY, false},
	/* CPU time and the like of each instance */
	{"PROJECTION instances",
	 PROJECTION "instances" SELECT INSTANCE_KEYS
		    ", sum(Samples), count(), min(Start), max(Start), max(End), " SCHEMA_SUM
		    ", " SCHEMA_LENGTH GROUPED INSTANCE_KEYS ")",
	 STORE_QUALITY, false},
	/* values by stack; in the order of stacks, as one that recurs costs little then */
	{"PROJECTION stack_sums",
	 PROJECTION "stack_sums" SELECT STACK_KEYS ", " SCHEMA_SUM GROUPED STACK_KEYS ")",
	 STORE_SAMPLES, false},
};

bool schema_name_is_plain(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-.";
	size_t len = strlen(name);

	return len > 0 && len < SCHEMA_NAME_BYTES && strspn(name, plain) == len;
}

bool schema_text_is_wanted(unsigned table, const struct schema_config *cfg)
{
	if (table == SCHEMA_CLAIMS)
		return !cfg->is_alone;
	return !store_table_is_optional(table) || schema_text_ttl_ns(table, cfg) > 0;
}

uint64_t schema_text_ttl_ns(unsigned table, const struct schema_config *cfg)
{
	return table == STORE_FUNCTIONS ? cfg->function_ttl_ns
	       : table == STORE_NOTES   ? cfg->note_ttl_ns
					: cfg->ttl_ns;
}

const char *schema_text_name(unsigned table)
{
	return tables[table].name;
}

static int add_on_cluster(struct buf *sql, const struct schema_topology *t)
{
	return t->cluster[0] ? buf_addf(sql, " ON CLUSTER `%s`", t->cluster) : 0;
}

int schema_text_database(struct buf *sql, const struct schema_topology *t, const char *database)
{
	int r = buf_addf(sql, "CREATE DATABASE IF NOT EXISTS `%s`", database);

	return r == 0 ? add_on_cluster(sql, t) : r;
}

static int add_engine(struct buf *sql, const struct table *table, const struct schema_topology *t)
{
	const char *prefix = t->cluster[0] ? "Replicated" : "";
	const char *path = t->cluster[0] ? PATH : "";
	int r;

	if (table->replacing)
		r = buf_addf(sql, " ENGINE = %sReplacingMergeTree(%s%s%s)", prefix, path,
			     t->cluster[0] ? ", " : "", table->version ?: table->time);
	else
		r = buf_addf(sql, " ENGINE = %sMergeTree(%s)", prefix, path);
	return r == 0 ? buf_addf(sql, " PARTITION BY toDate(%s) %s", table->time, table->order) : r;
}

int schema_text_ttl(struct buf *sql, unsigned table, const struct schema_config *cfg)
{
	const char *time = tables[table].time;
	int r = buf_addf(sql, "toDateTime(%s) + toIntervalSecond(%" PRIu64 ")", time,
			 schema_text_ttl_ns(table, cfg) / NS_PER_S);

	/* those are small: not worth moving */
	if (r < 0 || !cfg->move_volume || store_table_is_optional(table))
		return r;
	return buf_addf(sql, ", toDateTime(%s) + toIntervalSecond(%" PRIu64 ") TO VOLUME '%s'",
			time, cfg->move_after_ns / NS_PER_S, cfg->move_volume);
}

static int add_settings(struct buf *sql, const struct schema_topology *t,
			const struct schema_config *cfg)
{
	int r = buf_addf(sql, " SETTINGS " COMMON_SETTINGS "%s",
			 t->cloud        ? ""
			 : t->cluster[0] ? FSYNC ", " REPLICATED_WINDOW
					 : FSYNC ", " WINDOW);

	if (r < 0 || !cfg->storage_policy)
		return r;
	return buf_addf(sql, ", storage_policy = '%s'", cfg->storage_policy);
}

int schema_text_create(struct buf *sql, unsigned table, const struct schema_topology *t,
		       const struct schema_config *cfg)
{
	int r = buf_addf(sql, "CREATE TABLE IF NOT EXISTS %s", tables[table].name);

	if (r == 0)
		r = add_on_cluster(sql, t);
	if (r == 0)
		r = buf_addf(sql, " (%s%s)", tables[table].columns, tables[table].index ?: "");
	if (r == 0)
		r = add_engine(sql, &tables[table], t);
	if (r == 0)
		r = buf_addf(sql, " TTL ");
	if (r == 0)
		r = schema_text_ttl(sql, table, cfg);
	return r == 0 ? add_settings(sql, t, cfg) : r;
}

int schema_text_create_view(struct buf *sql, const struct schema_topology *t)
{
	int r = buf_addf(sql, "CREATE MATERIALIZED VIEW IF NOT EXISTS " SCHEMA_VIEW);

	if (r == 0)
		r = add_on_cluster(sql, t);
	return r == 0 ? buf_addf(sql, " TO profiling_profiles AS "
				      "SELECT ServiceName, Type, max(End) AS LastSeen "
				      "FROM profiling_samples GROUP BY ServiceName, Type")
		      : r;
}

int schema_text_create_distributed(struct buf *sql, unsigned table, const struct schema_topology *t)
{
	const struct table *own = &tables[table];

	return buf_addf(sql,
			"CREATE TABLE IF NOT EXISTS %s" SCHEMA_DISTRIBUTED " ON CLUSTER `%s` AS %s "
			"ENGINE = Distributed('%s', currentDatabase(), '%s'%s%s)",
			own->name, t->cluster, own->name, t->cluster, own->name,
			own->shard ? ", " : "", own->shard ? own->shard : "");
}

int schema_text_alter(struct buf *sql, unsigned table, const char *suffix,
		      const struct schema_topology *t)
{
	int r = buf_addf(sql, "ALTER TABLE %s%s", tables[table].name, suffix);

	return r == 0 ? add_on_cluster(sql, t) : r;
}

/* Whether the settings have one of this name, with at least this value. */
static bool has_at_least(const char *engine_full, const char *name, uint64_t least)
{
	const char *at = strstr(engine_full, " SETTINGS ");
	size_t len = strlen(name);

	for (; at && (at = strstr(at, name)); at += len) {
		if (at[-1] == ' ' && strncmp(at + len, " = ", 3) == 0)
			return strtoull(at + len + 3, NULL, 10) >= least;
	}
	return false;
}

const char *schema_text_deduplication(const char *engine_full)
{
	if (strncmp(engine_full, "Shared", 6) == 0)
		return NULL;
	if (strncmp(engine_full, "Replicated", 10) != 0)
		return has_at_least(engine_full, "non_replicated_deduplication_window", 1000)
			       ? NULL
			       : WINDOW;
	return has_at_least(engine_full, "replicated_deduplication_window", 10000) &&
			       has_at_least(engine_full, "replicated_deduplication_window_seconds",
					    604800)
		       ? NULL
		       : REPLICATED_WINDOW;
}

bool schema_text_has_ttl(const char *engine_full, const char *ttl)
{
	static const char before[] = " TTL ", after[] = " SETTINGS ";
	const char *at = strstr(engine_full, before);
	size_t len = strlen(ttl);

	if (!at)
		return false;
	at += sizeof(before) - 1;
	return strncmp(at, ttl, len) == 0 &&
	       (at[len] == '\0' || strncmp(at + len, after, sizeof(after) - 1) == 0);
}
