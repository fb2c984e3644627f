/*
 * Query parameters of the JSON API → a question with numbers and texts within their ranges. Pure;
 * foreign data.
 *
 * One table says which endpoint takes which parameter, what it may be and what it is for; the
 * parser, its sentences, and docs/openapi.json are made of it. A parameter that an endpoint does
 * not take is refused: a figure for all pods, when the reader misspelled "instance", looks as right
 * as the one that he asked for. Names that begin with '_' are ignored, for who must defeat a cache.
 */
#ifndef CLUSTER_AGENT_WEB_WEB_PARAMS_H
#define CLUSTER_AGENT_WEB_WEB_PARAMS_H

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/web/web_endpoints.h"
#include "common/base.h"
#include "common/err.h"

/* as many as an endpoint could take, with some to ignore */
#define WEB_PARAMS_MAX 32u

enum web_param_kind {
	WEB_PARAM_TIME,     /* ms since the epoch */
	WEB_PARAM_COUNT,    /* a number that the question has as uint32_t */
	WEB_PARAM_TEXT,     /* any text */
	WEB_PARAM_NAME,     /* a text whose limit is of characters */
	WEB_PARAM_DURATION, /* seconds, or as flags have it: "7d"; the question has ns */
	WEB_PARAM_MATCHERS, /* conditions on labels (label_matchers.h) */
	WEB_PARAM_KEY,      /* the path key of a node: 16 hexadecimal digits */
	WEB_PARAM_SORT,     /* self, total or diff */
	WEB_PARAM_FORMAT,   /* json or columns */
	WEB_PARAM_PURPOSE,  /* go-pgo */
};

/* A parameter of some endpoints. Others may take the same name in another way: another row. */
struct web_param {
	const char *name;
	enum web_param_kind kind;
	uint32_t endpoints; /* those that take it: WEB_ENDPOINT_BIT() */
	uint32_t required;  /* those of them that need it */
	uint64_t min;       /* of a number; of a duration: seconds, as the maximum */
	uint64_t max;       /* of a number; of a text: bytes; of a name: characters */
	uint64_t def;       /* of a count that is not given; 0: not given */
	size_t at;          /* offset in struct query_request; of a time: an internal number */
	const char *help;
};

/* Returns the table, *ret_n rows, which is static. */
const struct web_param *web_params(size_t *ret_n);

/* As received and decoded. */
struct web_param_text {
	const char *name;
	const char *value;
};

/*
 * Fills ret, which borrows the texts and must not be moved. Without "to" the range ends at now_ms;
 * without "from" it begins an hour before its end. Returns 0, or -EINVAL with one line in err.
 */
int web_params_parse(struct query_request *ret, enum web_endpoint_id endpoint,
		     const struct web_param_text *texts, size_t n_texts, int64_t now_ms,
		     struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_WEB_WEB_PARAMS_H */
