/*
 * What an address of C, C++ or Rust stands for, from DWARF: the function, those that are inlined
 * there, and the source line of each. For the symbolizer.
 */
#ifndef NODE_AGENT_SYMBOL_DWARF_LOCATION_H
#define NODE_AGENT_SYMBOL_DWARF_LOCATION_H

#include "common/base.h"
#include "common/limits.h"
#include "node-agent/lines/line_answer.h"
#include "node-agent/symbol/frame_cache.h"

/* Scratch memory. */
struct dwarf_location_memory {
	char name[LIMIT_SYMBOL_NAME_BYTES + 1];
	char path[LIMIT_SYMBOL_NAME_BYTES + 1];
};

/*
 * Stores the location that an answer describes in the cache. label is the file of a function whose
 * source file is unknown. function is the readable name of the outermost function, as symbol tables
 * have it; NULL: they have none. Returns 0, -ENOENT if the answer has no names, -ENOSPC if the
 * cache is full, or -ENOMEM.
 */
int dwarf_location_store(struct frame_cache *cache, const struct line_answer *a, const char *label,
			 const char *function, struct dwarf_location_memory *memory,
			 const struct symbol_location **ret) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_DWARF_LOCATION_H */
