/* What says which file is meant, and whether it still has the same content. */
#ifndef NODE_AGENT_GO_TARGET_GO_FILE_KEY_H
#define NODE_AGENT_GO_TARGET_GO_FILE_KEY_H

#include "common/base.h"

struct go_file_key {
	uint64_t dev;
	uint64_t ino;
	uint64_t size_bytes;
	uint64_t mtime_ns;
};

/*
 * More than that: what is written to the file, or has its inode after it, has another ctime, which only the kernel
 * sets. Modification times are often all the same, as in reproducible images.
 */
struct go_file_version {
	struct go_file_key key;
	uint64_t ctime_ns;
};

#endif /* NODE_AGENT_GO_TARGET_GO_FILE_KEY_H */
