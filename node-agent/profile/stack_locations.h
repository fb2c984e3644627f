/*
 * Addresses → locations of a pprof, each once: a function, a file and a line, or several if calls
 * were inlined. Pure.
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

/* What an address stands for. */
struct stack_address {
	uint64_t address;
	uint32_t first; /* index of its innermost frame */
	uint32_t plain; /* 1 + the location, if it is a single plain frame; else 0 */
	uint8_t n;
	bool all;          /* frames, or only the innermost one */
	int8_t is_runtime; /* -1: not determined yet */
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
