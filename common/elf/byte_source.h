/*
 * Bytes of a file that somebody else owns, read at offsets.
 *
 * The file of a profiled process may be truncated or rewritten at any moment, so it is never
 * mapped: a read beyond its end is an error code here, not a SIGBUS, and its pages never count
 * as the agent's memory. There are two more implementations: plain memory, for the vDSO and
 * for tests, and a function, for memory of a process, for caches
 * (node-agent/target/page_cache.h) and for limits.
 */
#ifndef COMMON_ELF_BYTE_SOURCE_H
#define COMMON_ELF_BYTE_SOURCE_H

#include "common/base.h"

struct deadline_caller;

/* Like byte_source_read(); offset and len are within the source's size. */
typedef int byte_source_read_fn(void *ctx, uint64_t offset, void *to, size_t len);

struct byte_source {
	const uint8_t *data;            /* borrowed; NULL: read from fd */
	int fd;                         /* borrowed */
	uint64_t size_bytes;            /* of the file when it was opened */
	struct deadline_caller *caller; /* borrowed; reads fd; NULL: the calling thread reads */
	uint64_t dev;                   /* for caller */
	byte_source_read_fn *read;      /* NULL: data or fd is read */
	void *ctx;                      /* borrowed; for read */
};

void byte_source_from_fd(struct byte_source *src, int fd, uint64_t size_bytes);
/* For a file system that may not answer: reads then fail with -ETIMEDOUT or -EBUSY. */
void byte_source_from_slow_fd(struct byte_source *src, int fd, uint64_t size_bytes,
			      struct deadline_caller *caller, uint64_t dev);
void byte_source_from_memory(struct byte_source *src, const void *data, size_t len);
void byte_source_from_reader(struct byte_source *src, byte_source_read_fn *read, void *ctx,
			     uint64_t size_bytes);

/* How much may still be read of a file, whose headers may point to the same bytes many times. */
struct byte_budget {
	const struct byte_source *src; /* borrowed */
	uint64_t left_bytes;
};

/* Each read costs its length and this. */
#define BYTE_BUDGET_READ_BYTES UINT64_C(256)

/* Reads b->src until the budget is spent, and fails with -EFBIG from then on. b is borrowed. */
void byte_source_with_budget(struct byte_source *src, struct byte_budget *b);

/*
 * Reads len bytes, all or none. Returns 0, -ENODATA if they are not within the file, or an error of
 * pread(2).
 */
int byte_source_read(const struct byte_source *src, uint64_t offset, void *to,
		     size_t len) MUST_CHECK;

/*
 * Reads a NUL-terminated string at offset that ends before limit, also an offset, and has at
 * most cap - 1 bytes. Returns its length, -ENAMETOOLONG if it does not end within cap and
 * limit, or an error as above.
 */
int byte_source_read_string(const struct byte_source *src, uint64_t offset, uint64_t limit,
			    char *to, size_t cap) MUST_CHECK;

#endif /* COMMON_ELF_BYTE_SOURCE_H */
