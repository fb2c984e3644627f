/*
 * Text of /proc/<pid>/cgroup → who manages the process: a container runtime, a systemd unit,
 * or neither. For cgroup versions 1, 2 and both at once. Pure.
 */
#ifndef NODE_AGENT_WORKLOAD_CGROUP_PATH_H
#define NODE_AGENT_WORKLOAD_CGROUP_PATH_H

#include "common/base.h"

#define CGROUP_ID_BYTES 256
#define CGROUP_CONTAINER_ID_LEN 64 /* hex digits of a container's id */
#define CGROUP_POD_UID_BYTES 48

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
	CGROUP_CONTAINER, /* in a container of a runtime that the path does not name */
	CGROUP_MACHINE,   /* systemd-nspawn, libvirt, Proxmox */
	CGROUP_NOMAD,     /* a task that Nomad runs without a container runtime */
};

struct cgroup_path {
	enum cgroup_kind kind;
	/*
	 * Containers: 64 hex digits, or a name (LXC, MACHINE, containers of ctr and runc), or
	 * "pod<uid>" if the process is in the pod's own cgroup. NOMAD: "<allocation>/<task>".
	 * SYSTEMD: "/system.slice/cron.service". TALOS: name of the service. NONE: "".
	 * Truncated if longer.
	 */
	char id[CGROUP_ID_BYTES];
	/*
	 * The pod around the container, as the API server writes its uid; for a static pod the
	 * hash of its manifest instead, 32 hex digits. "" outside pods.
	 */
	char pod_uid[CGROUP_POD_UID_BYTES];
};

/* Accepts any bytes; what it does not recognise becomes CGROUP_NONE. */
void cgroup_path_parse(const char *text, size_t len, struct cgroup_path *ret);

#endif /* NODE_AGENT_WORKLOAD_CGROUP_PATH_H */
