#include "cluster-agent/query/profile_query.h"

#include <errno.h>

#include "cluster-agent/query/flame_json.h"
#include "cluster-agent/query/read/profile_length.h"
#include "cluster-agent/query/read/profile_source.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/side_rate.h"
#include "cluster-agent/query/read/stack_query.h"
#include "cluster-agent/query/read/timeline_groups.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/query/read/timeline_tail.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"

#define MAX_FUNCTIONS 50000u

int profile_query_types(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err)
{
	struct json_writer w;
	size_t n;
	const struct profile_type *types = profile_types(&n);

	(void)store;
	(void)p;
	(void)err;
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_key(&w, "types");
	json_open(&w, '[');
	for (size_t i = 0; i < n; i++) {
		bool sum = types[i].aggregation == PROFILE_AGGREGATION_SUM;

		json_open(&w, '{');
		json_member_text(&w, "type", types[i].type);
		json_member_text(&w, "title", types[i].title);
		json_member_text(&w, "category", types[i].category);
		json_member_text(&w, "aggregation", sum ? "sum" : "avg");
		json_member_text(&w, "unit", profile_type_unit(types[i].type));
		json_member_text(&w, "language", profile_type_language(types[i].type));
		json_key(&w, "featured");
		json_put_bool(&w, types[i].featured);
		json_key(&w, "nodeAgent");
		json_put_bool(&w, types[i].node_agent);
		json_close(&w, '}');
	}
	json_close(&w, ']');
	json_close(&w, '}');
	return json_writer_finish(&w);
}

/* The unit of a type's rate, and the divisor that converts values per second to it. */
struct rate {
	const char *unit;
	double divisor;
};

static struct rate rate_of(const char *type)
{
	const struct profile_type *known = profile_type_get(type);
	const char *unit = profile_type_unit(type);

	if (known->aggregation != PROFILE_AGGREGATION_SUM || strcmp(unit, "nanoseconds") != 0)
		return (struct rate){unit, 1};
	/* waiting time of any number of threads; only CPU time divided by time is cores */
	if (strcmp(known->category, "cpu") != 0)
		return (struct rate){"seconds per second", (double)NS_PER_S};
	return (struct rate){"cores", (double)NS_PER_S};
}

static void put_steps(struct json_writer *w, const struct timeline *t, double divisor)
{
	json_key(w, "startMs");
	json_put_int(w, t->from_ns / (int64_t)NS_PER_MS);
	json_key(w, "stepMs");
	json_put_int(w, t->step_ns / (int64_t)NS_PER_MS);
	json_key(w, "values");
	json_open(w, '[');
	for (uint32_t i = 0; i < t->n_steps; i++)
		json_put_double(w, t->steps[i].value / divisor);
	json_close(w, ']');
}

/* Writes the id in the form of the parameter "instance". */
static int put_instance(struct json_writer *w, const struct timeline_instance *i, bool with_host,
			double divisor)
{
	CLEANUP(buf_fini) struct buf id;
	int r;

	buf_init(&id, i->id_len + i->host_len + 1);
	r = buf_add(&id, i->id, i->id_len);
	if (r == 0 && with_host)
		r = buf_add(&id, "@", 1);
	if (r == 0 && with_host)
		r = buf_add(&id, i->host, i->host_len);
	if (r < 0)
		return r;
	json_open(w, '{');
	json_key(w, "id");
	json_put_string(w, id.data, id.len);
	json_key(w, "value");
	json_put_double(w, i->value / divisor);
	json_close(w, '}');
	return 0;
}

/* Also determines the form of the ids of instances. */
static int put_instances(struct json_writer *w, struct store *store, const struct query_filter *f,
			 struct timeline_by *by, struct err *err)
{
	struct timeline_instances is;
	int r = timeline_query_instances(store, f, by->all, &is, err);

	if (r < 0)
		return r;
	json_key(w, "instances");
	json_open(w, '[');
	for (size_t i = 0; r == 0 && i < is.n_items; i++)
		r = put_instance(w, &is.items[i], is.has_hosts, by->divisor);
	json_close(w, ']');
	by->with_host = is.has_hosts;
	timeline_instances_fini(&is);
	return r;
}

static int put_complete(struct json_writer *w, struct store *store, const struct query_filter *f,
			struct err *err)
{
	int64_t complete_ns;
	int r = timeline_query_complete(store, f, &complete_ns, err);

	if (r == 0 && complete_ns > 0)
		json_member_int(w, "completeTo", complete_ns / (int64_t)NS_PER_MS);
	return r;
}

static int put_series(struct json_writer *w, struct timeline_groups *groups, struct err *err)
{
	int r;

	json_key(w, "series");
	json_open(w, '[');
	r = timeline_groups_write(w, groups, err);
	json_close(w, ']');
	return r;
}

/* What a timeline is asked with beside its filter. */
struct timeline_form {
	const char *label;  /* of its series; NULL or "": none */
	uint32_t n_series;  /* at most; 0: as many as people can tell apart */
	uint32_t n_points;  /* steps, at most */
	bool has_instances; /* list them, too */
	double profile_ns;  /* profile_length_query(), 0 if nobody asked */
};

