/*
 * Makes a scrape_target of a Pod object of the API. Pure; the input is untrusted.
 *
 * There are three families of annotations; the first one that says "scrape" applies to the
 * whole pod:
 *   coroot.com/profile-scrape: "true", -port: "8080" or "8080,9090", -port-name: "http,admin"
 *     (both may be given), -scheme: http|https, -path-prefix: "/x" (before /debug/pprof),
 *     -types: "cpu,heap,…"
 *   profiles.grafana.com/<type>.scrape: "true", .port, .port_name, .scheme, .path, with a type of
 *     cpu, memory, goroutine, block, mutex, godeltaprof_memory, godeltaprof_mutex,
 *     godeltaprof_block, fgprof, wall; without port and port_name, the ports named http2,
 *     …-metrics and …-profiles
 *   pyroscope.io/scrape: "true", /port, /scheme; /profile-cpu-enabled and /profile-mem-enabled
 *     add to the default types, or remove from them
 * As in Coroot, coroot.com/profile-port and pyroscope.io/port are fallbacks for each other.
 * "false" in coroot.com/profile-scrape disables the pod, whatever else it says.
 *
 * A key with one of these prefixes that is unknown, or has no effect, makes a sentence.
 *
 * Services are named by common/text/kube_names.h.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_TARGET_H
#define CLUSTER_AGENT_DISCOVER_POD_TARGET_H

#include <jansson.h>

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/data/arena.h"

#define POD_TARGET_ARENA_BYTES ((size_t)256 * 1024) /* enough for any pod */

/*
 * Returns 1 and *ret (in arena) if the pod asks to be scraped, perhaps with a problem, or if one of
 * its annotations is a mistake. Returns 0 if it does not ask, has no address yet, or does not run;
 * a pod that is being deleted runs until all of its containers have ended. Returns -EBADMSG if the
 * object is not a Pod, or -ENOMEM. now_s is as in kube_names.h.
 */
int pod_target_make(struct scrape_target *ret, struct arena *arena, const json_t *pod,
		    const bool default_kinds[static PROFILE_KIND_MAX], int64_t now_s) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_POD_TARGET_H */
