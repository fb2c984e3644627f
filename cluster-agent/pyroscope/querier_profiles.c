/*
 * Flame graphs, comparisons and pprofs. An id may stand for several types, of different services
 * (series_query.h); their stacks go into one tree. The sides of a comparison are read one after the
 * other, as each may have other types.
 */
#include <errno.h>

#include "cluster-agent/pyroscope/connect_message.h"
#include "cluster-agent/pyroscope/flame_levels.h"
#include "cluster-agent/pyroscope/querier_methods.h"
#include "cluster-agent/query/export/pprof_export.h"
#include "cluster-agent/query/read/side_rate.h"
#include "cluster-agent/query/read/stack_query.h"
#include "common/data/gzip.h"
#include "common/flame/flame_tree.h"
#include "common/flame/frame_text.h"
#include "proto/profile.pb-c.h"
#include "proto/querier.pb-c.h"

#define DEFAULT_NODES 16384u
#define MAX_NODES 200000u
#define MAX_PPROF_BYTES ((size_t)128 << 20)

static const struct flame_frame other = {.text = "other :0", .len = sizeof("other :0") - 1};

/* The destination of stacks: a tree or a pprof. */
struct sink {
	struct flame_tree *tree;
	struct pprof_export *pprof; /* NULL: the tree */
	const Querier__V1__StackTraceSelector *call_site;
	struct side_time time; /* that a pprof is of */
	bool is_base;
	bool has_any;
};

/* Whether the stack begins at its root with the names of the call site. */
static bool has_call_site(const Querier__V1__StackTraceSelector *s,
			  const struct flame_frame *frames, size_t n_frames)
{
	/* the root of a flame graph is no frame */
	size_t skip = s && s->n_call_site > 0 && strcmp(s->call_site[0]->name, "total") == 0;

	if (!s)
		return true;
	if (s->n_call_site - skip > n_frames)
		return false;
	for (size_t i = skip; i < s->n_call_site; i++) {
		const struct flame_frame *frame = &frames[n_frames - 1 - (i - skip)];
		const char *name = s->call_site[i]->name;
		struct frame_text parts;

		frame_text_split(&parts, frame->text, frame->len);
		if (strlen(name) != parts.name_len || memcmp(name, parts.name, parts.name_len) != 0)
			return false;
	}
	return true;
}

static int add_stack(void *ctx, const struct flame_frame *frames, size_t n_frames,
		     struct stack_value value)
{
	struct sink *s = ctx;
	struct stack_value v = s->is_base ? (struct stack_value){0, value.value} : value;

	if (!has_call_site(s->call_site, frames, n_frames))
		return 0;
	s->has_any = true;
	return s->pprof ? pprof_export_add(s->pprof, frames, n_frames, v)
			: flame_tree_add(s->tree, frames, n_frames, v);
}

/* The call site of stacks beyond the limit of the query is unknown. */
static int add_cut(struct sink *s, const struct stack_query_result *stacks)
{
	struct stack_value v =
		s->is_base ? (struct stack_value){0, stacks->cut.value} : stacks->cut;

	if (stacks->n_stacks_cut == 0 || s->call_site)
		return 0;
	s->has_any = true;
	if (s->pprof)
		return pprof_export_add(s->pprof, &other, 1, v);
	flame_tree_add_other(s->tree, stacks->n_stacks_cut, v);
	return 0;
}

static int add_selection(struct querier_call *c, const struct querier_selection *s,
			 struct sink *sink, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->found.n_items; i++) {
		struct stack_query_result stacks;

		r = stack_query(c->store, (struct query_sides){&s->found.items[i], NULL}, add_stack,
				sink, &stacks, err);
		if (r == 0)
			r = add_cut(sink, &stacks);
		if (r == 0 && sink->pprof)
			r = side_time_add(&sink->time, c->store, &s->found.items[i],
					  stacks.total.value, err);
	}
	return r;
}

/* Runs the queries and passes all stacks to the sink. */
static int read_stacks(struct querier_call *c, const struct querier_selection_request *request,
		       struct sink *sink, struct err *err)
{
	AUTO_FREE struct querier_selection *s = calloc(1, sizeof(*s));
	int r = s ? querier_select(c, request, s, err) : -ENOMEM;

	if (r == 0)
		r = add_selection(c, s, sink, err);
	if (s)
		querier_selection_fini(s);
	return r;
}

static const Querier__V1__StackTraceSelector *
call_site_of(const Querier__V1__StackTraceSelector *selector)
{
	return selector && selector->n_call_site > 0 ? selector : NULL;
}

