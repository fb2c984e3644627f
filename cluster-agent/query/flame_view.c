/*
 * From the merged tree to what the page draws: at most max_nodes nodes, in the order of
 * drawing.
 *
 *  1. rank_functions: sorts functions by name and file once, so that siblings are sorted by an
 *     integer.
 *  2. cut_nodes: keeps the nodes with the largest totals. A parent's total is at least that of a
 *     child, and of equal totals the smaller index wins, so the kept nodes are always a tree. The
 *     total of a dropped node is added to the "cut" of its parent if that is kept.
 *  3. arrange: sorts the kept nodes, and an "other" below each node with a cut, by (parent,
 *     rank); all children of a node are then one slice of the array.
 *  4. walk: depth-first with a stack of its own, as stacks of frames are deeper than ours may
 *     become.
 *
 * Names are numbered in the order in which the walk meets them, so that only those that are
 * shown are sent.
 */
#include <errno.h>

#include "cluster-agent/query/flame_nodes.h"
#include "cluster-agent/query/flame_tree.h"

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
	bool *kept;          /* by node */
	int64_t *cut;        /* by node */
	uint32_t *first;     /* by node: its first child in shown; n_nodes + 1 of them */
	uint32_t *depth;     /* by node */
	uint32_t *pending;   /* stack of the walk: indexes into shown */
	struct shown *shown; /* sorted by parent, rank */
	uint32_t n_shown;
	uint32_t *name_ids; /* id in tree->names → index in the view + 1 */
	uint32_t *file_ids;
};

static void view_work_fini(struct view_work *w)
{
	free(w->order);
	free(w->rank);
	free(w->kept);
	free(w->cut);
	free(w->first);
	free(w->depth);
	free(w->pending);
	free(w->shown);
	free(w->name_ids);
	free(w->file_ids);
}

static int view_work_init(struct view_work *w, const struct flame_tree *t)
{
	size_t n = (size_t)t->n_nodes + 1;
	size_t n_order = n > t->n_functions ? n : t->n_functions;

	*w = (struct view_work){.tree = t};
	w->order = calloc(n_order, sizeof(*w->order));
	w->rank = calloc(t->n_functions, sizeof(*w->rank));
	w->kept = calloc(n, sizeof(*w->kept));
	w->cut = calloc(n, sizeof(*w->cut));
	w->first = calloc(n, sizeof(*w->first));
	w->depth = calloc(n, sizeof(*w->depth));
	w->pending = calloc(2 * n, sizeof(*w->pending));
	w->shown = calloc(2 * n, sizeof(*w->shown));
	w->name_ids = calloc(intern_count(t->names), sizeof(*w->name_ids));
	w->file_ids = calloc(intern_count(t->files), sizeof(*w->file_ids));
	if (!w->order || !w->rank || !w->kept || !w->cut || !w->first || !w->depth || !w->pending ||
	    !w->shown || !w->name_ids || !w->file_ids)
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
	const struct flame_tree_function *x = &t->functions[*(const uint32_t *)a];
	const struct flame_tree_function *y = &t->functions[*(const uint32_t *)b];
	int c = compare_text(t->names, x->name, y->name);

	return c ? c : compare_text(t->files, x->file, y->file);
}

/* Sorts a parent before its children: its total is no smaller, and its index is smaller. */
static int by_total(const void *a, const void *b, void *ctx)
{
	const struct flame_tree *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int64_t x_total = t->nodes[x].total, y_total = t->nodes[y].total;

	if (x_total != y_total)
		return x_total > y_total ? -1 : 1;
	return (x > y) - (x < y);
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
	uint32_t *order = identity(w, t->n_functions);

	qsort_r(order, t->n_functions, sizeof(*order), by_name, t);
	for (uint32_t i = 0; i < t->n_functions; i++)
		w->rank[order[i]] = i;
}

/* Marks the nodes that stay, and adds the others to the cut of the last ancestor that stays. */
static void cut_nodes(struct view_work *w, struct flame_tree *t, uint32_t max_nodes,
		      struct flame_view *v)
{
	uint32_t *order = identity(w, t->n_nodes);

	if (t->n_nodes > max_nodes)
		qsort_r(order, t->n_nodes, sizeof(*order), by_total, t);
	for (uint32_t i = 0; i < t->n_nodes && i < max_nodes; i++)
		w->kept[order[i]] = true;
	w->kept[0] = true;
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct flame_node *node = &t->nodes[i];

		v->other_nodes += node->n_cut + !w->kept[i];
		if (w->kept[i])
			flame_sum(&w->cut[i], node->cut);
		else if (w->kept[node->parent])
			flame_sum(&w->cut[node->parent], node->total);
	}
}

