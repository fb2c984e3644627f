/*
 * Makes the table of a file in slabs: reads it from disk, if it was kept there, or makes it of the
 * file and keeps it. If much of the file's code is not described there, its separate debug file is
 * asked for, and read as well; such a table is not kept.
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
	 * Called when the file has been read: whether it is still the one of the key. If not, its
	 * table is none, and is not kept on disk. NULL: it is.
	 */
	bool (*is_current)(void *check_ctx);
	void *check_ctx;
};

/*
 * key is the table's name on disk, or NULL if it is not to be kept there. Returns 0; -ENOSPC
 * without room; -EFBIG if the table is too large; -ECANCELED; -ESTALE if the file is not
 * current; -ENOENT, -ENOEXEC or -EBADMSG if the
 * file has no code or is none of ELF; or another -errno. After a failure, ret->bytes is how much of
 * the table there was room for, and nothing else of *ret is to be used.
 */
int table_builder_build(const struct table_builder *b, const struct byte_source *src,
			const struct table_file_key *key, struct built_table *ret) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_TABLE_BUILDER_H */
