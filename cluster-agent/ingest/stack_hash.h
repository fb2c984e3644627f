/*
 * FNV-1a 64 of many stacks at once. Pure.
 *
 * Each step of FNV-1a needs the result of the previous one, so that hashing a single stack
 * leaves most of a CPU idle. Stacks hashed side by side do not depend on each other.
 */
#ifndef CLUSTER_AGENT_INGEST_STACK_HASH_H
#define CLUSTER_AGENT_INGEST_STACK_HASH_H

#include "cluster-agent/ingest/profile_rows.h"
#include "common/base.h"
#include "common/pprof/profile.h"

/*
 * For each of the n numbers of samples in which, sets hashes[number] to what fnv1a64() gives for
 * the frames of that sample, beginning with FNV1A64_INIT.
 */
void stack_hash_all(const struct profile_rows_location *locations,
		    const struct profile_sample *samples, const uint32_t *which, uint32_t n,
		    uint64_t *hashes);

#endif /* CLUSTER_AGENT_INGEST_STACK_HASH_H */
