/*
 * A cache of the stacks that the store has, so that a known one is not sent again with every
 * profile. Safe from any thread.
 *
 * A stack is known by (service, hash) until the LastSeen that its row was written with; a
 * profile that ends later must send it again. Stacks are added only once their rows are
 * durable: one that is cached but not stored would be missing from flame graphs for an hour.
 *
 * Memory is fixed when the cache is made, 16 bytes per entry. When a set of eight entries is
 * full, the one that expires first is evicted; an evicted stack costs one more row and nothing
 * else.
 *
 * It exists beside table.h because it is large and every stack of every upload is looked up in
 * it: by "make bench-tables", line seen_stacks, a million stacks cost 16 bytes and 236 ns each
 * to check and add, against 104 bytes and 857 ns in a table.h.
 */
#ifndef CLUSTER_AGENT_INGEST_SEEN_STACKS_H
#define CLUSTER_AGENT_INGEST_SEEN_STACKS_H

#include "common/base.h"

struct seen_stacks;

/* Identifies a stack; 96 of its bits are compared. */
struct seen_key {
	uint64_t low;
	uint64_t high;
};

/* n_entries is rounded up to a power of two of at least 8. Returns 0 or -ENOMEM. */
int seen_stacks_new(struct seen_stacks **ret, size_t n_entries) MUST_CHECK;
void seen_stacks_free(struct seen_stacks *s);
DEFINE_CLEANUP(struct seen_stacks *, seen_stacks_free);

/* Pure. The key depends on a secret of the process, so that no sender can provoke collisions. */
struct seen_key seen_stacks_key(const char *service, size_t service_len, uint64_t hash);

/* Sets known[i] if keys[i] need not be sent with a profile that ends at end_ns. */
void seen_stacks_check(struct seen_stacks *s, const struct seen_key *keys, size_t n, int64_t end_ns,
		       bool *known);

/* Call it once rows with these keys and that LastSeen are durable. */
void seen_stacks_add(struct seen_stacks *s, const struct seen_key *keys, size_t n,
		     int64_t last_seen_ns);

#endif /* CLUSTER_AGENT_INGEST_SEEN_STACKS_H */
