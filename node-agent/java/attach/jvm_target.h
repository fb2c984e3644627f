/*
 * A JVM that is opened for attaching: whose process it is, as whom it runs, and its directories.
 *
 * A process is identified by its pid and start time. All descriptors belong to that very process,
 * however often the pid is reused. Paths below its root are resolved as the process itself
 * would, and never lead out of that root, whatever symbolic links are there.
 *
 * Descriptors pin the process's mounts: do not keep a target open between turns.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_JVM_TARGET_H
#define NODE_AGENT_JAVA_ATTACH_JVM_TARGET_H

#include <sys/types.h>

#include "common/base.h"
#include "common/err.h"
#include "node-agent/java/java_state.h"

/* Why something cannot be done with a JVM. */
struct jvm_failure {
	enum java_state state; /* the state that the JVM is in because of it */
	struct err err;        /* a sentence for the log */
};

struct process_status;

/* Stores state and sentence, and returns code. */
int jvm_failure_set(struct jvm_failure *why, enum java_state state, int code, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

struct jvm_target {
	pid_t pid;           /* in our PID namespace */
	pid_t nspid;         /* in its own, which names its files: the last number of NSpid */
	uint64_t start_time; /* clock ticks since boot */
	uid_t uid;           /* effective ids, as our user namespace sees them */
	gid_t gid;
	int pid_fd;
	int proc_fd; /* /proc/<pid> */
	int root_fd; /* O_PATH: its root directory */
	int cwd_fd;  /* O_PATH: its working directory */
};

/*
 * proc_root_fd is of /proc. Returns 0, and jvm_target_close() must be called; or
 *   -ESRCH          that process has ended, or is about to
 *   -EACCES, -EPERM not permitted (JAVA_STATE_NO_PERMISSION)
 *   another -errno  (JAVA_STATE_FAILED)
 */
int jvm_target_open(struct jvm_target *ret, int proc_root_fd, pid_t pid, uint64_t start_time,
		    struct jvm_failure *why) MUST_CHECK;
void jvm_target_close(struct jvm_target *t);

/* Whether that process still runs. It may have called execve(2) since. */
bool jvm_target_is_alive(const struct jvm_target *t);

/* As jvm_failure_set(), with the state and words that belong to `error`; returns it. */
int jvm_target_fail(struct jvm_failure *why, int error, const char *what);

/* Returns 0, -ESRCH, -EBADMSG or another -errno. */
int jvm_target_read_status(const struct jvm_target *t, struct process_status *ret) MUST_CHECK;

/*
 * Opens a directory by its path in the JVM, O_PATH. path "." is its working directory. Returns a
 * descriptor or -errno. May block on a file system that does not answer.
 */
int jvm_target_open_dir(const struct jvm_target *t, const char *path) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_ATTACH_JVM_TARGET_H */
