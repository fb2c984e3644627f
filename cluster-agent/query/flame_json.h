/*
 * A flame graph as JSON: columns, not objects. For the page, which has to draw 100,000 nodes at
 * once, the numbers can be bytes after the JSON (column_block.h). Pure.
 */
#ifndef CLUSTER_AGENT_QUERY_FLAME_JSON_H
#define CLUSTER_AGENT_QUERY_FLAME_JSON_H

#include "cluster-agent/query/read/query_filter.h"
#include "cluster-agent/query/read/stack_query.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "common/base.h"
#include "common/data/buf.h"
#include "common/flame/flame_tree.h"
#include "common/text/json_writer.h"

struct flame_json_sides {
	const struct query_filter *filter;
	const struct query_filter *base;      /* NULL: none, and no rates are written */
	struct timeline_rate rate, base_rate; /* so that ranges of different length compare */
	bool columns;                         /* numbers as bytes after the JSON */
};

/* Appends to out. Returns 0, -ENOMEM, or -EFBIG over the limit of out. */
int flame_json_write(struct buf *out, const struct flame_json_sides *sides,
		     const struct flame_view *v,
		     const struct stack_query_result *stacks) MUST_CHECK;

#endif /* CLUSTER_AGENT_QUERY_FLAME_JSON_H */
