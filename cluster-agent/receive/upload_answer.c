#include "cluster-agent/receive/upload_answer.h"

#include <ctype.h>

#include "common/data/hash.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "common/upload/upload_item.h"

#define RETRY_AFTER_S "5"
#define LOG_EVERY_NS (3600 * NS_PER_S)
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

bool upload_counters_must_log(struct upload_counters *c, const char *service, const char *left_out,
			      uint64_t now_ns)
{
	uint64_t what = fnv1a64(FNV1A64_INIT, service, strlen(service) + 1), before, at_ns;
	size_t slot;

	for (const char *t = left_out; *t; t++) {
		if (!isdigit((unsigned char)*t))
			what = fnv1a64(what, t, 1);
	}
	slot = what % UPLOAD_LOGGED_SLOTS;
	at_ns = atomic_load(&c->logged[slot].at_ns);
	before = atomic_exchange(&c->logged[slot].what, what);
	if (before == what && at_ns != 0 && now_ns < at_ns + LOG_EVERY_NS)
		return false;
	atomic_store(&c->logged[slot].at_ns, now_ns);
	return true;
}

static void log_left_out(struct upload_counters *c, const char *service, const char *left_out)
{
	static const char msg[] = "storing an upload without some of its elements";

	if (upload_counters_must_log(c, service, left_out, clock_monotonic_ns()))
		log_warn_limited(msg, "service=%s left_out=%s", LOG_QUOTED(service),
				 LOG_QUOTED(left_out));
	else
		log_debug(msg, "service=%s left_out=%s", LOG_QUOTED(service), LOG_QUOTED(left_out));
}

void upload_result_note(struct upload_counters *c, struct http_exchange *x,
			enum upload_result result, const char *service, const char *reason)
{
	unsigned status = statuses[result];

	metric_add(&c->metrics[result], 1);
	if (result == UPLOAD_STORED) {
		if (reason[0])
			log_left_out(c, service, reason);
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

bool upload_is_repeat(const struct http_exchange *x)
{
	const char *value = http_exchange_header(x, UPLOAD_REPEAT_HEADER);

	return value && strcmp(value, "1") == 0;
}
