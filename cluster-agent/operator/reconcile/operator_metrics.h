/* Counters of the operator. */
#ifndef CLUSTER_AGENT_OPERATOR_RECONCILE_OPERATOR_METRICS_H
#define CLUSTER_AGENT_OPERATOR_RECONCILE_OPERATOR_METRICS_H

#include "cluster-agent/operator/objects/object_answer.h"
#include "common/base.h"
#include "common/telemetry/metrics.h"

enum operator_metric {
	OPERATOR_DONE,
	OPERATOR_RETRIED,
	OPERATOR_GONE,
	OPERATOR_SECONDS,
	OPERATOR_CHANGED,
	OPERATOR_PRUNED,
	OPERATOR_RECREATED,
	OPERATOR_DRIFTS,
	OPERATOR_ERRORS_CONFLICT,
	OPERATOR_ERRORS_REFUSED,
	OPERATOR_ERRORS_FORBIDDEN,
	OPERATOR_ERRORS_BUSY,
	OPERATOR_ERRORS_UNREACHABLE,
	OPERATOR_ERRORS_FOREIGN,
	OPERATOR_ERRORS_INTERNAL,
	OPERATOR_LEADER,
	OPERATOR_RESOURCES,
	OPERATOR_RESOURCES_FAILING,
	OPERATOR_RESOURCES_LEFT_OUT,
	OPERATOR_OBJECTS,
	OPERATOR_METRIC_MAX,
};

struct operator_metrics {
	struct metric m[OPERATOR_METRIC_MAX];
};

/* As metrics_register(); m must outlive ms. */
int operator_metrics_register(struct operator_metrics *m, struct metrics *ms) MUST_CHECK;
/* Counts an answer that is not OBJECT_ANSWER_OK. */
void operator_metrics_add_error(struct operator_metrics *m, enum object_answer a);

#endif /* CLUSTER_AGENT_OPERATOR_RECONCILE_OPERATOR_METRICS_H */
