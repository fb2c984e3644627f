/*
 * A child with variables and records as of Go's mutex and block profilers, in memory that it
 * shares with the test.
 */
#ifndef TEST_LIB_LOCK_CHILD_H
#define TEST_LIB_LOCK_CHILD_H

#include <sys/mman.h>

#include "node-agent/go/lock/lock_reader.h"
#include "node-agent/go/pclntab/go_frames.h"
#include "test/lib/go_child.h"
#include "test/lib/unit.h"

#define LOCK_CHILD_RECORDS 4u
#define LOCK_CHILD_STACK 3u
#define LOCK_CHILD_TEXT 0x400000u

struct lock_child_record {
	uint64_t chain, next, type, hash, size, n_stack;
	uint64_t stack[LOCK_CHILD_STACK];
	double waits;
	uint64_t ticks;
};

/* Shared; by enum lock_kind. */
struct lock_child_memory {
	uint64_t rates[LOCK_KINDS];
	uint64_t lists[LOCK_KINDS];
	struct lock_child_record records[LOCK_CHILD_RECORDS];
};

/* The memory is mapped over this variable, which has the symbols that lead to the rates. */
#define LOCK_CHILD_PAGE 4096u
static uint8_t lock_child_page[LOCK_CHILD_PAGE] __attribute__((used, aligned(LOCK_CHILD_PAGE)));

/* clang-format off */
__asm__(".set \"runtime.mutexprofilerate\", lock_child_page\n"
	".set \"runtime.blockprofilerate\", lock_child_page + 8\n");
/* clang-format on */

struct lock_child {
	struct go_child go;
	struct lock_child_memory *memory;
};

static inline uint64_t lock_child_address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static inline void lock_child_begin(struct lock_child *c)
{
	static const enum go_variable rates[] = {GO_MUTEX_RATE, GO_BLOCK_RATE},
				      lists[] = {GO_MUTEX_BUCKETS, GO_BLOCK_BUCKETS};
	struct go_runtime *rt = &c->go.runtime;

	c->memory = mmap(lock_child_page, sizeof(lock_child_page), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(c->memory, lock_child_page);
	go_child_begin(&c->go, c->memory, c->memory + 1);
	for (int i = 0; i < LOCK_KINDS; i++) {
		go_child_put(&c->go, rates[i], &c->memory->rates[i]);
		go_child_put(&c->go, lists[i], &c->memory->lists[i]);
	}
	c->go.executable.searched = UINT32_MAX;
	assert_int_equal(go_frames_new(&c->go.executable.frames, 1u << 20), 0);
	assert_int_equal(memory_windows_new(&rt->windows), 0);
	rt->text[0] = (struct go_range){LOCK_CHILD_TEXT, LOCK_CHILD_TEXT + 0x1000};
}

/* The child may have been killed already. */
static inline void lock_child_end(struct lock_child *c)
{
	go_child_end(&c->go);
	memory_windows_free(c->go.runtime.windows);
	go_frames_free(c->go.executable.frames);
}

/* Puts a record at the head of the list of its kind. */
static inline void lock_child_record(struct lock_child *c, unsigned i, enum lock_kind kind,
				     double waits, uint64_t ticks)
{
	struct lock_child_record *r = &c->memory->records[i];

	*r = (struct lock_child_record){
		.next = c->memory->lists[kind],
		.type = kind == LOCK_MUTEX ? GO_BUCKET_MUTEX : GO_BUCKET_BLOCK,
		.n_stack = LOCK_CHILD_STACK,
		.waits = waits,
		.ticks = ticks,
	};
	for (unsigned k = 0; k < LOCK_CHILD_STACK; k++)
		r->stack[k] = LOCK_CHILD_TEXT + 16 * i + k + 1;
	r->hash = go_bucket_hash(r->stack, LOCK_CHILD_STACK, 0);
	c->memory->lists[kind] = lock_child_address(r);
}

#endif /* TEST_LIB_LOCK_CHILD_H */
