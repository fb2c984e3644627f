/*
 * From the merged tree to what the page draws: nodes in the order of drawing.
 *
 *  1. rank_functions: sorts functions by name and file once, so that siblings are sorted by an
 *     integer.
 *  2. flame_cut.h: chooses the nodes that are shown.
 *  3. arrange: sorts the kept nodes, and an "other" below each node with a cut, by (parent,
 *     rank); all children of a node are then one slice of the array.
 *  4. walk: depth-first with a stack of its own, as stacks of frames are deeper than ours may
 *     become.
 *
 * Names are numbered in the order in which the walk meets them, so that only those that are
 * shown are sent.
 */
#include <errno.h>

#include "common/flame/flame_cut.h"
#include "common/flame/flame_nodes.h"
#include "common/flame/flame_tree.h"

/* A node that is shown: one of the tree, or the "other" below one. */
struct shown {
	uint32_t parent;
	uint32_t rank; /* of the function by (name, file) */
	uint32_t node; /* NODE_OTHER for what was cut below parent */
};

#define NODE_OTHER UINT32_MAX

/* Needed only while a view is made. */
struct view_work {
	const struct flame_tree *tree;
	uint32_t *order;     /* scratch: ids to sort */
	uint32_t *rank;      /* by function */
	uint32_t *first;     /* by node: its first child in shown; n_nodes + 1 of them */
	uint32_t *depth;     /* by node */
	uint32_t *pending;   /* stack of the walk: indexes into shown */
	struct shown *shown; /* sorted by parent, rank */
	struct flame_cut cut;
	uint32_t n_shown;
	uint32_t *name_ids; /* id in tree->functions.names → index in the view + 1 */
	uint32_t *file_ids;
	uint32_t *pair_ids; /* by function: index in the view + 1 */
	struct stack_value other;
};

static void view_work_fini(struct view_work *w)
{
	free(w->order);
	free(w->rank);
	flame_cut_fini(&w->cut);
	free(w->first);
	free(w->depth);
	free(w->pending);
	free(w->shown);
	free(w->name_ids);
	free(w->file_ids);
	free(w->pair_ids);
}

static int view_work_init(struct view_work *w, const struct flame_tree *t)
{
	size_t n = (size_t)t->n_nodes + 1;
	size_t n_order = n > t->functions.n_items ? n : t->functions.n_items;

	*w = (struct view_work){.tree = t};
	w->order = calloc(n_order, sizeof(*w->order));
	w->rank = calloc(t->functions.n_items, sizeof(*w->rank));
	w->first = calloc(n, sizeof(*w->first));
	w->depth = calloc(n, sizeof(*w->depth));
	w->pending = calloc(2 * n, sizeof(*w->pending));
	w->shown = calloc(2 * n, sizeof(*w->shown));
	w->name_ids = calloc(intern_count(t->functions.names), sizeof(*w->name_ids));
	w->file_ids = calloc(intern_count(t->functions.files), sizeof(*w->file_ids));
	w->pair_ids = calloc(t->functions.n_items, sizeof(*w->pair_ids));
	if (!w->order || !w->rank || !w->first || !w->depth || !w->pending || !w->shown ||
	    !w->name_ids || !w->file_ids || !w->pair_ids)
		return -ENOMEM;
	return 0;
}

static int compare_text(const struct intern *in, uint32_t a, uint32_t b)
{
	size_t a_len, b_len;
	const char *x = intern_get(in, a, &a_len), *y = intern_get(in, b, &b_len);
	int c = a == b ? 0 : memcmp(x, y, a_len < b_len ? a_len : b_len);

	return c ? c : (a_len > b_len) - (a_len < b_len);
}

static int by_name(const void *a, const void *b, void *ctx)
{
	const struct flame_tree *t = ctx;
	const struct frame_function *x = &t->functions.items[*(const uint32_t *)a];
	const struct frame_function *y = &t->functions.items[*(const uint32_t *)b];
	int c = compare_text(t->functions.names, x->name, y->name);

	return c ? c : compare_text(t->functions.files, x->file, y->file);
}

static int by_parent_and_rank(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent > y->parent ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

static uint32_t *identity(struct view_work *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		w->order[i] = i;
	return w->order;
}

static void rank_functions(struct view_work *w, struct flame_tree *t)
{
	uint32_t *order = identity(w, t->functions.n_items);

	qsort_r(order, t->functions.n_items, sizeof(*order), by_name, t);
	for (uint32_t i = 0; i < t->functions.n_items; i++)
		w->rank[order[i]] = i;
}

static void arrange(struct view_work *w)
{
	const struct flame_tree *t = w->tree;

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct flame_node *node = &t->nodes[i];

		if (i > 0 && w->cut.kept[i])
			w->shown[w->n_shown++] =
				(struct shown){node->parent, w->rank[node->function], i};
		if (w->cut.cut[i].value > 0 || w->cut.cut[i].base > 0)
			w->shown[w->n_shown++] =
				(struct shown){i, w->rank[FRAME_FUNCTION_OTHER], NODE_OTHER};
		w->depth[i] = i > 0 ? w->depth[node->parent] + 1 : 0;
	}
	qsort(w->shown, w->n_shown, sizeof(*w->shown), by_parent_and_rank);
	for (uint32_t i = 0, at = 0; i <= t->n_nodes; i++) {
		while (at < w->n_shown && w->shown[at].parent < i)
			at++;
		w->first[i] = at;
	}
}

