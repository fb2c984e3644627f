/*
 * Nodes are dropped by value alone, whatever their depth: those with the largest share of a side's
 * total stay, so that neither what is new nor what has vanished is lost in a comparison. A parent's
 * share is at least that of a child, and of equal shares the smaller index wins, so what is kept is
 * always a tree. What is dropped becomes part of "other" below the last ancestor that stays.
 *
 * A zoom leaves the limit to one subtree and its ancestors. What is beside them becomes "other",
 * too, so that totals remain, but is not counted as such: it is not missing from what was asked.
 */
#include "common/flame/flame_cut.h"

#include <errno.h>

#include "common/flame/path_key.h"

struct share {
	double share; /* the larger one of both sides */
	uint32_t node;
};

static int by_share(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->share != y->share)
		return x->share > y->share ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static double share_of(int64_t value, int64_t total)
{
	return total > 0 ? (double)value / (double)total : 0;
}

/* Sets *ret to the node, or to the root if there is none with that key. */
static int find_node(const struct flame_tree *t, uint64_t key, uint32_t *ret)
{
	const struct frame_functions *f = &t->functions;
	AUTO_FREE struct path_key *names = calloc(f->n_items, sizeof(*names));
	AUTO_FREE uint32_t *files = calloc(f->n_items, sizeof(*files));
	AUTO_FREE struct path_key *keys = calloc(t->n_nodes, sizeof(*keys));

	*ret = 0;
	if (!names || !files || !keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->n_items; i++) {
		size_t name_len, file_len;
		const char *name = intern_get(f->names, f->items[i].name, &name_len);
		const char *file = intern_get(f->files, f->items[i].file, &file_len);

		names[i] = path_key_of_name(name, name_len);
		files[i] = path_key_of_file(file, file_len);
	}
	keys[0] = path_key_root();
	for (uint32_t i = 1; i < t->n_nodes && *ret == 0; i++) {
		uint32_t function = t->nodes[i].function;

		keys[i] =
			path_key_child(keys[t->nodes[i].parent], names[function], files[function]);
		if (path_key_number(keys[i]) == key)
			*ret = i;
	}
	return 0;
}

/* Marks the subtree of zoom as inside, and it with its ancestors as kept. */
static void mark(struct flame_cut *c, const struct flame_tree *t, uint32_t zoom)
{
	for (uint32_t i = zoom; i < t->n_nodes; i++)
		c->inside[i] = i == zoom || (i > 0 && c->inside[t->nodes[i].parent]);
	for (uint32_t i = 0; i < t->n_nodes; i++)
		c->kept[i] = c->inside[i];
	for (uint32_t i = zoom; i > 0; i = t->nodes[i].parent)
		c->kept[i] = true;
	c->kept[0] = true;
}

/* Of the nodes that are marked as kept, keeps the largest only. */
static int drop_smallest(struct flame_cut *c, const struct flame_tree *t, uint32_t max_nodes)
{
	const struct stack_value *all = &t->nodes[0].total;
	AUTO_FREE struct share *shares = calloc(t->n_nodes, sizeof(*shares));
	uint32_t n = 0;

	if (!shares)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		double value = share_of(t->nodes[i].total.value, all->value);
		double base = share_of(t->nodes[i].total.base, all->base);

		if (c->kept[i])
			shares[n++] = (struct share){value > base ? value : base, i};
	}
	if (n > max_nodes)
		qsort(shares, n, sizeof(*shares), by_share);
	for (uint32_t i = max_nodes; i < n; i++)
		c->kept[shares[i].node] = false;
	c->kept[0] = true;
	return 0;
}

static void add_up(struct flame_cut *c, const struct flame_tree *t)
{
	for (uint32_t i = 0; i < t->n_nodes; i++) {
		const struct flame_node *node = &t->nodes[i];

		if (c->inside[i])
			c->n_other += node->n_cut + !c->kept[i];
		if (c->kept[i])
			flame_sum(&c->cut[i], node->cut);
		else if (c->kept[node->parent])
			flame_sum(&c->cut[node->parent], node->total);
	}
}

int flame_cut_init(struct flame_cut *ret, const struct flame_tree *t,
		   const struct flame_view_limits *limits)
{
	uint32_t zoom = 0;
	int r = 0;

	*ret = (struct flame_cut){
		.kept = calloc(t->n_nodes, sizeof(*ret->kept)),
		.inside = calloc(t->n_nodes, sizeof(*ret->inside)),
		.cut = calloc(t->n_nodes, sizeof(*ret->cut)),
	};
	if (!ret->kept || !ret->inside || !ret->cut)
		return -ENOMEM;
	if (limits->zoom != 0)
		r = find_node(t, limits->zoom, &zoom);
	if (r < 0)
		return r;
	ret->zoomed = zoom > 0;
	mark(ret, t, zoom);
	r = drop_smallest(ret, t, limits->max_nodes);
	if (r == 0)
		add_up(ret, t);
	return r;
}

void flame_cut_fini(struct flame_cut *c)
{
	free(c->kept);
	free(c->inside);
	free(c->cut);
}
