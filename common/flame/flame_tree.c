/*
 * Merging is the slow part of a flame graph: 20,000 stacks of 50 frames are a million steps.
 * Most frames repeat thousands of times, so a step costs two lookups: from the frame to its
 * function (frame_functions.h), and from (node, function) to the child node. Most nodes have one
 * child only, so the latest child is tried before the table. Nodes and functions are 32-bit
 * indexes into arrays, not pointers: half the memory, and growing the array moves nothing that
 * refers to it.
 *
 * Limits do not fail; they coarsen. A frame that does not fit any more ends the stack there:
 * its value becomes the "cut" of the last node that fits, and the view shows it as "other". The
 * stack's remaining frames still count in the totals per function, as far as their texts fit.
 *
 * A parent is always added before its children, so index order is a topological order, which
 * flame_view.c relies on.
 */
#include "common/flame/flame_tree.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/flame/flame_nodes.h"

#define DEFAULT_MAX_NODES 2000000u
#define DEFAULT_MAX_TEXT_BYTES ((size_t)64 << 20)
#define NO_NODE UINT32_MAX

static int add_node(struct flame_tree *t, uint32_t parent, uint32_t function)
{
	int r = ARRAY_RESERVE(t->nodes, t->max_nodes, (size_t)t->n_nodes + 1);

	if (r < 0)
		return r;
	t->nodes[t->n_nodes++] = (struct flame_node){
		.parent = parent, .function = function & INT32_MAX, .inlined = 1};
	return 0;
}

int flame_tree_new(struct flame_tree **ret, const struct flame_tree_limits *limits)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	if (limits)
		t->limits = *limits;
	if (t->limits.max_nodes == 0)
		t->limits.max_nodes = DEFAULT_MAX_NODES;
	if (t->limits.max_text_bytes == 0)
		t->limits.max_text_bytes = DEFAULT_MAX_TEXT_BYTES;
	r = frame_functions_init(&t->functions, t->limits.max_text_bytes);
	if (r == 0)
		r = add_node(t, 0, FRAME_FUNCTION_OTHER);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

int flame_tree_set_root(struct flame_tree *t, const char *name, const char *file)
{
	uint32_t function;
	int r = frame_functions_add(&t->functions, name, file, &function);

	if (r == 0)
		t->nodes[0].function = function & INT32_MAX;
	return r;
}

void flame_tree_free(struct flame_tree *t)
{
	if (!t)
		return;
	frame_functions_fini(&t->functions);
	number_index_fini(&t->children);
	free(t->totals);
	free(t->nodes);
	free(t);
}

static bool find_child(const struct flame_tree *t, uint32_t hash, uint32_t node, uint32_t function,
		       uint32_t *ret)
{
	uint32_t at = hash;

	while (number_index_next(&t->children, hash, &at, ret)) {
		if (t->nodes[*ret].parent == node && t->nodes[*ret].function == function)
			return true;
	}
	return false;
}

/* Finds or adds the child. Sets *ret to NO_NODE if the tree is at its limit. */
static int child_of(struct flame_tree *t, uint32_t node, uint32_t function, uint32_t *ret)
{
	uint32_t hash;
	int r;

	*ret = t->nodes[node].child;
	if (*ret > 0 && t->nodes[*ret].function == function)
		return 0;
	hash = number_hash((uint64_t)node << 32 | function);
	if (!find_child(t, hash, node, function, ret)) {
		*ret = NO_NODE;
		if (t->n_nodes >= t->limits.max_nodes)
			return 0;
		r = number_index_add(&t->children, hash, t->n_nodes);
		if (r == 0)
			r = add_node(t, node, function);
		if (r < 0)
			return r;
		*ret = t->n_nodes - 1;
	}
	t->nodes[node].child = *ret;
	return 0;
}

/* Adds a stack to the total of a function, unless an outer frame has done so. */
static int count_function(struct flame_tree *t, uint32_t function, struct stack_value value)
{
	struct flame_tree_totals *f;

	while (t->n_totals <= function) {
		int r = ARRAY_RESERVE(t->totals, t->max_totals, (size_t)t->n_totals + 1);

		if (r < 0)
			return r;
		t->totals[t->n_totals++] = (struct flame_tree_totals){0};
	}
	f = &t->totals[function];
	if (f->last_stack == t->n_stacks)
		return 0;
	f->last_stack = t->n_stacks;
	flame_sum(&f->total, value);
	return 0;
}

/*
 * Walks from the root down. Once a frame does not fit, node stays at the frame above it, and the
 * remaining frames only count in their functions.
 */
int flame_tree_add(struct flame_tree *t, const struct flame_frame *frames, size_t n_frames,
		   struct stack_value value)
{
	uint32_t node = 0;
	bool cut = false;

	if (!flame_keep_positive(&value))
		return 0;
	t->n_stacks++;
	flame_sum(&t->nodes[0].total, value);
	for (size_t i = n_frames; i-- > 0;) {
		uint32_t child = NO_NODE;
		struct frame_place at;
		int r = frame_functions_find(&t->functions, &frames[i], &at);

		if (r == -EFBIG) {
			cut = true;
			continue;
		}
		if (r == 0 && !cut)
			r = child_of(t, node, at.function, &child);
		if (r == 0)
			r = count_function(t, at.function, value);
		if (r < 0)
			return r;
		if (i == 0)
			flame_sum(&t->totals[at.function].self, value);
		if (child == NO_NODE) {
			cut = true;
			continue;
		}
		node = child;
		t->nodes[node].inlined &= at.inlined;
		flame_sum(&t->nodes[node].total, value);
	}
	flame_sum(cut ? &t->nodes[node].cut : &t->nodes[node].self, value);
	t->nodes[node].n_cut += cut;
	return 0;
}

void flame_tree_add_other(struct flame_tree *t, uint64_t n_stacks, struct stack_value value)
{
	if (!flame_keep_positive(&value))
		return;
	flame_sum(&t->nodes[0].total, value);
	flame_sum(&t->nodes[0].cut, value);
	t->nodes[0].n_cut += n_stacks;
}
