/*
 * Text of /proc/<pid>/cgroup → who manages the process: a container runtime, a systemd unit,
 * or neither. For cgroup versions 1, 2 and both at once. Pure.
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
	CGROUP_KUBEPODS, /* in a pod; the path does not name the runtime */
	CGROUP_LXC,
	CGROUP_SYSTEMD,
	CGROUP_TALOS,
};

struct cgroup_path {
	enum cgroup_kind kind;
	/*
	 * Containers: 64 hex digits, or the name (LXC), or "pod<uid>" if the process is in the
	 * pod's own cgroup. SYSTEMD: "/system.slice/cron.service". TALOS: name of the service.
	 * NONE: "". Truncated if longer.
	 */
	char id[CGROUP_ID_BYTES];
};

/* Accepts any bytes; what it does not recognise becomes CGROUP_NONE. */
void cgroup_path_parse(const char *text, size_t len, struct cgroup_path *ret);

#endif /* NODE_AGENT_PROCESS_CGROUP_PATH_H */
