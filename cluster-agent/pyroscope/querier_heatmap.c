/*
 * SelectHeatmap: how many profiles had how large a value, by time and by labels. All series have
 * the same buckets, between the smallest and the largest value of any. What is a profile in
 * Pyroscope is one here: of one instance, of the time between two uploads.
 *
 * Spans and single profiles have no ids here, so there are neither heatmaps of spans nor exemplars.
 */
#include <errno.h>
#include <math.h>

#include "cluster-agent/pyroscope/querier_methods.h"
#include "cluster-agent/query/read/timeline_groups.h"
#include "cluster-agent/query/read/value_counts.h"
#include "common/data/intern.h"
#include "common/system/clock.h"
#include "proto/querier.pb-c.h"

#define MAX_STEPS 11000u
/* of all series together; each has VALUE_COUNTS_BUCKETS numbers */
#define MAX_SLOTS 50000u
#define MAX_NAMES_BYTES ((size_t)4 << 20)

struct group {
	int32_t *counts; /* by step and bucket; NULL: no such group */
	double total;    /* of values */
	uint32_t id;     /* of the name */
};

struct work {
	struct querier_call *call;
	const Querier__V1__SelectHeatmapRequest *in;
	struct query_filter range;
	int64_t step_ms;
	struct value_counts_form form;
	struct intern *names; /* of groups; ids are indexes of groups */
	struct group *groups;
};

static void work_fini(struct work *w)
{
	intern_free(w->names);
}

static int set_form(struct work *w, struct err *err)
{
	int64_t range_ms = (w->range.to_ns - w->range.from_ns) / (int64_t)NS_PER_MS;
	double step_ms = w->in->step * 1000;
	uint32_t max_names;

	if (!(step_ms >= 1))
		return err_set(err, -EINVAL, "step is less than a millisecond");
	if (w->in->n_group_by > TIMELINE_MOST_LABELS)
		return err_set(err, -EINVAL, "more than %u labels to group by",
			       TIMELINE_MOST_LABELS);
	w->step_ms = step_ms < (double)range_ms ? llround(step_ms) : range_ms;
	if ((range_ms + w->step_ms - 1) / w->step_ms > MAX_STEPS)
		return err_set(err, -EINVAL, "more than %u steps: ask for a longer step",
			       MAX_STEPS);
	w->form.step_ns = w->step_ms * (int64_t)NS_PER_MS;
	w->form.n_steps = (uint32_t)((range_ms + w->step_ms - 1) / w->step_ms);
	w->form.labels = (const char *const *)w->in->group_by;
	w->form.n_labels = w->in->n_group_by;
	max_names = MAX_SLOTS / w->form.n_steps;
	if (max_names > TIMELINE_MOST_GROUPS)
		max_names = TIMELINE_MOST_GROUPS;
	w->form.max_names =
		w->in->limit > 0 && w->in->limit < max_names ? (uint32_t)w->in->limit : max_names;
	return 0;
}

static int add_count(void *ctx, const struct value_count *c)
{
	struct work *w = ctx;
	struct group *g;
	uint32_t id;
	int r = intern_add(w->names, c->name, c->name_len, &id);

	if (r < 0)
		return r;
	g = &w->groups[id];
	if (!g->counts) {
		g->id = id;
		g->counts = querier_alloc(w->call, (size_t)w->form.n_steps * VALUE_COUNTS_BUCKETS,
					  sizeof(*g->counts), &r);
		if (!g->counts)
			return r;
	}
	g->counts[(size_t)c->step * VALUE_COUNTS_BUCKETS + c->bucket] +=
		c->n < INT32_MAX ? (int32_t)c->n : INT32_MAX;
	g->total += c->sum;
	return 0;
}

static int count_profiles(struct work *w, const struct series_selection *found, struct err *err)
{
	struct value_bounds *b = &w->form.bounds;
	int r = 0;

	*b = (struct value_bounds){INFINITY, -INFINITY};
	for (size_t i = 0; r == 0 && i < found->n_items; i++)
		r = value_bounds_query(w->call->store, &found->items[i], b, err);
	if (r < 0 || b->least > b->most)
		return r;
	if (!(b->most > b->least))
		b->most = b->least + 1;
	for (size_t i = 0; r == 0 && i < found->n_items; i++)
		r = value_counts_query(w->call->store, &found->items[i], &w->form, add_count, w,
				       err);
	return r;
}

/* ---- the answer ---- */

