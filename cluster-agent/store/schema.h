/*
 * The tables: those a Coroot server knows, and profiling_quality, which is ours.
 *
 * Columns, order, partitions and codecs of Coroot's tables are those of Coroot, so that its server
 * can read ours; settings differ where they do not matter to a reader. Every
 * statement may be repeated, so opening an older directory brings it up to date.
 */
#ifndef CLUSTER_AGENT_STORE_SCHEMA_H
#define CLUSTER_AGENT_STORE_SCHEMA_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/err.h"

#define SCHEMA_DATABASE "coroot"

/* Runs one statement; answer in TSV appended to out unless that is NULL. 0 or -errno with err. */
typedef int (*schema_run_fn)(void *ctx, const char *sql, struct buf *out, struct err *err);

/*
 * Create what is missing in the current database and set the time to live of every table.
 * Safe to repeat. Errors are those of run, and -ENOMEM.
 */
int schema_apply(schema_run_fn run, void *ctx, uint64_t ttl_ns, struct err *err) MUST_CHECK;

/* Static strings: "profiling_samples" and "(ServiceName, Type, …)" in the order of row_batch.h. */
const char *schema_table_name(enum store_table table);
const char *schema_columns(enum store_table table);

#endif /* CLUSTER_AGENT_STORE_SCHEMA_H */
