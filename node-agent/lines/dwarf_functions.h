/*
 * The functions of one unit of DWARF that have code, by address, and what is inlined into them.
 *
 * libdw has dwarf_getscopes() for this, but that looks into no namespace, where Rust and clang have
 * their functions, and goes through the whole unit for each address.
 */
#ifndef NODE_AGENT_LINES_DWARF_FUNCTIONS_H
#define NODE_AGENT_LINES_DWARF_FUNCTIONS_H

#include <elfutils/libdw.h>

#include "common/base.h"

#define DWARF_FUNCTIONS_MAX (1u << 19) /* of a unit; 12 MiB */
/* Of inlined calls within each other. */
#define DWARF_SCOPES_MAX 256u

struct dwarf_function {
	uint64_t start;
	uint64_t end;
	Dwarf_Off entry;
};

/* Zeroed memory is of a unit that was not read. */
struct dwarf_functions {
	struct dwarf_function *functions; /* by start */
	size_t n, cap;
	bool read;
	bool read_nested; /* functions that are within others as well */
};

/*
 * Reads the functions of a unit unless that was done before. Returns 0 or -ENOMEM; what libdw
 * cannot read is left out.
 */
int dwarf_functions_read(struct dwarf_functions *f, Dwarf_Die *unit) MUST_CHECK;
void dwarf_functions_fini(struct dwarf_functions *f);

/*
 * Finds the function that has an address, and what is inlined there: entries of inlined functions
 * and of the function around them, innermost first. Functions within others are read when an
 * address needs them. Returns how many there are, 0 for none.
 */
size_t dwarf_functions_find(struct dwarf_functions *f, Dwarf_Die *unit, uint64_t vaddr,
			    Dwarf_Die ret[static DWARF_SCOPES_MAX]);

#endif /* NODE_AGENT_LINES_DWARF_FUNCTIONS_H */
