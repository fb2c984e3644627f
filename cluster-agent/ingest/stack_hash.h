/*
 * FNV-1a 64 of many stacks at once. Pure.
 *
 * Each byte of FNV-1a waits for the multiplication of the one before, so one
 * stack leaves most of a CPU idle; stacks hashed side by side do not wait for
 * each other.
 */
#ifndef CLUSTER_AGENT_INGEST_STACK_HASH_H
#define CLUSTER_AGENT_INGEST_STACK_HASH_H

#include "cluster-agent/ingest/profile_rows.h"
#include "common/base.h"
#include "common/pprof/profile.h"

/*
 * hashes[i] of samples[i]: over the frames of its locations, as fnv1a64() would
 * from FNV1A64_INIT on.
 */
void stack_hash_all(const struct profile_rows_location *locations,
		    const struct profile_sample *samples, uint32_t n_samples, uint64_t *hashes);

#endif /* CLUSTER_AGENT_INGEST_STACK_HASH_H */
