/*
 * Symbols of a stripped file that are kept elsewhere: in a separate debug file (debug_file.h), or
 * compressed in the file itself (.gnu_debugdata).
 *
 * A separate file is looked for once for each file, and again in later cycles if the process that
 * uses it had exited or a file system did not answer. At most DEBUG_SYMBOLS_OPEN_MAX are open.
 * Decompressed symbols are dropped at the end of a cycle in which nobody asked for them, and
 * have DEBUG_SYMBOLS_DATA_MAX_BYTES together.
 */
#ifndef NODE_AGENT_SYMBOL_DEBUG_SYMBOLS_H
#define NODE_AGENT_SYMBOL_DEBUG_SYMBOLS_H

#include <sys/types.h>

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/files/debug_file.h"
#include "node-agent/symbol/table_cache.h"

#define DEBUG_SYMBOLS_OPEN_MAX 128u
#define DEBUG_SYMBOLS_DATA_MAX_BYTES ((size_t)6 * 1024 * 1024)

struct debuginfod_client;
struct debug_symbols; /* of all files */

enum debug_symbols_kind {
	DEBUG_SYMBOLS_FILE,
	DEBUG_SYMBOLS_DATA,
	DEBUG_SYMBOLS_KINDS,
};

/* A place that has symbols: everything that is needed to read them. */
struct symbol_place {
	const struct elf_layout *layout; /* of the stripped file, but with the symbols of src */
	struct byte_source src;
	struct table_key key; /* of the symbol tables */
	bool *failed;         /* set once the symbols turn out to be unreadable */
};

/* What is known about one stripped file; zeroed memory is the beginning. */
struct debug_companion {
	struct debug_symbols *owner; /* NULL: nobody has asked yet; borrowed */
	struct debug_file file;      /* valid if layouts[DEBUG_SYMBOLS_FILE] is there */
	struct debug_file package;   /* valid if has_package */
	bool has_package;
	bool package_final; /* no further try */
	uint8_t *data;      /* decompressed; NULL: not in memory */
	size_t data_bytes;
	struct elf_layout *layouts[DEBUG_SYMBOLS_KINDS]; /* NULL: there are none */
	bool final[DEBUG_SYMBOLS_KINDS];                 /* no further try */
	bool failed[DEBUG_SYMBOLS_KINDS];
	unsigned n_tries;
	unsigned n_package_tries;
	uint32_t tried_cycle[DEBUG_SYMBOLS_KINDS]; /* 1 + that of the last try; 0: none */
	uint32_t package_cycle;                    /* the same of the package */
	uint32_t used_cycle;                       /* of data */
};

/* The stripped file, and a process that uses it; all borrowed. */
struct debug_symbols_user {
	const struct elf_layout *layout;
	const struct byte_source *src;
	struct table_key key; /* of the stripped file's own tables */
	const char *path;
	pid_t pid; /* 0: unknown */
	uint64_t start_time;
};

/* proc_root and caller are borrowed. -ENOMEM is the only failure. */
int debug_symbols_new(struct debug_symbols **ret, const char *proc_root,
		      struct deadline_caller *caller) MUST_CHECK;
/*
 * What is nowhere else is received from debuginfod servers, while the caller waits. The client is
 * borrowed and outlives d.
 */
void debug_symbols_set_debuginfod(struct debug_symbols *d, struct debuginfod_client *client);
/* After all companions. */
void debug_symbols_free(struct debug_symbols *d);
DEFINE_CLEANUP(struct debug_symbols *, debug_symbols_free);

/*
 * Stores a place where the names of the file's functions may be, borrowed until the end of the
 * cycle. Returns 0, -ENOENT if there is none, or -EAGAIN if that may be different in a later cycle.
 */
int debug_symbols_get(struct debug_symbols *d, struct debug_companion *c,
		      const struct debug_symbols_user *user, enum debug_symbols_kind kind,
		      struct symbol_place *ret) MUST_CHECK;

/*
 * Stores the file that has the DWARF of the stripped file, borrowed until the end of the cycle: the
 * debug file. Returns as debug_symbols_get().
 */
int debug_symbols_get_dwarf(struct debug_symbols *d, struct debug_companion *c,
			    const struct debug_symbols_user *user,
			    struct debug_file *ret) MUST_CHECK;

/*
 * Stores the package of split DWARF that is beside the file with this path, borrowed likewise. The
 * file has DWARF, and need not be stripped. Returns as debug_symbols_get().
 */
int debug_symbols_get_package(struct debug_symbols *d, struct debug_companion *c,
			      const struct debug_symbols_user *user,
			      struct debug_file *ret) MUST_CHECK;

/* For each companion at the end of a cycle, before debug_symbols_end_cycle(). */
void debug_companion_end_cycle(struct debug_companion *c);
void debug_symbols_end_cycle(struct debug_symbols *d);
/* Of decompressed symbols. */
size_t debug_symbols_bytes(const struct debug_symbols *d);

void debug_companion_fini(struct debug_companion *c);

#endif /* NODE_AGENT_SYMBOL_DEBUG_SYMBOLS_H */
