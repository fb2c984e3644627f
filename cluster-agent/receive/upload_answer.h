/*
 * How an upload is answered, whatever its format: status, counter, log line.
 *
 * Handlers of all formats share one set of counters, coroot_cluster_agent_uploads_*. An answer is
 * 200 once the upload is durable; 400 or 413 if a repetition would fail as well; 503 with
 * Retry-After if it may succeed. Any thread.
 */
#ifndef CLUSTER_AGENT_RECEIVE_UPLOAD_ANSWER_H
#define CLUSTER_AGENT_RECEIVE_UPLOAD_ANSWER_H

#include "cluster-agent/ingest/ingest.h"
#include "cluster-agent/push/body_encoding.h"
#include "common/base.h"
#include "common/http/http_server.h"
#include "common/telemetry/metrics.h"

enum upload_result {
	UPLOAD_STORED,
	UPLOAD_BAD_PARAMS,
	UPLOAD_BAD_PROFILE,
	UPLOAD_TOO_LARGE,
	UPLOAD_BUSY,
	UPLOAD_LOG_FULL,
	UPLOAD_DISK_FULL,
	UPLOAD_FAILED,
	UPLOAD_RESULT_MAX,
};

/* Zeroed, it is ready for use. */
struct upload_counters {
	struct metric metrics[UPLOAD_RESULT_MAX];
};

/* coroot_cluster_agent_uploads_*; c must outlive ms. */
int upload_counters_register(struct upload_counters *c, struct metrics *ms) MUST_CHECK;

enum upload_result upload_result_of(enum ingest_outcome outcome);
/* 200, 400, 413 or 503. */
unsigned upload_result_status(enum upload_result result);

/*
 * Counts the result; logs a refusal, or what was left out (at most so often), with the service and
 * the reason, both of which are quoted; and sets Retry-After for a 503. Then the handler responds,
 * with upload_result_status(). x is NULL if the upload did not come over HTTP/1.1.
 */
void upload_result_note(struct upload_counters *c, struct http_exchange *x,
			enum upload_result result, const char *service, const char *reason);

/* Responds with the status and, unless it is "", the reason; after upload_result_note(). */
void upload_result_respond(struct http_exchange *x, enum upload_result result, const char *reason);

/*
 * The header "Idempotency-Key" of the request, or NULL without one that is fit to identify an
 * upload: a short one would soon be used again, and its upload be taken for a repetition.
 */
const char *upload_key_of(const struct http_exchange *x);

#endif /* CLUSTER_AGENT_RECEIVE_UPLOAD_ANSWER_H */
