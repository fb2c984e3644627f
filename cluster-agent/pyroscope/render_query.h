/*
 * Pyroscope's older GET endpoints, which Grafana's Profiles Drilldown still asks for comparisons,
 * and scripts use: flame graphs as JSON ("flamebearer"). Each asks a method of querier_methods.h.
 *
 * Blocks on the store: call it from a worker.
 */
#ifndef CLUSTER_AGENT_PYROSCOPE_RENDER_QUERY_H
#define CLUSTER_AGENT_PYROSCOPE_RENDER_QUERY_H

#include "cluster-agent/pyroscope/querier_call.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/err.h"

/* A query parameter, "" if it is not given; name is a text that outlives the request. */
typedef const char *(*render_param_fn)(void *ctx, const char *name);

typedef int (*render_query_fn)(struct querier_call *c, render_param_fn param, void *ctx,
			       struct buf *out, struct err *err);

struct render_endpoint {
	const char *path;
	render_query_fn answer;
	bool has_stacks;
};

/* Returns a static entry, or NULL. */
const struct render_endpoint *render_endpoint_find(const char *path);

#endif /* CLUSTER_AGENT_PYROSCOPE_RENDER_QUERY_H */
