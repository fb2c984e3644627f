/*
 * StatefulSets and their claims. Claims are objects of their own, with the names that the
 * StatefulSet would give them, so that they can grow when the resource says so, and be kept when
 * it goes. Pure.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_STORAGE_H
#define CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_STORAGE_H

#include <jansson.h>

#include "cluster-agent/operator/render/rendered.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "common/base.h"

/* Name of the volume in the pods; claims are "data-<resource>-<suffix>-<ordinal>". */
#define OBJECT_DATA_VOLUME "data"

struct object_stateful_set {
	const struct coroot_spec *spec;
	const char *component; /* "clickhouse" */
	const char *suffix;    /* of the name: "clickhouse-shard-0" */
	const char *service;   /* suffix of the headless service; NULL: none */
	int64_t replicas;
	const struct coroot_storage *storage;
	json_t *annotations; /* of all objects; borrowed; NULL: none */
};

/* The user's annotations and ours, which win; both borrowed, and NULL is none. */
json_t *object_annotations(const json_t *user, json_t *ours);

/* "spec" of a claim. */
json_t *object_claim_spec(const struct coroot_storage *storage);

/*
 * Adds a claim for each pod, and the StatefulSet, whose pods start without waiting for each other.
 * pod_template is taken over; NULL is a lack of memory. Returns 0 or -ENOMEM.
 */
int object_add_stateful_set(struct rendered *out, const struct object_stateful_set *set,
			    json_t *pod_template) MUST_CHECK;

/*
 * Adds a PodDisruptionBudget, by which one pod of the component may be away at a time, if there is
 * more than one. Returns 0 or -ENOMEM.
 */
int object_add_disruption_budget(struct rendered *out, const struct coroot_spec *s,
				 const char *component, const char *suffix,
				 int64_t n_pods) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RENDER_OBJECT_STORAGE_H */
