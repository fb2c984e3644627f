/*
 * What identifies an upload, so that one that is sent again is not stored again.
 *
 * A sender that wants its repetitions to be recognised sends the header "Idempotency-Key"
 * (draft-ietf-httpapi-idempotency-key-header) with a value that no other upload has; our agents
 * make a random one for each profile. The id is a hash of that value. Without the header it is a
 * hash of the parameters and the body: equal uploads have equal ids.
 */
#ifndef CLUSTER_AGENT_WAL_UPLOAD_ID_H
#define CLUSTER_AGENT_WAL_UPLOAD_ID_H

#include "common/base.h"

/* XXH3-128. The low half is the column Upload of profiling_quality. */
struct upload_id {
	uint64_t low;
	uint64_t high;
};

#endif /* CLUSTER_AGENT_WAL_UPLOAD_ID_H */
