/*
 * One live process opened for reading: its memory, its executable, and the proof that both are
 * still those of the process that is meant.
 *
 * A descriptor of /proc/<pid>/mem stays with the memory it was opened for: it reads nothing any more
 * after the process has ended or executed something else. So it is opened first, and who the
 * process is, is checked afterwards. What could wait for a file system that does not answer has a
 * deadline. One thread.
 */
#ifndef NODE_AGENT_GO_TARGET_GO_TARGET_H
#define NODE_AGENT_GO_TARGET_GO_TARGET_H

#include <sys/types.h>

#include "common/base.h"
#include "common/thread/deadline_call.h"
#include "node-agent/elf/elf_layout.h"
#include "node-agent/go/target/go_layouts.h"
#include "node-agent/process/procfs.h"
#include "node-agent/process/program_id.h"
#include "node-agent/process/workload.h"

struct go_target {
	pid_t pid;
	uint64_t start_time; /* clock ticks since boot */
	int proc_fd;         /* /proc/<pid> */
	int mem_fd;
	int exe_fd; /* of the executable, or of the library that is meant */
	struct byte_source
		memory; /* offsets are addresses; does not outlive the target, which stays where it is */
	struct byte_source file;
	struct elf_layout layout;
	struct go_known_file *known; /* borrowed until the next is opened; NULL: it is not kept */
	uint64_t bias;               /* added to the file's addresses */
	uint64_t image; /* another one after each execve(2), of the same file as well */
	struct proc_stat stat;

	/* when the file system may not answer: what memory is made of */
	struct byte_source anonymous; /* what no file has */
	struct byte_source mapped;    /* pages that may have to come from there */
};

/* How files are opened. Borrowed. */
struct go_target_files {
	struct deadline_caller *caller;
	struct go_layouts *layouts; /* NULL: none are kept */
};

/*
 * The file alone: memory cannot be read, and bias is 0. Results as of go_target_open().
 */
int go_target_open_file(struct go_target *ret, int root_fd, const struct program_id *id,
			const struct go_target_files *files) MUST_CHECK;

/*
 * 0: go_target_close() is due. -ESRCH: it is not that process, or not that file, any more;
 * -EACCES, -EPERM: may not be read; -ENOEXEC, -EBADMSG: no ELF file of ours; -ETIMEDOUT, -EBUSY: its
 * file system does not answer; -ENOMEM; others of open(2).
 */
int go_target_open(struct go_target *ret, int root_fd, const struct program_id *id,
		   const struct go_target_files *files) MUST_CHECK;
void go_target_close(struct go_target *t);

/* Whether the process still is who was opened, and has executed nothing since, not the same file either. */
bool go_target_is_current(const struct go_target *t, const struct program_id *id);

/*
 * Whether it is a copy of its parent that has executed nothing since fork(2), or that shares its parent's memory until it does
 * (vfork(2)): what is counted there is the parent's. One whose parent has ended is not known as such.
 */
bool go_target_is_copy(const struct go_target *t, int root_fd);

/* Whether its CLOCK_MONOTONIC is ours: not in another time namespace. */
bool go_target_shares_clock(const struct go_target *t);

/*
 * Why something failed on an open target: -ESRCH when the process has ended or executed something else (the same
 * file too) meanwhile; -EBADMSG for -ENODATA, which memory gives when there is no such address; else error.
 */
int go_target_reason(const struct go_target *t, const struct program_id *id, int error) MUST_CHECK;

/*
 * The workload of the process, the same as for its CPU profiles; the caller owns a reference. Returns
 * 0, -ENOMEM, -ESRCH if the process has exited, or another -errno.
 */
int go_target_workload(const struct go_target *t, struct workload **ret) MUST_CHECK;

#endif /* NODE_AGENT_GO_TARGET_GO_TARGET_H */
