/*
 * Where the function begins that has an address of a file which says nothing about it, so that its
 * samples are one function and not one per instruction: by its code (code_starts.h), a piece of it
 * at a time.
 */
#ifndef NODE_AGENT_SYMBOL_UNNAMED_FUNCTIONS_H
#define NODE_AGENT_SYMBOL_UNNAMED_FUNCTIONS_H

#include "common/base.h"
#include "common/elf/byte_source.h"
#include "common/elf/elf_layout.h"

/* Pieces begin at multiples of this address. */
#define UNNAMED_FUNCTIONS_PIECE_BYTES UINT64_C(262144)
/* That are kept; together they have some 200 KiB. */
#define UNNAMED_FUNCTIONS_PIECES 64u
/* That are looked at in a cycle, which takes some 20 ms each. */
#define UNNAMED_FUNCTIONS_CYCLE_PIECES 16u

struct unnamed_functions; /* opaque */

/* -ENOMEM is the only failure. */
int unnamed_functions_new(struct unnamed_functions **ret) MUST_CHECK;
void unnamed_functions_free(struct unnamed_functions *u);
DEFINE_CLEANUP(struct unnamed_functions *, unnamed_functions_free);

/* A file; `number` tells it from all others. All is borrowed. */
struct unnamed_file {
	uint32_t number;
	const struct elf_layout *layout;
	const struct byte_source *src;
};

/*
 * Finds the start; `floor`, an address, is where other code ends. Returns 0; -ENOENT if none is
 * found; -EAGAIN if a later cycle may find it; or -ENOMEM, or an error of byte_source_read().
 */
int unnamed_functions_find(struct unnamed_functions *u, const struct unnamed_file *f,
			   uint64_t vaddr, uint64_t floor, uint64_t *ret_start) MUST_CHECK;

void unnamed_functions_end_cycle(struct unnamed_functions *u);

#endif /* NODE_AGENT_SYMBOL_UNNAMED_FUNCTIONS_H */
