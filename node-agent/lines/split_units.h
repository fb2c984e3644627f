/*
 * Units of split DWARF (-gsplit-dwarf): a program has their lines and addresses, and a package
 * beside it (.dwp) their functions and inlined calls.
 */
#ifndef NODE_AGENT_LINES_SPLIT_UNITS_H
#define NODE_AGENT_LINES_SPLIT_UNITS_H

#include <elfutils/libdw.h>

#include "common/base.h"

struct split_units;

/*
 * Opens the package at fd, which is borrowed until split_units_free(). Returns 0, -ENOENT if it is
 * none that is understood, or -ENOMEM.
 */
int split_units_new(struct split_units **ret, int fd) MUST_CHECK;
/* NULL is allowed. */
void split_units_free(struct split_units *s);

/*
 * Finds what belongs to a unit of a program, which is borrowed. *ret is valid until the next call;
 * offsets of its entries are always the same. Returns whether there is any.
 */
bool split_units_get(struct split_units *s, Dwarf_Die *skeleton, Dwarf_Die *ret);

#endif /* NODE_AGENT_LINES_SPLIT_UNITS_H */
