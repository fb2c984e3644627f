/*
 * Which process has a pid, and whether that is still the same one. A scan asks this for every
 * process of the node, so it takes two system calls for a process that is known.
 */
#ifndef NODE_AGENT_RUNTIME_PID_OWNER_H
#define NODE_AGENT_RUNTIME_PID_OWNER_H

#include "common/base.h"
#include "node-agent/procfs/program_id.h"

struct pid_owner {
	struct program_id id; /* without a library */
	/*
	 * The folder in /proc, which keeps its inode and ctime from its first lookup until the
	 * process exits. The kernel may evict the folder earlier; then the process is read
	 * again.
	 */
	struct file_version folder;
};

/*
 * Returns 0, -ENOENT or -ESRCH if there is no such process or it is a kernel thread or a
 * zombie, -EACCES or -EPERM if we may not see what it executes, or another -errno. id.pid, and
 * what else is known, is set in any case.
 */
int pid_owner_read(struct pid_owner *ret, int root_fd, pid_t pid) MUST_CHECK;

/* Whether the process with this pid, which may be another one by now, executes the same file. */
bool pid_owner_executes(const struct pid_owner *o, int root_fd);

/* Whether it is still that process and executes the same file. If false, read it again. */
bool pid_owner_is_current(const struct pid_owner *o, int root_fd);

#endif /* NODE_AGENT_RUNTIME_PID_OWNER_H */
