/*
 * Watches the kinds of objects that the operator writes, and says which resource's have drifted.
 * Loop thread only.
 *
 * Only objects with the label of Coroot's operator are asked for. Secrets are not watched: that
 * would take the right to list all Secrets; a changed one is repaired at the next reconcile.
 */
#ifndef CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_WATCHES_H
#define CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_WATCHES_H

#include "cluster-agent/operator/objects/object_table.h"
#include "common/base.h"
#include "common/kubernetes/kube_client.h"
#include "common/system/loop.h"

struct object_watches;

struct object_watches_config {
	struct kube_client *client; /* borrowed */
	struct loop *loop;
	const char *namespace;      /* NULL: all */
	struct object_table *table; /* borrowed; kept up to date */
	void *ctx;
	/* An object of the resource with this uid has changed; owner may be "". */
	void (*changed)(void *ctx, const char *owner, enum object_change change);
	/* Whether that resource is being reconciled, so that the change may be our own. */
	bool (*is_running)(void *ctx, const char *owner);
};

/* Returns 0 or -ENOMEM. */
int object_watches_new(struct object_watches **ret,
		       const struct object_watches_config *cfg) MUST_CHECK;
void object_watches_free(struct object_watches *w);
DEFINE_CLEANUP(struct object_watches *, object_watches_free);

/* One line about the first watch that fails, or ""; borrowed until the next turn of the loop. */
const char *object_watches_problem(const struct object_watches *w);

#endif /* CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_WATCHES_H */
