/*
 * Return addresses that stand for one location each: all that most frames of a large profile need to know, in so few bytes
 * that the processor's cache has room for those of a program. Pure.
 *
 * Some are left out: those 4 GiB and more away from the others (plugins), and one or two in a hundred that
 * have no place.
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
	unsigned log2;                /* of their number */
	uint32_t n;                   /* addresses */
	uint32_t upper_half;          /* of all addresses */
};

void plain_locations_fini(struct plain_locations *t);

/* An address that was not added yet. -ENOMEM. */
int plain_locations_add(struct plain_locations *t, uint64_t address, uint32_t location) MUST_CHECK;

/*
 * Packs (pprof_pack_location()) the first of n addresses, as far as they are here: how many, and *ret_len bytes.
 * to has PPROF_PACKED_LOCATION_MAX_BYTES for each.
 */
size_t plain_locations_pack(const struct plain_locations *t, const uint64_t *addresses, size_t n,
			    uint8_t *to, size_t *ret_len);

#endif /* NODE_AGENT_PROFILE_PLAIN_LOCATIONS_H */
