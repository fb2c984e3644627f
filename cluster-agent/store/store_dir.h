/*
 * The data directory of an embedded store: used by us alone, and locked while it is open.
 *
 * The engine would let two processes open one directory and corrupt it. The file LOCK in it,
 * held by flock(2), prevents that and marks the directory as ours. The kernel drops the lock
 * with the process, so a crash leaves no stale lock.
 */
#ifndef CLUSTER_AGENT_STORE_STORE_DIR_H
#define CLUSTER_AGENT_STORE_STORE_DIR_H

#include "common/base.h"
#include "common/err.h"

#define STORE_DIR_TABLES "clickhouse"
#define STORE_DIR_TMP "tmp"

/*
 * Creates path (mode 0700; its parent must exist) unless it exists, makes it private, and locks it
 * until *ret_fd is closed. If another process holds it, waits as private_dir_lock() does. Returns
 * 0, -EBUSY if that process, which err names, still holds it, -EINTR after a signal, -ENOTEMPTY if
 * it contains files but no LOCK and is therefore not ours, -EPERM if other users may write to it
 * and we may not change that, or another -errno.
 */
int store_dir_lock(const char *path, uint64_t wait_ns, int *ret_fd, struct err *err) MUST_CHECK;

/*
 * Makes the directories below path that nobody else may enter: that of the engine's tables, and an
 * empty one for what it need not keep (STORE_DIR_TMP). The directory must be locked. Returns 0,
 * -ENOTDIR if one of them is something else, or -errno.
 */
int store_dir_prepare(const char *path, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_STORE_DIR_H */
