/*
 * Determines the service that a pod belongs to. Pure; the input is untrusted.
 *
 * The rules of common/text/kube_names.h come first, because some agents know nothing but the
 * pod's name, and a pod must have the same service everywhere. Only if none of them matches,
 * the pod's controller is used: a ReplicaSet stands for its Deployment, a Job for its CronJob.
 * A static pod, which is controlled by a Node, is its own service, named without the node; so
 * is a pod without controller.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_SERVICE_H
#define CLUSTER_AGENT_DISCOVER_POD_SERVICE_H

#include <jansson.h>

#include "common/base.h"

/* Enough for every name within POD_NAME_BYTES. */
#define POD_SERVICE_BYTES 520
#define POD_NAME_BYTES 253 /* a DNS subdomain, the longest name Kubernetes allows */

/*
 * Returns the text if it consists of 1 to max printable ASCII characters without '/', else
 * NULL.
 */
const char *pod_name_text(const json_t *v, size_t max);

/* Makes "/k8s/<ns>/<name>"; ns and name have passed pod_name_text(). */
void pod_service_name(char ret[static POD_SERVICE_BYTES], const json_t *pod, const char *ns,
		      const char *name);

#endif /* CLUSTER_AGENT_DISCOVER_POD_SERVICE_H */
