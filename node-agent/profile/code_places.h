/*
 * The code that the stacks of one profile refer to: locations with the address that each has in
 * its file, and the mappings that a pprof lists for these files. Pure.
 *
 * Processes of a workload load the same file at different addresses, which must neither keep
 * equal stacks apart nor be published: they would tell how to get around address space layout
 * randomization. So a pprof's addresses are those of the file (ELF virtual addresses). Shared
 * objects all begin near 0, and tools expect mappings that do not overlap, so each gets a base of
 * its own that depends only on the files before it. Tools subtract the start of the mapping.
 */
#ifndef NODE_AGENT_PROFILE_CODE_PLACES_H
#define NODE_AGENT_PROFILE_CODE_PLACES_H

#include "common/base.h"
#include "common/pprof/profile.h"
#include "node-agent/symbol/symbolizer.h"

#define CODE_PLACES_MAPPINGS_MAX 4096u

/* No padding: compared as bytes. */
struct code_place {
	const struct symbol_location *location;
	uint64_t address; /* 0: unknown */
	uint64_t mapping; /* 1 + its index; 0: none */
};

struct code_places;

/* -ENOMEM is the only failure. max_bytes bounds the places. */
int code_places_new(struct code_places **ret, size_t max_bytes) MUST_CHECK;
void code_places_free(struct code_places *c);
DEFINE_CLEANUP(struct code_places *, code_places_free);

/*
 * Finds or adds the mapping of a file. is_main: it is the program, which tools expect first. Stores
 * 1 + the index, and what is to be added to an address of the file. Returns 0, -ENOMEM or -ENOBUFS.
 */
int code_places_map(struct code_places *c, const struct symbol_file *f, bool is_main,
		    uint32_t *ret_mapping, uint64_t *ret_base) MUST_CHECK;

/* Finds or adds a place. Returns 0, -ENOMEM or -ENOBUFS. */
int code_places_add(struct code_places *c, const struct code_place *place,
		    uint32_t *ret) MUST_CHECK;
/* Valid until the next code_places_add(). */
const struct code_place *code_places_get(const struct code_places *c, uint32_t number);

/* Frees the places and keeps the mappings. Afterwards no place may be added or got. */
void code_places_seal(struct code_places *c);

/* Borrowed until the next code_places_map(). */
const struct profile_mapping *code_places_mappings(const struct code_places *c, size_t *ret_n);

#endif /* NODE_AGENT_PROFILE_CODE_PLACES_H */
