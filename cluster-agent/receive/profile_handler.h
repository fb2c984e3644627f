/*
 * POST /v1/profiles: reads the parameters, hands the upload to ingest, answers. The server has
 * checked the key.
 *
 * The answer is 200 once the profile is durable in the write-ahead log, so that it is stored
 * whatever dies next; 400 or 413 with a line of text if a repetition would fail as well; 503
 * with Retry-After if it may succeed. A repetition of an upload that is durable, which is
 * recognised by the header "Idempotency-Key" or by its content, is answered with 200 and not
 * stored again. Handlers run on the HTTP server's threads.
 */
#ifndef CLUSTER_AGENT_RECEIVE_PROFILE_HANDLER_H
#define CLUSTER_AGENT_RECEIVE_PROFILE_HANDLER_H

#include "cluster-agent/receive/upload_answer.h"
#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/err.h"
#include "common/http/http_server.h"

struct clock_skews;
struct profile_handler;

struct profile_handler_config {
	struct ingest *ingest;            /* borrowed; outlives the handler */
	struct upload_counters *counters; /* likewise */
	struct clock_skews *clocks;       /* likewise; NULL: hosts are not listed */
};

int profile_handler_new(struct profile_handler **ret,
			const struct profile_handler_config *cfg) MUST_CHECK;
/* Every upload must have been answered. */
void profile_handler_free(struct profile_handler *h);
DEFINE_CLEANUP(struct profile_handler *, profile_handler_free);

/* An http_handler_fn; ctx is the handler. */
void profile_handler_serve(void *ctx, struct http_exchange *x);
/*
 * The same for GET: how profiles should be named (receiver_wishes.h). It needs no key: it says
 * nothing about anybody's profiles, and a sender whose key is refused keeps its profiles until the
 * key is mended, under names that cannot be changed later.
 */
void profile_handler_serve_wishes(void *ctx, struct http_exchange *x);

/*
 * Query parameters of an upload → service and labels. Pure; foreign data.
 *
 * "service.name" names the service. Every other parameter becomes a label; one that is given
 * more than once is ignored, as Coroot does.
 */

#define UPLOAD_PARAMS_MAX 64u

/* Zeroed, it is empty. Texts are borrowed from the caller of upload_params_add(). */
struct upload_params {
	struct row_text service;
	struct row_text host; /* "host.name" or "node"; "" without either */
	struct row_label labels[UPLOAD_PARAMS_MAX];
	bool repeated[UPLOAD_PARAMS_MAX];
	size_t n_labels;
	bool too_many;
};

/* Call it in the order of the query string. value must not be NULL. */
void upload_params_add(struct upload_params *p, const char *name, const char *value);

/*
 * Call it after the last parameter. Returns 0, or -EINVAL with one line in err if there is no
 * service or there are too many parameters.
 */
int upload_params_finish(struct upload_params *p, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_RECEIVE_PROFILE_HANDLER_H */