/* Returns the index of a text in the view, which it gets at first use. */
static uint32_t view_text(uint32_t *ids, uint32_t id, uint32_t *n)
{
	if (ids[id] == 0)
		ids[id] = ++*n;
	return ids[id] - 1;
}

static void emit_pair(struct flame_view *v, uint32_t node, uint32_t pair)
{
	v->node_pair[node] = pair;
	v->pair_name[pair] = v->node_name[node];
	v->pair_file[pair] = v->node_file[node];
}

static void emit_values(struct flame_view *v, uint32_t i, struct stack_value total,
			struct stack_value self)
{
	v->node_total[i] = total.value;
	v->node_self[i] = self.value;
	v->node_base_total[i] = total.base;
	v->node_base_self[i] = self.base;
}

static void emit(struct view_work *w, struct flame_view *v, const struct shown *s)
{
	const struct flame_tree *t = w->tree;
	bool other = s->node == NODE_OTHER;
	uint32_t function = other ? FRAME_FUNCTION_OTHER : t->nodes[s->node].function;
	uint32_t i = v->n_nodes++;

	v->node_name[i] = view_text(w->name_ids, t->functions.items[function].name, &v->n_names);
	v->node_file[i] = view_text(w->file_ids, t->functions.items[function].file, &v->n_files);
	emit_pair(v, i, view_text(w->pair_ids, function, &v->n_pairs));
	if (other) {
		v->node_depth[i] = w->depth[s->parent] + 1;
		emit_values(v, i, w->cut.cut[s->parent], w->cut.cut[s->parent]);
		if (w->cut.inside[s->parent])
			flame_sum(&w->other, w->cut.cut[s->parent]);
		return;
	}
	v->node_depth[i] = w->depth[s->node];
	emit_values(v, i, t->nodes[s->node].total, t->nodes[s->node].self);
	if (t->nodes[s->node].inlined)
		v->node_inlined[v->n_inlined++] = i;
}

static uint32_t push_children(struct view_work *w, uint32_t node, uint32_t n_pending)
{
	for (uint32_t i = w->first[node + 1]; i-- > w->first[node];)
		w->pending[n_pending++] = i;
	return n_pending;
}

static void walk(struct view_work *w, struct flame_view *v)
{
	const struct frame_functions *functions = &w->tree->functions;
	uint32_t n_pending = push_children(w, 0, 0), root = w->tree->nodes[0].function;

	/* names[0] is the root's, files[0] is "" */
	if (root == FRAME_FUNCTION_OTHER)
		v->n_names = 1;
	else
		view_text(w->name_ids, functions->items[root].name, &v->n_names);
	view_text(w->file_ids, 0, &v->n_files);
	if (root != FRAME_FUNCTION_OTHER)
		v->node_file[0] = view_text(w->file_ids, functions->items[root].file, &v->n_files);
	/* "total" is another function than the "other" whose number it has in the tree */
	if (root == FRAME_FUNCTION_OTHER)
		v->n_pairs = 1;
	else
		view_text(w->pair_ids, root, &v->n_pairs);
	emit_pair(v, 0, 0);
	emit_values(v, 0, w->tree->nodes[0].total, w->tree->nodes[0].self);
	v->n_nodes = 1;
	while (n_pending > 0) {
		const struct shown *s = &w->shown[w->pending[--n_pending]];

		emit(w, v, s);
		if (s->node != NODE_OTHER)
			n_pending = push_children(w, s->node, n_pending);
	}
	v->other_value = w->other.value;
	v->other_base = w->other.base;
}

struct function_sort {
	const struct flame_tree *tree;
	const uint32_t *rank;
};

static int by_self(const void *a, const void *b, void *ctx)
{
	const struct function_sort *s = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct flame_tree_totals *f = &s->tree->totals[x], *g = &s->tree->totals[y];

	if (f->self.value != g->self.value)
		return f->self.value > g->self.value ? -1 : 1;
	if (f->total.value != g->total.value)
		return f->total.value > g->total.value ? -1 : 1;
	return s->rank[x] > s->rank[y] ? 1 : -1;
}

