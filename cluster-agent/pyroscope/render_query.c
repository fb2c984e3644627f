#include "cluster-agent/pyroscope/render_query.h"

#include <errno.h>
#include <math.h>

#include "cluster-agent/pyroscope/querier_methods.h"
#include "cluster-agent/pyroscope/render_params.h"
#include "cluster-agent/query/read/label_sql.h"
#include "common/text/json_writer.h"
#include "common/text/parse.h"
#include "proto/querier.pb-c.h"

#define MAX_NODES 200000u
#define TIMELINE_STEPS 300

struct params {
	render_param_fn get;
	void *ctx;
	int64_t now_ms;
};

/* One side of a request, with the names of its parameters. */
struct side {
	const char *query, *from, *until;
	struct render_query parsed;
	Querier__V1__SelectMergeStacktracesRequest request;
};

static int parse_time(const struct params *p, const char *name, const char *if_absent, int64_t *ret,
		      struct err *err)
{
	const char *text = p->get(p->ctx, name);

	if (render_time_parse(text[0] ? text : if_absent, p->now_ms, ret) < 0)
		return err_set(err, -EINVAL, "%s is not a time", name);
	/* in the message, 0 stands for a time that is absent; here it is 1970 */
	if (*ret == 0)
		*ret = 1;
	return 0;
}

static int64_t max_nodes(const struct params *p)
{
	const char *text = p->get(p->ctx, "maxNodes");
	uint64_t n;

	text = text[0] ? text : p->get(p->ctx, "max-nodes");
	return parse_u64(text, strlen(text), 0, MAX_NODES, &n) < 0 ? 0 : (int64_t)n;
}

/* Texts of protobuf-c are not const, although it only reads them. */
static void set_text(char **to, const char *text)
{
	memcpy(to, &text, sizeof(text));
}

static int parse_side(const struct params *p, struct side *s, struct err *err)
{
	const char *text = p->get(p->ctx, s->query);
	int r = text[0] ? render_query_parse(&s->parsed, text, err)
			: err_set(err, -EINVAL, "%s is missing", s->query);

	querier__v1__select_merge_stacktraces_request__init(&s->request);
	if (r == 0)
		r = parse_time(p, s->from, "now-1h", &s->request.start, err);
	if (r == 0)
		r = parse_time(p, s->until, "now", &s->request.end, err);
	if (r < 0)
		return r;
	s->request.profile_typeid = s->parsed.type_id;
	set_text(&s->request.label_selector, s->parsed.selector);
	s->request.max_nodes = max_nodes(p);
	return 0;
}

/* ---- JSON ---- */

/* Pyroscope's name of a type's unit, and the divisor that converts values to seconds. */
struct units {
	const char *name;
	int64_t rate;
};

static struct units units_of(const char *type_id)
{
	const char *name, *unit;
	size_t name_len, unit_len;

	profile_id_part(type_id, 1, &name, &name_len);
	profile_id_part(type_id, 2, &unit, &unit_len);
	if (strncmp(unit, "bytes", unit_len) == 0)
		return (struct units){"bytes", 100};
	if (strncmp(name, "delay", name_len) == 0)
		return (struct units){"lock_nanoseconds", 100};
	if (strncmp(name, "contentions", name_len) == 0)
		return (struct units){"lock_samples", 100};
	if (strncmp(name, "goroutine", name_len) == 0)
		return (struct units){"goroutines", 100};
	return strncmp(unit, "nanoseconds", unit_len) == 0 ? (struct units){"samples", 1000000000}
							   : (struct units){"objects", 100};
}

static void put_levels(struct json_writer *w, Querier__V1__Level *const *levels, size_t n)
{
	json_key(w, "levels");
	json_open(w, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(w, '[');
		for (size_t k = 0; k < levels[i]->n_values; k++)
			json_put_int(w, levels[i]->values[k]);
		json_close(w, ']');
	}
	json_close(w, ']');
}

static void put_names(struct json_writer *w, char *const *names, size_t n)
{
	json_key(w, "names");
	json_open(w, '[');
	for (size_t i = 0; i < n; i++)
		json_put_string(w, names[i], strlen(names[i]));
	json_close(w, ']');
}

/* The parts that a comparison has as well; g may be one without bars. */
static void put_graph(struct json_writer *w, const Querier__V1__FlameGraph *g, const char *format,
		      const char *type_id)
{
	struct units units = units_of(type_id);
	const char *name;
	size_t len;

	json_member_int(w, "version", 1);
	json_key(w, "flamebearer");
	json_open(w, '{');
	put_names(w, g->names, g->n_names);
	put_levels(w, g->levels, g->n_levels);
	json_member_int(w, "numTicks", g->total);
	json_member_int(w, "maxSelf", g->max_self);
	json_close(w, '}');
	profile_id_part(type_id, 1, &name, &len);
	json_key(w, "metadata");
	json_open(w, '{');
	json_member_text(w, "format", format);
	json_member_text(w, "spyName", "");
	json_member_int(w, "sampleRate", units.rate);
	json_member_text(w, "units", units.name);
	json_key(w, "name");
	json_put_string(w, name, len);
	json_close(w, '}');
}

/* Steps without a point are 0. */
static void put_timeline(struct json_writer *w, const Querier__V1__SelectSeriesRequest *in,
			 const Querier__V1__SelectSeriesResponse *series)
{
	int64_t step_ms = (int64_t)(in->step * 1000);
	size_t next = 0, n = series->n_series > 0 ? series->series[0]->n_points : 0;

	json_key(w, "timeline");
	json_open(w, '{');
	json_member_int(w, "startTime", in->start / 1000);
	json_member_int(w, "durationDelta", step_ms / 1000);
	json_key(w, "samples");
	json_open(w, '[');
	for (int64_t at = in->start; at < in->end; at += step_ms) {
		double v = 0;

		if (next < n && series->series[0]->points[next]->timestamp <= at + step_ms)
			v = series->series[0]->points[next++]->value;
		json_put_int(w, v < 9e18 ? (int64_t)llround(v) : INT64_MAX);
	}
	json_close(w, ']');
	json_close(w, '}');
}

