#include "cluster-agent/pyroscope/querier_call.h"

#include <errno.h>

#include "cluster-agent/pyroscope/flame_levels.h"
#include "cluster-agent/query/read/timeline_groups.h"
#include "common/system/clock.h"
#include "proto/querier.pb-c.h"

/* The year 2200, as in web_params.c. */
#define MAX_MS INT64_C(7258118400000)
#define DAY_MS (INT64_C(86400) * 1000)
#define MAX_RANGE_MS (366 * DAY_MS)

int querier_range(const struct querier_call *c, int64_t start_ms, int64_t end_ms,
		  struct query_filter *ret, struct err *err)
{
	int64_t end = end_ms != 0 ? end_ms : c->now_ms;
	int64_t start = start_ms != 0 ? start_ms : end - DAY_MS;

	*ret = (struct query_filter){
		.ticket = c->ticket, .stacks = c->stacks, .symbols = c->symbols};
	if (start < 0 || end > MAX_MS)
		return err_set(err, -EINVAL, "start and end are not ms since the epoch");
	if (start >= end)
		return err_set(err, -EINVAL, "start is not before end");
	if (end - start > MAX_RANGE_MS)
		return err_set(err, -EINVAL, "the range is longer than 366 days");
	ret->from_ns = start * (int64_t)NS_PER_MS;
	ret->to_ns = end * (int64_t)NS_PER_MS;
	return 0;
}

void *querier_alloc(struct querier_call *c, size_t n, size_t size, int *ret_r)
{
	/* an empty array is no failure */
	void *p = arena_calloc(&c->arena, n > 0 ? n : 1, size);

	if (!p)
		*ret_r = arena_error(&c->arena, n * size);
	return p;
}

int querier_text(struct querier_call *c, const char *text, size_t len, char **ret)
{
	*ret = flame_levels_text(&c->arena, text, len);
	return *ret ? 0 : arena_error(&c->arena, len + 1);
}

int querier_label(struct querier_call *c, const char *name, const struct series_value *value,
		  Querier__V1__LabelPair **ret)
{
	int r = 0;
	Querier__V1__LabelPair *pair = querier_alloc(c, 1, sizeof(*pair), &r);

	if (!pair)
		return r;
	querier__v1__label_pair__init(pair);
	r = querier_text(c, name, strlen(name), &pair->name);
	if (r == 0)
		r = querier_text(c, value->text, value->len, &pair->value);
	*ret = pair;
	return r;
}

int querier_group_labels(struct querier_call *c, const char *const *names, size_t n,
			 const struct series_value *values, Querier__V1__LabelPair ***ret)
{
	const char *text = values->text, *end = text + values->len;
	int r = 0, n_labels = 0;
	Querier__V1__LabelPair **labels = querier_alloc(c, n, sizeof(*labels), &r);

	if (!labels)
		return r;
	for (size_t i = 0; r == 0 && i < n; i++) {
		const char *stop =
			i + 1 < n ? memchr(text, TIMELINE_SEPARATOR, (size_t)(end - text)) : NULL;
		struct series_value value = {text, (size_t)((stop ? stop : end) - text)};

		if (value.len > 0)
			r = querier_label(c, names[i], &value, &labels[n_labels++]);
		text = stop ? stop + 1 : end;
	}
	if (r < 0)
		return r;
	*ret = labels;
	return n_labels;
}

int querier_select(struct querier_call *c, const struct querier_selection_request *request,
		   struct querier_selection *ret, struct err *err)
{
	int r = querier_range(c, request->start_ms, request->end_ms, &ret->range, err);

	if (r < 0)
		return r;
	r = series_selector_parse(&ret->selector, request->selector, err);
	if (r < 0)
		return r;
	if (profile_id_types(&ret->types, request->type_id) < 0)
		return err_set(err, -EINVAL,
			       "the profile type is not of the form name:type:unit:period:unit");
	return series_select(c->store, &ret->range, &ret->selector, &ret->types, &ret->found, err);
}

void querier_selection_fini(struct querier_selection *s)
{
	series_selection_fini(&s->found);
}
