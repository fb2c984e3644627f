/*
 * Which of many things is due next: an intrusive binary heap of times. One thread.
 */
#ifndef NODE_AGENT_RUNTIME_DUE_HEAP_H
#define NODE_AGENT_RUNTIME_DUE_HEAP_H

#include "common/base.h"

/* Member of whatever is due. All zero: it is in no heap. */
struct due {
	uint64_t ns;
	size_t place; /* in the heap, counted from 1 */
};

/* All zero: empty. */
struct due_heap {
	struct due **at;
	size_t n, cap;
};

void due_heap_fini(struct due_heap *h);

/* d must be in no heap. Returns 0 or -ENOMEM. */
int due_heap_add(struct due_heap *h, struct due *d, uint64_t ns) MUST_CHECK;
/* Changes when d, which is in the heap, is due. */
void due_heap_move(struct due_heap *h, struct due *d, uint64_t ns);
/* Does nothing if d is in no heap. */
void due_heap_remove(struct due_heap *h, struct due *d);

/* Returns the one that is due first, or NULL if the heap is empty. */
struct due *due_heap_first(const struct due_heap *h);

#endif /* NODE_AGENT_RUNTIME_DUE_HEAP_H */
