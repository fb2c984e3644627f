/*
 * The data directory of an embedded store: ours alone, and locked while it is open.
 *
 * The engine itself lets two processes open one directory and spoil it; the file LOCK in it, held
 * by flock(2), prevents that, and marks the directory as ours. The kernel drops the lock with the
 * process, so nothing stays behind after a crash.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_DIR_H
#define CLUSTER_AGENT_STORE_STORE_DIR_H

#include "common/base.h"
#include "common/err.h"

/*
 * Create path (mode 0700; its parent must exist) unless it is there, and lock it.
 * *ret_fd holds the lock until it is closed.
 * -EBUSY: locked by another process, which err names; -ENOTEMPTY: it holds files but no LOCK, so
 * it is not ours; else what open(2) or mkdir(2) say.
 */
int store_dir_lock(const char *path, int *ret_fd, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_DIR_H */
