/*
 * Rendezvous hashing: a key belongs to the member with the highest score for it. When a member
 * joins or leaves, only the keys move that it gets or had. Pure.
 *
 * Members of different releases and architectures must agree on every score, so this must never
 * change. XXH3's results are fixed since xxHash 0.8.0.
 */
#ifndef CLUSTER_AGENT_REPLICA_RENDEZVOUS_H
#define CLUSTER_AGENT_REPLICA_RENDEZVOUS_H

#include "common/base.h"

/* Represents the member of that name in rendezvous_score(). */
uint64_t rendezvous_member(const char *name);

uint64_t rendezvous_score(uint64_t member, const char *key);

#endif /* CLUSTER_AGENT_REPLICA_RENDEZVOUS_H */
