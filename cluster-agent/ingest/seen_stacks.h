/*
 * A cache of the stacks that the store has: so that a known one is not sent again with every
 * profile, and its hash is not computed again. Safe from any thread.
 *
 * A stack is known by (service, frames) until the LastSeen that its row was written with; a
 * profile that ends later must send it again. Stacks are added only once their rows are
 * durable: one that is cached but not stored would be missing from flame graphs for an hour.
 *
 * Memory is fixed when the cache is made, 24 bytes per entry. When a set of eight entries is
 * full, the one that expires first is evicted; an evicted stack costs one more row and nothing
 * else.
 *
 * A table would need a list to evict in order, and memory for each entry.
 */
#ifndef CLUSTER_AGENT_INGEST_SEEN_STACKS_H
#define CLUSTER_AGENT_INGEST_SEEN_STACKS_H

#include "common/base.h"

struct seen_stacks;

/* Identifies a stack of a service by its frames; 96 of its bits are compared. */
struct seen_key {
	uint64_t low;
	uint64_t high;
};

/* What a key stands for. */
struct seen_stack {
	struct seen_key key;
	uint64_t hash; /* as stored */
};

struct seen_answer {
	uint64_t hash; /* if found */
	bool found;
	bool known; /* need not be sent; implies found */
};

/* n_entries is rounded up to a power of two of at least 8. Returns 0 or -ENOMEM. */
int seen_stacks_new(struct seen_stacks **ret, size_t n_entries) MUST_CHECK;
void seen_stacks_free(struct seen_stacks *s);
DEFINE_CLEANUP(struct seen_stacks *, seen_stacks_free);

/* Looks up the stacks of a profile that ends at end_ns; ret has n elements. */
void seen_stacks_find(struct seen_stacks *s, const struct seen_key *keys, size_t n, int64_t end_ns,
		      struct seen_answer *ret);

/* Call it once rows of these stacks with that LastSeen are durable. */
void seen_stacks_add(struct seen_stacks *s, const struct seen_stack *stacks, size_t n,
		     int64_t last_seen_ns);

/* Forgets all stacks. */
void seen_stacks_clear(struct seen_stacks *s);

#endif /* CLUSTER_AGENT_INGEST_SEEN_STACKS_H */
