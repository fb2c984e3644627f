#include "cluster-agent/web/web_params.h"

#include <errno.h>

#include "common/system/clock.h"
#include "common/text/parse.h"

/* The year 2200. ns since 1970 fit 63 bits until 2262. */
#define MAX_MS UINT64_C(7258118400000)
#define MAX_RANGE_MS (INT64_C(366) * 86400 * 1000)
#define DEFAULT_RANGE_MS (INT64_C(3600) * 1000)

struct number {
	const char *name;
	const char *text;
	uint64_t min;
	uint64_t max;
	uint64_t def;
};

static int parse_number(const struct number *n, uint64_t *ret, struct err *err)
{
	if (!n->text) {
		*ret = n->def;
		return 0;
	}
	if (parse_u64(n->text, strlen(n->text), n->min, n->max, ret) < 0)
		return err_set(err, -EINVAL, "%s is not a number from %llu to %llu", n->name,
			       (unsigned long long)n->min, (unsigned long long)n->max);
	return 0;
}

static int parse_range(struct query_request *p, const struct web_params_text *text, int64_t now_ms,
		       struct err *err)
{
	uint64_t from, to;
	int r = parse_number(&(struct number){"to", text->to, 1, MAX_MS, (uint64_t)now_ms}, &to,
			     err);

	if (r < 0)
		return r;
	r = parse_number(&(struct number){"from", text->from, 0, MAX_MS,
					  to > DEFAULT_RANGE_MS ? to - DEFAULT_RANGE_MS : 0},
			 &from, err);
	if (r < 0)
		return r;
	if (from >= to)
		return err_set(err, -EINVAL, "from is not before to");
	if ((int64_t)(to - from) > MAX_RANGE_MS)
		return err_set(err, -EINVAL, "the range is longer than 366 days");
	p->filter.from_ns = (int64_t)from * (int64_t)NS_PER_MS;
	p->filter.to_ns = (int64_t)to * (int64_t)NS_PER_MS;
	return 0;
}

int web_params_parse(struct query_request *ret, const struct web_params_text *text,
		     enum web_params_need need, int64_t now_ms, struct err *err)
{
	struct query_request p = {
		.filter = {.service = text->service,
			   .type = text->type,
			   .instance = text->instance},
	};
	uint64_t n_points = 0, max_nodes = 0;
	int r = parse_range(&p, text, now_ms, err);

	if (r == 0 && need == WEB_PARAMS_SERVICE_TYPE && (!text->service || !text->service[0]))
		return err_set(err, -EINVAL, "service is missing");
	if (r == 0 && need == WEB_PARAMS_SERVICE_TYPE && (!text->type || !text->type[0]))
		return err_set(err, -EINVAL, "type is missing");
	if (r == 0)
		r = parse_number(&(struct number){"points", text->points, 1, 5000, 300}, &n_points,
				 err);
	if (r == 0)
		r = parse_number(&(struct number){"maxNodes", text->max_nodes, 1, 200000, 20000},
				 &max_nodes, err);
	if (r < 0)
		return r;
	p.n_points = (uint32_t)n_points;
	p.max_nodes = (uint32_t)max_nodes;
	*ret = p;
	return 0;
}
