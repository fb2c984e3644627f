/*
 * Query parameters of the JSON API → numbers and texts within their ranges. Pure; foreign data.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_PARAMS_H
#define CLUSTER_AGENT_WEB_WEB_PARAMS_H

#include "cluster-agent/query/profile_query.h"
#include "common/base.h"
#include "common/err.h"

/* As received; NULL if not given. */
struct web_params_text {
	const char *service;
	const char *type;
	const char *instance;
	const char *from; /* ms since the epoch */
	const char *to;
	const char *points;
	const char *max_nodes;
};

enum web_params_need {
	WEB_PARAMS_RANGE,        /* from, to */
	WEB_PARAMS_SERVICE_TYPE, /* from, to, service and type */
};

/*
 * Without "to" the range ends at now_ms; without "from" it begins an hour before its end.
 * Returns 0, or -EINVAL with one line in err.
 */
int web_params_parse(struct query_request *ret, const struct web_params_text *text,
		     enum web_params_need need, int64_t now_ms, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_WEB_WEB_PARAMS_H */
