/*
 * Events about a Coroot resource, which "kubectl describe" shows below its status, and tools that
 * collect events keep: one for each condition that has changed, and one when pods fail for another
 * reason than before. Pure.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_EVENTS_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_EVENTS_H

#include <jansson.h>

#include "common/base.h"

/*
 * *ret is an array of Event objects, for server-side apply: what happens again has the same name.
 * resource has the status that was there before. Returns 0 or -ENOMEM.
 */
int reconcile_events_make(json_t **ret, const json_t *resource, const json_t *status,
			  int64_t now_ns) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_EVENTS_H */
