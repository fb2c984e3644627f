#include "cluster-agent/receive/upload_answer.h"

#include "common/telemetry/log.h"

#define RETRY_AFTER_S "5"
/* Our agents send 32 hex digits; a UUID has 36 characters. */
#define MIN_KEY_BYTES 16u
#define MAX_KEY_BYTES 128u

static const unsigned statuses[UPLOAD_RESULT_MAX] = {
	[UPLOAD_STORED] = 200,    [UPLOAD_BAD_PARAMS] = 400, [UPLOAD_BAD_PROFILE] = 400,
	[UPLOAD_TOO_LARGE] = 413, [UPLOAD_BUSY] = 503,       [UPLOAD_LOG_FULL] = 503,
	[UPLOAD_DISK_FULL] = 503, [UPLOAD_FAILED] = 503,
};

#define REFUSED(reason)                                                        \
	"coroot_cluster_agent_uploads_refused_total", "reason=\"" reason "\"", \
		"Uploads that were not stored, by reason"

static const struct metric_def metric_defs[UPLOAD_RESULT_MAX] = {
	[UPLOAD_STORED] = {"coroot_cluster_agent_uploads_stored_total", NULL,
			   "Uploads that are durable and were answered with 200"},
	[UPLOAD_BAD_PARAMS] = {REFUSED("bad_parameters")},
	[UPLOAD_BAD_PROFILE] = {REFUSED("bad_profile")},
	[UPLOAD_TOO_LARGE] = {REFUSED("too_large")},
	[UPLOAD_BUSY] = {REFUSED("busy")},
	[UPLOAD_LOG_FULL] = {REFUSED("log_full")},
	[UPLOAD_DISK_FULL] = {REFUSED("disk_full")},
	[UPLOAD_FAILED] = {REFUSED("failed")},
};
METRIC_TABLE(metric_table, metric_defs);

int upload_counters_register(struct upload_counters *c, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, c->metrics, NULL);
}

enum upload_result upload_result_of(enum ingest_outcome outcome)
{
	static const enum upload_result by_outcome[INGEST_OUTCOME_MAX] = {
		[INGEST_STORED] = UPLOAD_STORED,       [INGEST_BAD_PROFILE] = UPLOAD_BAD_PROFILE,
		[INGEST_TOO_LARGE] = UPLOAD_TOO_LARGE, [INGEST_BUSY] = UPLOAD_BUSY,
		[INGEST_LOG_FULL] = UPLOAD_LOG_FULL,   [INGEST_DISK_FULL] = UPLOAD_DISK_FULL,
		[INGEST_FAILED] = UPLOAD_FAILED,
	};

	return by_outcome[outcome];
}

unsigned upload_result_status(enum upload_result result)
{
	return statuses[result];
}

void upload_result_note(struct upload_counters *c, struct http_exchange *x,
			enum upload_result result, const char *service, const char *reason)
{
	unsigned status = statuses[result];

	metric_add(&c->metrics[result], 1);
	if (result == UPLOAD_STORED) {
		if (reason[0])
			log_warn_limited("storing an upload without some of its elements",
					 "service=%s left_out=%s", LOG_QUOTED(service),
					 LOG_QUOTED(reason));
		return;
	}
	log_warn_limited("refusing an upload", "status=%u service=%s reason=%s", status,
			 LOG_QUOTED(service), LOG_QUOTED(reason));
	/* without the header the sender chooses its own delay */
	if (x && status == 503 && http_exchange_set_header(x, "Retry-After", RETRY_AFTER_S) < 0)
		log_debug("answering without Retry-After", "status=%u", status);
}

void upload_result_respond(struct http_exchange *x, enum upload_result result, const char *reason)
{
	if (reason[0])
		http_respond_text(x, statuses[result], "%s", reason);
	else
		http_respond(x, statuses[result], "text/plain", NULL, 0);
}

const char *upload_key_of(const struct http_exchange *x)
{
	const char *key = http_exchange_header(x, "Idempotency-Key");
	size_t len = key ? strlen(key) : 0;

	return len >= MIN_KEY_BYTES && len <= MAX_KEY_BYTES ? key : NULL;
}
