/*
 * The snapshot of a process that exited before it could be read, from what its relatives and the
 * kernel's exec event said. What they do not say is left out, never guessed. Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_EXITED_PROCESS_H
#define NODE_AGENT_PROCESS_EXITED_PROCESS_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/workload/cgroup_path.h"
#include "node-agent/workload/process_namer.h"

#define EXITED_PROCESS_PLACES 3

struct file_registry;
struct process_image;
struct process_snapshot;

/* What is known of the process. */
struct exited_process {
	const struct process_image *image; /* what it executed; NULL: unknown */
	const struct cgroup_path *cgroup;  /* NULL: unknown */
	/*
	 * Processes below whose root the executable may be found, the first one with the working
	 * directory that a relative path begins at; 0: none.
	 */
	pid_t places[EXITED_PROCESS_PLACES];
	struct process_namer *namer; /* NULL: a process without a manager is named by itself */
};

/*
 * Adds mappings, executable and workload to s, which process_read() has marked as unreadable and
 * nobody else has seen. Once it has mappings it is no longer marked. If it is not marked, because
 * all but the cgroup could be read, it gets a workload only. Returns 0 or -ENOMEM.
 */
int exited_process_restore(struct process_snapshot *s, int root_fd, struct file_registry *files,
			   const struct exited_process *p) MUST_CHECK;

/*
 * Adds to s, which is as above, what `earlier`, the last snapshot that was read of the process,
 * says, and mappings of the image that this lacks: a process may load its libraries between that
 * reading and its exit. Returns 1, 0 if there are none, or -ENOMEM.
 */
int exited_process_extend(struct process_snapshot *s, const struct process_snapshot *earlier,
			  struct file_registry *files,
			  const struct process_image *image) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_EXITED_PROCESS_H */
