/*
 * ELF files and assemblies of .NET: their layout, read once, and what follows from it.
 *
 * Up to OBJECT_CACHE_MAX; when it is full, those used neither in this cycle nor in the
 * previous one are evicted.
 */
#ifndef NODE_AGENT_SYMBOL_OBJECT_CACHE_H
#define NODE_AGENT_SYMBOL_OBJECT_CACHE_H

#include "common/base.h"
#include "common/data/table.h"
#include "common/elf/elf_layout.h"
#include "node-agent/gopclntab/gopclntab.h"
#include "node-agent/procfs/file_id.h"
#include "node-agent/symbol/debug_symbols.h"
#include "node-agent/symbol/dotnet_image.h"
#include "node-agent/symbol/table_cache.h"

#define OBJECT_CACHE_MAX 1024u
#define OBJECT_NAME_MAX_BYTES 255u /* as file systems have it */
#define OBJECT_LINES_BYTES UINT64_C(33554432)
#define OBJECT_LINES_NS UINT64_C(300000000)

struct object {
	struct file_id id;
	uint32_t number; /* unique for the life of the cache; not 0 */
	uint32_t last_cycle;
	int status;           /* 0: layout is valid; else the error of elf_layout_parse() */
	bool symbols_failed;  /* its symbols cannot be read; no further try */
	bool lines_failed;    /* its DWARF cannot be read; no further try */
	bool go_tried;        /* go is valid if go.n_functions > 0 */
	uint64_t lines_bytes; /* left to be read in this cycle for lines that cost much */
	uint64_t lines_ns;    /* that profiles may wait for its lines in this cycle */
	char *name;           /* base name of its path, without blanks */
	char *label;          /* "[name]" */
	char *unnamed_label;  /* of its code without a name (code_file.h); NULL: as label */
	struct table_key key; /* of its symbol tables */
	struct elf_layout *layout;
	struct dotnet_image *dotnet; /* of an assembly, which is no ELF file; else NULL */
	struct gopclntab go;
	uint64_t gofunc; /* of go; 0: unknown */
	struct debug_companion debug;
	UT_hash_handle hh;
};

struct object_cache;

/* -ENOMEM is the only failure. */
int object_cache_new(struct object_cache **ret) MUST_CHECK;
void object_cache_free(struct object_cache *c);
DEFINE_CLEANUP(struct object_cache *, object_cache_free);

/* Borrowed; valid until the next object_cache_add(). NULL: not in the cache. */
struct object *object_cache_get(struct object_cache *c, const struct file_id *id);

/*
 * Reads the layout of a file and adds it. A file that is no ELF file is added as such. *ret is
 * borrowed as above. Returns 0, -ENOMEM, or -EIO and others if the file cannot be read; it is
 * then not added.
 */
int object_cache_add(struct object_cache *c, const struct file_id *id, const char *path,
		     const struct byte_source *src, struct object **ret) MUST_CHECK;

/*
 * Base name of a path, without the " (deleted)" that /proc/<pid>/maps adds and with '_' for
 * blanks. The caller frees it. NULL: out of memory.
 */
char *object_name_of_path(const char *path) MUST_CHECK;

void object_cache_end_cycle(struct object_cache *c);
size_t object_cache_count(const struct object_cache *c);

#endif /* NODE_AGENT_SYMBOL_OBJECT_CACHE_H */
