/*
 * The files in a JVM's private directory. To be called while acting as the JVM's user.
 *
 * dir_fd is of the directory and may be O_PATH. Nothing is followed out of it, and what is not a
 * regular file is never opened.
 */
#ifndef NODE_AGENT_JAVA_ATTACH_PLACE_FILES_H
#define NODE_AGENT_JAVA_ATTACH_PLACE_FILES_H

#include <sys/stat.h>
#include <sys/types.h>

#include "common/base.h"

#define PLACE_FILES_LOCK ".lock"
#define PLACE_FILES_MAX 4096u /* entries of one directory that are looked at */

struct jvm_library;

/* Whether the file is a regular one of that user, with one name, that nobody else may write. */
bool place_files_is_own(const struct stat *st, uid_t uid);

/*
 * Compares a file byte by byte with the installed library. Returns 0 and what fstat(2) says,
 * -ENOENT, -ESTALE if it is another file, or -errno.
 */
int place_files_verify(int dir_fd, const struct jvm_library *lib, uid_t uid,
		       struct stat *ret) MUST_CHECK;

/* Makes a copy under lib->name, in the place of whatever has that name, and verifies it. */
int place_files_copy(int dir_fd, const struct jvm_library *lib, uid_t uid,
		     struct stat *ret) MUST_CHECK;

/*
 * Calls fn with the name of each entry; fn returns 0 to continue. Returns 0, what fn returned,
 * -E2BIG after PLACE_FILES_MAX entries, or -errno.
 */
int place_files_each(int dir_fd, int (*fn)(void *ctx, int dir_fd, const char *name), void *ctx);

/* Removes all files and then the directory, which has that name in its parent. 0 or -errno. */
int place_files_remove(int parent_fd, const char *name, int dir_fd);

#endif /* NODE_AGENT_JAVA_ATTACH_PLACE_FILES_H */
