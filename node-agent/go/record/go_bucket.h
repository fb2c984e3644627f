/*
 * Records of Go's profilers (struct bucket in runtime/mprof.go) in the memory of a process: one per
 * stack and, of memory, size of objects. Pure.
 *
 * A record carries a hash of its stack and size, which never change once it is published: a hash
 * that is right proves at once that the address is one of a record, that the layout is
 * known, and that it was not read half written. The layout is that of 1.13 to 1.27; what follows
 * the stack depends on the type and is given as words.
 */
#ifndef NODE_AGENT_GO_RECORD_GO_BUCKET_H
#define NODE_AGENT_GO_RECORD_GO_BUCKET_H

#include "common/base.h"
#include "node-agent/go/pclntab/go_module.h"
#include "node-agent/go/target/memory_windows.h"

/* 1024 is the most that GODEBUG=profstackdepth allows; the runtime skips some on top. */
#define GO_BUCKET_STACK_MAX 1030u
#define GO_BUCKET_SIZE_MAX (UINT64_C(1) << 48) /* no object is larger than the address space */
#define GO_BUCKET_WORDS_MAX 16u

/* The first of a stack of the block and mutex profilers of 1.23 to 1.26; see lock_profile.h. */
#define GO_BUCKET_LOGICAL UINT64_MAX

enum go_bucket_type { /* values are the runtime's */
		      GO_BUCKET_MEMORY = 1,
		      GO_BUCKET_BLOCK = 2,
		      GO_BUCKET_MUTEX = 3,
};

struct go_bucket {
	uint64_t next;         /* the record made before; 0: none */
	uint64_t size;         /* of one object; 0 unless of memory */
	uint32_t n_stack;      /* 0 only of locks */
	const uint64_t *stack; /* return addresses, leaf first: where they were read, or copy */
	uint64_t words[GO_BUCKET_WORDS_MAX]; /* of the counters */
	uint64_t copy[GO_BUCKET_STACK_MAX];
};

struct go_bucket_format {
	enum go_bucket_type type;
	uint32_t n_words;            /* at most GO_BUCKET_WORDS_MAX */
	const struct go_range *text; /* code of all modules; borrowed */
	size_t n_text;
};

/*
 * *ret is valid until the next call that reads by way of w. 0; -EBADMSG: no record there; -EFBIG and others of
 * memory_windows_read().
 */
int go_bucket_read(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		   struct go_bucket *ret) MUST_CHECK;

/* The same without windows: what is there now. */
int go_bucket_read_now(struct memory_windows *w, const struct go_bucket_format *f, uint64_t address,
		       struct go_bucket *ret) MUST_CHECK;

/* The hash of a record with this stack and size. */
uint64_t go_bucket_hash(const uint64_t *stack, size_t n, uint64_t size);

#endif /* NODE_AGENT_GO_RECORD_GO_BUCKET_H */
