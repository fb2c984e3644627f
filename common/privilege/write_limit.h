/*
 * Limits where this process may write, by Landlock (Linux 5.13; we need 5.19): whatever a bug or a
 * statement of a user makes it do, files elsewhere are neither made nor changed nor removed.
 */
#ifndef COMMON_PRIVILEGE_WRITE_LIMIT_H
#define COMMON_PRIVILEGE_WRITE_LIMIT_H

#include "common/base.h"

/*
 * From here on, the calling thread and those that it starts (programs, too) may write only below
 * dir, which must exist, and to devices in /dev. Reading, sockets, pipes and files that are open
 * stay as they are. For good; needs no_new_privs. Returns 0, -EOPNOTSUPP or -ENOSYS if the kernel
 * has no such Landlock, or -errno.
 */
int write_limit_to(const char *dir) MUST_CHECK;

#endif /* COMMON_PRIVILEGE_WRITE_LIMIT_H */
