/*
 * Replicas must agree who scrapes which pod without talking to each other about pods. Each
 * computes a score for every pair of member and key; the highest one wins. With N members that
 * is N hashes per key, which is cheap enough here (at most 256 members), and unlike a ring of
 * virtual nodes it balances well with two or three members and has no state.
 *
 * The member's hash is the seed of the key's hash, so a key costs one hash per member.
 */
#include "cluster-agent/replica/rendezvous.h"

#include "common/data/table.h"

/* "coroot"; table_seed differs from process to process */
#define SEED UINT64_C(0x636f726f6f74)

uint64_t rendezvous_member(const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), SEED);
}

uint64_t rendezvous_score(uint64_t member, const char *key)
{
	return XXH3_64bits_withSeed(key, strlen(key), member);
}
