/*
 * The profiler's records of one process, and what each had counted the last time. Pure.
 *
 * The runtime puts new records in front of its list and never takes one out, so a round walks from
 * the new head to the known one only; then all known records are read again in order of their
 * addresses, in which large reads serve many of them. A record costs 32 bytes here.
 *
 * A round counts for the next one when heap_history_commit() is called; else the next one
 * tells what this one would have.
 */
#ifndef NODE_AGENT_HEAP_HEAP_HISTORY_H
#define NODE_AGENT_HEAP_HEAP_HISTORY_H

#include "common/base.h"
#include "node-agent/heap/heap_bucket.h"

struct heap_history;

enum heap_history_start {
	HEAP_HISTORY_FROM_ZERO, /* all allocations are news: the process has just started */
	HEAP_HISTORY_FROM_NOW,  /* those before the first round are not */
};

struct heap_history_config {
	enum heap_history_start start;
	size_t max_buckets;
};

/* What one round is made of; all borrowed. */
struct heap_round {
	struct memory_windows *windows; /* begun */
	const struct heap_bucket_format *format;
	uint64_t head_address; /* of the variable that points to the newest record */
	uint64_t deadline_ns;  /* on clock_monotonic_ns(); UINT64_MAX: none */
};

/* allocs: since the last committed round. What is not 0 ends the round with that result. */
typedef int heap_history_fn(void *ctx, const struct heap_bucket *b, uint64_t allocs);

struct heap_round_result {
	size_t n_buckets;
	size_t n_torn;      /* read, but not passed on: counters that contradict each other */
	size_t n_backwards; /* counted less than the last time: taken as nothing new */
};

/* -ENOMEM. */
int heap_history_new(struct heap_history **ret, const struct heap_history_config *cfg) MUST_CHECK;
void heap_history_free(struct heap_history *h);
DEFINE_CLEANUP(struct heap_history *, heap_history_free);

/*
 * 0, also when there is no record yet. -EBADMSG: something in the list is no record; -ELOOP: it is a
 * circle; -E2BIG: more than max_buckets; -EFBIG: more bytes than the windows were given;
 * -ETIME: the deadline; -ESTALE: the list does not lead to what is known; -ENOMEM; those of
 * byte_source_read(); those of fn. After any of them what is known is as before, but for -ESTALE:
 * then it is forgotten, and the next round begins from now.
 */
int heap_history_round(struct heap_history *h, const struct heap_round *round, heap_history_fn *fn,
		       void *ctx, struct heap_round_result *ret) MUST_CHECK;
void heap_history_commit(struct heap_history *h);

#endif /* NODE_AGENT_HEAP_HEAP_HISTORY_H */
