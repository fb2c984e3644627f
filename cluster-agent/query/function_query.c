/* One function of a selection, and how much of the selection a search finds. */
#include "cluster-agent/query/flame_json.h"
#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/stack_query.h"
#include "cluster-agent/query/read/timeline_query.h"
#include "cluster-agent/query/tree/function_view.h"
#include "cluster-agent/query/tree/stack_matches.h"
#include "common/flame/flame_columns.h"
#include "common/system/clock.h"
#include "common/text/json_writer.h"

static void put_figures(struct json_writer *w, struct stack_value self, struct stack_value total,
			bool has_base)
{
	json_member_int(w, "self", self.value);
	json_member_int(w, "total", total.value);
	if (!has_base)
		return;
	json_member_int(w, "baseSelf", self.base);
	json_member_int(w, "baseTotal", total.base);
}

/* The value of the stacks beyond the limit of the query, which no figure here includes. */
static void put_cut(struct json_writer *w, const struct stack_query_result *stacks, bool has_base)
{
	json_member_int(w, "stacksCut", (int64_t)stacks->n_stacks_cut);
	json_member_int(w, "valueCut", stacks->cut.value);
	if (has_base)
		json_member_int(w, "baseCut", stacks->cut.base);
}

/* ---- function ---- */

static int add_to_view(void *ctx, const struct flame_frame *frames, size_t n_frames,
		       struct stack_value value)
{
	return function_view_add(ctx, frames, n_frames, value);
}

static void put_lines(struct json_writer *w, struct function_view *v, bool has_base)
{
	size_t n;
	const struct function_line *lines = function_view_lines(v, &n);

	json_key(w, "lines");
	json_open(w, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(w, '{');
		json_member_int(w, "line", lines[i].line);
		json_key(w, "inlined");
		json_put_bool(w, lines[i].inlined);
		put_figures(w, lines[i].self, lines[i].total, has_base);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static int put_tree(struct json_writer *w, const char *key, struct flame_tree *tree,
		    const struct query_request *p)
{
	CLEANUP(flame_view_fini) struct flame_view view = {0};
	const struct flame_view_limits limits = {.max_nodes = p->max_nodes};
	int r = flame_tree_view(tree, &limits, &view);

	if (r < 0)
		return r;
	json_key(w, key);
	json_open(w, '{');
	flame_columns_put(w, NULL, &view, p->has_base);
	json_close(w, '}');
	return 0;
}

static int write_function(struct buf *out, const struct query_request *p, struct function_view *v,
			  const struct stack_query_result *stacks)
{
	struct json_writer w;
	int r;

	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_text(&w, "name", p->name);
	json_member_text(&w, "file", p->file ? p->file : "");
	json_member_text(&w, "unit", profile_type_unit(p->filter.type));
	put_figures(&w, function_view_self(v), function_view_total(v), p->has_base);
	put_lines(&w, v, p->has_base);
	r = put_tree(&w, "callers", function_view_callers(v), p);
	if (r == 0)
		r = put_tree(&w, "callees", function_view_callees(v), p);
	if (r < 0)
		return r;
	put_cut(&w, stacks, p->has_base);
	json_close(&w, '}');
	return json_writer_finish(&w);
}

int profile_query_function(struct store *store, const struct query_request *p, struct buf *out,
			   struct err *err)
{
	CLEANUP(function_view_freep) struct function_view *view = NULL;
	const struct query_filter *base = p->has_base ? &p->base : NULL;
	struct stack_query_result stacks = {0};
	int r = function_view_new(&view, p->name, p->file ? p->file : "");

	if (r < 0)
		return r;
	r = stack_query(store, (struct query_sides){&p->filter, base}, add_to_view, view, &stacks,
			err);
	if (r < 0)
		return r;
	return write_function(out, p, view, &stacks);
}

/* ---- matches ---- */

static int add_to_matches(void *ctx, const struct flame_frame *frames, size_t n_frames,
			  struct stack_value value)
{
	return stack_matches_add(ctx, frames, n_frames, value);
}

/* What the stacks that match use per second, of what the timeline of the range says of all. */
static int put_rate(struct json_writer *w, struct store *store, const struct query_filter *f,
		    int64_t matched, int64_t total, struct err *err)
{
	struct timeline_rate rate = {0};
	int r = timeline_query_rate(store, f, &rate, err);

	if (r < 0)
		return r;
	json_key(w, "rate");
	if (rate.covered_ns > 0)
		json_put_double(w, total > 0 ? rate.value * (double)matched / (double)total : 0);
	else
		json_put_null(w);
	json_member_int(w, "covered", (int64_t)(rate.covered_ns / (double)NS_PER_MS));
	return 0;
}

int profile_query_matches(struct store *store, const struct query_request *p, struct buf *out,
			  struct err *err)
{
	CLEANUP(stack_matches_freep) struct stack_matches *matches = NULL;
	const struct query_filter *base = p->has_base ? &p->base : NULL;
	struct stack_query_result stacks = {0};
	struct stack_match_totals totals;
	struct json_writer w;
	int r = stack_matches_new(&matches, p->search, err);

	if (r == 0)
		r = stack_query(store, (struct query_sides){&p->filter, base, p->by_share},
				add_to_matches, matches, &stacks, err);
	if (r < 0)
		return r;
	totals = stack_matches_get(matches);
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_member_int(&w, "total", totals.value.value);
	if (p->has_base)
		json_member_int(&w, "baseTotal", totals.value.base);
	json_member_int(&w, "functions", totals.n_functions);
	json_member_int(&w, "stacks", (int64_t)totals.n_stacks);
	put_cut(&w, &stacks, p->has_base);
	if (p->by_share)
		r = put_rate(&w, store, &p->filter, totals.value.value, stacks.total.value, err);
	json_close(&w, '}');
	return r < 0 ? r : json_writer_finish(&w);
}
