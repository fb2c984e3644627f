/*
 * Wiring: adds the API server to the directory of containers, if there is one: that of
 * --kubeconfig, or of the service account of the pod that we run in.
 */
#ifndef NODE_AGENT_KUBERNETES_NAMES_H
#define NODE_AGENT_KUBERNETES_NAMES_H

#include "common/base.h"
#include "common/err.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/container/container_directory.h"
#include "node-agent/node_options.h"

/*
 * node is the name of this node. Call before other threads start. Returns 0, also if there is no
 * API server or, after a line in the log, if it cannot be used; or a negative errno with a sentence
 * in err if an option is wrong, or -ENOMEM.
 */
int kubernetes_names_add(struct container_directory *d, struct loop *l, struct metrics *ms,
			 const struct node_options *o, const char *node,
			 struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_KUBERNETES_NAMES_H */
