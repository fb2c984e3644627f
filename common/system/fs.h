/* Whole small files, with a limit. */
#ifndef COMMON_SYSTEM_FS_H
#define COMMON_SYSTEM_FS_H

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Append the content of a file to out, up to out's limit. path is relative to
 * dir_fd (AT_FDCWD: as usual). 0; -EFBIG: longer than the limit, and out holds
 * what fits; -ENOMEM; else -errno of open or read.
 */
int fs_read_at(int dir_fd, const char *path, struct buf *out) MUST_CHECK;

#endif /* COMMON_SYSTEM_FS_H */
