#include "cluster-agent/replica/rendezvous.h"

#include "common/data/table.h"

/* "coroot": not table_seed, which differs from process to process */
#define SEED UINT64_C(0x636f726f6f74)

uint64_t rendezvous_member(const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), SEED);
}

uint64_t rendezvous_score(uint64_t member, const char *key)
{
	return XXH3_64bits_withSeed(key, strlen(key), member);
}
