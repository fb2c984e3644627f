/*
 * Turns the cumulative counters of a profiler's records into increases: remembers for each
 * record of one list what it had counted as of the previous round. Pure.
 *
 * A record costs 24 bytes with one counter and 40 with two. There is no hash table: records
 * are kept in an array sorted by address, because they are all read again in that order in
 * each round anyway.
 *
 * A round becomes the baseline of the next one by bucket_history_commit(). Without it the
 * next round reports the increase since the last committed one, so nothing is lost when a
 * profile fails.
 */
#ifndef NODE_AGENT_GO_RECORD_BUCKET_HISTORY_H
#define NODE_AGENT_GO_RECORD_BUCKET_HISTORY_H

#include "common/base.h"
#include "node-agent/go/record/go_bucket.h"

#define BUCKET_HISTORY_COUNTERS_MAX 2u

struct bucket_history;

enum bucket_history_start {
	BUCKET_HISTORY_FROM_ZERO, /* report everything: the process has just started */
	BUCKET_HISTORY_FROM_NOW,  /* do not report what was counted before the first round */
};

struct bucket_history_config {
	enum bucket_history_start start;
	unsigned n_counters; /* remembered per record; 1 or 2 */
	size_t max_buckets;
};

/* The input of one round; all borrowed. */
struct bucket_round {
	struct memory_windows *windows; /* after memory_windows_begin() */
	const struct go_bucket_format *format;
	uint64_t head_address; /* of the variable that points to the newest record */
	uint64_t deadline_ns;  /* on clock_effort_ns(); UINT64_MAX for none */
};

/*
 * Called once per record. `before` holds its counters as of the last committed round, or is
 * NULL if the record is not known from an earlier one and its history must not be reported.
 * The callee stores the current counters in `now`. Returns 0, or -EAGAIN to have the record
 * read again because it was changing; any other error ends the round.
 */
typedef int bucket_history_fn(void *ctx, const struct go_bucket *b, const uint64_t *before,
			      uint64_t *now);

struct bucket_round_result {
	size_t n_buckets;
	size_t n_torn; /* records left out because every attempt returned -EAGAIN */
};

/* Returns 0 or -ENOMEM. */
int bucket_history_new(struct bucket_history **ret,
		       const struct bucket_history_config *cfg) MUST_CHECK;
void bucket_history_free(struct bucket_history *h);
DEFINE_CLEANUP(struct bucket_history *, bucket_history_free);

size_t bucket_history_bytes(const struct bucket_history *h);

/*
 * Returns 0, also when there are no records yet, or
 *   -EBADMSG  something in the list is not a record
 *   -ELOOP    the list is a circle
 *   -E2BIG    more than max_buckets records
 *   -EFBIG    more bytes than the windows may read
 *   -ETIME    the deadline has passed
 *   -ESTALE   the list no longer leads to the records of the previous round
 *   -ENOMEM, an error of byte_source_read(), or what fn returned.
 * On error the history is unchanged, except after -ESTALE: it is then empty, and the next round
 * begins as with BUCKET_HISTORY_FROM_NOW.
 */
int bucket_history_round(struct bucket_history *h, const struct bucket_round *round,
			 bucket_history_fn *fn, void *ctx,
			 struct bucket_round_result *ret) MUST_CHECK;

/* Makes the last round, which succeeded, the baseline of the next one. */
void bucket_history_commit(struct bucket_history *h);

#endif /* NODE_AGENT_GO_RECORD_BUCKET_HISTORY_H */
