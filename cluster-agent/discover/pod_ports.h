/*
 * The ports of a pod's containers, as its spec declares them, and lists of ports. Pure; foreign
 * data.
 *
 * Containers are the regular ones and the sidecars (init containers with restartPolicy Always);
 * ports those of TCP.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_PORTS_H
#define CLUSTER_AGENT_DISCOVER_POD_PORTS_H

#include <jansson.h>

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"

/* Without doubles, in the order in which they were added. */
struct port_list {
	uint16_t ports[SCRAPE_TARGET_MAX_PORTS];
	size_t n;
};

/* 0; -ENOSPC: the list is full. */
int port_list_add(struct port_list *l, uint16_t port) MUST_CHECK;

/* Adds all ports of that name. Their number; -ENOSPC. */
int pod_ports_find(const json_t *pod, const char *name, size_t len, struct port_list *l) MUST_CHECK;

/*
 * Adds all ports named http2, or ending in -metrics or -profiles: Grafana's defaults. As above.
 */
int pod_ports_find_usual(const json_t *pod, struct port_list *l) MUST_CHECK;

/*
 * Name of the only container that can be behind all of the ports: of the only one there is, or
 * of the only one that declares them. NULL when there is none. Borrowed from pod.
 */
const char *pod_ports_container(const json_t *pod, const struct port_list *l);

#endif /* CLUSTER_AGENT_DISCOVER_POD_PORTS_H */
