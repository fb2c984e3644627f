/*
 * The tables: those that a Coroot server knows, and profiling_quality, profiling_functions and
 * profiling_notes, which are ours. The last two are used by a few questions only, so an agent whose
 * account cannot create them works without.
 *
 * Coroot's tables have Coroot's columns, order, partitions and codecs, so that its server can
 * read ours; settings differ where a reader does not notice. Tables that Coroot made are used
 * as they are: only their time to live, their storage policy if one is asked for, and the
 * number of insert tokens they remember are changed. Every statement may be repeated, also by
 * several agents at once: opening an older directory or database brings it up to date.
 *
 * On a cluster, inserts and queries go to <table>_distributed.
 */
#ifndef CLUSTER_AGENT_STORE_SCHEMA_H
#define CLUSTER_AGENT_STORE_SCHEMA_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/err.h"

#define SCHEMA_DATABASE "coroot"
#define SCHEMA_VIEW "profiling_profiles_mv"
#define SCHEMA_DISTRIBUTED "_distributed"
#define SCHEMA_NAME_BYTES 128

/*
 * Runs one statement and appends its answer, in TSV, to out unless that is NULL. Returns 0,
 * or -errno with a sentence in err; -EREMOTEIO for an exception, whose text is then the
 * beginning of err.
 */
typedef int (*schema_run_fn)(void *ctx, const char *sql, struct buf *out, struct err *err);

struct schema_topology {
	char cluster[SCHEMA_NAME_BYTES]; /* "": a single server, or ClickHouse Cloud */
	bool cloud;                      /* the server replicates and shards by itself */
};

struct schema_config {
	uint64_t ttl_ns;
	uint64_t function_ttl_ns;   /* of profiling_functions; 0: leave that table alone */
	uint64_t note_ttl_ns;       /* of profiling_notes; 0: leave that table alone */
	const char *storage_policy; /* NULL: as it is, and the server's default for new tables */
	uint64_t move_after_ns;     /* when rows move to move_volume of the policy */
	const char *move_volume;    /* NULL: rows are not moved by age */
	/*
	 * Leave the time to live of existing tables as it is. A change rewrites all parts, and
	 * agents with different settings must not take turns in that whenever a table is missing.
	 */
	bool keep_ttl;
	bool is_alone; /* no other agent inserts, so there is no table of claims */
};

/*
 * Finds the cluster as Coroot does. A server without a coordination service (ZooKeeper,
 * Keeper) has none; of several, "coroot" is preferred, then "default". wanted is a name that
 * must exist, "none" or NULL. Returns 0, -EINVAL if the choice is not clear or the name not
 * known, or an error of run.
 */
int schema_find_cluster(schema_run_fn run, void *ctx, const char *wanted,
			struct schema_topology *ret, struct err *err) MUST_CHECK;

/* run must not need the database. Errors are those of schema_apply(). */
int schema_create_database(schema_run_fn run, void *ctx, const struct schema_topology *t,
			   const char *database, struct err *err) MUST_CHECK;

/*
 * Creates what is missing in the current database of run and brings the rest up to date.
 * Statements that fail because another agent or a server of the cluster is busy with the same
 * are repeated for some seconds. Returns 0, -EAGAIN if that did not help or some server did
 * not answer, -EINVAL if the storage policy cannot be had, another error of run, or -ENOMEM.
 */
int schema_apply(schema_run_fn run, void *ctx, const struct schema_topology *t,
		 const struct schema_config *cfg, struct err *err) MUST_CHECK;

/* store_restore_types(). Errors are those of run, and -ENOMEM. */
int schema_restore_types(schema_run_fn run, void *ctx, const struct schema_topology *t,
			 int64_t from_ns, int64_t to_ns, struct err *err) MUST_CHECK;

/*
 * Return static strings: the table that inserts and queries name, "profiling_samples" or
 * "profiling_samples_distributed", to which inserts need distributed_foreground_insert = 1,
 * as they would otherwise succeed before the shards have the rows; "(ServiceName, Type, …)"
 * in the order of row_batch.h.
 */
const char *schema_table_name(enum store_table table, const struct schema_topology *t);
/* Those that the rows of the frame have. */
const char *schema_columns(enum store_table table, const struct store_frame *frame);

#endif /* CLUSTER_AGENT_STORE_SCHEMA_H */
