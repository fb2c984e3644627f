#include "cluster-agent/operator/reconcile/operator_metrics.h"

#define PREFIX "coroot_cluster_agent_operator_"

#define RECONCILES(outcome) \
	PREFIX "reconciles_total", "outcome=\"" outcome "\"", "Reconciles of Coroot resources"
#define ERRORS(reason)                                  \
	PREFIX "errors_total", "reason=\"" reason "\"", \
		"What failed in reconciles, by the API server's answer"

static const struct metric_def defs[OPERATOR_METRIC_MAX] = {
	[OPERATOR_DONE] = {RECONCILES("done")},
	[OPERATOR_RETRIED] = {RECONCILES("retried")},
	[OPERATOR_GONE] = {RECONCILES("gone")},
	[OPERATOR_SECONDS] = {PREFIX "reconcile_seconds_total", NULL,
			      "Time that reconciles took, most of it waiting for the API server",
			      .scale = 1e-9},
	[OPERATOR_CHANGED] = {PREFIX "objects_changed_total", NULL,
			      "Objects that were created or changed"},
	[OPERATOR_PRUNED] = {PREFIX "objects_pruned_total", NULL,
			     "Objects that were deleted because no resource asks for them"},
	[OPERATOR_RECREATED] = {PREFIX "objects_recreated_total", NULL,
				"Workloads that were deleted without their pods, to be made again "
				"with fields that cannot be changed"},
	[OPERATOR_DRIFTS] = {PREFIX "drifts_total", NULL,
			     "Objects that somebody else has changed or deleted"},
	[OPERATOR_ERRORS_CONFLICT] = {ERRORS("conflict")},
	[OPERATOR_ERRORS_REFUSED] = {ERRORS("refused")},
	[OPERATOR_ERRORS_FORBIDDEN] = {ERRORS("forbidden")},
	[OPERATOR_ERRORS_BUSY] = {ERRORS("busy")},
	[OPERATOR_ERRORS_UNREACHABLE] = {ERRORS("unreachable")},
	[OPERATOR_ERRORS_FOREIGN] = {ERRORS("foreign_object")},
	[OPERATOR_ERRORS_INTERNAL] = {ERRORS("internal")},
	[OPERATOR_LEADER] = {PREFIX "leader", NULL, "1 while this operator is the one that works",
			     METRIC_GAUGE},
	[OPERATOR_RESOURCES] = {PREFIX "resources", NULL, "Coroot resources", METRIC_GAUGE},
	[OPERATOR_RESOURCES_FAILING] = {PREFIX "resources_failing", NULL,
					"Coroot resources whose last reconcile failed",
					METRIC_GAUGE},
	[OPERATOR_RESOURCES_LEFT_OUT] = {PREFIX "resources_left_out_total", NULL,
					 "Events of Coroot resources beyond the thousandth, which "
					 "are ignored"},
	[OPERATOR_OBJECTS] = {PREFIX "objects", NULL, "Objects with the label of the operator",
			      METRIC_GAUGE},
};
METRIC_TABLE(table, defs);

int operator_metrics_register(struct operator_metrics *m, struct metrics *ms)
{
	return metrics_register(ms, &table, m->m, NULL);
}

void operator_metrics_add_error(struct operator_metrics *m, enum object_answer a)
{
	static const enum operator_metric metric_of[OBJECT_ANSWER_MAX] = {
		[OBJECT_ANSWER_OK] = OPERATOR_ERRORS_INTERNAL,
		[OBJECT_ANSWER_NONE] = OPERATOR_ERRORS_REFUSED,
		[OBJECT_ANSWER_CONFLICT] = OPERATOR_ERRORS_CONFLICT,
		[OBJECT_ANSWER_IMMUTABLE] = OPERATOR_ERRORS_REFUSED,
		[OBJECT_ANSWER_REFUSED] = OPERATOR_ERRORS_REFUSED,
		[OBJECT_ANSWER_FORBIDDEN] = OPERATOR_ERRORS_FORBIDDEN,
		[OBJECT_ANSWER_BUSY] = OPERATOR_ERRORS_BUSY,
		[OBJECT_ANSWER_UNREACHABLE] = OPERATOR_ERRORS_UNREACHABLE,
	};

	metric_add(&m->m[metric_of[a]], 1);
}
