/*
 * The service a pod belongs to. Pure; foreign data.
 *
 * The rules of common/text/kube_names.h come first, because agents that see nothing but the
 * pod's name have no others, and a pod has one service. Only where none fits its controller is
 * asked: a ReplicaSet stands for its Deployment, a Job for its CronJob, a static pod's node for
 * nothing; a pod without controller is its own service.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_SERVICE_H
#define CLUSTER_AGENT_DISCOVER_POD_SERVICE_H

#include <jansson.h>

#include "common/base.h"

/* Enough for every name that POD_NAME_BYTES allows. */
#define POD_SERVICE_BYTES 520
#define POD_NAME_BYTES 253 /* a DNS subdomain, the longest name Kubernetes allows */

/* A text of 1 to max printable ASCII characters without '/'; NULL when v is no such thing. */
const char *pod_name_text(const json_t *v, size_t max);

/* "/k8s/<ns>/<name>"; both are names as of pod_name_text(). */
void pod_service_name(char ret[static POD_SERVICE_BYTES], const json_t *pod, const char *ns,
		      const char *name);

#endif /* CLUSTER_AGENT_DISCOVER_POD_SERVICE_H */
