/*
 * Profilers of others in a JVM, whose signals, JVM TI events or bytecode would conflict with ours:
 * async-profiler itself (which has one state per process), and what is built on it or works alike.
 *
 * They are known by the names of their mapped libraries, deleted ones included. Pure but for
 * foreign_profiler_find().
 */
#ifndef NODE_AGENT_JAVA_VM_FOREIGN_PROFILER_H
#define NODE_AGENT_JAVA_VM_FOREIGN_PROFILER_H

#include "common/base.h"

/* The product's name if a library with this path is such a profiler, else NULL. */
const char *foreign_profiler_name(const char *path, size_t len);

/* Whether a mapped file is our own copy. The path is not NUL-terminated. */
typedef bool foreign_profiler_ours_fn(const char *path, size_t len);

/*
 * Looks through the mappings of the process whose /proc/<pid> is proc_fd. Returns 1 and the
 * product in *ret_name, 0 if there is none, -ESRCH, -EFBIG, or another -errno.
 */
int foreign_profiler_find(int proc_fd, foreign_profiler_ours_fn *is_ours,
			  const char **ret_name) MUST_CHECK;

#endif /* NODE_AGENT_JAVA_VM_FOREIGN_PROFILER_H */
