/* What a container runtime or the API server knows about one container. */
#ifndef NODE_AGENT_CONTAINER_CONTAINER_FACTS_H
#define NODE_AGENT_CONTAINER_CONTAINER_FACTS_H

#include "common/base.h"

/*
 * Untrusted texts, as the source sent them; whoever makes names of them checks them. NULL and
 * "" mean the same: not known to this source.
 */
struct container_facts {
	const char *id;   /* the runtime's, as in cgroup paths: 64 hex digits */
	const char *name; /* in a pod, the container's name there: "nginx" */
	/* in a pod, where no source knows the name: the best guess at it, or the short id */
	const char *likely_name;
	const char *runtime; /* "docker"; NULL: the directory takes what it knows of the source */
	/*
	 * "nginx:1.27", as it was asked for: of several names of one image, the one that says
	 * which release this is.
	 */
	const char *image;
	const char *namespace; /* of the pod; NULL outside Kubernetes */
	const char *pod;
	const char *pod_uid;
	/*
	 * What the pod's workload is called (kube_names.h): "web" for a Deployment's pod, its own
	 * name if nobody controls it. NULL if the source does not know.
	 */
	const char *owner;
	/* what the pod's labels say of those that are asked for: "key=value\n" of each */
	const char *labels;
	/* The whole container id under another orchestrator: "/swarm/…", "/nomad/…". */
	const char *path;
	bool is_static;          /* the pod: a kubelet runs it by a file of its own */
	bool sandbox;            /* the pod's pause container, or gVisor's sandbox */
	bool profiling_disabled; /* coroot.com/ebpf-profiling: "disabled" */
	/*
	 * profiling_disabled follows changes of the annotation; otherwise it is what the pod said
	 * when it was made, and counts only if no other source knows better.
	 */
	bool annotation_is_live;
};

#endif /* NODE_AGENT_CONTAINER_CONTAINER_FACTS_H */
