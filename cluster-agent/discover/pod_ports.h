/*
 * Finds the ports that a pod's spec declares for its containers, and keeps lists of ports.
 * Pure; the input is untrusted.
 *
 * Containers are the regular ones and the sidecars (init containers with restartPolicy Always).
 * Only TCP ports count.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_PORTS_H
#define CLUSTER_AGENT_DISCOVER_POD_PORTS_H

#include <jansson.h>

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"

/* No duplicates, in the order in which they were added. */
struct port_list {
	uint16_t ports[SCRAPE_TARGET_MAX_PORTS];
	size_t n;
};

/* Returns 0, or -ENOSPC if the list is full. */
int port_list_add(struct port_list *l, uint16_t port) MUST_CHECK;

/* Adds all ports of that name. Returns their number, or -ENOSPC. */
int pod_ports_find(const json_t *pod, const char *name, size_t len, struct port_list *l) MUST_CHECK;

/*
 * Adds all ports named http2 or ending in -metrics or -profiles: Grafana's defaults. Returns as
 * above.
 */
int pod_ports_find_usual(const json_t *pod, struct port_list *l) MUST_CHECK;

/*
 * Returns the name of the container of a port: the one that declares it, or, since ports need
 * not be declared, the one that the annotation kubectl.kubernetes.io/default-container names, or
 * the pod's first. NULL if that has no name. Borrowed from pod.
 */
const char *pod_ports_container(const json_t *pod, uint16_t port);

#endif /* CLUSTER_AGENT_DISCOVER_POD_PORTS_H */