static void list_functions(struct view_work *w, struct flame_view *v, uint32_t max)
{
	const struct flame_tree *t = w->tree;
	struct function_sort sort = {.tree = t, .rank = w->rank};
	uint32_t *order = identity(w, t->n_totals);

	qsort_r(order, t->n_totals, sizeof(*order), by_self, &sort);
	for (uint32_t i = 0; i < t->n_totals; i++) {
		const struct flame_tree_totals *f = &t->totals[order[i]];

		if (f->total.value == 0 && f->total.base == 0)
			continue;
		if (v->n_functions == max) {
			v->functions_cut++;
			continue;
		}
		v->functions[v->n_functions++] = (struct flame_function){
			.name = view_text(w->name_ids, t->functions.items[order[i]].name,
					  &v->n_names),
			.file = view_text(w->file_ids, t->functions.items[order[i]].file,
					  &v->n_files),
			.self = f->self.value,
			.total = f->total.value,
			.base_self = f->self.base,
			.base_total = f->total.base,
		};
	}
}

static void fill_texts(const struct intern *in, const uint32_t *ids, const char **texts,
		       size_t *lens)
{
	for (uint32_t id = 0; id < intern_count(in); id++)
		if (ids[id] > 0)
			texts[ids[id] - 1] = intern_get(in, id, &lens[ids[id] - 1]);
}

static int view_alloc(struct flame_view *v, const struct view_work *w, uint32_t max_functions)
{
	size_t n_nodes = (size_t)w->n_shown + 1;
	uint32_t n_functions = w->tree->functions.n_items;
	size_t n_names = (size_t)intern_count(w->tree->functions.names) + 1;
	size_t n_files = intern_count(w->tree->functions.files);

	v->node_name = calloc(n_nodes, sizeof(*v->node_name));
	v->node_file = calloc(n_nodes, sizeof(*v->node_file));
	v->node_pair = calloc(n_nodes, sizeof(*v->node_pair));
	v->pair_name = calloc((size_t)n_functions + 1, sizeof(*v->pair_name));
	v->pair_file = calloc((size_t)n_functions + 1, sizeof(*v->pair_file));
	v->node_depth = calloc(n_nodes, sizeof(*v->node_depth));
	v->node_total = calloc(n_nodes, sizeof(*v->node_total));
	v->node_self = calloc(n_nodes, sizeof(*v->node_self));
	v->node_base_total = calloc(n_nodes, sizeof(*v->node_base_total));
	v->node_base_self = calloc(n_nodes, sizeof(*v->node_base_self));
	v->node_inlined = calloc(n_nodes, sizeof(*v->node_inlined));
	v->functions = calloc((n_functions < max_functions ? n_functions : max_functions) + 1,
			      sizeof(*v->functions));
	v->names = calloc(n_names, sizeof(*v->names));
	v->name_lens = calloc(n_names, sizeof(*v->name_lens));
	v->files = calloc(n_files, sizeof(*v->files));
	v->file_lens = calloc(n_files, sizeof(*v->file_lens));
	if (!v->node_name || !v->node_file || !v->node_depth || !v->node_total || !v->node_self ||
	    !v->node_base_total || !v->node_inlined || !v->node_base_self || !v->functions ||
	    !v->names || !v->name_lens || !v->files || !v->file_lens || !v->node_pair ||
	    !v->pair_name || !v->pair_file)
		return -ENOMEM;
	return 0;
}

int flame_tree_view(struct flame_tree *t, const struct flame_view_limits *limits,
		    struct flame_view *ret)
{
	CLEANUP(view_work_fini) struct view_work w;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	int r = view_work_init(&w, t);

	if (r < 0)
		return r;
	rank_functions(&w, t);
	r = flame_cut_init(&w.cut, t, limits);
	if (r < 0)
		return r;
	v.other_nodes = w.cut.n_other;
	v.zoomed = w.cut.zoomed;
	arrange(&w);
	r = view_alloc(&v, &w, limits->max_functions);
	if (r < 0)
		return r;
	walk(&w, &v);
	list_functions(&w, &v, limits->max_functions);
	fill_texts(t->functions.names, w.name_ids, v.names, v.name_lens);
	fill_texts(t->functions.files, w.file_ids, v.files, v.file_lens);
	if (t->nodes[0].function == FRAME_FUNCTION_OTHER) {
		v.names[0] = "total";
		v.name_lens[0] = strlen("total");
	}
	*ret = v;
	v = (struct flame_view){0};
	return 0;
}

void flame_view_fini(struct flame_view *v)
{
	free(v->names);
	free(v->name_lens);
	free(v->files);
	free(v->file_lens);
	free(v->node_name);
	free(v->node_file);
	free(v->node_pair);
	free(v->pair_name);
	free(v->pair_file);
	free(v->node_depth);
	free(v->node_total);
	free(v->node_self);
	free(v->node_base_total);
	free(v->node_base_self);
	free(v->node_inlined);
	free(v->functions);
	*v = (struct flame_view){0};
}
