/*
 * A segment of the write-ahead log: the file, and what is read of it. Not thread-safe; the log
 * hands a segment from its thread to the reader.
 */
#ifndef CLUSTER_AGENT_WAL_LOG_SEGMENT_H
#define CLUSTER_AGENT_WAL_LOG_SEGMENT_H

#include "cluster-agent/wal/id_set.h"
#include "cluster-agent/wal/upload_log.h"
#include "common/base.h"
#include "common/system/record_dir.h"

/* What a segment may grow to, and a file of that name may have. */
#define LOG_SEGMENT_MAX_BYTES ((size_t)512 << 20)

struct log_segment {
	const struct record_dir *dir; /* borrowed */
	uint64_t number;
	uint8_t id[16];
	uint64_t n_bytes; /* up to the last durable record */
	uint64_t n_rows;
	uint32_t n_records;
	uint64_t first_ns;      /* when the first record came; monotonic, and may be before boot */
	uint64_t not_before_ns; /* upload_log_postpone(); under the log's lock */
	bool recovered;
	bool ids_kept; /* committed, but for the removal of the file */

	/* found when it was read, at recovery or later */
	uint32_t n_damaged;  /* places that cannot be read; each hides at least one record */
	uint32_t n_reported; /* of these, counted and logged */
	uint32_t *repeated;  /* records to leave out, ascending: a later segment has their ids */
	size_t n_repeated;

	/* what log_segment_read() returned */
	uint32_t version; /* of the file */
	char *bytes;
	struct upload_id *ids;
	bool *is_repeat;
	struct log_frame *frames;
	struct log_segment_content content;

	struct log_segment *next;
};

/* A closed segment's data in memory is freed, not the file. NULL is allowed. */
void log_segment_free(struct log_segment *s);
DEFINE_CLEANUP(struct log_segment *, log_segment_free);
/* Frees what log_segment_read() has read. */
void log_segment_forget(struct log_segment *s);

/*
 * Reads a segment that an earlier process left, and cuts off its torn end. ids gets those of its
 * records; a record whose id is there already is left out of the segment. *ret is NULL if there is
 * nothing in it: the file is not needed. Returns 0, or what record_dir_load() does.
 */
int log_segment_recover(struct log_segment **ret, const struct record_dir *dir, uint64_t number,
			struct id_set *ids, uint64_t *ret_torn_bytes) MUST_CHECK;

#endif /* CLUSTER_AGENT_WAL_LOG_SEGMENT_H */
