/*
 * Ranges of a program's assembly (gopclntab_assembly.h) → the table by which the walk in BPF finds
 * their callers (bpf/go_assembly.h). Pure.
 */
#ifndef NODE_AGENT_UNWIND_ASSEMBLY_TABLE_H
#define NODE_AGENT_UNWIND_ASSEMBLY_TABLE_H

#include <linux/types.h>

#include "common/base.h"
#include "node-agent/symbol/gopclntab_assembly.h"

#include "bpf/go_assembly.h"

/*
 * Shorter pieces, as the first and last instructions of a function are, take no time: they would
 * double the size of the table for some samples in a million.
 */
#define ASSEMBLY_TABLE_RANGE_MIN_BYTES 12u

/*
 * first is the address of the program's first function, in the file as those of the ranges. Returns
 * the number of ranges that the table has no room for.
 */
size_t assembly_table_fill(struct go_frame_table *ret, const struct gopclntab_assembly *ranges,
			   size_t n, uint64_t first);

#endif /* NODE_AGENT_UNWIND_ASSEMBLY_TABLE_H */
