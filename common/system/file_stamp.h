/*
 * Detects whether a file has changed since it was read, by its identity, size and change time.
 * A missing file has a stamp, too.
 */
#ifndef COMMON_SYSTEM_FILE_STAMP_H
#define COMMON_SYSTEM_FILE_STAMP_H

#include "common/base.h"

struct file_stamp {
	uint64_t dev, ino, size, changed_ns; /* all 0: does not exist */
};

/*
 * path may be NULL, which counts as missing. Follows symbolic links, like those of a mounted
 * Secret.
 */
struct file_stamp file_stamp(const char *path);
bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);

#endif /* COMMON_SYSTEM_FILE_STAMP_H */
