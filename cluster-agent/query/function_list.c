/*
 * All functions of a selection with their own and total values: the tree knows them exactly,
 * however little of it is shown, so a view of its root alone is made.
 */
#include <errno.h>

#include "cluster-agent/query/profile_query.h"
#include "cluster-agent/query/read/profile_types.h"
#include "cluster-agent/query/read/stack_query.h"
#include "cluster-agent/query/tree/function_search.h"
#include "common/flame/flame_tree.h"
#include "common/text/json_writer.h"

static int add_to_tree(void *ctx, const struct flame_frame *frames, size_t n_frames,
		       struct stack_value value)
{
	return flame_tree_add(ctx, frames, n_frames, value);
}

static int64_t change(const struct flame_function *f)
{
	return f->self > f->base_self ? f->self - f->base_self : f->base_self - f->self;
}

static int64_t sort_key(const struct flame_function *f, enum query_sort sort)
{
	switch (sort) {
	case QUERY_SORT_TOTAL:
		return f->total;
	case QUERY_SORT_DIFF:
		return change(f);
	default:
		return f->self;
	}
}

struct order {
	enum query_sort sort;
	const struct flame_view *view;
};

static int compare_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int c = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return c ? c : (a_len > b_len) - (a_len < b_len);
}

/* Descending; functions of equal value by name and file, so that an answer can be repeated. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	const struct flame_view *v = o->view;
	const struct flame_function *x = a, *y = b;
	int64_t x_key = sort_key(x, o->sort), y_key = sort_key(y, o->sort);
	int c;

	if (x_key != y_key)
		return x_key > y_key ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	c = compare_text(v->names[x->name], v->name_lens[x->name], v->names[y->name],
			 v->name_lens[y->name]);
	return c ? c
		 : compare_text(v->files[x->file], v->file_lens[x->file], v->files[y->file],
				v->file_lens[y->file]);
}

static void put_function(struct json_writer *w, const struct flame_view *v,
			 const struct flame_function *f, bool has_base)
{
	json_open(w, '{');
	json_key(w, "name");
	json_put_string(w, v->names[f->name], v->name_lens[f->name]);
	json_key(w, "file");
	json_put_string(w, v->files[f->file], v->file_lens[f->file]);
	json_member_int(w, "self", f->self);
	json_member_int(w, "total", f->total);
	if (has_base) {
		json_member_int(w, "baseSelf", f->base_self);
		json_member_int(w, "baseTotal", f->base_total);
	}
	json_close(w, '}');
}

/* Keeps the functions that match, in their order. */
static int filter(struct flame_view *v, const char *text, struct err *err)
{
	CLEANUP(function_search_freep) struct function_search *search = NULL;
	uint32_t n = 0;
	int r = function_search_new(&search, text, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < v->n_functions; i++) {
		const struct flame_function *f = &v->functions[i];

		r = function_search_test(search, v->names[f->name], v->name_lens[f->name],
					 v->files[f->file], v->file_lens[f->file], err);
		if (r < 0)
			return r;
		if (r > 0)
			v->functions[n++] = *f;
	}
	v->n_functions = n;
	return 0;
}

static int write_list(struct buf *out, const struct query_request *p, struct flame_view *v,
		      const struct stack_query_result *stacks)
{
	struct order order = {p->sort, v};
	const char *unit = profile_type_unit(p->filter.type);
	struct json_writer w;

	if (v->n_functions > 0)
		qsort_r(v->functions, v->n_functions, sizeof(*v->functions), compare, &order);
	json_writer_init(&w, out);
	json_open(&w, '{');
	json_key(&w, "unit");
	json_put_string(&w, unit, strlen(unit));
	json_member_int(&w, "total", stacks->total.value);
	if (p->has_base)
		json_member_int(&w, "baseTotal", stacks->total.base);
	json_member_int(&w, "n", v->n_functions);
	json_key(&w, "functions");
	json_open(&w, '[');
	for (uint32_t i = 0; i < v->n_functions && i < p->limit; i++)
		put_function(&w, v, &v->functions[i], p->has_base);
	json_close(&w, ']');
	json_member_int(&w, "stacksCut", (int64_t)stacks->n_stacks_cut);
	json_member_int(&w, "valueCut", stacks->cut.value);
	if (p->has_base)
		json_member_int(&w, "baseCut", stacks->cut.base);
	json_close(&w, '}');
	return json_writer_finish(&w);
}

int profile_query_functions(struct store *store, const struct query_request *p, struct buf *out,
			    struct err *err)
{
	CLEANUP(flame_tree_freep) struct flame_tree *tree = NULL;
	CLEANUP(flame_view_fini) struct flame_view view = {0};
	const struct flame_view_limits limits = {.max_nodes = 1, .max_functions = UINT32_MAX};
	const struct query_filter *base = p->has_base ? &p->base : NULL;
	struct stack_query_result stacks = {0};
	int r = flame_tree_new(&tree, NULL);

	if (r < 0)
		return r;
	r = stack_query(store, (struct query_sides){&p->filter, base}, add_to_tree, tree, &stacks,
			err);
	if (r < 0)
		return r;
	r = flame_tree_view(tree, &limits, &view);
	if (r < 0)
		return r;
	if (p->search && p->search[0])
		r = filter(&view, p->search, err);
	if (r < 0)
		return r;
	return write_list(out, p, &view, &stacks);
}
