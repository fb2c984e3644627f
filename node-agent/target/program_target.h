/*
 * A running process opened for reading: its memory, and its executable or one of its
 * libraries, with the proof that both belong to the process that the caller means.
 *
 * Whatever could hang on a file system that does not answer has a deadline. For one thread.
 */
#ifndef NODE_AGENT_TARGET_PROGRAM_TARGET_H
#define NODE_AGENT_TARGET_PROGRAM_TARGET_H

#include <sys/types.h>

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "common/thread/deadline_call.h"
#include "node-agent/procfs/file_id.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/target/program_file_cache.h"

struct program_target {
	pid_t pid;
	uint64_t start_time; /* clock ticks since boot */
	int proc_fd;         /* /proc/<pid> */
	int mem_fd;
	int exe_fd; /* of the executable, or of the library if one is meant */
	/* offsets are addresses; both may point into this struct, so do not copy it */
	struct byte_source memory;
	struct byte_source file;
	struct elf_layout layout;
	struct program_file_facts
		*facts; /* borrowed until the next open; NULL if they are not cached */
	uint64_t bias;  /* added to addresses in the file */
	uint64_t image; /* differs after each execve(2), also of the same file */
	struct proc_stat stat;

	/* what memory is made of if the file system may not answer */
	struct byte_source anonymous; /* pages that need no file */
	struct byte_source mapped;    /* pages that may have to be read from the file */
};

/* How files are opened; borrowed. */
struct program_target_files {
	struct deadline_caller *caller;
	struct program_file_cache *cache; /* NULL to cache nothing */
};

/*
 * Opens the file alone: memory cannot be read, and bias is 0. Returns the same as
 * program_target_open().
 */
int program_target_open_file(struct program_target *ret, int root_fd, const struct program_id *id,
			     const struct program_target_files *files) MUST_CHECK;

/*
 * Returns 0, and program_target_close() must be called, or
 *   -ESRCH              the process exited, or executes or maps another file than id says
 *   -EACCES, -EPERM     not permitted
 *   -ENOEXEC, -EBADMSG  not an ELF file that we support
 *   -ETIMEDOUT, -EBUSY  the file system does not answer
 *   -ENOMEM, or another error of open(2).
 */
int program_target_open(struct program_target *ret, int root_fd, const struct program_id *id,
			const struct program_target_files *files) MUST_CHECK;
void program_target_close(struct program_target *t);

/*
 * Whether the opened process still runs and has not called execve(2) since, not even with the
 * same file.
 */
bool program_target_is_current(const struct program_target *t, const struct program_id *id);

/*
 * Whether the process is a copy of its parent that has not called execve(2) yet (after
 * fork(2)), or shares the parent's memory (vfork(2)). Its counters are then the parent's. Not
 * detected if the parent has exited.
 */
bool program_target_is_copy(const struct program_target *t, int root_fd);

/* Whether its CLOCK_MONOTONIC equals ours, that is, it is not in another time namespace. */
bool program_target_shares_clock(const struct program_target *t);

/*
 * Explains why an operation on an open target failed with `error`. Returns -ESRCH if the
 * process has exited or called execve(2) meanwhile, -EBADMSG for -ENODATA, which memory
 * returns for an address that is not mapped, or else the error itself.
 */
int program_target_reason(const struct program_target *t, const struct program_id *id,
			  int error) MUST_CHECK;

#endif /* NODE_AGENT_TARGET_PROGRAM_TARGET_H */
