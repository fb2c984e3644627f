/*
 * Claims: by what receivers of one store agree which of them inserts an upload that more than one
 * may have in its log. The protocol is in wal/drain_claims.c; this is the table.
 *
 * A claim is a row of profiling_claims: upload, claimant, and the server's time. The newest claim
 * of an upload counts, and of two of the same time the one of the larger claimant, so that all who
 * see the same rows see the same one. A claim is kept as long as profiles are. Threads and errors
 * are those of store_query(), but for -EREMOTEIO and -ENOMEM, which become -EAGAIN: no row of an
 * upload is at fault.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_CLAIMS_H
#define CLUSTER_AGENT_STORE_STORE_CLAIMS_H

#include "cluster-agent/store/store.h"
#include "common/base.h"

enum store_claim {
	STORE_UNCLAIMED,
	STORE_CLAIMED_BY_US, /* the newest claim is */
	STORE_CLAIMED_BY_OTHERS,
};

/* claimant is of [0-9a-f]. Once this returns 0 the claims are in the table. */
int store_add_claims(struct store *s, const char *claimant, const uint64_t *ids, size_t n,
		     struct err *err) MUST_CHECK;
int store_find_claims(struct store *s, const char *claimant, const uint64_t *ids, size_t n,
		      enum store_claim *ret, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_CLAIMS_H */
