/*
 * Builds the unwind table of a file in slabs: loads it from the cache on disk, or parses the file
 * and adds the table to the cache. If the file describes only a part of its code, its separate
 * debug file is searched and parsed as well; such a table is not cached.
 *
 * The table of a file with many functions takes tenths of a second, most of which a busy machine
 * gives to others. So it is opened: there without a page at once, and then built in parts
 * (hot_code.h), those first that samples come to.
 */
#ifndef NODE_AGENT_UNWIND_TABLE_BUILDER_H
#define NODE_AGENT_UNWIND_TABLE_BUILDER_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/files/debug_file.h"
#include "node-agent/unwind/built_table.h"
#include "node-agent/unwind/hot_code.h"
#include "node-agent/unwind/unwind_cache.h"

/*
 * The separate debug file of an executable or library, for the call frame information that its own
 * file lacks: code compiled with -fno-asynchronous-unwind-tables has .debug_frame, which stripping
 * moves to the debug file.
 */

/* Where to search; all borrowed for the call. */
struct debug_cfi_query {
	struct deadline_caller *caller;
	const char *proc_root;
	const char *path;    /* of the stripped file in the process's root */
	pid_t pid;           /* a process that uses it; 0: unknown */
	uint64_t start_time; /* of that process */
};

struct debug_cfi {
	struct debug_file file;
	struct elf_layout layout;
	struct byte_source src; /* of the file */
};

/*
 * Finds the debug file of the file with this layout. Returns 0, -ENOENT if there is none or it has
 * no .debug_frame, or another error of debug_file_open().
 */
int debug_cfi_open(struct debug_cfi **ret, const struct debug_cfi_query *q,
		   const struct elf_layout *layout, const struct byte_source *src) MUST_CHECK;
void debug_cfi_free(struct debug_cfi *d);
DEFINE_CLEANUP(struct debug_cfi *, debug_cfi_free);

struct table_builder {
	struct unwind_slabs *slabs;
	struct unwind_cache *cache; /* NULL: none */
	uint64_t max_table_bytes;
	/* Tables of files with as many have parts, and are opened unless on disk; 0: none */
	uint64_t open_functions;
	bool opens_kept; /* those that are on disk, too, because memory is short */
	const struct debug_cfi_query *debug; /* NULL: no search for separate debug files */
	/* As in struct file_tables_config. */
	int (*on_pause)(void *ctx);
	void *ctx;
	/*
	 * Called after the file was read: whether its content still matches the key. If not, the
	 * table is discarded. NULL: it always does.
	 */
	bool (*is_current)(void *check_ctx);
	void *check_ctx;
};

/*
 * key is the table's key in the cache, or NULL not to cache it. Returns 0; -ENOSPC without room;
 * -EFBIG if the table is too large; -ECANCELED if on_pause() says so; -ESTALE if the file is not
 * current; -ENOENT, -ENOEXEC or -EBADMSG if the file has no code or is not an ELF file; or another
 * -errno. After a failure, ret->bytes is the size of the part that had room, and the rest of *ret
 * is undefined.
 */
int table_builder_build(const struct table_builder *b, const struct byte_source *src,
			const struct table_file_key *key, struct built_table *ret) MUST_CHECK;

/*
 * Builds a part of a published table, which was taken of table->hot. Returns 0, -ENOSPC, -ESTALE
 * and others as above; after a failure, the table is as it was.
 */
int table_builder_build_part(const struct table_builder *b, const struct byte_source *src,
			     struct built_table *table, const struct hot_part *hot,
			     struct unwind_table *published, uint64_t now_ns) MUST_CHECK;

/*
 * After all parts of a table that was opened were read. If the file lacks descriptions that a
 * separate debug file has, all of them are to be read again, with that file.
 */
void table_builder_end_parts(const struct table_builder *b, const struct byte_source *src,
			     struct built_table *table);

/*
 * Adds a table that was opened to the cache once it has all parts, if tables like it are kept there
 * (b->slabs and b->cache are used).
 */
void table_builder_keep(const struct table_builder *b, const struct built_table *table,
			const struct table_file_key *key);

#endif /* NODE_AGENT_UNWIND_TABLE_BUILDER_H */
