/*
 * Query parameters of an upload → service and labels. Pure; foreign data.
 *
 * "service.name" names the service. Every other parameter becomes a label; one that is given
 * more than once is ignored, as Coroot does.
 */
#ifndef CLUSTER_AGENT_RECEIVE_UPLOAD_PARAMS_H
#define CLUSTER_AGENT_RECEIVE_UPLOAD_PARAMS_H

#include "cluster-agent/store/row_batch.h"
#include "common/base.h"
#include "common/err.h"

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

#endif /* CLUSTER_AGENT_RECEIVE_UPLOAD_PARAMS_H */
