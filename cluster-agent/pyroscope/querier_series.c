/*
 * Time series. Values are those of our own timelines: of what adds up, the rate of a step times its
 * length, so that a client that divides by the length, as Grafana does, shows the rate; of a level,
 * its mean. A step that no profile covers has no point. As in Pyroscope, a point has the time at
 * which its step ends.
 *
 * An id may stand for several types, of different services (series_query.h), whose timelines add up
 * here.
 */
#include <errno.h>
#include <math.h>

#include "cluster-agent/pyroscope/querier_methods.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/timeline_groups.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "common/data/intern.h"
#include "common/system/clock.h"
#include "proto/querier.pb-c.h"

#define MAX_STEPS 11000u
#define MAX_POINTS 1000000u
#define DEFAULT_STEPS 300u
#define MAX_NAMES_BYTES ((size_t)4 << 20)

struct group {
	double *values; /* by step; NAN where nothing is covered; NULL: no such group */
	double total;
	uint32_t id; /* of the name */
};

struct work {
	struct querier_call *call;
	const Querier__V1__SelectSeriesRequest *in;
	struct query_filter range;
	int64_t step_ms;
	uint32_t n_steps;
	uint32_t max_groups;
	double scale;         /* of values of the item that is read */
	struct intern *names; /* of groups; ids are indexes of groups */
	struct group *groups;
	struct timeline_step *steps;
};

static void work_fini(struct work *w)
{
	intern_free(w->names);
}

static int set_steps(struct work *w, struct err *err)
{
	int64_t range_ms = (w->range.to_ns - w->range.from_ns) / (int64_t)NS_PER_MS;
	double step_ms = w->in->step * 1000;

	if (!(step_ms >= 1))
		w->step_ms = timeline_step_ms(range_ms, DEFAULT_STEPS);
	else
		w->step_ms = step_ms < (double)range_ms ? llround(step_ms) : range_ms;
	if ((range_ms + w->step_ms - 1) / w->step_ms > MAX_STEPS)
		return err_set(err, -EINVAL, "more than %u steps: ask for a longer step",
			       MAX_STEPS);
	w->n_steps = (uint32_t)((range_ms + w->step_ms - 1) / w->step_ms);
	w->max_groups = MAX_POINTS / w->n_steps;
	if (w->max_groups > TIMELINE_MOST_GROUPS)
		w->max_groups = TIMELINE_MOST_GROUPS;
	if (w->in->limit > 0 && w->in->limit < w->max_groups)
		w->max_groups = (uint32_t)w->in->limit;
	return 0;
}

static int alloc(struct work *w)
{
	int r = intern_new(&w->names, MAX_NAMES_BYTES);

	if (r < 0)
		return r;
	/* each item has at most max_groups and one for all others; text 0 is always there */
	w->groups = querier_alloc(w->call, (w->max_groups + 1) * PROFILE_ID_MAX_TYPES + 1,
				  sizeof(*w->groups), &r);
	if (r < 0)
		return r;
	w->steps = querier_alloc(w->call, w->n_steps, sizeof(*w->steps), &r);
	return r;
}

/* Adds values to the group of this name, which is made if there is none. */
static int add_values(struct work *w, const char *name, size_t len, const double *values)
{
	struct group *g;
	uint32_t id;
	int r = intern_add(w->names, name, len, &id);

	if (r < 0)
		return r;
	g = &w->groups[id];
	if (!g->values) {
		g->id = id;
		g->values = querier_alloc(w->call, w->n_steps, sizeof(*g->values), &r);
		if (!g->values)
			return r;
		for (uint32_t i = 0; i < w->n_steps; i++)
			g->values[i] = NAN;
	}
	for (uint32_t i = 0; i < w->n_steps; i++) {
		double v = values[i] * w->scale;

		if (isnan(v))
			continue;
		g->values[i] = isnan(g->values[i]) ? v : g->values[i] + v;
		g->total += v;
	}
	return 0;
}

static int add_group(void *ctx, const struct timeline_group *g)
{
	static const char other[] = "other";
	struct work *w = ctx;
	char name[TIMELINE_MOST_LABELS * sizeof(other)];
	size_t len = 0;

	if (g->name)
		return add_values(w, g->name, strlen(g->name), g->values);
	if (w->in->limit > 0)
		return 0; /* only the largest were asked for */
	for (size_t i = 0; i < w->in->n_group_by; i++) {
		memcpy(name + len, other, sizeof(other));
		len += sizeof(other);
		name[len - 1] = TIMELINE_SEPARATOR;
	}
	return add_values(w, name, len - 1, g->values);
}

