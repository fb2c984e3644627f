/*
 * A raw workload and what sources know about its container → the named workload. Pure.
 *
 *   in a pod           kube_names.h: /k8s/<namespace>/<pod>/<container> and the like
 *   Swarm, Nomad       container_facts.path: /swarm/<stack>/<service>/<slot>,
 *                      /nomad/<namespace>/<job>/<group>/<allocation>/<task>
 *   any other          /<runtime>/<name>: /docker/web, /podman/web
 *
 * The process that holds a pod together (Kubernetes' pause, gVisor's sandbox, whatever is in
 * the pod's own cgroup) is a container called "sandbox". Coroot ignores pause and has this name
 * for gVisor, whose sandbox runs the code of all containers of the pod.
 *
 * A container of which only the pod is known, by its cgroup, is called by the best guess
 * (container_facts.likely_name), or "sandbox" if its program is called "pause".
 *
 * Facts are untrusted: a text that is not what it should be is ignored, and counts as unknown.
 */
#ifndef NODE_AGENT_CONTAINER_CONTAINER_NAME_H
#define NODE_AGENT_CONTAINER_CONTAINER_NAME_H

#include "common/base.h"
#include "common/text/kube_names.h"
#include "node-agent/container/container_facts.h"
#include "node-agent/workload/workload.h"

#define CONTAINER_SANDBOX_NAME "sandbox"
#define CONTAINER_IMAGE_BYTES 512 /* a longer reference is unknown */

struct container_name_rules {
	enum kube_naming naming;
	const char *node; /* the name of this node; NULL if unknown */
	int64_t now_s;    /* since the epoch */
};

/* Whether containers of this kind have names that a source may know. */
bool container_kind_has_names(enum cgroup_kind kind);

/* Whether f has a name for a container. */
bool container_facts_have_name(const struct container_facts *f);

/* Whether a source may still know better: the owner of the pod, or the container's name. */
bool container_facts_are_guess(const struct container_facts *f);

/*
 * Without a usable name in the facts, the workload keeps its raw names and gets the rest of the
 * facts. Returns 0 or -ENOMEM.
 */
int container_name(struct workload **ret, const struct workload *raw,
		   const struct container_facts *f,
		   const struct container_name_rules *rules) MUST_CHECK;

#endif /* NODE_AGENT_CONTAINER_CONTAINER_NAME_H */
