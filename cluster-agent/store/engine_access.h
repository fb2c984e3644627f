/*
 * Who may read what in the embedded engine: the roles of its connections, and what is left of the
 * database "system".
 */
#ifndef CLUSTER_AGENT_STORE_ENGINE_ACCESS_H
#define CLUSTER_AGENT_STORE_ENGINE_ACCESS_H

#include "cluster-agent/store/engine_config.h"
#include "cluster-agent/store/schema.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/* Appends users, roles and limits to the engine's file. Pure. */
int engine_access_config(struct buf *out, const struct engine_memory *memory) MUST_CHECK;

/* The statement by which a connection becomes a reader. */
extern const char engine_access_reader[];

/*
 * Drops or replaces what readers should not see. run is for the connection that owns the tables;
 * after schema_apply(), whose tables it lists. Errors are those of run, and -ENOMEM.
 */
int engine_access_restrict(schema_run_fn run, void *ctx, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_ENGINE_ACCESS_H */