static int view_tree(struct flame_tree *tree, int64_t max_nodes, struct flame_view *ret)
{
	const struct flame_view_limits limits = {
		.max_nodes = max_nodes <= 0          ? DEFAULT_NODES
			     : max_nodes > MAX_NODES ? MAX_NODES
						     : (uint32_t)max_nodes,
	};

	return flame_tree_view(tree, &limits, ret);
}

/* ---- flame graphs ---- */

/* Without a stack *ret is NULL: "no data". */
static int make_flamegraph(struct querier_call *c, const struct querier_selection_request *request,
			   const Querier__V1__StackTraceSelector *call_site, int64_t max_nodes,
			   Querier__V1__FlameGraph **ret, struct err *err)
{
	CLEANUP(flame_tree_freep) struct flame_tree *tree = NULL;
	CLEANUP(flame_view_fini) struct flame_view view = {0};
	struct sink sink = {.call_site = call_site_of(call_site)};
	Querier__V1__FlameGraph *graph;
	int r = flame_tree_new(&tree, NULL);

	sink.tree = tree;
	*ret = NULL;
	if (r == 0)
		r = read_stacks(c, request, &sink, err);
	if (r < 0 || !sink.has_any)
		return r;
	r = view_tree(tree, max_nodes, &view);
	graph = r == 0 ? querier_alloc(c, 1, sizeof(*graph), &r) : NULL;
	if (!graph)
		return r;
	querier__v1__flame_graph__init(graph);
	*ret = graph;
	return flame_levels_single(&view, &c->arena, graph);
}

int querier_select_span_profile(struct querier_call *c, const ProtobufCMessage *request,
				ProtobufCMessage **ret, struct err *err)
{
	const Querier__V1__SelectMergeSpanProfileRequest *in = (const void *)request;
	const struct querier_selection_request selection = {in->profile_typeid, in->label_selector,
							    in->start, in->end};
	int r = 0;
	Querier__V1__SelectMergeStacktracesResponse *out = querier_alloc(c, 1, sizeof(*out), &r);

	if (!out)
		return r;
	/* the same message as far as it is used */
	querier__v1__select_merge_stacktraces_response__init(out);
	*ret = &out->base;
	/* no stack has a span */
	if (in->n_span_selector > 0)
		return 0;
	return make_flamegraph(c, &selection, NULL, in->max_nodes, &out->flamegraph, err);
}

/* ---- pprof ---- */

/* The name of the values, which is the second part of the id. */
static int set_type_name(struct querier_call *c, struct pprof_export *e, const char *id)
{
	const char *part;
	char *name;
	size_t len;
	int r;

	profile_id_part(id, 1, &part, &len);
	r = querier_text(c, part, len, &name);
	e->type_name = name;
	return r;
}

static int read_pprof(struct querier_call *c, const struct querier_selection_request *request,
		      const Querier__V1__StackTraceSelector *call_site, struct buf *out,
		      struct err *err)
{
	CLEANUP(pprof_export_fini) struct pprof_export e = {0};
	struct sink sink = {.pprof = &e, .call_site = call_site_of(call_site)};
	AUTO_FREE struct querier_selection *s = calloc(1, sizeof(*s));
	int r = s ? pprof_export_init(&e, STACK_QUERY_MAX_STACKS + PROFILE_ID_MAX_TYPES) : -ENOMEM;

	if (r == 0)
		r = set_type_name(c, &e, request->type_id);
	if (r == 0)
		r = querier_select(c, request, s, err);
	if (r == 0)
		r = add_selection(c, s, &sink, err);
	if (r == 0) {
		struct query_filter f = s->range;

		f.service = s->found.n_items > 0 ? s->found.items[0].service : NULL;
		f.service = f.service ? f.service : "";
		f.type = s->types.items[0];
		e.duration_ns = side_time_ns(&sink.time);
		r = pprof_export_write(&e, &f, out, err);
	}
	if (s)
		querier_selection_fini(s);
	return r;
}

static int make_pprof(struct querier_call *c, const struct querier_selection_request *request,
		      const Querier__V1__StackTraceSelector *call_site,
		      Perftools__Profiles__Profile **ret, struct err *err)
{
	CLEANUP(buf_fini) struct buf zipped;
	CLEANUP(buf_fini) struct buf plain;
	int r;

	buf_init(&zipped, MAX_PPROF_BYTES);
	buf_init(&plain, MAX_PPROF_BYTES);
	r = read_pprof(c, request, call_site, &zipped, err);
	if (r == 0)
		r = gzip_inflate(zipped.data, zipped.len, &plain);
	if (r < 0)
		return r;
	*ret = (Perftools__Profiles__Profile *)connect_unpack(
		&perftools__profiles__profile__descriptor, &c->arena, plain.data, plain.len);
	return *ret ? 0 : -EFBIG;
}