/* ---- endpoints ---- */

static int ask_series(struct querier_call *c, const struct side *s,
		      Querier__V1__SelectSeriesRequest *in, Querier__V1__SelectSeriesResponse **ret,
		      struct err *err)
{
	int64_t range_s = (s->request.end - s->request.start) / 1000;
	ProtobufCMessage *answer = NULL;
	int r;

	in->profile_typeid = s->request.profile_typeid;
	in->label_selector = s->request.label_selector;
	in->start = s->request.start;
	in->end = s->request.end;
	in->step = (double)(range_s / TIMELINE_STEPS > 0 ? range_s / TIMELINE_STEPS : 1);
	r = querier_select_series(c, &in->base, &answer, err);
	*ret = (Querier__V1__SelectSeriesResponse *)answer;
	return r;
}

static int render(struct querier_call *c, render_param_fn param, void *ctx, struct buf *out,
		  struct err *err)
{
	const struct params p = {param, ctx, c->now_ms};
	struct side s = {.query = "query", .from = "from", .until = "until"};
	const char *format = param(ctx, "format");
	Querier__V1__FlameGraph none = QUERIER__V1__FLAME_GRAPH__INIT, *graph;
	Querier__V1__SelectSeriesRequest in;
	Querier__V1__SelectSeriesResponse *series = NULL;
	ProtobufCMessage *answer = NULL;
	struct json_writer w;
	int r = parse_side(&p, &s, err);

	querier__v1__select_series_request__init(&in);
	if (r == 0 && format[0] && strcmp(format, "json") != 0)
		r = err_set(err, -EINVAL, "format is not json");
	if (r == 0)
		r = querier_select_stacktraces(c, &s.request.base, &answer, err);
	if (r == 0)
		r = ask_series(c, &s, &in, &series, err);
	if (r < 0 || !answer || !series)
		return r;
	graph = ((Querier__V1__SelectMergeStacktracesResponse *)answer)->flamegraph;
	json_writer_init(&w, out);
	json_open(&w, '{');
	put_graph(&w, graph ? graph : &none, "single", s.parsed.type_id);
	put_timeline(&w, &in, series);
	json_close(&w, '}');
	return json_writer_finish(&w);
}

static int render_diff(struct querier_call *c, render_param_fn param, void *ctx, struct buf *out,
		       struct err *err)
{
	const struct params p = {param, ctx, c->now_ms};
	struct side left = {.query = "leftQuery", .from = "leftFrom", .until = "leftUntil"};
	struct side right = {.query = "rightQuery", .from = "rightFrom", .until = "rightUntil"};
	Querier__V1__DiffRequest in = QUERIER__V1__DIFF_REQUEST__INIT;
	Querier__V1__FlameGraph graph = QUERIER__V1__FLAME_GRAPH__INIT;
	const Querier__V1__FlameGraphDiff *diff;
	ProtobufCMessage *answer = NULL;
	struct json_writer w;
	int r = parse_side(&p, &left, err);

	if (r == 0)
		r = parse_side(&p, &right, err);
	if (r < 0)
		return r;
	in.left = &left.request;
	in.right = &right.request;
	r = querier_diff(c, &in.base, &answer, err);
	if (r < 0 || !answer)
		return r;
	diff = ((Querier__V1__DiffResponse *)answer)->flamegraph;
	graph.names = diff->names;
	graph.n_names = diff->n_names;
	graph.levels = diff->levels;
	graph.n_levels = diff->n_levels;
	graph.total = diff->total;
	graph.max_self = diff->max_self;
	json_writer_init(&w, out);
	json_open(&w, '{');
	put_graph(&w, &graph, "double", left.parsed.type_id);
	json_member_int(&w, "leftTicks", diff->leftticks);
	json_member_int(&w, "rightTicks", diff->rightticks);
	json_close(&w, '}');
	return json_writer_finish(&w);
}

/* ?label=…; "__name__" are profile types, as in Pyroscope. */
static int label_values(struct querier_call *c, render_param_fn param, void *ctx, struct buf *out,
			struct err *err)
{
	Querier__V1__LabelValuesRequest in;
	const Querier__V1__NamesResponse *names;
	const char *label = param(ctx, "label");
	ProtobufCMessage *answer = NULL;
	struct json_writer w;
	int r;

	querier__v1__label_values_request__init(&in);
	set_text(&in.name, strcmp(label, "__name__") == 0 ? LABEL_SQL_PROFILE_TYPE : label);
	r = querier_label_values(c, &in.base, &answer, err);
	if (r < 0 || !answer)
		return r;
	names = (const Querier__V1__NamesResponse *)answer;
	json_writer_init(&w, out);
	json_open(&w, '[');
	for (size_t i = 0; i < names->n_names; i++)
		json_put_string(&w, names->names[i], strlen(names->names[i]));
	json_close(&w, ']');
	return json_writer_finish(&w);
}

static const struct render_endpoint endpoints[] = {
	{"/pyroscope/render", render, true},
	{"/pyroscope/render-diff", render_diff, true},
	{"/pyroscope/label-values", label_values, false},
};

const struct render_endpoint *render_endpoint_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(endpoints); i++)
		if (strcmp(endpoints[i].path, path) == 0)
			return &endpoints[i];
	return NULL;
}
