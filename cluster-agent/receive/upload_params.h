/*
 * Query parameters of an upload → service and labels. Pure; foreign data.
 *
 * "service.name" names the service. Every other parameter becomes a label,
 * unless it is given more than once, as Coroot has it.
 */
#ifndef CLUSTER_AGENT_RECEIVE_UPLOAD_PARAMS_H
#define CLUSTER_AGENT_RECEIVE_UPLOAD_PARAMS_H

#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/err.h"

#define UPLOAD_PARAMS_MAX 64u

/* A zeroed one is empty. Texts are borrowed from who added them. */
struct upload_params {
	struct row_text service;
	struct row_text host; /* "host.name" or "node"; "" when neither is there */
	struct row_label labels[UPLOAD_PARAMS_MAX];
	bool repeated[UPLOAD_PARAMS_MAX];
	size_t n_labels;
	bool too_many;
};

/* In the order of the query string; value is not NULL. */
void upload_params_add(struct upload_params *p, const char *name, const char *value);

/* After the last one. 0; -EINVAL with one line in err: no service, too many. */
int upload_params_finish(struct upload_params *p, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_RECEIVE_UPLOAD_PARAMS_H */
