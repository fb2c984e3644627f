/*
 * Which program of which process: its executable, or a library that it has loaded. A process
 * with two libraries that each contain a language runtime has two of these.
 */
#ifndef NODE_AGENT_PROCFS_PROGRAM_ID_H
#define NODE_AGENT_PROCFS_PROGRAM_ID_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/procfs/file_id.h"

struct program_id {
	pid_t pid;
	uint64_t start_time; /* clock ticks since boot */
	struct file_id exe;
	struct file_id library; /* the mapped file that is meant; ino 0 if it is the executable */
};

/*
 * Identifies the executable of the process that has this pid at the moment. Returns 0, -ESRCH if
 * there is none, -ENOENT if it is a kernel thread or exits, -EACCES or -EPERM if we may not see
 * what it executes, or another -errno. root_fd is of /proc.
 */
int program_id_read(int root_fd, pid_t pid, struct program_id *ret) MUST_CHECK;

#endif /* NODE_AGENT_PROCFS_PROGRAM_ID_H */
