/*
 * Bytes of a file that somebody else owns, read at offsets.
 *
 * The file of a profiled process may be truncated or rewritten at any moment, so it is never
 * mapped: a read beyond its end is an error code here, not a SIGBUS, and its pages never count
 * as ours. The second implementation, plain memory, is the vDSO's and the tests'; the third keeps
 * what it has read (node-agent/go/target/page_cache.h).
 */
#ifndef NODE_AGENT_ELF_BYTE_SOURCE_H
#define NODE_AGENT_ELF_BYTE_SOURCE_H

#include "common/base.h"

struct deadline_caller;

/* As byte_source_read(), within the file. */
typedef int byte_source_read_fn(void *ctx, uint64_t offset, void *to, size_t len);

struct byte_source {
	const uint8_t *data;            /* borrowed; NULL: read from fd */
	int fd;                         /* borrowed */
	uint64_t size_bytes;            /* what the file had when it was opened */
	struct deadline_caller *caller; /* borrowed; reads fd; NULL: the calling thread does */
	uint64_t dev;                   /* for caller */
	byte_source_read_fn *read;      /* NULL: by the above */
	void *ctx;                      /* borrowed; for read */
};

void byte_source_from_fd(struct byte_source *src, int fd, uint64_t size_bytes);
/* Of a file system that may not answer: reads end with -ETIMEDOUT or -EBUSY then. */
void byte_source_from_slow_fd(struct byte_source *src, int fd, uint64_t size_bytes,
			      struct deadline_caller *caller, uint64_t dev);
void byte_source_from_memory(struct byte_source *src, const void *data, size_t len);
void byte_source_from_reader(struct byte_source *src, byte_source_read_fn *read, void *ctx,
			     uint64_t size_bytes);

/* All of len bytes or nothing. -ENODATA: not within the file; -EIO and others of pread(2). */
int byte_source_read(const struct byte_source *src, uint64_t offset, void *to,
		     size_t len) MUST_CHECK;

/*
 * A NUL-terminated string at offset which ends before limit (an offset too) and has at most
 * cap - 1 bytes. Its length; -ENAMETOOLONG: no end found within cap or limit; else as above.
 */
int byte_source_read_string(const struct byte_source *src, uint64_t offset, uint64_t limit,
			    char *to, size_t cap) MUST_CHECK;

#endif /* NODE_AGENT_ELF_BYTE_SOURCE_H */
