/* Which file systems answer by themselves: reading from others may wait for ever. */
#ifndef NODE_AGENT_PROCESS_LOCAL_FS_H
#define NODE_AGENT_PROCESS_LOCAL_FS_H

#include "common/base.h"

/*
 * Whether fd's file is on a disk or in memory. Layers (overlayfs) over other file systems may have
 * anything below, so they are not; neither is what we do not know. Magic numbers: linux/magic.h.
 */
bool local_fs_has(int fd);

#endif /* NODE_AGENT_PROCESS_LOCAL_FS_H */
