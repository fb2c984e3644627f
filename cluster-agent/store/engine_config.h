/*
 * What the embedded engine is told when it starts: an XML file, and settings of its connections.
 * Pure.
 */
#ifndef CLUSTER_AGENT_STORE_ENGINE_CONFIG_H
#define CLUSTER_AGENT_STORE_ENGINE_CONFIG_H

#include "cluster-agent/store/store.h"
#include "common/base.h"
#include "common/data/buf.h"

struct engine_memory {
	uint64_t total_bytes; /* of queries, inserts and merges together */
	uint64_t query_bytes; /* of one query or insert */
};

/* Shares of the memory that the whole process may use. */
struct engine_memory engine_memory_of(uint64_t process_bytes);

/*
 * Appends the file, which will be path. tmp_dir is where the engine keeps what a query cannot hold
 * in memory.
 */
int engine_config_format(struct buf *out, const char *path, const char *tmp_dir,
			 const struct engine_memory *memory) MUST_CHECK;

/* "SET …" for the connections that insert and for those that query. */
int engine_config_writer(struct buf *out, const struct engine_memory *memory) MUST_CHECK;
int engine_config_reader(struct buf *out, const struct engine_memory *memory,
			 enum store_lane lane) MUST_CHECK;

/*
 * Appends a clause with the settings of one query to its SQL, which must not end with one or with
 * a semicolon. Returns 0, -EINVAL for a bad name, or an error of buf_add().
 */
int engine_config_clause(struct buf *sql, const struct store_setting *settings,
			 size_t n) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_ENGINE_CONFIG_H */
