/*
 * Who has the id of a process. Few calls for those who are known: a scan asks for each process of the node.
 */
#ifndef NODE_AGENT_GO_PROFILE_PID_OWNER_H
#define NODE_AGENT_GO_PROFILE_PID_OWNER_H

#include "common/base.h"
#include "node-agent/go/target/go_target.h"

struct pid_owner {
	struct program_id id;
	/*
	 * Of the folder in /proc, which has both from when it is first looked up until its process has ended; the kernel may
	 * forget it before.
	 */
	uint64_t folder_ino;
	uint64_t folder_ctime_ns;
};

/*
 * -ENOENT, -ESRCH: nobody, or a kernel thread; -EACCES, -EPERM: what it executes may not be seen; others: it cannot be
 * told now. id.pid and what else is known are set in any case.
 */
int pid_owner_read(struct pid_owner *ret, int root_fd, pid_t pid) MUST_CHECK;

/* Whether whoever has the id executes the same file. */
bool pid_owner_executes(const struct pid_owner *o, int root_fd);

/* Whether it still is that process, and executes the same file. False: that is to be read. */
bool pid_owner_is_current(const struct pid_owner *o, int root_fd);

#endif /* NODE_AGENT_GO_PROFILE_PID_OWNER_H */
