/*
 * Builds the unwind table of a file in slabs: loads it from the cache on disk, or parses the file
 * and adds the table to the cache. If the file describes only a part of its code, its separate
 * debug file is searched and parsed as well; such a table is not cached.
 */
#ifndef NODE_AGENT_UNWIND_TABLE_BUILDER_H
#define NODE_AGENT_UNWIND_TABLE_BUILDER_H

#include "common/base.h"
#include "node-agent/unwind/built_table.h"
#include "node-agent/unwind/debug_cfi.h"
#include "node-agent/unwind/unwind_cache.h"

struct table_builder {
	struct unwind_slabs *slabs;
	struct unwind_cache *cache; /* NULL: none */
	uint64_t max_table_bytes;
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

#endif /* NODE_AGENT_UNWIND_TABLE_BUILDER_H */
