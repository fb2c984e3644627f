/*
 * Records of Go's memory profiler (struct bucket in runtime/mprof.go) in the memory of a process:
 * one per stack that allocated and size of objects. Pure.
 *
 * A record carries a hash of its stack and size, which never change once it is published: a hash
 * that is right proves at once that the address is one of a record, that the layout is
 * known, and that it was not read half written. The layout is that of 1.13 to 1.27; since 1.27
 * counters of bytes are gone, which are products of counts and size anyway.
 */
#ifndef NODE_AGENT_HEAP_HEAP_BUCKET_H
#define NODE_AGENT_HEAP_HEAP_BUCKET_H

#include "common/base.h"
#include "node-agent/heap/go_module.h"
#include "node-agent/heap/memory_windows.h"

/* 1024 is the most that GODEBUG=profstackdepth allows; the runtime skips some on top. */
#define HEAP_BUCKET_STACK_MAX 1030u
#define HEAP_BUCKET_SIZE_MAX (UINT64_C(1) << 48) /* no object is larger than the address space */

struct heap_counts {
	uint64_t allocs;
	uint64_t frees;
};

struct heap_bucket {
	uint64_t next; /* the record made before; 0: none */
	uint64_t size; /* of one object */
	uint32_t n_stack;
	struct heap_counts active; /* as of a past garbage collection: one moment for all records */
	struct heap_counts future; /* since then */
	uint64_t stack[HEAP_BUCKET_STACK_MAX]; /* return addresses, leaf first */
};

struct heap_bucket_format {
	bool has_bytes;              /* before 1.27 */
	const struct go_range *text; /* code of all modules; borrowed */
	size_t n_text;
};

/*
 * 0; -EBADMSG: no record there; -EAGAIN: its counters contradict each other, again and again;
 * -EFBIG and others of memory_windows_read().
 */
int heap_bucket_read(struct memory_windows *w, const struct heap_bucket_format *f, uint64_t address,
		     struct heap_bucket *ret) MUST_CHECK;

/* The hash of a record with this stack and size. */
uint64_t heap_bucket_hash(const uint64_t *stack, size_t n, uint64_t size);

#endif /* NODE_AGENT_HEAP_HEAP_BUCKET_H */
