/* What the scraper counts, by reason. */
#ifndef CLUSTER_AGENT_SCRAPE_SCRAPE_METRICS_H
#define CLUSTER_AGENT_SCRAPE_SCRAPE_METRICS_H

#include "cluster-agent/scrape/target_table.h"
#include "common/base.h"
#include "common/telemetry/metrics.h"

/* How a scrape ended. */
enum scrape_outcome {
	SCRAPE_OK,
	SCRAPE_TIMEOUT,
	SCRAPE_CONNECT,
	SCRAPE_TLS,
	SCRAPE_HTTP_STATUS,
	SCRAPE_TOO_LARGE,
	SCRAPE_MEMORY,
	SCRAPE_INVALID,
	SCRAPE_CREDENTIALS,
	SCRAPE_CANCELLED, /* the pod went, changed or is another replica's now */
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
	SCRAPE_METRIC_PROFILES,                                            /* of each kind */
	SCRAPE_METRIC_TARGETS = SCRAPE_METRIC_PROFILES + PROFILE_KIND_MAX, /* of each state */
	SCRAPE_METRIC_MAX = SCRAPE_METRIC_TARGETS + TARGET_STATE_MAX,
};

/* As metrics_register(). */
int scrape_metrics_register(struct metric metrics[static SCRAPE_METRIC_MAX],
			    struct metrics *ms) MUST_CHECK;

/* Of a request that http_result says failed, and of a conversion. */
enum scrape_outcome scrape_outcome_of_request(int error);
enum scrape_outcome scrape_outcome_of_conversion(int error);

#endif /* CLUSTER_AGENT_SCRAPE_SCRAPE_METRICS_H */
