/*
 * A Pod object of the API → scrape_target. Pure; foreign data.
 *
 * Families of annotations, the first that says "scrape" wins for the whole pod:
 *   coroot.com/profile-scrape: "true", -port: "8080" or "8080,9090", -port-name: "http,admin",
 *     -scheme: http|https, -path-prefix: "/x" (before /debug/pprof), -types: "cpu,heap,…"
 *   profiles.grafana.com/<type>.scrape: "true", .port, .port_name, .scheme, .path, type of cpu,
 *     memory, goroutine, block, mutex
 *   pyroscope.io/scrape: "true", /port, and its /scheme, /profile-<type>-… as far as they are in use
 * "false" in coroot.com/profile-scrape switches the pod off whatever else it says.
 *
 * The service is named as Coroot does it (reference: common/otel.go of coroot-node-agent), so that a pod has one
 * name here and at the node agent; owners that its rules do not fit are taken from
 * ownerReferences, and a pod without owner is its own service.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_TARGET_H
#define CLUSTER_AGENT_DISCOVER_POD_TARGET_H

#include <jansson.h>

#include "cluster-agent/discover/scrape_target.h"
#include "common/arena.h"
#include "common/base.h"

/*
 * 1 and ret in arena: the pod wants to be scraped (perhaps with a problem); 0: it does not, or is
 * not running or being deleted, or has no address yet; -EBADMSG: no Pod; -ENOMEM.
 */
int pod_target_make(struct scrape_target *ret, struct arena *arena, const json_t *pod,
		    const bool default_kinds[static PROFILE_KIND_MAX]) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_POD_TARGET_H */
