/*
 * What an address of C, C++ or Rust stands for, from DWARF: the function, those that are inlined
 * there, and the source line of each. For the symbolizer.
 */
#ifndef NODE_AGENT_SYMBOL_DWARF_LOCATION_H
#define NODE_AGENT_SYMBOL_DWARF_LOCATION_H

#include "common/base.h"
#include "common/limits.h"
#include "node-agent/lines/line_reader.h"
#include "node-agent/symbol/frame_cache.h"

/* A file with DWARF; all borrowed. */
struct dwarf_location_file {
	struct line_reader *reader;
	uint32_t number; /* of the file that has the address */
	int fd;          /* of the file that has the DWARF: the same one, or its debug file */
	uint64_t size_bytes;
	const char *label; /* the file of a function whose source file is unknown */
};

/* Scratch memory. */
struct dwarf_location_memory {
	struct line_answer answer;
	char name[LIMIT_SYMBOL_NAME_BYTES + 1];
	char path[LIMIT_SYMBOL_NAME_BYTES + 1];
};

/*
 * Finds the location of vaddr and stores it in the cache. function is the readable name of the
 * function that has the address, as symbol tables have it; NULL: they have none. Returns 0, -ENOENT
 * if DWARF does not have it, -ENOSPC if the cache is full, -ENOMEM, or an error of
 * line_reader_find().
 */
int dwarf_location_find(struct frame_cache *cache, const struct dwarf_location_file *f,
			uint64_t vaddr, const char *function, struct dwarf_location_memory *memory,
			const struct symbol_location **ret) MUST_CHECK;

#endif /* NODE_AGENT_SYMBOL_DWARF_LOCATION_H */
