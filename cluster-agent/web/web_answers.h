/*
 * What each request of the API asks of the store, as the text of its answer.
 * Runs on the API's workers.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_ANSWERS_H
#define CLUSTER_AGENT_WEB_WEB_ANSWERS_H

#include "cluster-agent/web/web_params.h"
#include "common/base.h"
#include "common/buf.h"
#include "common/err.h"

struct store;

/*
 * All append to out and return 0, or: -EREMOTEIO, -EBADMSG: the store's answer
 * is an error; -EFBIG: too much for one answer; -ENOMEM.
 */
int web_answer_types(struct store *store, const struct web_params *p, struct buf *out,
		     struct err *err) MUST_CHECK;
int web_answer_applications(struct store *store, const struct web_params *p, struct buf *out,
			    struct err *err) MUST_CHECK;
int web_answer_timeline(struct store *store, const struct web_params *p, struct buf *out,
			struct err *err) MUST_CHECK;
int web_answer_flamegraph(struct store *store, const struct web_params *p, struct buf *out,
			  struct err *err) MUST_CHECK;
int web_answer_pprof(struct store *store, const struct web_params *p, struct buf *out,
		     struct err *err) MUST_CHECK;
/* -EIO when the store does not answer. */
int web_answer_ready(struct store *store, const struct web_params *p, struct buf *out,
		     struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_WEB_WEB_ANSWERS_H */
