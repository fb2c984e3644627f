/*
 * One segment while it is inserted: drain_segment.c does that, and asks drain_claims.c who inserts
 * what. The drain's thread only.
 */
#ifndef CLUSTER_AGENT_WAL_DRAIN_JOB_H
#define CLUSTER_AGENT_WAL_DRAIN_JOB_H

#include "cluster-agent/wal/drain_pieces.h"
#include "cluster-agent/wal/drain_state.h"
#include "common/base.h"

struct drain_job {
	struct log_drain *drain;
	struct log_segment *of; /* borrowed from the log */
	struct log_segment_content segment;
	struct drain_days days;
	struct drain_pieces pieces;
	/* by record; at most one of these is true */
	bool *refused;
	bool *found;     /* in the store already */
	bool *contested; /* another receiver may insert it, and it is not known yet who does */
	bool *settled;   /* inserted before the segment was postponed */

	bool *expired;      /* by record: the store did not keep its rows */
	bool *present;      /* by frame: in the store already, of an upload that is not found */
	int exact_tokens;   /* 1 or 0; -1: not known yet */
	bool was_uncertain; /* a piece was */

	/* of drain_claims.c */
	bool is_resumed;     /* the segment was postponed before */
	uint64_t asked_ns;   /* monotonic: when claims were last read */
	uint64_t claimed_ns; /* when ours were made; 0: not in this process */
	uint64_t since_ns;   /* when it began to wait for others */
	unsigned n_polls;
	struct drain_job *next; /* of those that are postponed */
};

/* drain_retry.c: repeats step() until it succeeds. Returns 0, or -EPIPE when the drain stops. */
int drain_insist(struct drain_job *j, int (*step)(struct drain_job *j, struct err *err));

/* ---- drain_claims.c ---- */

/* Before the first insert: finds out what is contested. A step for drain_insist(). */
int drain_claims_ask(struct drain_job *j, struct err *err);
/* Before each insert: asks again if the last answer is too old. Returns an error of the store. */
int drain_claims_renew(struct drain_job *j, struct err *err);
/*
 * A segment that was postponed comes again. Returns 1 if the wait for others is over, so that what
 * is not contested any more may be inserted; 0 if it is not; or -EPIPE.
 */
int drain_claims_resume(struct drain_job *j);
/*
 * If something is contested, claims it and sets *ret_at_ns to when to come again, which is not 0.
 * Returns 0 or -EPIPE.
 */
int drain_claims_wait(struct drain_job *j, uint64_t *ret_at_ns);
/* What makes tokens of a resumed segment different: which frames are inserted. Pure. */
uint64_t drain_claims_set(const struct drain_job *j, const struct drain_piece *p);

/* Whether the frame is not inserted now. */
bool drain_leaves_out(const struct drain_job *j, const struct log_frame *f);

#endif /* CLUSTER_AGENT_WAL_DRAIN_JOB_H */
