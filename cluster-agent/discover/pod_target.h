/*
 * A Pod object of the API → scrape_target. Pure; foreign data.
 *
 * Families of annotations, the first that says "scrape" wins for the whole pod:
 *   coroot.com/profile-scrape: "true", -port: "8080" or "8080,9090", -port-name: "http,admin" (both
 *     may be given), -scheme: http|https, -path-prefix: "/x" (before /debug/pprof), -types: "cpu,heap,…"
 *   profiles.grafana.com/<type>.scrape: "true", .port, .port_name, .scheme, .path, type of cpu,
 *     memory, goroutine, block, mutex; without port and name the ports called http2, …-metrics and
 *     …-profiles
 *   pyroscope.io/scrape: "true", /port, /scheme; /profile-cpu-enabled and /profile-mem-enabled add
 *     to the default types or take away
 * As in Coroot, coroot.com/profile-port and pyroscope.io/port stand in for each other. "false"
 * in coroot.com/profile-scrape switches the pod off whatever else it says.
 *
 * The service is named as Coroot does it, see pod_service.h.
 */
#ifndef CLUSTER_AGENT_DISCOVER_POD_TARGET_H
#define CLUSTER_AGENT_DISCOVER_POD_TARGET_H

#include <jansson.h>

#include "cluster-agent/discover/scrape_target.h"
#include "common/base.h"
#include "common/data/arena.h"

#define POD_TARGET_ARENA_BYTES ((size_t)256 * 1024) /* enough for any */

/*
 * 1 and ret in arena: the pod wants to be scraped (perhaps with a problem); 0: it does not, or
 * has no address yet, or does not run: neither does one that is being deleted and whose
 * containers have all ended. -EBADMSG: no Pod; -ENOMEM, also of an arena that is too small.
 */
int pod_target_make(struct scrape_target *ret, struct arena *arena, const json_t *pod,
		    const bool default_kinds[static PROFILE_KIND_MAX]) MUST_CHECK;

#endif /* CLUSTER_AGENT_DISCOVER_POD_TARGET_H */
