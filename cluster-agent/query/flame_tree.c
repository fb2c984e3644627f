/*
 * Merging is the slow part of a flame graph: 20,000 stacks of 50 frames are a million steps.
 * Most frames repeat thousands of times, so a step costs two lookups: from the frame's text to
 * its function (the text is split into name, file and line only the first time), and from
 * (node, function) to the child node. Nodes and functions are 32-bit indexes into arrays, not
 * pointers: half the memory, and growing the array moves nothing that refers to it.
 *
 * Limits do not fail; they coarsen. A frame that does not fit any more ends the stack there:
 * its value becomes the "cut" of the last node that fits, and the view shows it as "other". The
 * stack's remaining frames still count in the totals per function, as far as their texts fit.
 *
 * A parent is always added before its children, so index order is a topological order, which
 * flame_view.c relies on.
 */
#include "cluster-agent/query/flame_tree.h"

#include <assert.h>
#include <errno.h>

#include "cluster-agent/query/flame_nodes.h"
#include "cluster-agent/query/frame_text.h"

#define DEFAULT_MAX_NODES 2000000u
#define DEFAULT_MAX_TEXT_BYTES ((size_t)64 << 20)

/* Makes room for one more element, by doubling the storage. */
static int reserve(void **array, uint32_t n, uint32_t *max, size_t size)
{
	uint32_t bigger = *max ? *max * 2 : 256;
	void *moved;

	if (n < *max)
		return 0;
	moved = bigger > n ? realloc(*array, bigger * size) : NULL;
	if (!moved)
		return -ENOMEM;
	*array = moved;
	*max = bigger;
	return 0;
}

static int add_node(struct flame_tree *t, uint32_t parent, uint32_t function)
{
	void *nodes = t->nodes;
	int r = reserve(&nodes, t->n_nodes, &t->max_nodes, sizeof(*t->nodes));

	t->nodes = nodes;
	if (r < 0)
		return r;
	t->nodes[t->n_nodes++] = (struct flame_node){.parent = parent, .function = function};
	return 0;
}

/* Returns 0, -EFBIG if the names exceed their limit, or -ENOMEM. */
static int intern_function(struct flame_tree *t, const struct frame_text *text, uint32_t *ret)
{
	uint32_t name = 0, file = 0, id;
	void *functions = t->functions;
	int r = intern_add(t->names, text->name, text->name_len, &name);

	if (r == 0)
		r = intern_add(t->files, text->file, text->file_len, &file);
	if (r < 0)
		return r;
	id = pair_table_find(&t->function_ids, name, file);
	if (id != PAIR_TABLE_ABSENT) {
		*ret = id;
		return 0;
	}
	r = reserve(&functions, t->n_functions, &t->max_functions, sizeof(*t->functions));
	t->functions = functions;
	if (r == 0)
		r = pair_table_add(&t->function_ids, name, file, t->n_functions);
	if (r < 0)
		return r;
	t->functions[t->n_functions] = (struct flame_tree_function){.name = name, .file = file};
	*ret = t->n_functions++;
	return 0;
}

/*
 * Sets *ret to the function of a frame. Returns 0, -EFBIG if texts are at their limit, or
 * -ENOMEM.
 */
static int function_of(struct flame_tree *t, const struct flame_frame *frame, uint32_t *ret)
{
	void *by_text = t->text_functions;
	struct frame_text parts;
	uint32_t id;
	int r = intern_add(t->texts, frame->text, frame->len, &id);

	if (r < 0)
		return r;
	if (id < t->n_text_functions) {
		*ret = t->text_functions[id];
		return 0;
	}
	r = reserve(&by_text, id, &t->max_text_functions, sizeof(*t->text_functions));
	t->text_functions = by_text;
	if (r < 0)
		return r;
	frame_text_split(&parts, frame->text, frame->len);
	r = intern_function(t, &parts, ret);
	/* every id needs an entry, as text_functions is indexed by it */
	if (r == -EFBIG)
		*ret = FLAME_FUNCTION_OTHER;
	else if (r < 0)
		return r;
	assert(t->text_functions);
	t->text_functions[t->n_text_functions++] = *ret;
	return 0;
}

