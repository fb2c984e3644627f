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

#define UPLOAD_LOGGED_SLOTS 256u

/* Zeroed, it is ready for use. */
struct upload_counters {
	struct metric metrics[UPLOAD_RESULT_MAX];
	struct {
		_Atomic uint64_t what;
		_Atomic uint64_t at_ns;
	} logged[UPLOAD_LOGGED_SLOTS]; /* what was left out of whose uploads, by its hash */
};

/* coroot_cluster_agent_uploads_*; c must outlive ms. */
int upload_counters_register(struct upload_counters *c, struct metrics *ms) MUST_CHECK;

enum upload_result upload_result_of(enum ingest_outcome outcome);
/* 200, 400, 413 or 503. */
unsigned upload_result_status(enum upload_result result);

/*
 * Counts the result; logs a refusal, or what was left out (of a service the same once an hour,
 * because many send the same with each upload), with service and reason quoted; and sets
 * Retry-After for a 503. Then the handler responds, with upload_result_status(). x is NULL if the
 * upload did not come over HTTP/1.1.
 */
void upload_result_note(struct upload_counters *c, struct http_exchange *x,
			enum upload_result result, const char *service, const char *reason);

/*
 * Whether a line about what was left out of uploads of the service is due at now_ns (monotonic);
 * numbers in left_out do not matter. If so, the next one is not for an hour.
 */
bool upload_counters_must_log(struct upload_counters *c, const char *service, const char *left_out,
			      uint64_t now_ns);

/* Responds with the status and, unless it is "", the reason; after upload_result_note(). */
void upload_result_respond(struct http_exchange *x, enum upload_result result, const char *reason);

/*
 * The header "Idempotency-Key" of the request, or NULL without one that is fit to identify an
 * upload: a short one would soon be used again, and its upload be taken for a repetition.
 */
const char *upload_key_of(const struct http_exchange *x);
/* Whether the request says that an earlier attempt may have been accepted: upload_item.h. */
bool upload_is_repeat(const struct http_exchange *x);

#endif /* CLUSTER_AGENT_RECEIVE_UPLOAD_ANSWER_H */
