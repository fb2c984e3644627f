/* The lock of a directory that one process may use at a time, as a file in it. */
#ifndef COMMON_SYSTEM_DIR_LOCK_H
#define COMMON_SYSTEM_DIR_LOCK_H

#include "common/base.h"

/*
 * Locks an open file until its last descriptor is closed, and writes our pid into it. If another
 * process has it, waits up to wait_ns for it to end, as the one that we replace may need a while.
 * A SIGTERM or SIGINT that the thread has blocked ends the wait.
 *
 * Returns 0, -EBUSY if the other process still has it, whose pid is in *ret_owner (0 if that is
 * not known; ret_owner may be NULL), -EINTR after a signal, or -errno of flock(2) or write(2).
 * The kernel drops the lock with the process, so a crash leaves no stale one.
 */
int dir_lock(int fd, uint64_t wait_ns, uint64_t *ret_owner) MUST_CHECK;

#endif /* COMMON_SYSTEM_DIR_LOCK_H */