static int new_parts(struct flame_tree *t)
{
	static const struct frame_text empty = {.name = "", .file = ""};
	static const struct frame_text other = {.name = "other", .name_len = 5, .file = ""};
	uint32_t id;
	int r = intern_new(&t->texts, t->limits.max_text_bytes);

	if (r == 0)
		r = intern_new(&t->names, t->limits.max_text_bytes);
	if (r == 0)
		r = intern_new(&t->files, t->limits.max_text_bytes);
	if (r == 0)
		r = intern_function(t, &other, &id); /* FLAME_FUNCTION_OTHER */
	if (r == 0)
		r = intern_function(t, &empty, &id);
	if (r == 0) {
		void *by_text = NULL;

		/* an intern has "" as id 0 from the start */
		r = reserve(&by_text, 0, &t->max_text_functions, sizeof(*t->text_functions));
		t->text_functions = by_text;
	}
	if (r == 0 && t->text_functions)
		t->text_functions[t->n_text_functions++] = id;
	return r == 0 ? add_node(t, 0, FLAME_FUNCTION_OTHER) : -ENOMEM;
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
	r = new_parts(t);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(t);
	return 0;
}

void flame_tree_free(struct flame_tree *t)
{
	if (!t)
		return;
	intern_free(t->texts);
	intern_free(t->names);
	intern_free(t->files);
	pair_table_fini(&t->function_ids);
	pair_table_fini(&t->children);
	free(t->text_functions);
	free(t->functions);
	free(t->nodes);
	free(t);
}

/* Finds or adds the child. Sets *ret to PAIR_TABLE_ABSENT if the tree is at its limit. */
static int child_of(struct flame_tree *t, uint32_t node, uint32_t function, uint32_t *ret)
{
	int r;

	*ret = pair_table_find(&t->children, node, function);
	if (*ret != PAIR_TABLE_ABSENT || t->n_nodes >= t->limits.max_nodes)
		return 0;
	r = pair_table_add(&t->children, node, function, t->n_nodes);
	if (r == 0)
		r = add_node(t, node, function);
	if (r < 0)
		return r;
	*ret = t->n_nodes - 1;
	return 0;
}

static void count_function(struct flame_tree *t, uint32_t function, int64_t value)
{
	struct flame_tree_function *f = &t->functions[function];

	if (f->last_stack == t->n_stacks)
		return;
	f->last_stack = t->n_stacks;
	flame_sum(&f->total, value);
}

/*
 * Walks from the root down. Once a frame does not fit, node stays at the frame above it, and the
 * remaining frames only count in their functions.
 */
int flame_tree_add(struct flame_tree *t, const struct flame_frame *frames, size_t n_frames,
		   int64_t value)
{
	uint32_t node = 0;
	bool cut = false;

	if (value <= 0)
		return 0;
	t->n_stacks++;
	flame_sum(&t->nodes[0].total, value);
	for (size_t i = n_frames; i-- > 0;) {
		uint32_t function, child = PAIR_TABLE_ABSENT;
		int r = function_of(t, &frames[i], &function);

		if (r == -EFBIG) {
			cut = true;
			continue;
		}
		if (r == 0 && !cut)
			r = child_of(t, node, function, &child);
		if (r < 0)
			return r;
		count_function(t, function, value);
		if (i == 0)
			flame_sum(&t->functions[function].self, value);
		if (child == PAIR_TABLE_ABSENT) {
			cut = true;
			continue;
		}
		node = child;
		flame_sum(&t->nodes[node].total, value);
	}
	flame_sum(cut ? &t->nodes[node].cut : &t->nodes[node].self, value);
	t->nodes[node].n_cut += cut;
	return 0;
}

void flame_tree_add_other(struct flame_tree *t, uint64_t n_stacks, int64_t value)
{
	if (value <= 0)
		return;
	flame_sum(&t->nodes[0].total, value);
	flame_sum(&t->nodes[0].cut, value);
	t->nodes[0].n_cut += n_stacks;
}
