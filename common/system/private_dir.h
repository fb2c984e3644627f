/*
 * A directory that belongs to this program alone, and the lock by which one process uses it at a
 * time.
 */
#ifndef COMMON_SYSTEM_PRIVATE_DIR_H
#define COMMON_SYSTEM_PRIVATE_DIR_H

#include "common/base.h"
#include "common/err.h"

enum private_dir_rule {
	PRIVATE_DIR_NO_LINK = 1 << 0, /* a symbolic link of that name is not followed */
	PRIVATE_DIR_OURS = 1 << 1,    /* it must belong to our user */
	PRIVATE_DIR_OURS_OR_ROOT = 1 << 2,
	PRIVATE_DIR_UNSHARED = 1 << 3, /* nobody else may write to it */
	PRIVATE_DIR_CLOSE = 1 << 4,    /* it is brought back to mode 0700 */
	PRIVATE_DIR_DURABLE = 1 << 5,  /* the name of a new one survives a power cut */
};

/*
 * Opens the directory, which is made with mode 0700 if it is absent; its parent must exist. path is
 * relative to at, or to the working directory if that is AT_FDCWD. rules: of enum private_dir_rule.
 * name is what errors call the directory. Returns a descriptor, or with a sentence in err: -EPERM
 * if somebody else may use it, -ENOMEM, or another -errno.
 */
int private_dir_open(int at, const char *path, unsigned rules, const char *name,
		     struct err *err) MUST_CHECK;

/*
 * Locks the directory until the returned descriptor of that file in it is closed, and writes our
 * pid into the file. If another process has it, waits up to wait_ns for it to end, as the one that
 * we replace may need a while. A SIGTERM or SIGINT that the thread has blocked ends the wait.
 *
 * Returns the descriptor, -EBUSY if the other process still has it, whose pid is in *ret_owner (0
 * if that is not known; ret_owner may be NULL), -EINTR after a signal, or -errno of open(2),
 * flock(2) or write(2). The kernel drops the lock with the process, so a crash leaves no stale one.
 */
int private_dir_lock(int dir_fd, const char *file, uint64_t wait_ns,
		     uint64_t *ret_owner) MUST_CHECK;

#endif /* COMMON_SYSTEM_PRIVATE_DIR_H */
