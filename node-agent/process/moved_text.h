/*
 * Code of a file that its process has moved into memory of its own, for larger pages: `node
 * --use-largepages`, PHP's opcache.huge_code_pages, programs of BOLT with --hugify, ClickHouse. In
 * maps it looks like code that was generated. Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_MOVED_TEXT_H
#define NODE_AGENT_PROCESS_MOVED_TEXT_H

#include "common/base.h"

struct file_registry;
struct mapped_file;

/* What is still mapped of the file, executable or not. */
struct text_rest {
	struct mapped_file *file; /* borrowed, open */
	uint64_t start;
	uint64_t file_offset;
};

/*
 * Whether the memory from `start` to `end` of the process whose /proc folder is proc_fd holds code
 * of the file: that must belong there by the addresses that the rest has, and the bytes must be
 * those of the file. Returns 0 and the offset in the file, -ENOENT if not, or -ENOMEM.
 */
int moved_text_find(struct file_registry *files, int proc_fd, const struct text_rest *rest,
		    uint64_t start, uint64_t end, uint64_t *ret_offset) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_MOVED_TEXT_H */
