/*
 * The thing that a process belongs to: a container, a systemd unit, or just an executable. It
 * is what a profile is of, on the page and in storage.
 *
 * A workload is determined once, from the cgroup and the process, and travels with everything
 * made of that process: snapshots, CPU profiles, Go profiles, metrics. Whatever else describes
 * a container (its pod, its labels) belongs into this struct, so that it reaches all of them.
 *
 * Immutable except for the reference count, which any thread may change.
 */
#ifndef NODE_AGENT_PROCESS_WORKLOAD_H
#define NODE_AGENT_PROCESS_WORKLOAD_H

#include <stdatomic.h>

#include "common/base.h"
#include "node-agent/process/cgroup_path.h"

#define WORKLOAD_NAME_BYTES 320  /* of each string, with its NUL */
#define WORKLOAD_SHORT_ID_LEN 12 /* as container tools show ids */

struct workload {
	atomic_uint refs;
	/*
	 * "/docker/0123456789ab", "/system.slice/cron.service", "/kernel"; "/process/<name of the
	 * executable>" for a process without a manager. Never empty; printable UTF-8, with '?'
	 * for what was not.
	 */
	const char *service;
	const char *container_id; /* equal to service unless more is known about the container */
	char text[];              /* what the strings above point to */
};

/* What a workload is determined from. */
struct workload_facts {
	struct cgroup_path cgroup;
	const char *exe;  /* path; "" if unknown; NULL if workload_read() shall find it */
	const char *comm; /* names the workload if exe is unknown; NULL if unknown too */
	bool kernel_thread;
};

/* Determines the workload; pure. The caller owns a reference. -ENOMEM is the only failure. */
int workload_new(struct workload **ret, const struct workload_facts *facts) MUST_CHECK;

/*
 * Completes a copy of the facts from /proc/<pid>, whose descriptor is proc_fd, and determines
 * the workload: the cgroup is read, and the executable if facts->exe is NULL and the name
 * depends on it. Returns 0, -ESRCH if the process has exited, -ENOMEM, or another -errno.
 */
int workload_read(struct workload **ret, int proc_fd,
		  const struct workload_facts *facts) MUST_CHECK;

/* Returns w. */
struct workload *workload_ref(struct workload *w);
/* Frees w with its last reference. NULL is allowed. */
void workload_unref(struct workload *w);
DEFINE_CLEANUP(struct workload *, workload_unref);

/* Orders workloads by service, then by container. 0: the same workload. */
int workload_compare(const struct workload *a, const struct workload *b);

#endif /* NODE_AGENT_PROCESS_WORKLOAD_H */
