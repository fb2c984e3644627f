/*
 * Whether a process asks by its environment not to be profiled, without waiting for it: its
 * environment is in its own memory, which may be that of a file whose file system hangs. The
 * reading is given up after a fifth of a second. One thread.
 */
#ifndef NODE_AGENT_WORKLOAD_ENVIRON_CHECK_H
#define NODE_AGENT_WORKLOAD_ENVIRON_CHECK_H

#include <sys/types.h>

#include "common/base.h"

struct environ_check;

/* -ENOMEM is the only failure. */
int environ_check_new(struct environ_check **ret) MUST_CHECK;
void environ_check_free(struct environ_check *c);
DEFINE_CLEANUP(struct environ_check *, environ_check_free);

/* pid is that of proc_fd. As profile_filter_read_environ(); -ETIMEDOUT or -EBUSY if it hangs. */
int environ_check_excludes(struct environ_check *c, int proc_fd, pid_t pid) MUST_CHECK;

#endif /* NODE_AGENT_WORKLOAD_ENVIRON_CHECK_H */
