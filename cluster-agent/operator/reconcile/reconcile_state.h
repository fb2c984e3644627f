/* One reconcile under way, for the files that its steps are in. */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_STATE_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_STATE_H

#include <jansson.h>

#include "cluster-agent/operator/objects/object_answer.h"
#include "cluster-agent/operator/objects/object_facts.h"
#include "cluster-agent/operator/objects/object_requests.h"
#include "cluster-agent/operator/objects/pod_status.h"
#include "cluster-agent/operator/reconcile/reconcile.h"
#include "cluster-agent/operator/render/rendered.h"
#include "cluster-agent/operator/spec/coroot_spec.h"
#include "cluster-agent/operator/spec/spec_problems.h"
#include "common/base.h"

/* Applying one object. */
struct object_work {
	struct reconcile *rc;
	struct kube_call *call;
	size_t index; /* in rendered.objects */
	unsigned n_tries;
	bool started;
	bool has_pods; /* it was applied, and is a workload */
	struct workload_state pods;
};

/* An object that nobody asks for any more. */
struct pruned_object {
	enum object_kind kind;
	char namespace[64]; /* "" if cluster-scoped */
	char name[254];
	char uid[RESOURCE_UID_BYTES];
};

struct reconcile {
	const struct reconcile_config *cfg;
	struct resource *resource;
	struct kube_call *call; /* of the steps that send one request at a time */
	uint64_t started_ns;

	json_t *object; /* the resource, as the API server last showed it */
	json_t *events; /* about what has changed in its status, to be written after that */
	size_t next_event;
	struct coroot_spec spec;
	struct spec_problems problems;
	struct spec_problems failed; /* objects; only "wrong" is used */
	struct rendered rendered;
	bool retry; /* something failed that may succeed later */

	size_t next_secret;
	struct object_work *works; /* one per rendered object */
	enum object_kind kind;     /* that is being applied */
	unsigned n_busy;
	bool replaces;   /* pods that node agents send to, as their workload has changed */
	unsigned n_held; /* DaemonSets that are left as they are for now */
	struct pruned_object *pruned;
	size_t n_pruned, next_pruned;
	size_t n_kept;                    /* objects that would be pruned if nothing were wrong */
	struct workload_state *workloads; /* names and labels are borrowed from rendered */
	size_t n_workloads, next_workload;
	enum pod_status worst_pod; /* of the workload whose pods are being listed */
	size_t n_pods;
	unsigned n_pages;
	bool is_deleting;              /* the resource itself, or its namespace with us in it */
	json_t *claims;                /* a list of them, then */
	size_t next_claim;             /* in its items */
	enum object_kind deleted_kind; /* whose objects are looked for next */
};

/* ---- reconcile_end.c ---- */

/* Ends the reconcile; rc is freed. */
void reconcile_finish(struct reconcile *rc, enum reconcile_outcome outcome);
/* The same after a failure that leaves only to retry; what: "read the resource". */
void reconcile_give_up(struct reconcile *rc, const char *what, const struct kube_result *result);
void reconcile_give_up_errno(struct reconcile *rc, const char *what, int error);

/*
 * Notes the failure of an object for the status. Returns false if rc has ended, because the API
 * server cannot be reached.
 */
bool reconcile_object_failed(struct reconcile *rc, enum object_kind kind, const char *name,
			     const struct kube_result *result) MUST_CHECK;
int reconcile_note(struct reconcile *rc, enum object_kind kind, const char *name,
		   const char *text) MUST_CHECK;

/* ---- the steps; each begins the next one, or ends rc ---- */

void reconcile_secrets(struct reconcile *rc);      /* reconcile_secrets.c */
void reconcile_apply(struct reconcile *rc);        /* reconcile_apply.c */
void reconcile_prune(struct reconcile *rc);        /* reconcile_prune.c */
void reconcile_pods(struct reconcile *rc);         /* reconcile_pods.c */
void reconcile_write_status(struct reconcile *rc); /* reconcile_end.c */
/* The resource is being deleted: keeps claims that are to be kept. */
void reconcile_delete(struct reconcile *rc); /* reconcile_claims.c */
/* Then removes what owner references do not, and the finalizer. */
void reconcile_delete_cluster_scoped(struct reconcile *rc); /* reconcile_prune.c */

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_STATE_H */
