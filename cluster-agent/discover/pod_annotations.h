/*
 * A pod's profiling annotations → the endpoints they ask for. What they mean is in
 * pod_target.h. Pure; foreign data.
 *
 * A mistake takes away what it makes unclear (one type, one port, or all) and leaves a
 * sentence.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_ANNOTATIONS_H
#define CLUSTER_AGENT_DISCOVER_POD_ANNOTATIONS_H

#include <jansson.h>

#include "cluster-agent/discover/pod_ports.h"
#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/data/arena.h"

#define POD_ANNOTATIONS_PROBLEM_BYTES 512
#define POD_ANNOTATIONS_PATH_BYTES 512 /* longest prefix or path that is accepted */

struct pod_annotations {
	struct scrape_endpoint endpoints[SCRAPE_TARGET_MAX_ENDPOINTS];
	size_t n_endpoints;
	struct port_list ports;                      /* of all of them */
	char problem[POD_ANNOTATIONS_PROBLEM_BYTES]; /* sentences; "" when there are none */
};

/* 1 and ret, paths in arena: the pod asks for it; 0: it does not; -ENOMEM. */
int pod_annotations_read(struct pod_annotations *ret, struct arena *arena, const json_t *pod,
			 const bool default_kinds[static PROFILE_KIND_MAX]) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_POD_ANNOTATIONS_H */
