/*
 * Wiring: adds the API server to the directory of containers, if there is one: that of
 * --kubeconfig, or of the service account of the pod that we run in. And asks it for the labels of
 * namespaces and of this node that the options name.
 */
#ifndef NODE_AGENT_KUBERNETES_NAMES_H
#define NODE_AGENT_KUBERNETES_NAMES_H

#include "common/base.h"
#include "common/err.h"
#include "common/kubernetes/place_labels.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/container/container_directory.h"
#include "node-agent/node_options.h"

struct kubernetes_names;

struct kubernetes_names_config {
	struct container_directory *directory;
	struct loop *loop;
	struct metrics *metrics;
	const struct node_options *options;
	const char *node; /* name of this node; borrowed for good */
};

/*
 * Call before other threads start. Returns 0, also if there is no API server or, after a line in
 * the log, if it cannot be used; or a negative errno with a sentence in err if an option is wrong,
 * or -ENOMEM.
 */
int kubernetes_names_new(struct kubernetes_names **ret, const struct kubernetes_names_config *cfg,
			 struct err *err) MUST_CHECK;
/* The directory keeps what was added to it. */
void kubernetes_names_free(struct kubernetes_names *k);
DEFINE_CLEANUP(struct kubernetes_names *, kubernetes_names_free);

/* The labels of a pod of this node by its namespace, and this node's: place_labels_find(). */
size_t kubernetes_names_labels(const struct kubernetes_names *k, const char *namespace,
			       struct place_label ret[static PLACE_LABELS_MAX]);

#endif /* NODE_AGENT_KUBERNETES_NAMES_H */
