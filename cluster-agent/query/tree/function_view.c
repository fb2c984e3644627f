#include "cluster-agent/query/tree/function_view.h"

#include <errno.h>

#include "common/data/array.h"
#include "common/flame/flame_nodes.h"
#include "common/flame/frame_functions.h"

#define MAX_TEXT_BYTES ((size_t)64 << 20)
#define NOT_FOUND SIZE_MAX

struct line {
	struct function_line shown; /* first */
	uint64_t last_stack;        /* number of the last stack that was added to total */
};

struct function_view {
	struct frame_functions functions;
	uint32_t target;
	uint64_t n_stacks;
	struct stack_value self;
	struct stack_value total;
	struct number_index by_line; /* lines by number and inlined */
	struct line *lines;
	uint32_t n_lines;
	struct function_line *sorted;
	struct flame_tree *callers;
	struct flame_tree *callees;
	struct flame_frame *reversed; /* scratch */
	size_t max_reversed;
};

int function_view_new(struct function_view **ret, const char *name, const char *file)
{
	CLEANUP(function_view_freep) struct function_view *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	v->lines = calloc(FUNCTION_VIEW_MAX_LINES + 2, sizeof(*v->lines));
	v->sorted = calloc(FUNCTION_VIEW_MAX_LINES + 2, sizeof(*v->sorted));
	if (!v->lines || !v->sorted)
		return -ENOMEM;
	r = frame_functions_init(&v->functions, MAX_TEXT_BYTES);
	if (r == 0)
		r = frame_functions_add(&v->functions, name, file, &v->target);
	if (r == 0)
		r = flame_tree_new(&v->callers, NULL);
	if (r == 0)
		r = flame_tree_set_root(v->callers, name, file);
	if (r == 0)
		r = flame_tree_new(&v->callees, NULL);
	if (r == 0)
		r = flame_tree_set_root(v->callees, name, file);
	if (r == 0)
		*ret = TAKE_PTR(v);
	return r;
}

void function_view_free(struct function_view *v)
{
	if (!v)
		return;
	frame_functions_fini(&v->functions);
	number_index_fini(&v->by_line);
	free(v->lines);
	free(v->sorted);
	flame_tree_free(v->callers);
	flame_tree_free(v->callees);
	free(v->reversed);
	free(v);
}

static uint32_t hash_line(uint32_t line, bool inlined)
{
	return number_hash((uint64_t)line << 1 | inlined);
}

static struct line *find_line(const struct function_view *v, uint32_t line, bool inlined)
{
	uint32_t hash = hash_line(line, inlined), at = hash, i;

	while (number_index_next(&v->by_line, hash, &at, &i)) {
		if (v->lines[i].shown.line == line && v->lines[i].shown.inlined == inlined)
			return &v->lines[i];
	}
	return NULL;
}

/* Finds or adds the line; beyond the limit that is line 0, for which two entries are left. */
static int line_of(struct function_view *v, int64_t line, bool inlined, struct line **ret)
{
	uint32_t key = line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
	int r;

	*ret = find_line(v, key, inlined);
	if (!*ret && v->n_lines >= FUNCTION_VIEW_MAX_LINES && key > 0) {
		key = 0;
		*ret = find_line(v, 0, inlined);
	}
	if (*ret)
		return 0;
	r = number_index_add(&v->by_line, hash_line(key, inlined), v->n_lines);
	if (r < 0)
		return r;
	*ret = &v->lines[v->n_lines++];
	**ret = (struct line){.shown = {.line = key, .inlined = inlined}};
	return 0;
}

/*
 * Counts the lines of the function in a stack. Sets *ret to the index of the outermost call, or to
 * NOT_FOUND.
 */
static int count_lines(struct function_view *v, const struct flame_frame *frames, size_t n_frames,
		       struct stack_value value, size_t *ret)
{
	*ret = NOT_FOUND;
	for (size_t i = 0; i < n_frames; i++) {
		struct frame_place at;
		struct line *line;
		int r = frame_functions_find(&v->functions, &frames[i], &at);

		if (r == -EFBIG || (r == 0 && at.function != v->target))
			continue;
		if (r < 0)
			return r;
		r = line_of(v, at.line, at.inlined, &line);
		if (r < 0)
			return r;
		*ret = i;
		if (i == 0)
			flame_sum(&line->shown.self, value);
		if (line->last_stack != v->n_stacks)
			flame_sum(&line->shown.total, value);
		line->last_stack = v->n_stacks;
	}
	return 0;
}

/* The tree of callers goes up: its leaf is the root of the stack. */
static int add_callers(struct function_view *v, const struct flame_frame *frames, size_t n,
		       struct stack_value value)
{
	if (ARRAY_RESERVE(v->reversed, v->max_reversed, n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		v->reversed[i] = frames[n - 1 - i];
	return flame_tree_add(v->callers, v->reversed, n, value);
}

int function_view_add(struct function_view *v, const struct flame_frame *frames, size_t n_frames,
		      struct stack_value value)
{
	struct frame_place leaf = {0};
	size_t outermost;
	int r;

	if (!flame_keep_positive(&value))
		return 0;
	v->n_stacks++;
	r = count_lines(v, frames, n_frames, value, &outermost);
	if (r < 0 || outermost == NOT_FOUND)
		return r;
	flame_sum(&v->total, value);
	r = frame_functions_find(&v->functions, &frames[0], &leaf);
	if (r == 0 && leaf.function == v->target)
		flame_sum(&v->self, value);
	if (r < 0 && r != -EFBIG)
		return r;
	r = add_callers(v, frames + outermost + 1, n_frames - outermost - 1, value);
	return r == 0 ? flame_tree_add(v->callees, frames, outermost, value) : r;
}

struct stack_value function_view_self(const struct function_view *v)
{
	return v->self;
}

struct stack_value function_view_total(const struct function_view *v)
{
	return v->total;
}

static int descending(struct stack_value a, struct stack_value b)
{
	if (a.value != b.value)
		return a.value > b.value ? -1 : 1;
	return (a.base < b.base) - (a.base > b.base);
}

static int by_self(const void *a, const void *b)
{
	const struct function_line *x = a, *y = b;
	int c = descending(x->self, y->self);

	if (c == 0)
		c = descending(x->total, y->total);
	if (c == 0)
		c = (x->line > y->line) - (x->line < y->line);
	return c ? c : (int)x->inlined - (int)y->inlined;
}

const struct function_line *function_view_lines(struct function_view *v, size_t *ret_n)
{
	for (uint32_t i = 0; i < v->n_lines; i++)
		v->sorted[i] = v->lines[i].shown;
	qsort(v->sorted, v->n_lines, sizeof(*v->sorted), by_self);
	*ret_n = v->n_lines;
	return v->sorted;
}

struct flame_tree *function_view_callers(struct function_view *v)
{
	return v->callers;
}

struct flame_tree *function_view_callees(struct function_view *v)
{
	return v->callees;
}
