/*
 * Directories of another process, by their path below its root. Symbolic links, absolute ones and
 * ".." as well, are resolved as that process would, and never lead out of its root.
 */
#ifndef NODE_AGENT_FILES_ROOT_DIR_H
#define NODE_AGENT_FILES_ROOT_DIR_H

#include "common/base.h"

/*
 * Opens the directory with O_PATH. root_fd is of /proc/<pid>/root. Returns a descriptor or -errno;
 * -ELOOP also for a link of /proc that is no path, and for any link if the kernel or a filter
 * refuses openat2(2). May block on a file system that does not answer.
 */
int root_dir_open(int root_fd, const char *path) MUST_CHECK;

#endif /* NODE_AGENT_FILES_ROOT_DIR_H */
