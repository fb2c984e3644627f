/* Why a pod is not ready, in the words of the kubelet and the scheduler. Pure. */
#ifndef CLUSTER_AGENT_OPERATOR_OBJECTS_POD_STATUS_H
#define CLUSTER_AGENT_OPERATOR_OBJECTS_POD_STATUS_H

#include <jansson.h>

#include "common/base.h"

#define POD_STATUS_BYTES 600 /* with the NUL; longer texts are cut */

enum pod_status {
	POD_READY,    /* or it is being deleted, which is no failure */
	POD_STARTING, /* it may only need more time */
	POD_FAILING,
};

/*
 * Reads a Pod object. Unless it is ready, ret says why not: "pod web-0: container web:
 * ImagePullBackOff: Back-off pulling image …".
 */
enum pod_status pod_status_read(char ret[POD_STATUS_BYTES], const json_t *pod);

/*
 * Reads an Event object about a workload whose pods cannot be created, in the same way. Returns
 * false if it has no message.
 */
bool pod_status_of_event(char ret[POD_STATUS_BYTES], const json_t *event);

#endif /* CLUSTER_AGENT_OPERATOR_OBJECTS_POD_STATUS_H */
