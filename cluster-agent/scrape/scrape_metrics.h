/* The metrics of the scraper. */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_METRICS_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_METRICS_H

#include "cluster-agent/scrape/target_table.h"
#include "common/base.h"
#include "common/pprof/profile_losses.h"
#include "common/telemetry/metrics.h"

/* The outcome of a scrape. */
enum scrape_outcome {
	SCRAPE_OK,
	SCRAPE_TIMEOUT,
	SCRAPE_CONNECT,
	SCRAPE_TLS,
	SCRAPE_HTTP_STATUS,
	SCRAPE_NOT_OFFERED,
	SCRAPE_TOO_LARGE,
	SCRAPE_MEMORY,
	SCRAPE_INVALID,
	SCRAPE_CREDENTIALS,
	SCRAPE_CANCELLED, /* the pod disappeared, changed, or belongs to another replica */
	SCRAPE_FAILED,
	SCRAPE_OUTCOME_MAX,
};

enum scrape_metric {
	SCRAPE_METRIC_OUTCOMES,
	SCRAPE_METRIC_LATE = SCRAPE_METRIC_OUTCOMES + SCRAPE_OUTCOME_MAX,
	SCRAPE_METRIC_MISSED,
	SCRAPE_METRIC_BYTES,
	SCRAPE_METRIC_RESTARTS,
	SCRAPE_METRIC_CPU_NS,
	SCRAPE_METRIC_IN_FLIGHT,
	SCRAPE_METRIC_CONVERTING,
	SCRAPE_METRIC_BODY_BYTES,
	SCRAPE_METRIC_BASELINE_BYTES,
	SCRAPE_METRIC_PROFILES,                                            /* one per kind */
	SCRAPE_METRIC_TARGETS = SCRAPE_METRIC_PROFILES + PROFILE_KIND_MAX, /* one per state */
	SCRAPE_METRIC_LEFT_OUT = SCRAPE_METRIC_TARGETS + TARGET_STATE_MAX, /* by profile_loss */
	SCRAPE_METRIC_MAX = SCRAPE_METRIC_LEFT_OUT + PROFILE_LOSS_MAX,
};

/* As metrics_register(). */
int scrape_metrics_register(struct metric metrics[static SCRAPE_METRIC_MAX],
			    struct metrics *ms) MUST_CHECK;

/* The outcome of a failed request (by http_result.error), and of a failed conversion. */
enum scrape_outcome scrape_outcome_of_request(int error);
enum scrape_outcome scrape_outcome_of_conversion(int error);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_METRICS_H */
