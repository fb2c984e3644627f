/*
 * The table of endpoints of the JSON API: paths, what answers them, and in which form.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_ENDPOINTS_H
#define CLUSTER_AGENT_WEB_WEB_ENDPOINTS_H

#include "cluster-agent/query/profile_query.h"
#include "common/base.h"

enum web_endpoint_id {
	WEB_READY,
	WEB_TYPES,
	WEB_APPLICATIONS,
	WEB_MOVERS,
	WEB_LEVELS,
	WEB_FLEET,
	WEB_NAMES,
	WEB_LABELS,
	WEB_TIMELINE,
	WEB_HEATMAP,
	WEB_FLAMEGRAPH,
	WEB_FUNCTIONS,
	WEB_FUNCTION,
	WEB_SOURCE,
	WEB_MATCHES,
	WEB_STACKS,
	WEB_PPROF,
	WEB_FOLDED,
	WEB_SPEEDSCOPE,
	WEB_NOTES,
	WEB_NOTE_ADD,
	WEB_NOTE_DELETE,
	WEB_SNAPSHOT,
	WEB_SNAPSHOT_ADD,
	WEB_ENDPOINT_MAX,
};

/* Of an answer with "format=columns" (column_block.h). */
#define WEB_COLUMNS_TYPE "application/vnd.coroot.columns"

#define WEB_ENDPOINT_BIT(id) (UINT32_C(1) << (id))

typedef int (*web_answer_fn)(struct store *store, const struct query_request *p, struct buf *out,
			     struct err *err);

struct web_endpoint {
	const char *path; /* below "/api/"; /readyz has none: "" */
	web_answer_fn answer;
	const char *content_type;
	const char *method; /* NULL: GET */
	const char *suffix; /* of the file that the answer is offered as; NULL: none */
	bool takes_text;    /* the body of the request is a text */
	bool is_large;      /* holds much memory, so that only one at a time is made */
	bool has_stacks;    /* is made of all stacks of a selection, which takes memory */
	bool is_constant;   /* depends on nothing that is stored */
	bool has_columns;   /* takes "format=columns" */
	const char *schema; /* what docs/openapi.json calls the answer; NULL: not JSON */
	const char *summary;
};

/* Rows by enum web_endpoint_id. */
extern const struct web_endpoint web_endpoints[WEB_ENDPOINT_MAX];

#endif /* CLUSTER_AGENT_WEB_WEB_ENDPOINTS_H */
