/*
 * Finds what is installed with the running program: next to it, as in a build tree, or in
 * ../lib/<folder> from there.
 */
#ifndef COMMON_SYSTEM_PROGRAM_DIR_H
#define COMMON_SYSTEM_PROGRAM_DIR_H

#include "common/base.h"

/* Directory of the running binary, without a slash at its end. Returns 0 or -errno. */
int program_dir(char *ret, size_t size) MUST_CHECK;
/* Path of a file that exists. Returns 0, -ENOENT if neither directory has it, or -errno. */
int program_dir_find(const char *folder, const char *name, char *ret, size_t size) MUST_CHECK;

#endif /* COMMON_SYSTEM_PROGRAM_DIR_H */
