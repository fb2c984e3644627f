/*
 * The directory of the spool: <dir>/profiles, which belongs to us alone.
 *
 * The agent runs as root, and dir may be in a place where others can create names, such as /tmp.
 * So the last component of dir and what is below are opened without following symbolic links; dir
 * must be root's or ours, and "profiles" ours. It is made with, and brought back to, mode 0700.
 */
#ifndef COMMON_UPLOAD_SPOOL_DIR_H
#define COMMON_UPLOAD_SPOOL_DIR_H

#include "common/base.h"
#include "common/err.h"

struct spool_dir {
	int fd;
	int lock_fd; /* holds the lock until it is closed */
};

#define SPOOL_DIR_NONE ((struct spool_dir){-1, -1})

/*
 * Creates dir, but not its parents, if it is absent. Returns 0, or with a sentence in err: -EBUSY
 * if another process has locked it, -EPERM, or another -errno.
 */
int spool_dir_open(struct spool_dir *ret, const char *dir, struct err *err) MUST_CHECK;
/* For CLEANUP(), too. */
void spool_dir_close(struct spool_dir *d);

#endif /* COMMON_UPLOAD_SPOOL_DIR_H */
