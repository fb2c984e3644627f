/*
 * Text of /proc/<pid>/cgroup → who manages the process: a container runtime, a
 * systemd unit, or nobody. Version 1, version 2 and both at once. Pure.
 */
#ifndef NODE_AGENT_PROCESS_CGROUP_PATH_H
#define NODE_AGENT_PROCESS_CGROUP_PATH_H

#include "common/base.h"

#define CGROUP_ID_BYTES 256
#define CGROUP_CONTAINER_ID_LEN 64 /* hex digits of a container's id */

enum cgroup_kind {
	CGROUP_NONE, /* a login session, a bare process, the root */
	CGROUP_DOCKER,
	CGROUP_CONTAINERD,
	CGROUP_CRIO,
	CGROUP_PODMAN,
	CGROUP_KUBEPODS, /* in a pod, of a runtime that does not say its name */
	CGROUP_LXC,
	CGROUP_SYSTEMD,
	CGROUP_TALOS,
};

struct cgroup_path {
	enum cgroup_kind kind;
	/*
	 * Containers: 64 hex digits, or the name (LXC), or "pod<uid>" when a pod's
	 * own cgroup holds the process. SYSTEMD: "/system.slice/cron.service". TALOS:
	 * name of the service. Longer ones are cut.
	 */
	char id[CGROUP_ID_BYTES];
};

/* Any bytes are fine; what is not understood is CGROUP_NONE. */
void cgroup_path_parse(const char *text, size_t len, struct cgroup_path *ret);

#endif /* NODE_AGENT_PROCESS_CGROUP_PATH_H */
