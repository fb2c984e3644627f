/*
 * /proc/<pid>/…, by a descriptor of the process's folder: once it is open, what
 * is read through it is of that very process, or fails, also when its id is
 * used again. Everything read has a limit.
 */
#ifndef NODE_AGENT_PROCESS_PROCFS_H
#define NODE_AGENT_PROCESS_PROCFS_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/process/process_snapshot.h"

struct proc_stat {
	char comm[PROCESS_COMM_BYTES];
	pid_t parent;        /* 0: there is none here */
	uint64_t start_time; /* clock ticks since boot */
	bool kernel_thread;
	bool ended; /* a zombie; of a leader: other threads may go on */
};

/* Text of /proc/<pid>/stat. Pure. -EBADMSG. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret) MUST_CHECK;

/*
 * pid or the id of any thread: the descriptor (for the functions below and *at() calls), or
 * -errno.
 */
int procfs_open_process(int root_fd, pid_t pid) MUST_CHECK;

int procfs_read_stat(int proc_fd, struct proc_stat *ret) MUST_CHECK;

/*
 * The file that the process executes, without asking its file system. Returns 0, -ENOENT for a
 * kernel thread, -EACCES or -EPERM if we may not see it, or another -errno if the process has
 * exited.
 */
int procfs_read_exe_id(int proc_fd, struct file_id *ret) MUST_CHECK;

/* Target of a link, as a new string; -ENAMETOOLONG beyond PATH_MAX. */
int procfs_read_link(int proc_fd, const char *name, char **ret) MUST_CHECK;

/*
 * Calls fn with each line of maps, without its newline; fn returns 0 to go on.
 * 0; -EFBIG after max_bytes; what fn returned; -errno.
 */
int procfs_each_map(int proc_fd, size_t max_bytes,
		    int (*fn)(void *ctx, const char *line, size_t len), void *ctx) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_PROCFS_H */
