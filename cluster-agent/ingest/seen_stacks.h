/*
 * Which stacks the store has, so that a known one is not sent again with every
 * profile. Safe from any thread.
 *
 * A stack is known by (service, hash) and until the LastSeen its row was
 * written with; a profile that ends later must send it again. Stacks are added
 * only once their rows are durable: one that is remembered but not stored
 * would be missing from flame graphs for an hour.
 *
 * Memory is fixed at construction (16 bytes per entry). When a set of eight
 * entries is full, the one that expires first gives way; a forgotten stack
 * costs one more row and nothing else.
 */
#ifndef CLUSTER_AGENT_INGEST_SEEN_STACKS_H
#define CLUSTER_AGENT_INGEST_SEEN_STACKS_H

#include "common/base.h"

struct seen_stacks;

/* Of a stack; 96 of its bits are compared. */
struct seen_key {
	uint64_t low;
	uint64_t high;
};

/* n_entries is rounded up to a power of two, at least 8. -ENOMEM is the only failure. */
int seen_stacks_new(struct seen_stacks **ret, size_t n_entries) MUST_CHECK;
void seen_stacks_free(struct seen_stacks *s);
DEFINE_CLEANUP(struct seen_stacks *, seen_stacks_free);

/* Pure; the hash differs from process to process, so no sender can aim at a collision. */
struct seen_key seen_stacks_key(const char *service, size_t service_len, uint64_t hash);

/* known[i] tells whether keys[i] need not be sent with a profile that ends at end_ns. */
void seen_stacks_check(struct seen_stacks *s, const struct seen_key *keys, size_t n, int64_t end_ns,
		       bool *known);

/* Rows with these keys and that LastSeen are durable. */
void seen_stacks_add(struct seen_stacks *s, const struct seen_key *keys, size_t n,
		     int64_t last_seen_ns);

#endif /* CLUSTER_AGENT_INGEST_SEEN_STACKS_H */
