/*
 * Addresses that stand for one location each, in so few bytes that those of a whole program
 * fit into the processor's cache. Pure.
 *
 * Some addresses are left out and must be looked up elsewhere: those 4 GiB or more away from
 * the others (plugins), and one or two in a hundred whose bucket is full.
 *
 * It exists beside the table of stack_locations.h because of large profiles: by "make bench-go
 * BENCH=heap", a heap of 131,000 records in use takes 112 ms with it and 150 ms without.
 */
#ifndef NODE_AGENT_PROFILE_PLAIN_LOCATIONS_H
#define NODE_AGENT_PROFILE_PLAIN_LOCATIONS_H

#include "common/base.h"
#include "common/pprof/pprof_writer.h"

struct plain_bucket;

/* All zero: empty. */
struct plain_locations {
	void *memory;
	struct plain_bucket *buckets; /* in memory */
	unsigned log2;                /* of the number of buckets */
	uint32_t n;                   /* addresses */
	uint32_t upper_half;          /* which all addresses share */
};

void plain_locations_fini(struct plain_locations *t);

/* Adds an address, which must be new. Returns 0, also if it is left out, or -ENOMEM. */
int plain_locations_add(struct plain_locations *t, uint64_t address, uint32_t location) MUST_CHECK;

/*
 * Packs (pprof_pack_location()) addresses from the first one on, until one is not in the
 * table. Returns how many, and stores the number of bytes; to has
 * PPROF_PACKED_LOCATION_MAX_BYTES for each address.
 */
size_t plain_locations_pack(const struct plain_locations *t, const uint64_t *addresses, size_t n,
			    uint8_t *to, size_t *ret_len);

#endif /* NODE_AGENT_PROFILE_PLAIN_LOCATIONS_H */
