/*
 * One list of records of a process's profilers, and what each had counted the last time. Pure.
 *
 * The runtime puts new records in front of a list and never takes one out, so a round walks from
 * the new head to the known one only; then all known records are read again in order of their
 * addresses, in which large reads serve many of them. A record costs 24 bytes here with one counter,
 * 40 with two.
 *
 * A round counts for the next one when bucket_history_commit() is called; else the next one
 * tells what this one would have.
 */
#ifndef NODE_AGENT_GO_RECORD_BUCKET_HISTORY_H
#define NODE_AGENT_GO_RECORD_BUCKET_HISTORY_H

#include "common/base.h"
#include "node-agent/go/record/go_bucket.h"

#define BUCKET_HISTORY_COUNTERS_MAX 2u

struct bucket_history;

enum bucket_history_start {
	BUCKET_HISTORY_FROM_ZERO, /* all that is counted is news: the process has just started */
	BUCKET_HISTORY_FROM_NOW,  /* what was counted before the first round is not */
};

struct bucket_history_config {
	enum bucket_history_start start;
	unsigned n_counters; /* that are remembered of a record; 1 or 2 */
	size_t max_buckets;
};

/* What one round is made of; all borrowed. */
struct bucket_round {
	struct memory_windows *windows; /* begun */
	const struct go_bucket_format *format;
	uint64_t head_address; /* of the variable that points to the newest record */
	uint64_t deadline_ns;  /* on clock_monotonic_ns(); UINT64_MAX: none */
};

/*
 * A record. before: its counters of the last committed round; NULL: they are not known, nothing it
 * has counted until now is news. now: to be filled in. 0; -EAGAIN: it was read while it changed, to
 * be read again; others end the round with that result.
 */
typedef int bucket_history_fn(void *ctx, const struct go_bucket *b, const uint64_t *before,
			      uint64_t *now);

struct bucket_round_result {
	size_t n_buckets;
	size_t n_torn; /* left out: -EAGAIN again and again */
};

/* -ENOMEM. */
int bucket_history_new(struct bucket_history **ret,
		       const struct bucket_history_config *cfg) MUST_CHECK;
void bucket_history_free(struct bucket_history *h);
DEFINE_CLEANUP(struct bucket_history *, bucket_history_free);

size_t bucket_history_bytes(const struct bucket_history *h);

/*
 * 0, also when there is no record yet. -EBADMSG: something in the list is no record; -ELOOP: it is a
 * circle; -E2BIG: more than max_buckets; -EFBIG: more bytes than the windows were given;
 * -ETIME: the deadline; -ESTALE: the list does not lead to what is known; -ENOMEM; those of
 * byte_source_read(); those of fn. After any of them what is known is as before, but for -ESTALE:
 * then it is forgotten, and the next round begins from now.
 */
int bucket_history_round(struct bucket_history *h, const struct bucket_round *round,
			 bucket_history_fn *fn, void *ctx,
			 struct bucket_round_result *ret) MUST_CHECK;
void bucket_history_commit(struct bucket_history *h);

#endif /* NODE_AGENT_GO_RECORD_BUCKET_HISTORY_H */