/* Asks for one type. */
static int add_item(struct work *w, const struct query_filter *f, struct err *err)
{
	bool sum = profile_type_get(f->type)->aggregation == PROFILE_AGGREGATION_SUM;
	struct timeline t = {
		.from_ns = f->from_ns,
		.step_ns = w->step_ms * (int64_t)NS_PER_MS,
		.n_steps = w->n_steps,
		.aggregation = profile_type_get(f->type)->aggregation,
		.steps = w->steps,
	};
	const struct timeline_by by = {
		.labels = (const char *const *)w->in->group_by,
		.n_labels = w->in->n_group_by,
		.max_groups = w->max_groups,
		.all = &t,
		.divisor = 1,
	};
	AUTO_FREE double *values = calloc(w->n_steps, sizeof(*values));
	int r = values ? timeline_query(w->call->store, f, &t, err) : -ENOMEM;

	if (r < 0)
		return r;
	w->scale = sum ? (double)w->step_ms / 1000 : 1;
	if (w->in->n_group_by > 0)
		return timeline_groups_query(w->call->store, f, &by, add_group, w, err);
	for (uint32_t i = 0; i < w->n_steps; i++)
		values[i] = t.steps[i].value;
	return add_values(w, "", 0, values);
}

/* ---- the answer ---- */

static int by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (!x->values != !y->values)
		return x->values ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int add_points(struct work *w, const double *values, Querier__V1__Series *to)
{
	int64_t from_ms = w->range.from_ns / (int64_t)NS_PER_MS;
	int64_t to_ms = w->range.to_ns / (int64_t)NS_PER_MS;
	int r = 0;
	Querier__V1__Point *points = querier_alloc(w->call, w->n_steps, sizeof(*points), &r);

	if (r == 0)
		to->points = querier_alloc(w->call, w->n_steps, sizeof(*to->points), &r);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < w->n_steps; i++) {
		Querier__V1__Point *p = &points[to->n_points];
		int64_t end_ms = from_ms + (i + 1) * w->step_ms;

		if (isnan(values[i]))
			continue;
		querier__v1__point__init(p);
		p->timestamp = end_ms < to_ms ? end_ms : to_ms;
		p->value = values[i];
		to->points[to->n_points++] = p;
	}
	return 0;
}

static int add_series(struct work *w, const struct group *g, Querier__V1__Series **ret)
{
	int r = 0;
	struct series_value name;
	Querier__V1__Series *s = querier_alloc(w->call, 1, sizeof(*s), &r);

	if (!s)
		return r;
	querier__v1__series__init(s);
	name.text = intern_get(w->names, g->id, &name.len);
	r = querier_group_labels(w->call, (const char *const *)w->in->group_by, w->in->n_group_by,
				 &name, &s->labels);
	if (r > 0)
		s->n_labels = (size_t)r;
	if (r >= 0)
		r = add_points(w, g->values, s);
	*ret = s;
	return r;
}

static int make_answer(struct work *w, ProtobufCMessage **ret)
{
	uint32_t n = intern_count(w->names);
	int r = 0;
	Querier__V1__SelectSeriesResponse *out = querier_alloc(w->call, 1, sizeof(*out), &r);

	if (!out)
		return r;
	querier__v1__select_series_response__init(out);
	qsort(w->groups, n, sizeof(*w->groups), by_total);
	while (n > 0 && !w->groups[n - 1].values)
		n--;
	if (n > w->max_groups + 1)
		n = w->max_groups + 1;
	if (w->in->limit > 0 && n > w->in->limit)
		n = (uint32_t)w->in->limit;
	out->series = querier_alloc(w->call, n, sizeof(*out->series), &r);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = add_series(w, &w->groups[i], &out->series[out->n_series++]);
	*ret = &out->base;
	return r;
}

static int select_series(struct work *w, struct err *err)
{
	const Querier__V1__SelectSeriesRequest *in = w->in;
	const struct querier_selection_request request = {in->profile_typeid, in->label_selector,
							  in->start, in->end};
	AUTO_FREE struct querier_selection *s = calloc(1, sizeof(*s));
	int r = s ? querier_range(w->call, in->start, in->end, &w->range, err) : -ENOMEM;

	if (r == 0)
		r = set_steps(w, err);
	if (r == 0)
		r = alloc(w);
	if (r < 0)
		return r;
	r = querier_select(w->call, &request, s, err);
	for (size_t i = 0; r == 0 && i < s->found.n_items; i++)
		r = add_item(w, &s->found.items[i], err);
	querier_selection_fini(s);
	return r;
}

int querier_select_series(struct querier_call *c, const ProtobufCMessage *request,
			  ProtobufCMessage **ret, struct err *err)
{
	CLEANUP(work_fini) struct work w = {.call = c, .in = (const void *)request};
	const Querier__V1__StackTraceSelector *stacks = w.in->stack_trace_selector;
	int r;

	if (stacks && stacks->n_call_site > 0)
		return err_set(err, -ENOSYS, "series of call sites are not served");
	r = select_series(&w, err);
	return r == 0 ? make_answer(&w, ret) : r;
}
