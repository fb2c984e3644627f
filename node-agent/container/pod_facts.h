/*
 * The containers of a Pod object of the API: those that run and, of each, the one before, also
 * of init and ephemeral containers. Pure; the input is untrusted.
 *
 * Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
 */
#ifndef NODE_AGENT_CONTAINER_POD_FACTS_H
#define NODE_AGENT_CONTAINER_POD_FACTS_H

#include <jansson.h>

#include "common/base.h"
#include "node-agent/container/container_facts.h"

/* Of one pod; Kubernetes itself has no limit but the size of the object. */
#define POD_FACTS_MAX 1000u

/*
 * Calls fn for each container that has an id. Facts are borrowed for the call; names are valid
 * (kube_part_is_valid()), unknown ones NULL. Returns the number of calls, or -EBADMSG if the
 * object is not a Pod.
 */
int pod_facts_each(const json_t *pod, void (*fn)(void *ctx, const struct container_facts *f),
		   void *ctx);

/*
 * Calls fn once, for the pod itself: as the sandbox, with the id of the pod's own cgroup,
 * "pod<uid>" (cgroup_path.h). likely_name and image are the container's if the pod has only one.
 * Returns as pod_facts_each().
 */
int pod_facts_of_pod(const json_t *pod, void (*fn)(void *ctx, const struct container_facts *f),
		     void *ctx);

#endif /* NODE_AGENT_CONTAINER_POD_FACTS_H */
