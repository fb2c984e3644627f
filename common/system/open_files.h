/*
 * How many files, sockets among them, the process may have open (RLIMIT_NOFILE).
 */
#ifndef COMMON_SYSTEM_OPEN_FILES_H
#define COMMON_SYSTEM_OPEN_FILES_H

#include "common/base.h"
#include "common/err.h"

/*
 * What either agent needs to work at all, with some connections. The libraries that we use do not
 * all survive being out of descriptors: the embedded engine aborts.
 */
#define OPEN_FILES_MIN 256

/*
 * Raises the soft limit to the hard limit, which any user may do. The soft limit is low only for
 * programs that use select(). Returns the new limit, SIZE_MAX if there is none.
 */
size_t open_files_raise(void);

/* Raises the limit. Returns 0, or -EMFILE with a sentence if it is below OPEN_FILES_MIN. */
int open_files_require(struct err *err) MUST_CHECK;

/*
 * How many sockets one greedy part of the program may have under that limit, so that the others do
 * not run out. At least 1.
 */
size_t open_files_share(size_t limit);

#endif /* COMMON_SYSTEM_OPEN_FILES_H */
