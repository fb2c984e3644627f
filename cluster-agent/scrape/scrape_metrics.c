#include "cluster-agent/scrape/scrape_metrics.h"

#include <errno.h>

#define PREFIX "coroot_cluster_agent_"

static void init_counters(struct metric *m)
{
	static const char *const outcomes[SCRAPE_OUTCOME_MAX] = {
		[SCRAPE_OK] = "outcome=\"ok\"",
		[SCRAPE_TIMEOUT] = "outcome=\"timeout\"",
		[SCRAPE_CONNECT] = "outcome=\"connect\"",
		[SCRAPE_TLS] = "outcome=\"tls\"",
		[SCRAPE_HTTP_STATUS] = "outcome=\"http_status\"",
		[SCRAPE_TOO_LARGE] = "outcome=\"too_large\"",
		[SCRAPE_MEMORY] = "outcome=\"memory\"",
		[SCRAPE_INVALID] = "outcome=\"invalid\"",
		[SCRAPE_CREDENTIALS] = "outcome=\"credentials\"",
		[SCRAPE_CANCELLED] = "outcome=\"cancelled\"",
		[SCRAPE_FAILED] = "outcome=\"failed\"",
	};

	for (unsigned i = 0; i < SCRAPE_OUTCOME_MAX; i++)
		m[SCRAPE_METRIC_OUTCOMES + i] =
			(struct metric){.name = PREFIX "scrapes_total",
					.labels = outcomes[i],
					.help = "Scrapes of profiles, by how they ended."};
	m[SCRAPE_METRIC_LATE] =
		(struct metric){.name = PREFIX "scrapes_late_total",
				.help = "Scrapes that began more than a second after their slot."};
	m[SCRAPE_METRIC_MISSED] = (struct metric){
		.name = PREFIX "scrapes_missed_total",
		.help = "Slots in which no scrape could begin: too many were under way, "
			"or the one before took too long."};
	m[SCRAPE_METRIC_BYTES] = (struct metric){.name = PREFIX "scrape_bytes_total",
						 .help = "Bytes of profiles as served."};
	m[SCRAPE_METRIC_RESTARTS] =
		(struct metric){.name = PREFIX "scrape_restarts_total",
				.help = "Profiles whose values show that the process began anew."};
	m[SCRAPE_METRIC_CPU_NS] =
		(struct metric){.name = PREFIX "scrape_cpu_seconds_total",
				.help = "CPU time spent on decoding and encoding profiles.",
				.scale = 1e-9};
}

static void init_gauges(struct metric *m)
{
	m[SCRAPE_METRIC_IN_FLIGHT] = (struct metric){.name = PREFIX "scrapes_in_flight",
						     .help = "Requests for profiles under way.",
						     .kind = METRIC_GAUGE};
	m[SCRAPE_METRIC_CONVERTING] =
		(struct metric){.name = PREFIX "scrapes_converting",
				.help = "Profiles received that are not decoded and encoded yet.",
				.kind = METRIC_GAUGE};
	m[SCRAPE_METRIC_BODY_BYTES] =
		(struct metric){.name = PREFIX "scrape_memory_bytes",
				.help = "Memory of the profiles being received or waiting.",
				.kind = METRIC_GAUGE};
	m[SCRAPE_METRIC_BASELINE_BYTES] =
		(struct metric){.name = PREFIX "scrape_baseline_bytes",
				.help = "Memory of the last values of types that only grow.",
				.kind = METRIC_GAUGE};
}

static void init_families(struct metric *m)
{
	static const char *const kinds[PROFILE_KIND_MAX] = {
		[PROFILE_KIND_CPU] = "kind=\"cpu\"",
		[PROFILE_KIND_HEAP] = "kind=\"heap\"",
		[PROFILE_KIND_GOROUTINE] = "kind=\"goroutine\"",
		[PROFILE_KIND_MUTEX] = "kind=\"mutex\"",
		[PROFILE_KIND_BLOCK] = "kind=\"block\"",
	};
	static const char *const states[TARGET_STATE_MAX] = {
		[TARGET_PENDING] = "state=\"pending\"",     [TARGET_UP] = "state=\"up\"",
		[TARGET_DOWN] = "state=\"down\"",           [TARGET_INVALID] = "state=\"invalid\"",
		[TARGET_ELSEWHERE] = "state=\"elsewhere\"",
	};

	for (unsigned i = 0; i < PROFILE_KIND_MAX; i++)
		m[SCRAPE_METRIC_PROFILES + i] =
			(struct metric){.name = PREFIX "scraped_profiles_total",
					.labels = kinds[i],
					.help = "Profiles scraped and handed on."};
	for (unsigned i = 0; i < TARGET_STATE_MAX; i++)
		m[SCRAPE_METRIC_TARGETS + i] =
			(struct metric){.name = PREFIX "scrape_targets",
					.labels = states[i],
					.help = "Pods that ask to be profiled, by state.",
					.kind = METRIC_GAUGE};
}

void scrape_metrics_init(struct metric metrics[static SCRAPE_METRIC_MAX])
{
	init_counters(metrics);
	init_gauges(metrics);
	init_families(metrics);
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