static int write_timeline(struct json_writer *w, struct store *store, const struct query_filter *f,
			  const struct timeline_form *form, struct err *err)
{
	AUTO_FREE struct timeline_step *steps = NULL;
	CLEANUP(timeline_groups_freep) struct timeline_groups *groups = NULL;
	struct timeline t = {.aggregation = profile_type_get(f->type)->aggregation};
	struct rate rate = rate_of(f->type);
	struct timeline_by by = {.label = form->label,
				 .max_groups = form->n_series,
				 .all = &t,
				 .divisor = rate.divisor};
	int r;

	timeline_set_steps(&t, f->from_ns, f->to_ns, form->n_points);
	t.steps = steps = calloc(t.n_steps, sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	r = form->label && form->label[0] ? timeline_groups_open(&groups, store, f, &by, &t, err)
					  : timeline_query(store, f, &t, err);
	if (r < 0)
		return r;
	json_open(w, '{');
	put_steps(w, &t, rate.divisor);
	json_member_text(w, "unit", rate.unit);
	if (form->profile_ns > 0) {
		json_key(w, "profileMs");
		json_put_double(w, form->profile_ns / NS_PER_MS);
	}
	r = put_complete(w, store, f, err);
	if (r == 0 && form->has_instances)
		r = put_instances(w, store, f, &by, err);
	if (r == 0 && groups)
		r = put_series(w, groups, err);
	json_close(w, '}');
	return r;
}

static int answer_timeline(struct store *store, const struct query_filter *f,
			   const struct timeline_form *form, struct buf *out, struct err *err)
{
	struct json_writer w;
	int r;

	json_writer_init(&w, out);
	r = write_timeline(&w, store, f, form, err);
	return r < 0 ? r : json_writer_finish(&w);
}

int profile_query_timeline(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err)
{
	CLEANUP(profile_source_fini) struct profile_source source = {0};
	struct query_filter f = p->filter;
	const struct timeline_form form = {
		.label = p->label, .n_points = p->n_points, .has_instances = true};

	f.source = &source;
	return answer_timeline(store, &f, &form, out, err);
}

/* A step of so much is longer than a profile, whose length is then not asked for. */
#define LONG_STEP_NS (INT64_C(600) * (int64_t)NS_PER_S)
/* Profiles of a minute begin a little more than a minute apart. */
#define LEAST_SHARE_OF_PROFILE 0.95

/* Makes steps long enough for profiles to say what was used in each. */
static int fit_points(struct store *store, const struct query_filter *f, struct timeline_form *form,
		      struct err *err)
{
	const double range_ns = (double)(f->to_ns - f->from_ns);
	double most;
	int r;

	if (range_ns / form->n_points >= (double)LONG_STEP_NS)
		return 0;
	r = profile_length_query(store, f, &form->profile_ns, err);
	if (r < 0 || !(form->profile_ns > 0))
		return r;
	most = range_ns / (form->profile_ns * LEAST_SHARE_OF_PROFILE);
	if (most < form->n_points)
		form->n_points = most > 1 ? (uint32_t)most : 1;
	return 0;
}

int profile_query_heatmap(struct store *store, const struct query_request *p, struct buf *out,
			  struct err *err)
{
	CLEANUP(profile_source_fini) struct profile_source source = {0};
	struct query_filter f = p->filter;
	struct timeline_form form = {
		.label = p->label && p->label[0] ? p->label : QUERY_FILTER_INSTANCE,
		.n_series = p->limit,
		.n_points = p->n_points,
	};
	int r;

	f.source = &source;
	/* ids of instances may need their hosts, which the list of instances knows */
	form.has_instances = strcmp(form.label, QUERY_FILTER_INSTANCE) == 0;
	r = fit_points(store, &f, &form, err);
	return r == 0 ? answer_timeline(store, &f, &form, out, err) : r;
}

static int add_to_tree(void *ctx, const struct flame_frame *frames, size_t n_frames,
		       struct stack_value value)
{
	return flame_tree_add(ctx, frames, n_frames, value);
}

/* What the side used per second of the range that its stacks are of. */
static int query_rate(struct store *store, const struct query_filter *side,
		      const struct stack_range *range, struct timeline_rate *ret, struct err *err)
{
	struct query_filter f = *side;

	f.from_ns = range->from_ns;
	f.to_ns = range->to_ns;
	return side_rate_query(store, &f, ret, err);
}

int profile_query_flamegraph(struct store *store, const struct query_request *p, struct buf *out,
			     struct err *err)
{
	CLEANUP(flame_tree_freep) struct flame_tree *tree = NULL;
	CLEANUP(flame_view_fini) struct flame_view view = {0};
	const struct flame_view_limits limits = {
		.max_nodes = p->max_nodes, .max_functions = MAX_FUNCTIONS, .zoom = p->zoom};
	const struct query_filter *base = p->has_base ? &p->base : NULL;
	struct flame_json_sides sides = {
		.filter = &p->filter, .base = base, .columns = p->format == QUERY_FORMAT_COLUMNS};
	struct stack_query_result stacks = {0};
	int r = flame_tree_new(&tree, NULL);

	if (r == 0)
		r = stack_query(store, (struct query_sides){&p->filter, base}, add_to_tree, tree,
				&stacks, err);
	if (r == 0 && base)
		r = query_rate(store, &p->filter, &stacks.ranges[0], &sides.rate, err);
	if (r == 0 && base)
		r = query_rate(store, base, &stacks.ranges[1], &sides.base_rate, err);
	if (r < 0)
		return r;
	flame_tree_add_other(tree, stacks.n_stacks_cut, stacks.cut);
	r = flame_tree_view(tree, &limits, &view);
	return r == 0 ? flame_json_write(out, &sides, &view, &stacks) : r;
}

int profile_query_ready(struct store *store, const struct query_request *p, struct buf *out,
			struct err *err)
{
	(void)p;
	if (store_ping(store) < 0)
		return err_set(err, -EIO, "the store does not answer");
	return buf_add(out, "ready\n", 6);
}
