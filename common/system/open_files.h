/*
 * How many files, sockets among them, the process may have open (RLIMIT_NOFILE).
 */
#ifndef COMMON_SYSTEM_OPEN_FILES_H
#define COMMON_SYSTEM_OPEN_FILES_H

#include "common/base.h"

/*
 * Raises the limit as far as every user may, which is what is meant by the lower one for programs
 * that do not use select(). Returns what it is then; SIZE_MAX: none.
 */
size_t open_files_raise(void);

/*
 * How many sockets a part of the program that wants many may have under that limit, so that the
 * others do not run out. At least 1.
 */
size_t open_files_share(size_t limit);

#endif /* COMMON_SYSTEM_OPEN_FILES_H */
