/*
 * The files with the ids of committed segments. They say two things after a restart: which uploads
 * are in the store, and which segments were committed although their file is still there.
 *
 * Committing a segment appends one record to the newest file. At a size a new file is begun, and
 * the oldest is removed if the others have enough ids without it. Used by one thread.
 */
#ifndef CLUSTER_AGENT_WAL_COMMITTED_IDS_H
#define CLUSTER_AGENT_WAL_COMMITTED_IDS_H

#include <stdatomic.h>

#include "cluster-agent/wal/upload_id.h"
#include "common/base.h"
#include "common/system/record_dir.h"

struct committed_ids;

struct committed_ids_config {
	const struct record_dir *dir;  /* borrowed */
	size_t max_ids;                /* keep at least so many */
	_Atomic uint64_t *last_number; /* of files; incremented for a new one */
	/* Called at the start for what the files say, oldest first. */
	void (*segment)(void *ctx, uint64_t number, const uint8_t segment_id[16]);
	void (*id)(void *ctx, struct upload_id id);
	void *ctx;
};

/* Reads the ids files among the given ones. Returns 0 or -errno. */
int committed_ids_open(struct committed_ids **ret, const struct committed_ids_config *cfg,
		       const struct record_dir_file *files, size_t n_files) MUST_CHECK;
void committed_ids_close(struct committed_ids *c);
DEFINE_CLEANUP(struct committed_ids *, committed_ids_close);

/* The segment is committed, durably, once this returns 0; else -errno. */
int committed_ids_add(struct committed_ids *c, uint64_t number, const uint8_t segment_id[16],
		      const struct upload_id *ids, size_t n_ids) MUST_CHECK;

struct committed_ids_counts {
	uint64_t n_damaged; /* files of which not all could be read */
};
void committed_ids_counts(const struct committed_ids *c, struct committed_ids_counts *ret);

#endif /* CLUSTER_AGENT_WAL_COMMITTED_IDS_H */