static void arrange(struct view_work *w)
{
	const struct flame_tree *t = w->tree;

	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct flame_node *node = &t->nodes[i];

		if (i > 0 && w->kept[i])
			w->shown[w->n_shown++] =
				(struct shown){node->parent, w->rank[node->function], i};
		if (w->cut[i] > 0)
			w->shown[w->n_shown++] =
				(struct shown){i, w->rank[FLAME_FUNCTION_OTHER], NODE_OTHER};
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

static void emit(struct view_work *w, struct flame_view *v, const struct shown *s)
{
	const struct flame_tree *t = w->tree;
	bool other = s->node == NODE_OTHER;
	uint32_t function = other ? FLAME_FUNCTION_OTHER : t->nodes[s->node].function;
	uint32_t i = v->n_nodes++;

	v->node_name[i] = view_text(w->name_ids, t->functions[function].name, &v->n_names);
	v->node_file[i] = view_text(w->file_ids, t->functions[function].file, &v->n_files);
	if (other) {
		v->node_depth[i] = w->depth[s->parent] + 1;
		v->node_total[i] = v->node_self[i] = w->cut[s->parent];
		flame_sum(&v->other_value, w->cut[s->parent]);
		return;
	}
	v->node_depth[i] = w->depth[s->node];
	v->node_total[i] = t->nodes[s->node].total;
	v->node_self[i] = t->nodes[s->node].self;
}

static uint32_t push_children(struct view_work *w, uint32_t node, uint32_t n_pending)
{
	for (uint32_t i = w->first[node + 1]; i-- > w->first[node];)
		w->pending[n_pending++] = i;
	return n_pending;
}

static void walk(struct view_work *w, struct flame_view *v)
{
	uint32_t n_pending = push_children(w, 0, 0);

	/* the root has a name of its own: names[0] */
	v->n_names = 1;
	v->node_file[0] = view_text(w->file_ids, 0, &v->n_files);
	v->node_total[0] = w->tree->nodes[0].total;
	v->node_self[0] = w->tree->nodes[0].self;
	v->n_nodes = 1;
	while (n_pending > 0) {
		const struct shown *s = &w->shown[w->pending[--n_pending]];

		emit(w, v, s);
		if (s->node != NODE_OTHER)
			n_pending = push_children(w, s->node, n_pending);
	}
}

struct function_sort {
	const struct flame_tree *tree;
	const uint32_t *rank;
};

static int by_self(const void *a, const void *b, void *ctx)
{
	const struct function_sort *s = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct flame_tree_function *f = &s->tree->functions[x], *g = &s->tree->functions[y];

	if (f->self != g->self)
		return f->self > g->self ? -1 : 1;
	if (f->total != g->total)
		return f->total > g->total ? -1 : 1;
	return s->rank[x] > s->rank[y] ? 1 : -1;
}

static void list_functions(struct view_work *w, struct flame_view *v, uint32_t max)
{
	const struct flame_tree *t = w->tree;
	struct function_sort sort = {.tree = t, .rank = w->rank};
	uint32_t *order = identity(w, t->n_functions);

	qsort_r(order, t->n_functions, sizeof(*order), by_self, &sort);
	for (uint32_t i = 0; i < t->n_functions && v->n_functions < max; i++) {
		const struct flame_tree_function *f = &t->functions[order[i]];

		if (f->total == 0)
			continue;
		v->functions[v->n_functions++] = (struct flame_function){
			.name = view_text(w->name_ids, f->name, &v->n_names),
			.file = view_text(w->file_ids, f->file, &v->n_files),
			.self = f->self,
			.total = f->total,
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
	uint32_t n_functions = w->tree->n_functions;
	size_t n_names = (size_t)intern_count(w->tree->names) + 1;
	size_t n_files = intern_count(w->tree->files);

	v->node_name = calloc(n_nodes, sizeof(*v->node_name));
	v->node_file = calloc(n_nodes, sizeof(*v->node_file));
	v->node_depth = calloc(n_nodes, sizeof(*v->node_depth));
	v->node_total = calloc(n_nodes, sizeof(*v->node_total));
	v->node_self = calloc(n_nodes, sizeof(*v->node_self));
	v->functions = calloc((n_functions < max_functions ? n_functions : max_functions) + 1,
			      sizeof(*v->functions));
	v->names = calloc(n_names, sizeof(*v->names));
	v->name_lens = calloc(n_names, sizeof(*v->name_lens));
	v->files = calloc(n_files, sizeof(*v->files));
	v->file_lens = calloc(n_files, sizeof(*v->file_lens));
	if (!v->node_name || !v->node_file || !v->node_depth || !v->node_total || !v->node_self ||
	    !v->functions || !v->names || !v->name_lens || !v->files || !v->file_lens)
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
	cut_nodes(&w, t, limits->max_nodes, &v);
	arrange(&w);
	r = view_alloc(&v, &w, limits->max_functions);
	if (r < 0)
		return r;
	walk(&w, &v);
	list_functions(&w, &v, limits->max_functions);
	fill_texts(t->names, w.name_ids, v.names, v.name_lens);
	fill_texts(t->files, w.file_ids, v.files, v.file_lens);
	v.names[0] = "total";
	v.name_lens[0] = strlen("total");
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
	free(v->node_depth);
	free(v->node_total);
	free(v->node_self);
	free(v->functions);
	*v = (struct flame_view){0};
}