int querier_select_profile(struct querier_call *c, const ProtobufCMessage *request,
			   ProtobufCMessage **ret, struct err *err)
{
	const Querier__V1__SelectMergeProfileRequest *in = (const void *)request;
	const struct querier_selection_request selection = {in->profile_typeid, in->label_selector,
							    in->start, in->end};
	Perftools__Profiles__Profile *p = NULL;
	int r = 0;

	/* no profile has an id */
	if (in->n_profile_id_selector > 0 || in->n_trace_id_selector > 0) {
		p = querier_alloc(c, 1, sizeof(*p), &r);
		if (!p)
			return r;
		perftools__profiles__profile__init(p);
	} else {
		r = make_pprof(c, &selection, in->stack_trace_selector, &p, err);
	}
	if (r == 0)
		*ret = &p->base;
	return r;
}

int querier_select_stacktraces(struct querier_call *c, const ProtobufCMessage *request,
			       ProtobufCMessage **ret, struct err *err)
{
	const Querier__V1__SelectMergeStacktracesRequest *in = (const void *)request;
	const struct querier_selection_request selection = {in->profile_typeid, in->label_selector,
							    in->start, in->end};
	int r = 0;
	Querier__V1__SelectMergeStacktracesResponse *out = querier_alloc(c, 1, sizeof(*out), &r);

	if (!out)
		return r;
	querier__v1__select_merge_stacktraces_response__init(out);
	*ret = &out->base;
	if (in->n_profile_id_selector > 0 || in->n_trace_id_selector > 0 || in->n_span_selector > 0)
		return 0;
	switch (in->format) {
	case QUERIER__V1__PROFILE_FORMAT__PROFILE_FORMAT_UNSPECIFIED:
	case QUERIER__V1__PROFILE_FORMAT__PROFILE_FORMAT_FLAMEGRAPH:
		return make_flamegraph(c, &selection, in->stack_trace_selector, in->max_nodes,
				       &out->flamegraph, err);
	case QUERIER__V1__PROFILE_FORMAT__PROFILE_FORMAT_PPROF:
		out->pprof = querier_alloc(c, 1, sizeof(*out->pprof), &r);
		if (!out->pprof)
			return r;
		querier__v1__pprof_profile__init(out->pprof);
		return make_pprof(c, &selection, in->stack_trace_selector, &out->pprof->profile,
				  err);
	default:
		return err_set(err, -ENOSYS, "this format is not served");
	}
}

/* ---- comparison ---- */

static int read_side(struct querier_call *c, const Querier__V1__SelectMergeStacktracesRequest *in,
		     struct flame_tree *tree, bool is_base, struct err *err)
{
	const struct querier_selection_request selection = {in->profile_typeid, in->label_selector,
							    in->start, in->end};
	struct sink sink = {.tree = tree,
			    .call_site = call_site_of(in->stack_trace_selector),
			    .is_base = is_base};

	/* no stack has such an id */
	if (in->n_profile_id_selector > 0 || in->n_trace_id_selector > 0 || in->n_span_selector > 0)
		return 0;
	return read_stacks(c, &selection, &sink, err);
}

int querier_diff(struct querier_call *c, const ProtobufCMessage *request, ProtobufCMessage **ret,
		 struct err *err)
{
	const Querier__V1__DiffRequest *in = (const void *)request;
	CLEANUP(flame_tree_freep) struct flame_tree *tree = NULL;
	CLEANUP(flame_view_fini) struct flame_view view = {0};
	Querier__V1__DiffResponse *out;
	int r = 0;

	if (!in->left || !in->right ||
	    strcmp(in->left->profile_typeid, in->right->profile_typeid) != 0)
		return err_set(err, -EINVAL, "both sides must be of the same profile type");
	out = querier_alloc(c, 1, sizeof(*out), &r);
	if (!out)
		return r;
	querier__v1__diff_response__init(out);
	*ret = &out->base;
	r = flame_tree_new(&tree, NULL);
	if (r == 0)
		r = read_side(c, in->left, tree, true, err);
	if (r == 0)
		r = read_side(c, in->right, tree, false, err);
	if (r == 0)
		r = view_tree(tree,
			      in->left->max_nodes > in->right->max_nodes ? in->left->max_nodes
									 : in->right->max_nodes,
			      &view);
	if (r < 0)
		return r;
	out->flamegraph = querier_alloc(c, 1, sizeof(*out->flamegraph), &r);
	if (!out->flamegraph)
		return r;
	querier__v1__flame_graph_diff__init(out->flamegraph);
	return flame_levels_diff(&view, &c->arena, out->flamegraph);
}
