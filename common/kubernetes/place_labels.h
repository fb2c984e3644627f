/*
 * Labels of namespaces and nodes that become labels of the profiles of their pods, as the options
 * --namespace-labels and --node-labels name them. Watches the objects of a kind if a list names
 * labels of them, which needs the verbs list and watch on these. Loop thread only.
 *
 * A profile gets the labels that are known when it is sent on. So a change takes effect at once,
 * and profiles from before the first list have none. While the API server cannot be reached, all
 * stays as it was. Objects without any of the labels cost nothing.
 */
#ifndef COMMON_KUBERNETES_PLACE_LABELS_H
#define COMMON_KUBERNETES_PLACE_LABELS_H

#include "common/base.h"
#include "common/kubernetes/kube_client.h"
#include "common/kubernetes/label_keys.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"

#define PLACE_LABELS_MAX (2 * LABEL_KEYS_MAX) /* of one pod */
#define PLACE_LABELS_MAX_OBJECTS 50000u       /* of a kind; more are counted and left out */

struct place_labels;

struct place_label {
	const char *name;
	const char *value;
};

struct place_labels_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *prefix;         /* of metrics, as "coroot_node_agent"; borrowed for good */
	const char *namespace_keys; /* label_keys.h, checked; NULL: none */
	const char *node_keys;
	const char *namespace; /* the only one that has pods of interest; NULL: any */
	const char *node;      /* the only one that runs them; NULL: any */
};

/* Returns 0, -EINVAL if a name is not valid, or -ENOMEM, -EMFILE … */
int place_labels_new(struct place_labels **ret, const struct place_labels_config *cfg) MUST_CHECK;
void place_labels_free(struct place_labels *p);
DEFINE_CLEANUP(struct place_labels *, place_labels_free);

/* Registers <prefix>_kubernetes_…. Call before other threads start. */
int place_labels_register(struct place_labels *p, struct metrics *ms) MUST_CHECK;

/*
 * The labels of a pod by its namespace and its node, of each name one: the namespace's before the
 * node's. Borrowed until the next turn of the loop. Returns how many; none if p is NULL.
 */
size_t place_labels_find(const struct place_labels *p, const char *namespace, const char *node,
			 struct place_label ret[static PLACE_LABELS_MAX]);

#endif /* COMMON_KUBERNETES_PLACE_LABELS_H */
