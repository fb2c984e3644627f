/*
 * Addresses → locations of a pprof, each once: a function, a file and a line, or several if calls
 * were inlined. Pure.
 *
 * It has a hash table of addresses of its own beside common/data/table.h, because every frame
 * of every stack is looked up: by "make bench-go BENCH=heap", a heap of 131,000 records takes
 * 112 ms and 14.6 MiB with it, against 124 ms and 15.0 MiB with a table.h.
 */
#ifndef NODE_AGENT_PROFILE_STACK_LOCATIONS_H
#define NODE_AGENT_PROFILE_STACK_LOCATIONS_H

#include "common/base.h"
#include "common/pprof/pprof_writer.h"
#include "node-agent/profile/frame_resolver.h"

struct stack_locations;

struct stack_frame {
	uint64_t address; /* as in struct frame */
	uint32_t location;
	enum frame_role role;
};

/* What an address stands for: an element of the table of addresses. */
struct stack_address {
	uint64_t address;
	uint32_t first; /* index of its innermost frame */
	uint8_t n;
	uint8_t kind;
	int8_t is_runtime; /* -1: not determined yet */
	bool is_packed;    /* in plain_locations.h, if it belongs there */
};

/* -ENOMEM is the only failure. */
int stack_locations_new(struct stack_locations **ret, const struct frame_resolver *resolver,
			size_t max_bytes) MUST_CHECK;
void stack_locations_free(struct stack_locations *l);
DEFINE_CLEANUP(struct stack_locations *, stack_locations_free);

/*
 * Finds what an address stands for, its innermost frame or all, and resolves it the first
 * time. *ret is valid until the next call. Returns 0, -ENOMEM, -ENOBUFS if a limit is reached,
 * or an error of the resolver.
 */
int stack_locations_find(struct stack_locations *l, uint64_t address, bool all,
			 struct stack_address **ret) MUST_CHECK;
/* The frames of a, innermost first; valid until the next stack_locations_find(). */
const struct stack_frame *stack_locations_frames(const struct stack_locations *l,
						 const struct stack_address *a);

/*
 * The fast way for most frames of a large profile: packs locations (pprof_pack_location())
 * from the first address on, until one of them is not known to be a single plain frame.
 * Returns how many it packed and stores the number of bytes; to has
 * PPROF_PACKED_LOCATION_MAX_BYTES for each address.
 */
size_t stack_locations_pack(const struct stack_locations *l, const uint64_t *addresses, size_t n,
			    bool all, uint8_t *to, size_t *ret_len);

bool stack_locations_is_runtime(struct stack_locations *l, struct stack_address *a);

/* Adds a frame that has no address, or finds it. Results as of stack_locations_find(). */
int stack_locations_add(struct stack_locations *l, const struct frame *f, uint32_t *ret) MUST_CHECK;

/* Frees what finds addresses and frames. Afterwards only the calls below are allowed. */
void stack_locations_seal(struct stack_locations *l);

/* Number of locations, and the bytes of one as text: functions, files and lines. */
uint32_t stack_locations_count(const struct stack_locations *l);
size_t stack_locations_text_bytes(const struct stack_locations *l, uint32_t location);

/* Writes all locations and functions. */
void stack_locations_write(const struct stack_locations *l, struct pprof_writer *w);

#endif /* NODE_AGENT_PROFILE_STACK_LOCATIONS_H */
