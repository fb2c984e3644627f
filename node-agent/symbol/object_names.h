/*
 * The name of a function of an ELF file, from wherever it is kept: Go's table of functions, which
 * goes before ELF's symbols because Go programs are often stripped of those; the file's symbols,
 * one part of the file at a time (table_cache.h); for a stripped file, symbols that are kept
 * elsewhere (debug_symbols.h); the PLT. Exception tables decide how far a symbol without a size
 * reaches.
 */
#ifndef NODE_AGENT_SYMBOL_OBJECT_NAMES_H
#define NODE_AGENT_SYMBOL_OBJECT_NAMES_H

#include "common/base.h"
#include "common/limits.h"
#include "common/symbols/demangle.h"
#include "node-agent/symbol/object_cache.h"
#include "node-agent/symbol/symbolizer.h"

/* Where names come from, and room for one; tables and debug are borrowed. */
struct object_names {
	struct table_cache *tables;
	struct debug_symbols *debug;
	size_t table_max_bytes; /* of one table, so that a big file does not push out all others */
	char raw[DEMANGLE_INPUT_MAX_BYTES + 1]; /* name as in the file */
	char name[LIMIT_SYMBOL_NAME_BYTES + 1]; /* name as shown */
};

/* A file, and a process that has it mapped; all borrowed. */
struct object_use {
	struct object *object;
	const struct byte_source *src;
	const struct symbol_mapping *mapping;
};

/* Whether another try later may do better than this error. */
bool object_names_may_change(int error);

/* Go's table of functions, or NULL if the file has none. */
const struct gopclntab *object_names_go(const struct object_use *u);

/*
 * Stores the readable name in n->name. Returns 0, -ENOENT if there is none, -EAGAIN if there is
 * none yet, or why it cannot be found out; n->name is "" then.
 */
int object_names_find(struct object_names *n, const struct object_use *u,
		      uint64_t vaddr) MUST_CHECK;

/*
 * Finds the file that has the DWARF: the file itself, or its debug file. Borrowed until the end of
 * the cycle. Returns as debug_symbols_get(); -ENOENT also if reading it could wait for a machine
 * that does not answer.
 */
int object_names_find_dwarf(struct object_names *n, const struct object_use *u,
			    struct debug_file *ret) MUST_CHECK;

/*
 * The package of split DWARF beside a file that has DWARF, borrowed likewise; -1: there is none, or
 * none that lines can be read of.
 */
int object_names_find_package(struct object_names *n, const struct object_use *u);

#endif /* NODE_AGENT_SYMBOL_OBJECT_NAMES_H */
