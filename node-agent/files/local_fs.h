/* Which file systems answer on their own; reading from others may wait indefinitely. */
#ifndef NODE_AGENT_FILES_LOCAL_FS_H
#define NODE_AGENT_FILES_LOCAL_FS_H

#include "common/base.h"

enum fs_kind {
	FS_LOCAL,   /* on a disk or in memory */
	FS_LAYERED, /* overlayfs: may have any file system below; files change through it alone */
	FS_OTHER,   /* over a network, FUSE, or unknown */
};

/* The kind of file system that fd is on. Magic numbers: linux/magic.h. */
enum fs_kind local_fs_kind(int fd);

static inline bool local_fs_has(int fd)
{
	return local_fs_kind(fd) == FS_LOCAL;
}

#endif /* NODE_AGENT_FILES_LOCAL_FS_H */
