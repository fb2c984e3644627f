/*
 * Reads the records of Go's memory, mutex and block profilers (struct bucket in
 * runtime/mprof.go) from the memory of a process. There is one record per stack and, in the
 * memory profiler, object size. Pure.
 *
 * A record carries a hash of its stack and size, which never change once it is published. A
 * hash that matches proves that the address is that of a record, that its layout is as
 * expected, and that it was not read half written. The layout is that of 1.13 to 1.27. The
 * counters after the stack depend on the type and are returned as words.
 */
#ifndef NODE_AGENT_GO_RECORD_GO_BUCKET_H
#define NODE_AGENT_GO_RECORD_GO_BUCKET_H

#include "common/base.h"
#include "node-agent/go/pclntab/go_module.h"
#include "node-agent/target/memory_windows.h"

/* GODEBUG=profstackdepth allows at most 1024 frames; the runtime adds a few that it skips later. */
#define GO_BUCKET_STACK_MAX 1030u
#define GO_BUCKET_SIZE_MAX (UINT64_C(1) << 48) /* no object is larger than the address space */
#define GO_BUCKET_WORDS_MAX 16u

/* Marks a logical stack: first word of stacks of the block and mutex profilers of 1.23 to 1.26. */
#define GO_BUCKET_LOGICAL UINT64_MAX

/* The values are the runtime's (bucketType). */
enum go_bucket_type {
	GO_BUCKET_MEMORY = 1,
	GO_BUCKET_BLOCK = 2,
	GO_BUCKET_MUTEX = 3,
};

struct go_bucket {
	uint64_t next;         /* address of the record created before this one; 0 if none */
	uint64_t size;         /* bytes of one object; 0 unless this is a memory record */
	uint32_t n_stack;      /* may be 0 in mutex and block records only */
	const uint64_t *stack; /* return addresses, leaf first; in a memory window or in `copy` */
	uint64_t words[GO_BUCKET_WORDS_MAX]; /* the counters */
	uint64_t copy[GO_BUCKET_STACK_MAX];
};

struct go_bucket_format {
	enum go_bucket_type type;
	uint32_t n_words;            /* words of counters; at most GO_BUCKET_WORDS_MAX */
	const struct go_range *text; /* the code of all modules; borrowed */
	size_t n_text;
};

/*
 * *ret is valid until the next read through w. Returns 0, -EBADMSG if there is no record at
 * that address, or an error of memory_windows_read() such as -EFBIG.
 */
int go_bucket_read(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		   struct go_bucket *ret) MUST_CHECK;

/* The same, but bypasses the cached windows and reads the record's current content. */
int go_bucket_read_now(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		       struct go_bucket *ret) MUST_CHECK;

/* The hash that the runtime stores in a record with this stack and size. */
uint64_t go_bucket_hash(const uint64_t *stack, size_t n, uint64_t size);

#endif /* NODE_AGENT_GO_RECORD_GO_BUCKET_H */
