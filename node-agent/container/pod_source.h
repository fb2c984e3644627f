/*
 * The API server as a source of container names: watches the pods of this node. It knows more
 * than a runtime (who controls a pod, its annotations), and is told of changes: an annotation
 * takes effect within a second. It learns of a container a moment after it has started, so a
 * request for one that it does not know waits for that.
 *
 * Needs the verbs list and watch on pods. Loop thread only.
 */
#ifndef NODE_AGENT_CONTAINER_POD_SOURCE_H
#define NODE_AGENT_CONTAINER_POD_SOURCE_H

#include "common/base.h"
#include "common/err.h"
#include "common/kubernetes/kube_config.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/container/container_source.h"

#define POD_SOURCE_MAX_CONTAINERS 20000u
/* How long containers are remembered after their pods have been deleted. */
#define POD_SOURCE_KEEP_NS ((uint64_t)600 * 1000 * 1000 * 1000)

struct pod_source;

struct pod_source_config {
	struct loop *loop;
	const struct kube_config *kube; /* copied */
	const char *node;               /* as the API names it; copied */
	const struct container_sink *sink;
	const char *pod_labels; /* which to read: label_keys.h; NULL: none */
	uint64_t wait_ns;       /* for containers that are not known yet; 0: 2 s */
};

/*
 * Starts watching. Returns 0, or with a sentence in err: -EINVAL if node is not a valid name, or
 * what kube_client_new() returns; or -ENOMEM.
 */
int pod_source_new(struct pod_source **ret, const struct pod_source_config *cfg,
		   struct err *err) MUST_CHECK;
void pod_source_free(struct pod_source *s);
DEFINE_CLEANUP(struct pod_source *, pod_source_free);

/* For a struct pod_source. */
extern const struct container_source_ops pod_source_ops;

/* Registers coroot_node_agent_kubernetes_pods_…. Call before other threads start. */
int pod_source_register(struct pod_source *s, struct metrics *ms) MUST_CHECK;

#endif /* NODE_AGENT_CONTAINER_POD_SOURCE_H */
