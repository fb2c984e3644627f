/*
 * Inserts rows that are RowBinary already, at once: those of the tables that no upload has rows of.
 *
 * Blocks on the store: call it from a thread that may wait.
 */
#ifndef CLUSTER_AGENT_STORE_ROW_INSERT_H
#define CLUSTER_AGENT_STORE_ROW_INSERT_H

#include "cluster-agent/store/store.h"
#include "common/base.h"

/*
 * Inserts the n rows, which are in the order of schema_columns(), as one insert without a token.
 * Errors are those of store_insert().
 */
int row_insert(struct store *store, enum store_table table, const struct buf *rows, uint32_t n,
	       struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_ROW_INSERT_H */
