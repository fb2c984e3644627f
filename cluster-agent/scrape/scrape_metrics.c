#include "cluster-agent/scrape/scrape_metrics.h"

#include <errno.h>

#define PREFIX "coroot_cluster_agent_"

#define ENDED(outcome, label)                                                                    \
	[SCRAPE_METRIC_OUTCOMES + (outcome)] = {PREFIX "scrapes_total", "outcome=\"" label "\"", \
						"Scrapes of profiles, by outcome"}
#define PROFILES(kind, label)                                                 \
	[SCRAPE_METRIC_PROFILES + (kind)] = {PREFIX "scraped_profiles_total", \
					     "kind=\"" label "\"",            \
					     "Profiles scraped and passed on, by kind"}
#define TARGETS(state, label)                                                                \
	[SCRAPE_METRIC_TARGETS + (state)] = {PREFIX "scrape_targets", "state=\"" label "\"", \
					     "Pods that ask to be profiled, by state",       \
					     METRIC_GAUGE}
#define LEFT_OUT(loss, name)                                                      \
	[SCRAPE_METRIC_LEFT_OUT +                                                 \
		(loss)] = {PREFIX "scrape_left_out_total", "reason=\"" name "\"", \
			   "Elements of scraped profiles that were left out or changed"}

static const struct metric_def metric_defs[SCRAPE_METRIC_MAX] = {
	ENDED(SCRAPE_OK, "ok"),
	ENDED(SCRAPE_TIMEOUT, "timeout"),
	ENDED(SCRAPE_CONNECT, "connect"),
	ENDED(SCRAPE_TLS, "tls"),
	ENDED(SCRAPE_HTTP_STATUS, "http_status"),
	ENDED(SCRAPE_NOT_OFFERED, "not_offered"),
	ENDED(SCRAPE_TOO_LARGE, "too_large"),
	ENDED(SCRAPE_MEMORY, "memory"),
	ENDED(SCRAPE_INVALID, "invalid"),
	ENDED(SCRAPE_CREDENTIALS, "credentials"),
	ENDED(SCRAPE_CANCELLED, "cancelled"),
	ENDED(SCRAPE_FAILED, "failed"),
	[SCRAPE_METRIC_LATE] = {PREFIX "scrapes_late_total", NULL,
				"Scrapes that began more than a second after their slot"},
	[SCRAPE_METRIC_MISSED] = {PREFIX "scrapes_missed_total", NULL,
				  "Slots in which no scrape could begin: too many were under way, "
				  "or the one before took too long"},
	[SCRAPE_METRIC_BYTES] = {PREFIX "scrape_bytes_total", NULL, "Bytes of profiles as served"},
	[SCRAPE_METRIC_RESTARTS] = {PREFIX "scrape_restarts_total", NULL,
				    "Profiles whose values show that the process restarted"},
	[SCRAPE_METRIC_CPU_NS] = {PREFIX "scrape_cpu_seconds_total", NULL,
				  "CPU time spent on decoding and encoding scraped profiles",
				  .scale = 1e-9},
	[SCRAPE_METRIC_IN_FLIGHT] = {PREFIX "scrapes_in_flight", NULL,
				     "Requests for profiles under way", METRIC_GAUGE},
	[SCRAPE_METRIC_CONVERTING] = {PREFIX "scrapes_converting", NULL,
				      "Profiles received that are not decoded and encoded yet",
				      METRIC_GAUGE},
	[SCRAPE_METRIC_BODY_BYTES] = {PREFIX "scrape_memory_bytes", NULL,
				      "Memory of the profiles being received or waiting",
				      METRIC_GAUGE},
	[SCRAPE_METRIC_BASELINE_BYTES] = {PREFIX "scrape_baseline_bytes", NULL,
					  "Memory of the previous values of cumulative profiles",
					  METRIC_GAUGE},
	PROFILES(PROFILE_KIND_CPU, "cpu"),
	PROFILES(PROFILE_KIND_HEAP, "heap"),
	PROFILES(PROFILE_KIND_GOROUTINE, "goroutine"),
	PROFILES(PROFILE_KIND_MUTEX, "mutex"),
	PROFILES(PROFILE_KIND_BLOCK, "block"),
	PROFILES(PROFILE_KIND_WALL, "wall"),
	PROFILES(PROFILE_KIND_DELTA_HEAP, "godeltaprof_memory"),
	PROFILES(PROFILE_KIND_DELTA_MUTEX, "godeltaprof_mutex"),
	PROFILES(PROFILE_KIND_DELTA_BLOCK, "godeltaprof_block"),
	PROFILES(PROFILE_KIND_FGPROF, "fgprof"),
	TARGETS(TARGET_PENDING, "pending"),
	TARGETS(TARGET_UP, "up"),
	TARGETS(TARGET_DOWN, "down"),
	TARGETS(TARGET_REFUSED, "refused"),
	TARGETS(TARGET_NOT_OFFERED, "not_offered"),
	TARGETS(TARGET_INVALID, "invalid"),
	TARGETS(TARGET_ELSEWHERE, "elsewhere"),
	PROFILE_LOSSES(LEFT_OUT),
};
METRIC_TABLE(metric_table, metric_defs);

int scrape_metrics_register(struct metric metrics[static SCRAPE_METRIC_MAX], struct metrics *ms)
{
	return metrics_register(ms, &metric_table, metrics, NULL);
}

enum scrape_outcome scrape_outcome_of_request(int error)
{
	switch (error) {
	case -ETIMEDOUT:
		return SCRAPE_TIMEOUT;
	case -EKEYREJECTED:
		return SCRAPE_TLS;
	case -EFBIG:
		return SCRAPE_TOO_LARGE;
	case -ENOBUFS:
	case -ENOMEM:
		return SCRAPE_MEMORY;
	case -EIO:
	case -EINVAL:
	case -EMFILE:
	case -ENFILE:
		return SCRAPE_FAILED;
	default:
		return SCRAPE_CONNECT;
	}
}

enum scrape_outcome scrape_outcome_of_conversion(int error)
{
	switch (error) {
	case -EBADMSG:
		return SCRAPE_INVALID;
	case -EFBIG:
		return SCRAPE_TOO_LARGE;
	case -ENOMEM:
		return SCRAPE_MEMORY;
	default:
		return SCRAPE_FAILED;
	}
}
