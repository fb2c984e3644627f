/*
 * The payloads of the write-ahead log's records: an upload, and the ids of a committed segment.
 * Pure. What is read is checked, although records have checksums: a file may be of another release.
 */
#ifndef CLUSTER_AGENT_WAL_UPLOAD_RECORD_H
#define CLUSTER_AGENT_WAL_UPLOAD_RECORD_H

#include "cluster-agent/wal/upload_id.h"
#include "cluster-agent/wal/upload_log.h"
#include "common/base.h"
#include "common/system/record_dir.h"

/* Kinds of files of the log's directory. */
enum log_file_kind {
	LOG_FILE_SEGMENT, /* uploads that are not committed */
	LOG_FILE_IDS,     /* ids of committed segments */
	LOG_FILE_DAMAGED, /* a committed segment of which not all could be read, or ids */
	LOG_FILE_REFUSED, /* uploads that the store refused */
	LOG_FILE_KIND_MAX,
};
extern const struct record_kind log_file_kinds[LOG_FILE_KIND_MAX];

/* Types of these files, and kinds of their records. */
#define SEGMENT_FILE_TYPE 1u
#define IDS_FILE_TYPE 2u
/*
 * To be raised with the columns of row_batch.h, too: frames of the log are inserted as they are.
 * Files of version 1 have no column Runtimes, those of version 2 no column Unwinding, those of
 * version 3 no column Starts, and those of version 4 no labels in profiling_quality. Before version
 * 6 no record is marked as a repeat.
 */
#define LOG_FILE_VERSION 6u
#define LOG_FILE_VERSION_RUNTIMES 2u
#define LOG_FILE_VERSION_UNWINDING 3u
#define LOG_FILE_VERSION_STARTS 4u
#define LOG_FILE_VERSION_LABELS 5u
#define IDS_FILE_VERSION 1u
#define UPLOAD_RECORD_KIND 1u
#define IDS_RECORD_KIND 2u

#define UPLOAD_RECORD_MAX_FRAMES 65536u

struct upload_record {
	struct upload_id id;
	bool is_repeat; /* upload_log_append_repeat() */
	uint32_t n_frames;
	const uint8_t *headers; /* of the frames; borrowed */
	const uint8_t *data;    /* of the frames, one after the other */
};

/* Returns the size of the payload, or 0 if these are more than a record can hold. */
size_t upload_record_size(const struct logged_frames *frames, size_t n_frames);
/* Writes upload_record_size() bytes to payload. */
void upload_record_encode(uint8_t *payload, struct upload_id id, const struct logged_frames *frames,
			  size_t n_frames);
/* Sets is_repeat in an encoded record. */
void upload_record_mark_repeat(uint8_t *payload);
/* Returns 0, or -EBADMSG if this is no upload. ret borrows the payload. */
int upload_record_parse(struct upload_record *ret, const void *payload, size_t len) MUST_CHECK;
/* Takes the next of its n_frames frames, which borrows the payload, out of u. */
struct logged_frames upload_record_take_frame(struct upload_record *u);

struct ids_record {
	uint64_t number; /* of the segment */
	uint8_t segment_id[16];
	size_t n_ids;
	const uint8_t *ids; /* borrowed; see ids_record_id() */
};

size_t ids_record_size(size_t n_ids);
void ids_record_encode(uint8_t *payload, uint64_t number, const uint8_t segment_id[16],
		       const struct upload_id *ids, size_t n_ids);
/* Returns 0, or -EBADMSG. ret borrows the payload. */
int ids_record_parse(struct ids_record *ret, const void *payload, size_t len) MUST_CHECK;
struct upload_id ids_record_id(const struct ids_record *r, size_t i);

#endif /* CLUSTER_AGENT_WAL_UPLOAD_RECORD_H */
