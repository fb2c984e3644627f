/*
 * What the operator needs to know of an object as the API server shows it. Pure; strings are
 * borrowed from the JSON, and "" if missing.
 */
#ifndef CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_FACTS_H
#define CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_FACTS_H

#include <jansson.h>

#include "cluster-agent/operator/objects/pod_status.h"
#include "cluster-agent/operator/render/object_kinds.h"
#include "common/base.h"

struct object_facts {
	const char *namespace; /* "" if cluster-scoped */
	const char *name;
	const char *uid;
	const char *version; /* resourceVersion */
	const char *owner;   /* uid of the Coroot resource it belongs to */
	bool labelled;       /* by our own label, which Coroot's operator does not know */
	bool managed;        /* the label app.kubernetes.io/managed-by names Coroot's operator */
	bool deleting;
};

void object_facts_read(struct object_facts *ret, const json_t *object);

/*
 * Hashes of what somebody wants of an object and of its status. The first leaves out what changes
 * with every write (resourceVersion, managedFields), so that it is equal for an event and for the
 * answer to the write that caused it. Return 0 or -ENOMEM.
 */
int object_digest(const json_t *object, uint64_t *ret) MUST_CHECK;
int object_status_digest(const json_t *object, uint64_t *ret) MUST_CHECK;

/* The condition of that type in an object's status, or NULL. */
const json_t *object_condition(const json_t *status, const char *type);

/* Pods of a DaemonSet, Deployment or StatefulSet. */
struct workload_state {
	enum object_kind kind;
	const char *name;
	int64_t wanted;
	int64_t ready;
	int64_t updated;
	bool observed; /* its controller has seen the last change */
	bool nowhere;  /* a DaemonSet that no node matches */
	bool by_hand;  /* pods are replaced when somebody deletes them: the strategy OnDelete */
	/* set by others */
	const json_t *labels;       /* of its pods; borrowed */
	char why[POD_STATUS_BYTES]; /* pods are not ready; "": unknown */
	bool failing;               /* that is no matter of time */
};

/* Returns false if objects of this kind have no pods. */
bool workload_state_read(struct workload_state *ret, enum object_kind kind, const json_t *object);

/* Whether as many pods are ready as it wants, and it wants some if it is a DaemonSet. */
bool workload_is_ready(const struct workload_state *w);
/* True if it has fewer pods than it wants; the caller then looks for a pod that says why. */
bool workload_lacks_pods(const struct workload_state *w);

#endif /* CLUSTER_AGENT_OPERATOR_OBJECTS_OBJECT_FACTS_H */
