/*
 * Return addresses → locations of a pprof: a function, a file and a line each, once. Pure.
 */
#ifndef NODE_AGENT_PROFILE_STACK_LOCATIONS_H
#define NODE_AGENT_PROFILE_STACK_LOCATIONS_H

#include "common/base.h"
#include "common/pprof/pprof_writer.h"
#include "node-agent/profile/frame_resolver.h"

struct stack_locations;

struct stack_frame {
	uint64_t address; /* frame.address */
	uint32_t location;
	enum frame_role role;
};

/* What an address stands for; the place that it has in the table. */
struct stack_address {
	uint64_t address;
	uint32_t first; /* of its frames */
	uint8_t n;
	uint8_t kind;
	int8_t is_runtime; /* -1: not asked yet */
	bool was_put;      /* where stack_locations_pack() finds it, if it belongs there */
};

/* -ENOMEM. */
int stack_locations_new(struct stack_locations **ret, const struct frame_resolver *resolver,
			size_t max_bytes) MUST_CHECK;
void stack_locations_free(struct stack_locations *l);
DEFINE_CLEANUP(struct stack_locations *, stack_locations_free);

/*
 * Of the call before a return address: its innermost frame, or all. *ret is valid until the next call. 0;
 * -ENOMEM; -ENOBUFS over a limit; what resolve returned.
 */
int stack_locations_find(struct stack_locations *l, uint64_t address, bool all,
			 struct stack_address **ret) MUST_CHECK;
/* a->n of them, innermost first; valid until the next stack_locations_find(). */
const struct stack_frame *stack_locations_frames(const struct stack_locations *l,
						 const struct stack_address *a);

/*
 * Packs (pprof_pack_location()) the locations of the first of n addresses, as far as those are found often and are one frame
 * of FRAME_PLAIN each: how many, and *ret_len bytes. to has PPROF_PACKED_LOCATION_MAX_BYTES for each.
 */
size_t stack_locations_pack(const struct stack_locations *l, const uint64_t *addresses, size_t n,
			    bool all, uint8_t *to, size_t *ret_len);

bool stack_locations_is_runtime(struct stack_locations *l, struct stack_address *a);

/* Of a frame that no address has. Results as above. */
int stack_locations_add(struct stack_locations *l, const struct frame *f, uint32_t *ret) MUST_CHECK;

/* All locations and functions. */
void stack_locations_write(const struct stack_locations *l, struct pprof_writer *w);

#endif /* NODE_AGENT_PROFILE_STACK_LOCATIONS_H */
