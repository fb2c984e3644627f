/*
 * The only reader of /proc and of /proc/<pid>/{stat,statm,exe,maps}.
 *
 * A process is read through a descriptor of its folder. Once that is open, everything read
 * through it is of that very process, or fails, even if its pid is reused. Everything has a
 * size limit.
 */
#ifndef NODE_AGENT_PROCFS_PROCFS_H
#define NODE_AGENT_PROCFS_PROCFS_H

#include <limits.h>
#include <sys/types.h>

#include "common/base.h"
#include "node-agent/procfs/file_id.h"
#include "node-agent/procfs/proc_maps.h"

#define PROCESS_COMM_BYTES 16 /* of a process's name in the kernel, with its NUL */

struct proc_stat {
	char comm[PROCESS_COMM_BYTES];
	pid_t parent;        /* 0 if it is outside our PID namespace */
	uint64_t start_time; /* clock ticks since boot */
	/*
	 * Addresses; 0 if we may not see them, and during execve(2); UINT64_MAX: not given. At the
	 * end of execve(2) the kernel sets the start and the end of the environment to the start,
	 * then the end, then start_code (create_elf_tables() in fs/binfmt_elf.c and its caller).
	 */
	uint64_t environ_start, environ_end, start_code;
	/* Likewise. Where the stack began at execve(2), which is another place each time. */
	uint64_t start_stack;
	bool kernel_thread;
	bool ended;   /* a zombie; if it is the leader, other threads may still run */
	bool exiting; /* has begun to exit, or has ended */
};

/* Parses the text of /proc/<pid>/stat. Pure. Returns 0 or -EBADMSG. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret) MUST_CHECK;

/*
 * Calls fn with the pid of each process below root_fd, an open /proc; fn returns 0 to
 * continue. Returns 0, what fn returned, or -errno.
 */
int procfs_each_pid(int root_fd, int (*fn)(void *ctx, pid_t pid), void *ctx) MUST_CHECK;

/*
 * Opens the folder of a process, or of a thread by its id. Returns a descriptor for the
 * functions below and for *at() calls, or -errno.
 */
int procfs_open_process(int root_fd, pid_t pid) MUST_CHECK;

int procfs_read_stat(int proc_fd, struct proc_stat *ret) MUST_CHECK;

/*
 * Pages of address space that are not private and writable: code, constants, what is shared or
 * reserved. Mapping or unmapping a library changes the number, as all of them have such pages;
 * memory for data does not. It costs a tenth of reading maps. root_fd is an open /proc. Returns 0,
 * or -errno if that is not known. 0 pages: the process has no address space (any more).
 * (task_statm() in the kernel's fs/proc/task_mmu.c, vm_stat_account() in mm/.)
 */
int procfs_read_library_pages(int root_fd, pid_t pid, uint64_t *ret) MUST_CHECK;

/*
 * The file that the process executes, without asking its file system. Returns 0, -ENOENT for a
 * kernel thread, -EACCES or -EPERM if we may not see it, or another -errno if the process has
 * exited.
 */
int procfs_read_exe_id(int proc_fd, struct file_id *ret) MUST_CHECK;

/*
 * Which program of which process: its executable, or a library that it has loaded. A process
 * with two libraries that each contain a language runtime has two of these.
 */
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

/* The target of a link, as a new string. Returns 0, -ENAMETOOLONG beyond PATH_MAX, or -errno. */
int procfs_read_link(int proc_fd, const char *name, char **ret) MUST_CHECK;

/*
 * Calls fn with each line of maps, without its newline; fn returns 0 to continue. Returns 0,
 * -EFBIG after max_bytes, what fn returned, or -errno.
 */
int procfs_each_map(int proc_fd, size_t max_bytes,
		    int (*fn)(void *ctx, const char *line, size_t len), void *ctx) MUST_CHECK;

#define PROCFS_MAP_NAME_BYTES (4 * PATH_MAX) /* of a path in which each byte is escaped */

/*
 * Asks the kernel for the executable mapping at that address; maps_fd is an open maps. *ret is as
 * if it was read from there; its path lies in name, of PROCFS_MAP_NAME_BYTES. Returns 0; -ENOENT if
 * there is none; -ENOTTY if the kernel cannot be asked (before Linux 6.11), or another -errno.
 */
int procfs_query_map(int maps_fd, uint64_t addr, char *name, struct proc_map *ret) MUST_CHECK;

/*
 * The vDSO: an ELF image that the kernel maps into every process. All 64-bit processes have
 * the same, so the agent's own one serves for all.
 */

/* Copies it; the caller frees the copy. Returns 0, -ENOENT if there is no vDSO, or -ENOMEM. */
int vdso_image_copy(void **ret, size_t *ret_len) MUST_CHECK;

#endif /* NODE_AGENT_PROCFS_PROCFS_H */
