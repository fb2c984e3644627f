/*
 * The tables: those that a Coroot server knows, and profiling_quality, which is ours.
 *
 * Coroot's tables have Coroot's columns, order, partitions and codecs, so that its server can read
 * ours; settings differ where a reader does not notice. Every statement may be repeated: opening an
 * older directory brings it up to date.
 */
#ifndef CLUSTER_AGENT_STORE_SCHEMA_H
#define CLUSTER_AGENT_STORE_SCHEMA_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/err.h"

#define SCHEMA_DATABASE "coroot"

/*
 * Runs one statement and appends its answer, in TSV, to out unless that is NULL. Returns 0, or
 * -errno with a sentence in err.
 */
typedef int (*schema_run_fn)(void *ctx, const char *sql, struct buf *out, struct err *err);

/*
 * Creates what is missing in the current database and sets the time to live of every table. Safe to
 * repeat. Errors are those of run, and -ENOMEM.
 */
int schema_apply(schema_run_fn run, void *ctx, uint64_t ttl_ns, struct err *err) MUST_CHECK;

/* store_restore_types(). Errors are those of run, and -ENOMEM. */
int schema_restore_types(schema_run_fn run, void *ctx, int64_t from_ns, int64_t to_ns,
			 struct err *err) MUST_CHECK;

/*
 * Return static strings: "profiling_samples"; "(ServiceName, Type, …)" in the order of
 * row_batch.h.
 */
const char *schema_table_name(enum store_table table);
const char *schema_columns(enum store_table table);

#endif /* CLUSTER_AGENT_STORE_SCHEMA_H */
