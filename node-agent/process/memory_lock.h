/*
 * Whether the kernel lets us look at the mappings of a process.
 *
 * It locks the address space for all that concerns its mappings (mmap_lock): maps, map_files,
 * cmdline, environ and mem in /proc wait for that lock, and cannot be interrupted. A thread that
 * waits for a page of a file whose server hangs may hold it, and then one call of mmap(2) in the
 * process makes everybody wait who looks at it. Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_MEMORY_LOCK_H
#define NODE_AGENT_PROCESS_MEMORY_LOCK_H

#include "common/base.h"

struct deadline_caller;

/*
 * proc_fd is of the process's folder, start_time in clock ticks since boot. Returns 0, also if the
 * process has exited; -ETIMEDOUT the first time that the lock cannot be had, and -EBUSY until it
 * could be; -ENOMEM; or an error of fcntl(2).
 */
int memory_lock_check(struct deadline_caller *c, int proc_fd, pid_t pid,
		      uint64_t start_time) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_MEMORY_LOCK_H */
