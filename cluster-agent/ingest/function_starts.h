/*
 * At which line functions start, which the frames of the store do not say and "go build -pgo"
 * needs: of functions in stacks that get a row, so that the store has them as long as the stacks.
 * Pure.
 */
#ifndef CLUSTER_AGENT_INGEST_FUNCTION_STARTS_H
#define CLUSTER_AGENT_INGEST_FUNCTION_STARTS_H

#include "cluster-agent/ingest/profile_rows.h"
#include "cluster-agent/store/row_batch.h"
#include "common/base.h"

#define FUNCTION_STARTS_MAX 50000u
#define FUNCTION_STARTS_MAX_BYTES ((size_t)4 * 1024 * 1024)

/*
 * Lists "<name> <file>" with the line, of profiles with a type of CPU time. What is beyond the
 * limits is left out. *ret is in the profile's arena. Returns 0, -EFBIG if that is full, or
 * -ENOMEM.
 */
int function_starts_list(const struct profile_rows *r, struct row_count **ret,
			 size_t *ret_n) MUST_CHECK;

#endif /* CLUSTER_AGENT_INGEST_FUNCTION_STARTS_H */