static int by_total(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (!x->counts != !y->counts)
		return x->counts ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool is_empty(const int32_t *counts)
{
	for (size_t i = 0; i < VALUE_COUNTS_BUCKETS; i++)
		if (counts[i] != 0)
			return false;
	return true;
}

static int add_slots(struct work *w, int32_t *counts, double *y_min, Querier__V1__HeatmapSeries *to)
{
	int64_t from_ms = w->range.from_ns / (int64_t)NS_PER_MS;
	int r = 0;

	to->slots = querier_alloc(w->call, w->form.n_steps, sizeof(*to->slots), &r);
	for (uint32_t i = 0; r == 0 && i < w->form.n_steps; i++) {
		int32_t *own = counts + (size_t)i * VALUE_COUNTS_BUCKETS;
		Querier__V1__HeatmapSlot *s;

		if (is_empty(own))
			continue;
		s = querier_alloc(w->call, 1, sizeof(*s), &r);
		if (!s)
			break;
		querier__v1__heatmap_slot__init(s);
		s->timestamp = from_ms + (i + 1) * w->step_ms;
		s->y_min = y_min;
		s->counts = own;
		s->n_y_min = s->n_counts = VALUE_COUNTS_BUCKETS;
		to->slots[to->n_slots++] = s;
	}
	return r;
}

static int add_series(struct work *w, const struct group *g, double *y_min,
		      Querier__V1__HeatmapSeries **ret)
{
	int r = 0;
	struct series_value name;
	Querier__V1__HeatmapSeries *s = querier_alloc(w->call, 1, sizeof(*s), &r);

	if (!s)
		return r;
	querier__v1__heatmap_series__init(s);
	name.text = intern_get(w->names, g->id, &name.len);
	r = querier_group_labels(w->call, w->form.labels, w->form.n_labels, &name, &s->labels);
	if (r < 0)
		return r;
	s->n_labels = (size_t)r;
	*ret = s;
	return add_slots(w, g->counts, y_min, s);
}

static double *bucket_starts(struct work *w, int *ret_r)
{
	const struct value_bounds *b = &w->form.bounds;
	double *starts = querier_alloc(w->call, VALUE_COUNTS_BUCKETS, sizeof(*starts), ret_r);

	for (size_t i = 0; starts && i < VALUE_COUNTS_BUCKETS; i++)
		starts[i] = b->least + (b->most - b->least) / VALUE_COUNTS_BUCKETS * (double)i;
	return starts;
}

static int make_answer(struct work *w, ProtobufCMessage **ret)
{
	uint32_t n = intern_count(w->names);
	int r = 0;
	Querier__V1__SelectHeatmapResponse *out = querier_alloc(w->call, 1, sizeof(*out), &r);
	double *y_min = out ? bucket_starts(w, &r) : NULL;

	if (!y_min)
		return r;
	querier__v1__select_heatmap_response__init(out);
	qsort(w->groups, n, sizeof(*w->groups), by_total);
	while (n > 0 && !w->groups[n - 1].counts)
		n--;
	if (n > w->form.max_names)
		n = w->form.max_names;
	out->series = querier_alloc(w->call, n, sizeof(*out->series), &r);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = add_series(w, &w->groups[i], y_min, &out->series[out->n_series++]);
	*ret = &out->base;
	return r;
}

static int select_heatmap(struct work *w, struct err *err)
{
	const Querier__V1__SelectHeatmapRequest *in = w->in;
	const struct querier_selection_request request = {in->profile_typeid, in->label_selector,
							  in->start, in->end};
	AUTO_FREE struct querier_selection *s = calloc(1, sizeof(*s));
	int r = s ? querier_range(w->call, in->start, in->end, &w->range, err) : -ENOMEM;

	if (r == 0)
		r = set_form(w, err);
	if (r == 0)
		r = intern_new(&w->names, MAX_NAMES_BYTES);
	if (r < 0)
		return r;
	/* each item has at most max_names; text 0 is always there */
	w->groups = querier_alloc(w->call, w->form.max_names * PROFILE_ID_MAX_TYPES + 1,
				  sizeof(*w->groups), &r);
	if (r < 0)
		return r;
	r = querier_select(w->call, &request, s, err);
	if (r == 0 && in->query_type != QUERIER__V1__HEATMAP_QUERY_TYPE__HEATMAP_QUERY_TYPE_SPAN)
		r = count_profiles(w, &s->found, err);
	querier_selection_fini(s);
	return r;
}

int querier_select_heatmap(struct querier_call *c, const ProtobufCMessage *request,
			   ProtobufCMessage **ret, struct err *err)
{
	CLEANUP(work_fini) struct work w = {.call = c, .in = (const void *)request};
	int r = select_heatmap(&w, err);

	return r == 0 ? make_answer(&w, ret) : r;
}
