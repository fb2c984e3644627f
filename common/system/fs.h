/* Whole small files, with a limit. */
#ifndef COMMON_SYSTEM_FS_H
#define COMMON_SYSTEM_FS_H

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Appends the content of a file to out. path is relative to dir_fd, or to the working directory if
 * that is AT_FDCWD. Returns 0, -EFBIG if the file exceeds out's limit (out then has what fits),
 * -ENOMEM, or -errno of open or read.
 */
int fs_read_at(int dir_fd, const char *path, struct buf *out) MUST_CHECK;

#endif /* COMMON_SYSTEM_FS_H */
