/*
 * The embedded engine of store.h: chDB, which is ClickHouse as a library inside this process.
 *
 * One such store per process at a time, as chDB is one engine per process.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_CHDB_H
#define CLUSTER_AGENT_STORE_STORE_CHDB_H

#include "cluster-agent/store/store.h"

struct store_chdb_config {
	const char *data_dir;     /* created with mode 0700 if absent; locked while open */
	uint64_t profiles_ttl_ns; /* at least 1 s; applied to existing tables too */
	const char *chdb_library; /* path of libchdb.so; NULL: the usual places */
	uint64_t lock_wait_ns;    /* how long to wait for a process that has data_dir */
	uint64_t function_ttl_ns; /* as in schema.h */
	uint64_t note_ttl_ns;     /* the same */
};

/*
 * Opens data_dir and creates or migrates the tables; blocks for seconds, so call it before the loop
 * runs. Released with store_close(). Returns 0, or with a sentence in err:
 *  -EBUSY      another process holds data_dir;
 *  -ENOTEMPTY  data_dir holds something else;
 *  -ENOENT     libchdb.so was not found;
 *  -EIO        the engine failed; or another -errno of the files in data_dir.
 */
int store_chdb_open(struct store **ret, const struct store_chdb_config *cfg,
		    struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_CHDB_H */
