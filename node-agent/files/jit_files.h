/*
 * Where a process writes down what it generates: /tmp of its root, perf-<pid>.map there, and a
 * jitdump, which it has mapped.
 *
 * They are held open from the first time that generated code is seen in the process, so that the
 * names of that code can still be read once it has exited and taken its root along. Immutable
 * except for the reference count, which any thread may change.
 *
 * An open file keeps its file system from being unmounted, so they are for as long as samples of
 * the process wait for their names, and there are not more than a part of RLIMIT_NOFILE.
 */
#ifndef NODE_AGENT_FILES_JIT_FILES_H
#define NODE_AGENT_FILES_JIT_FILES_H

#include <sys/stat.h>

#include "common/base.h"

struct deadline_caller;
struct jit_files;
struct mapped_file;

/* Whether the base name of a file that is mapped is that of a jitdump, "jit-<pid>.dump". */
bool jit_files_is_dump(const char *path, size_t len);

/*
 * Finds those of the process whose /proc folder is proc_fd, with the jitdump that it has mapped
 * (NULL: none); calls that may wait for its file system go by the caller. Returns 0, -EMFILE if
 * there are too many, -ENOMEM, or another -errno.
 */
int jit_files_new(struct jit_files **ret, int proc_fd, struct mapped_file *dump,
		  struct deadline_caller *caller) MUST_CHECK;

/* The same at once, which may block. */
int jit_files_find(struct jit_files **ret, int proc_fd) MUST_CHECK;

/* Returns j. NULL is allowed. */
struct jit_files *jit_files_ref(struct jit_files *j);
/* Closes and frees them with the last reference. NULL is allowed. */
void jit_files_unref(struct jit_files *j);
DEFINE_CLEANUP(struct jit_files *, jit_files_unref);

/* Whether the map was there already. */
bool jit_files_has_map(const struct jit_files *j);

/* The jitdump, borrowed, or NULL. */
struct mapped_file *jit_files_dump(const struct jit_files *j);

/* The one of two of a process that has more, borrowed; either may be NULL. */
struct jit_files *jit_files_better(struct jit_files *a, struct jit_files *b);

/*
 * Opens the map that is there now, else the one that was. Returns a descriptor, -EMEDIUMTYPE if it
 * is no regular file, -EPERM if it is neither of the process's user nor of root, or another -errno.
 * May block.
 */
int jit_files_open_map(const struct jit_files *j, struct stat *ret) MUST_CHECK;

#endif /* NODE_AGENT_FILES_JIT_FILES_H */
