/*
 * Reads the profiling annotations of a pod into the endpoints that they ask for; pod_target.h
 * describes them. Pure; the input is untrusted.
 *
 * A mistake disables only what it makes unclear (one type, one port, or everything) and leaves
 * a sentence in problem.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_ANNOTATIONS_H
#define CLUSTER_AGENT_DISCOVER_POD_ANNOTATIONS_H

#include <jansson.h>

#include "cluster-agent/discover/pod_ports.h"
#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/data/arena.h"

#define POD_ANNOTATIONS_PROBLEM_BYTES 512
#define POD_ANNOTATIONS_PATH_BYTES SCRAPE_PATH_BYTES

struct pod_annotations {
	struct scrape_endpoint endpoints[SCRAPE_TARGET_MAX_ENDPOINTS];
	size_t n_endpoints;
	struct port_list ports;                      /* the ports of all endpoints */
	char problem[POD_ANNOTATIONS_PROBLEM_BYTES]; /* sentences; "" if there is no mistake */
};

/*
 * Returns 1 and *ret (with paths in arena) if the pod asks to be scraped, or has an annotation that
 * cannot have the effect that its author wants; 0 if not, or -ENOMEM.
 */
int pod_annotations_read(struct pod_annotations *ret, struct arena *arena, const json_t *pod,
			 const bool default_kinds[static PROFILE_KIND_MAX]) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_POD_ANNOTATIONS_H */
