/*
 * Names bare processes: by a rule of the user, else by their script or executable, as far as
 * /proc shows them (program_name.h, program_place.h; docs/naming.md).
 *
 * A command line is in the memory of its process, which may never answer; it is read only of
 * interpreters, on another thread, and for a fifth of a second at most. A namer belongs to one
 * thread.
 */
#ifndef NODE_AGENT_WORKLOAD_PROCESS_NAMER_H
#define NODE_AGENT_WORKLOAD_PROCESS_NAMER_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/workload/cgroup_path.h"

struct name_rules;
struct process_namer;

/* Takes a reference of rules; NULL: none. -ENOMEM is the only failure. */
int process_namer_new(struct process_namer **ret, struct name_rules *rules) MUST_CHECK;
/* NULL is allowed. */
void process_namer_free(struct process_namer *n);
DEFINE_CLEANUP(struct process_namer *, process_namer_free);

/* A process without a manager: its cgroup's kind is CGROUP_NONE. */
struct process_to_name {
	int proc_fd;      /* of its /proc/<pid>; -1 once it has exited */
	const char *exe;  /* path, "" if unknown */
	const char *comm; /* NULL if unknown */
};

/*
 * Writes the name, beginning with '/', cut to size; without what cannot be read. Returns 0 or
 * -ENOMEM.
 */
int process_namer_name(struct process_namer *n, const struct process_to_name *p, char *ret,
		       size_t size) MUST_CHECK;

/*
 * Writes the id of the container in which gVisor runs, if the process is its sandbox, to ret,
 * which has room for CGROUP_ID_BYTES. Returns 0 or -ENOMEM.
 */
int process_namer_gvisor_id(struct process_namer *n, int proc_fd, char *ret) MUST_CHECK;

#endif /* NODE_AGENT_WORKLOAD_PROCESS_NAMER_H */
