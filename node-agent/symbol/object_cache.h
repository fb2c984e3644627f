/*
 * ELF files that were seen: their layout, read once, and what was learned from it.
 *
 * Up to OBJECT_CACHE_MAX; those not used in this cycle or the one before go first.
 */
#ifndef NODE_AGENT_SYMBOL_OBJECT_CACHE_H
#define NODE_AGENT_SYMBOL_OBJECT_CACHE_H

#include "common/base.h"
#include "common/data/table.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/symbol/gopclntab.h"
#include "node-agent/symbol/symbolizer.h"
#include "node-agent/symbol/table_cache.h"

#define OBJECT_CACHE_MAX 1024u
#define OBJECT_NAME_MAX_BYTES 255u /* as file systems have it */

struct object {
	struct file_id id;
	uint32_t number; /* unique for the life of the cache; not 0 */
	uint32_t last_cycle;
	int status;           /* 0: layout is valid; else what elf_layout_parse() said */
	bool symbols_failed;  /* its symbols cannot be read: not tried again */
	bool go_looked_for;   /* go is valid if go.n_functions > 0 */
	char *name;           /* base name of its path, without blanks */
	char *label;          /* "[name]" */
	struct table_key key; /* of its symbol tables */
	struct elf_layout *layout;
	struct gopclntab go;
	UT_hash_handle hh;
};

struct object_cache;

/* -ENOMEM is the only failure. */
int object_cache_new(struct object_cache **ret) MUST_CHECK;
void object_cache_free(struct object_cache *c);
DEFINE_CLEANUP(struct object_cache *, object_cache_free);

/* Borrowed; valid until the next object_cache_add(). NULL: not known. */
struct object *object_cache_get(struct object_cache *c, const struct file_id *id);

/*
 * Reads the layout of a file that is not known. A file that is no ELF file is remembered as
 * such. *ret is borrowed as above. -ENOMEM; -EIO …: cannot be read now, nothing remembered.
 */
int object_cache_add(struct object_cache *c, const struct file_id *id, const char *path,
		     const struct byte_source *src, struct object **ret) MUST_CHECK;

/*
 * Base name of a path, freed by the caller: without " (deleted)", which /proc/<pid>/maps adds,
 * with '_' for blanks. NULL: out of memory.
 */
char *object_name_of_path(const char *path) MUST_CHECK;

void object_cache_end_cycle(struct object_cache *c);
size_t object_cache_count(const struct object_cache *c);

#endif /* NODE_AGENT_SYMBOL_OBJECT_CACHE_H */
