/*
 * Reconciles one Coroot resource: makes the cluster as the resource asks, and writes its status.
 * Loop thread only; nothing blocks.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_H

#include "cluster-agent/operator/objects/object_table.h"
#include "cluster-agent/operator/reconcile/operator_metrics.h"
#include "cluster-agent/operator/reconcile/resource_queue.h"
#include "cluster-agent/operator/render/render.h"
#include "common/base.h"
#include "common/kubernetes/kube_client.h"

struct reconcile;

/* All is borrowed. */
struct reconcile_config {
	struct kube_client *client;
	const struct operator_images *images;
	struct object_table *objects;
	struct operator_metrics *metrics;
	void *ctx;
	bool (*may_write)(void *ctx);                       /* asked before each write */
	bool (*resource_lives)(void *ctx, const char *uid); /* a resource with this uid exists */
	/* The reconcile has ended, and is freed. Never called from within reconcile_start(). */
	void (*done)(void *ctx, struct resource *r, enum reconcile_outcome outcome);
};

/* r is running until done is called. Returns 0 or a negative errno. */
int reconcile_start(struct reconcile **ret, const struct reconcile_config *cfg,
		    struct resource *r) MUST_CHECK;
/* done is not called. NULL is allowed. */
void reconcile_cancel(struct reconcile *rc);

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_H */
