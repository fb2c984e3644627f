/*
 * The status of a Coroot resource: conditions with messages that a person can act on. Pure.
 *
 * Ready          all pods are ready
 * Progressing    pods are being started or replaced, or objects applied again that were refused
 * Degraded       a field is wrong, or an object could not be applied
 * FieldsNotUsed  fields are given that have no effect here
 *
 * "status" ("OK" or "Misconfigured") and "errors" are those of Coroot's operator.
 */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_STATUS_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_STATUS_H

#include <jansson.h>

#include "cluster-agent/operator/objects/object_facts.h"
#include "cluster-agent/operator/spec/spec_problems.h"
#include "common/base.h"

struct reconcile_status_input {
	const json_t *resource; /* with its present status */
	const struct spec_problem_list *wrong;
	const struct spec_problem_list *unused;
	const struct spec_problem_list *failed; /* path: "DaemonSet coroot-node-agent" */
	const struct workload_state *workloads;
	size_t n_workloads;
	size_t n_kept;  /* objects that are not asked for, but stay while something is wrong */
	int64_t now_ns; /* since the Unix epoch */
};

/*
 * Makes the status. *ret is NULL if it is what the resource has. Conditions that do not change keep
 * their lastTransitionTime. Returns 0 or -ENOMEM.
 */
int reconcile_status_make(json_t **ret, const struct reconcile_status_input *in) MUST_CHECK;

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_RECONCILE_STATUS_H */
