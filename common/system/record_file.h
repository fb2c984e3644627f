/*
 * Append-only files of checksummed records (common/data/record_format.h).
 *
 * An append that fails leaves the file as it was before, if the file system permits. Nothing is
 * durable before record_file_sync() has returned 0; once it has failed, what was appended since the
 * last success may be lost even if a later sync succeeds: cut the file off and begin another one.
 *
 * Not thread-safe.
 */
#ifndef COMMON_SYSTEM_RECORD_FILE_H
#define COMMON_SYSTEM_RECORD_FILE_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/data/record_format.h"

struct record_file {
	int fd;
	uint64_t end;   /* where the next record goes */
	bool is_closed; /* an append left bytes behind end that could not be cut off */
	struct record_file_header header;
};

#define RECORD_FILE_NONE ((struct record_file){.fd = -1})

/*
 * Creates the file with mode 0600 and a new id. The file and its name are durable on success.
 * Returns 0, -EEXIST, or another -errno; then there is no such file.
 */
int record_file_create(struct record_file *ret, int dir_fd, const char *name, uint32_t type,
		       uint32_t version) MUST_CHECK;
/*
 * Opens a file for appending and reading. end is that of the file: go through the records first,
 * then cut off what is torn. Returns 0, -EBADMSG if it has no undamaged header of this type,
 * -EPROTONOSUPPORT if its version is greater than the given one, or -errno.
 */
int record_file_open(struct record_file *ret, int dir_fd, const char *name, uint32_t type,
		     uint32_t version) MUST_CHECK;
/* Closes the descriptor; for CLEANUP(), too. May be repeated. */
void record_file_close(struct record_file *f);

struct record_data {
	uint32_t kind;
	uint32_t len;
	const void *payload;
	uint64_t sum; /* record_sum() of the payload */
};

/*
 * Appends all of them or none. Returns 0, -EFBIG beyond RECORD_MAX_BYTES, or -errno. If is_closed
 * is set after a failure, all later appends fail with -EIO.
 */
int record_file_append(struct record_file *f, const struct record_data *records,
		       size_t n) MUST_CHECK;
/* The same for one record, whose checksum it makes. */
int record_file_add(struct record_file *f, uint32_t kind, const void *payload,
		    size_t len) MUST_CHECK;
/* fdatasync(2). Returns 0 or -errno. */
int record_file_sync(struct record_file *f) MUST_CHECK;
/* Removes everything from offset on, which must be where a record begins or ends. Not durable. */
int record_file_cut(struct record_file *f, uint64_t offset) MUST_CHECK;

/*
 * Appends the payload of the record at this offset to out and sets *ret, whose payload is NULL.
 * Returns 0, -ENODATA at the end of the file, -EBADMSG if there is no undamaged record, -EFBIG if
 * it exceeds the limit of out, -ENOMEM, or -errno. On failure out is unchanged.
 */
int record_file_read(struct record_file *f, uint64_t offset, struct record *ret,
		     struct buf *out) MUST_CHECK;

/* fsync(2) of the directory: names that were created, renamed or removed are durable after it. */
int record_dir_sync(int dir_fd) MUST_CHECK;

#endif /* COMMON_SYSTEM_RECORD_FILE_H */
