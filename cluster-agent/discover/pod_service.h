/*
 * Names the service of a Pod object, by common/text/kube_names.h. Pure; the input is untrusted.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_SERVICE_H
#define CLUSTER_AGENT_DISCOVER_POD_SERVICE_H

#include <jansson.h>

#include "common/base.h"
#include "common/text/kube_names.h"

/*
 * Makes the service in that naming. container is the one behind the scraped ports, or NULL if
 * that is not known; Coroot's naming then takes the pod's first. now_s is as in kube_names.h.
 * Returns 0, or -EINVAL if the pod has no valid namespace and name.
 */
int pod_service_name(char ret[static KUBE_NAME_BYTES], const json_t *pod, enum kube_naming naming,
		     const char *container, int64_t now_s) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_POD_SERVICE_H */
