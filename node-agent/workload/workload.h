/*
 * The thing that a process belongs to: a container, a systemd unit, or just an executable. It
 * is what a profile is of, on the page and in storage.
 *
 * A workload is determined once, from the cgroup and the process, and travels with everything
 * made of that process: snapshots, CPU profiles, Go profiles, metrics. The name of a container
 * is that of its runtime and id then, because nothing may wait for a container runtime to
 * answer: the workload is *raw*. Whoever shows or uploads something asks for the *named*
 * workload with the same kind and runtime_id (container_directory.h).
 *
 * Immutable except for the reference count, which any thread may change.
 */
#ifndef NODE_AGENT_WORKLOAD_WORKLOAD_H
#define NODE_AGENT_WORKLOAD_WORKLOAD_H

#include <stdatomic.h>

#include "common/base.h"
#include "node-agent/workload/cgroup_path.h"

#define WORKLOAD_NAME_BYTES 320   /* of a raw workload's strings, with their NUL */
#define WORKLOAD_KERNEL "/kernel" /* of kernel threads: service and container id */
#define WORKLOAD_SHORT_ID_LEN 12  /* as container tools show ids */

struct workload {
	atomic_uint refs;
	enum cgroup_kind kind;
	bool profiling_disabled; /* its pod asks not to be profiled; false while raw */
	bool is_pause; /* its program is called "pause", as the one that holds a pod together */
	/*
	 * "/docker/0123456789ab", "/system.slice/cron.service", "/kernel"; for a process without
	 * a manager "/process/<name of the program>" (docs/naming.md);
	 * "/k8s/<namespace>/<owner>" of a named workload. Never empty; printable UTF-8, with '?'
	 * for what was not.
	 */
	const char *service;
	const char *container_id; /* equal to service while raw */
	/*
	 * The id of the container or pod as in its cgroup path (cgroup_path.h); "" for processes
	 * outside containers, units included.
	 */
	const char *runtime_id;
	const char *pod_uid; /* while raw, as in cgroup_path.h; "" if unknown */
	/* Of named workloads; "" if unknown. */
	const char *namespace;
	const char *pod;
	const char *container; /* the container's name in its pod, or in Docker */
	const char *image;
	const char *labels; /* of its pod, of those that were asked for: "key=value\n" of each */
	char text[];        /* what the strings above point to */
};

struct cgroup_hierarchy;
struct process_namer;

/* What a workload is determined from. */
struct workload_facts {
	struct cgroup_path cgroup;
	const char *exe;  /* path; "" if unknown; NULL if workload_read() shall find it */
	const char *comm; /* names the workload if exe is unknown; NULL if unknown too */
	/* The name of a process without a manager; NULL: that of its executable. */
	const char *name;
	struct process_namer *namer; /* of the calling thread; workload_read() gets name from it */
	bool kernel_thread;
};

/*
 * Determines the workload; pure. The caller owns a reference. -ENOMEM is the only failure. A
 * container runtime whose process is to become the first of a container is a workload of its own,
 * "/process/runc", though it is in the container's cgroup already.
 */
int workload_new(struct workload **ret, const struct workload_facts *facts) MUST_CHECK;

/* The texts of a named workload, checked by the caller. NULL and "" mean the same. */
struct workload_names {
	const char *service;      /* never empty */
	const char *container_id; /* never empty */
	const char *pod_uid;
	const char *namespace;
	const char *pod;
	const char *container;
	const char *image;
	const char *labels;
	bool profiling_disabled;
	bool is_pause;
};

/* The named workload of a container, whose raw one is only read. Returns 0 or -ENOMEM. */
int workload_new_named(struct workload **ret, const struct workload *raw,
		       const struct workload_names *names) MUST_CHECK;

struct workload_cgroup {
	struct cgroup_path path;
	uint64_t id; /* of its directory in the hierarchy that was asked for; 0: unknown */
};

/*
 * Reads the cgroup of /proc/<pid>, and its number if h is not NULL. Returns 0, -ESRCH if the
 * process has exited or its cgroup is no longer shown, or another -errno.
 */
int workload_read_cgroup(struct workload_cgroup *ret, int proc_fd,
			 const struct cgroup_hierarchy *h) MUST_CHECK;

/*
 * Completes a copy of the facts from /proc/<pid>, whose descriptor is proc_fd, and determines
 * the workload: the cgroup is read, and the executable if facts->exe is NULL and the name
 * depends on it. Returns 0, -ESRCH if the process has exited, -ENOMEM, or another -errno.
 */
int workload_read(struct workload **ret, int proc_fd,
		  const struct workload_facts *facts) MUST_CHECK;

/*
 * The same for facts that have the cgroup and the executable. -ENOMEM is the only failure. A
 * runtime that starts a container is of the unit of its parent, as far as /proc shows one:
 * "/system.slice/containerd.service".
 */
int workload_read_name(struct workload **ret, int proc_fd,
		       const struct workload_facts *facts) MUST_CHECK;

/* Returns w. */
struct workload *workload_ref(struct workload *w);
/* Frees w with its last reference. NULL is allowed. */
void workload_unref(struct workload *w);
DEFINE_CLEANUP(struct workload *, workload_unref);

/* Orders workloads by service, then by container. 0: the same workload, named equally. */
int workload_compare(const struct workload *a, const struct workload *b);

#endif /* NODE_AGENT_WORKLOAD_WORKLOAD_H */
