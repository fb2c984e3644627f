/*
 * What is due when, and what first: a binary heap of times that are part of what they belong to. One thread.
 */
#ifndef NODE_AGENT_GO_PROFILE_DUE_HEAP_H
#define NODE_AGENT_GO_PROFILE_DUE_HEAP_H

#include "common/base.h"

/* All zero: in no heap. */
struct due {
	uint64_t ns;
	size_t place; /* counted from 1 */
};

/* All zero is an empty one. */
struct due_heap {
	struct due **at;
	size_t n, cap;
};

void due_heap_fini(struct due_heap *h);

/* What is in no heap. -ENOMEM. */
int due_heap_add(struct due_heap *h, struct due *d, uint64_t ns) MUST_CHECK;
/* What is in the heap is due at another time. */
void due_heap_move(struct due_heap *h, struct due *d, uint64_t ns);
/* What is in no heap is allowed. */
void due_heap_remove(struct due_heap *h, struct due *d);

/* NULL: there is none. */
struct due *due_heap_first(const struct due_heap *h);

#endif /* NODE_AGENT_GO_PROFILE_DUE_HEAP_H */
