/*
 * Files: whole small ones, with a limit; those that somebody else may have put there; the names in
 * a directory.
 */
#ifndef COMMON_SYSTEM_FS_H
#define COMMON_SYSTEM_FS_H

#include <sys/stat.h>

#include "common/base.h"
#include "common/data/buf.h"

/*
 * Appends the content of a file to out. path is relative to dir_fd, or to the working directory if
 * that is AT_FDCWD. Returns 0, -EFBIG if the file exceeds out's limit (out then has what fits),
 * -ENOMEM, or -errno of open or read.
 */
int fs_read_at(int dir_fd, const char *path, struct buf *out) MUST_CHECK;
/* The same of what fd is open for, up to its end, which may be a pipe. */
int fs_read_fd(int fd, struct buf *out) MUST_CHECK;
/* The same of a regular file; -EINVAL if it is anything else, as a FIFO that nobody writes. */
int fs_read_file(const char *path, struct buf *out) MUST_CHECK;

/*
 * Opens a regular file, and nothing else: a link is not followed, and a device, which may act on
 * being opened, is not opened. flags: O_RDONLY or O_RDWR. Returns a descriptor, -EBADMSG if it is
 * anything else, or -errno.
 */
int fs_open_regular(int dir_fd, const char *path, int flags, struct stat *ret) MUST_CHECK;

/*
 * Calls fn with each name in a directory except "." and "..", until it returns other than 0. dir_fd
 * may be O_PATH. Returns 0, what fn returned, or -errno of reading the directory.
 */
int fs_each_name(int dir_fd, int (*fn)(void *ctx, const char *name), void *ctx);

/*
 * Detects whether a file has changed since it was read, by its identity, size and change time.
 * A missing file has a stamp, too.
 */

struct file_stamp {
	uint64_t dev, ino, size, changed_ns; /* all 0: does not exist */
};

/*
 * path may be NULL, which counts as missing. Follows symbolic links, like those of a mounted
 * Secret.
 */
struct file_stamp file_stamp(const char *path);
bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);

/*
 * Finds what is installed with the running program: next to it, as in a build tree, or in
 * ../lib/<folder> from there.
 */

/* Directory of the running binary, without a slash at its end. Returns 0 or -errno. */
int program_dir(char *ret, size_t size) MUST_CHECK;
/* Path of a file that exists. Returns 0, -ENOENT if neither directory has it, or -errno. */
int program_dir_find(const char *folder, const char *name, char *ret, size_t size) MUST_CHECK;

#endif /* COMMON_SYSTEM_FS_H */
