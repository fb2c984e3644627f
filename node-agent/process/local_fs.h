/* Which file systems answer by themselves: reading from others may wait for ever. */
#ifndef NODE_AGENT_PROCESS_LOCAL_FS_H
#define NODE_AGENT_PROCESS_LOCAL_FS_H

#include "common/base.h"

enum fs_kind {
	FS_LOCAL,   /* on a disk or in memory */
	FS_LAYERED, /* overlayfs: may have anything below, which nobody but its mount changes */
	FS_OTHER,   /* what we do not know, too */
};

/* Of fd's file. Magic numbers: linux/magic.h. */
enum fs_kind local_fs_kind(int fd);

static inline bool local_fs_has(int fd)
{
	return local_fs_kind(fd) == FS_LOCAL;
}

#endif /* NODE_AGENT_PROCESS_LOCAL_FS_H */
