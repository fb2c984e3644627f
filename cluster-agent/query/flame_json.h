/* A flame graph as the JSON that the page reads: columns, not objects. Pure. */
#ifndef CLUSTER_AGENT_QUERY_FLAME_JSON_H
#define CLUSTER_AGENT_QUERY_FLAME_JSON_H

#include "cluster-agent/query/flame_tree.h"
#include "cluster-agent/query/query_filter.h"
#include "cluster-agent/query/stack_query.h"
#include "common/base.h"
#include "common/data/buf.h"

/* Appends to out. Returns 0, -ENOMEM, or -EFBIG over the limit of out. */
int flame_json_write(struct buf *out, const struct query_filter *f, const struct flame_view *v,
		     const struct stack_query_result *stacks) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_FLAME_JSON_H */
