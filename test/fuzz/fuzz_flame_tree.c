#include <assert.h>

#include "common/flame/flame_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_FRAMES 64

/*
 * Input: four bytes of limits, then stacks: lines of frames between ';', whose
 * length is the value. Whatever is cut, self values add up to the total, and
 * so do the children and self of every node.
 */
static int64_t add_stacks(struct flame_tree *t, const char *s, size_t size)
{
	int64_t sum = 0;

	while (size > 0) {
		struct flame_frame frames[MAX_FRAMES] = {0};
		const char *nl = memchr(s, '\n', size);
		size_t len = nl ? (size_t)(nl - s) : size, n = 0;
		int64_t value = (int64_t)len + 1;

		for (size_t at = 0; at < len && n < MAX_FRAMES; n++) {
			const char *sep = memchr(s + at, ';', len - at);

			frames[n].text = s + at;
			frames[n].len = sep ? (size_t)(sep - s) - at : len - at;
			at += frames[n].len + 1;
		}
		assert(flame_tree_add(t, frames, n, (struct stack_value){value, 0}) == 0);
		sum += value;
		s += len + (nl ? 1 : 0);
		size -= len + (nl ? 1 : 0);
	}
	return sum;
}

static void check_view(const struct flame_view *v, int64_t total)
{
	int64_t self = 0;

	assert(v->n_nodes > 0 && v->node_depth[0] == 0 && v->node_total[0] == total);
	for (uint32_t i = 0; i < v->n_nodes; i++) {
		int64_t rest = v->node_total[i] - v->node_self[i];

		self += v->node_self[i];
		assert(v->node_name[i] < v->n_names && v->node_file[i] < v->n_files);
		assert(v->node_pair[i] < v->n_pairs);
		assert(v->pair_name[v->node_pair[i]] == v->node_name[i]);
		assert(v->pair_file[v->node_pair[i]] == v->node_file[i]);
		assert(i == 0 ||
		       (v->node_depth[i] > 0 && v->node_depth[i] <= v->node_depth[i - 1] + 1));
		for (uint32_t c = i + 1; c < v->n_nodes && v->node_depth[c] > v->node_depth[i]; c++)
			if (v->node_depth[c] == v->node_depth[i] + 1)
				rest -= v->node_total[c];
		assert(rest == 0);
	}
	assert(self == total);
	for (uint32_t i = 0; i < v->n_functions; i++) {
		assert(v->functions[i].total <= total);
		assert(v->functions[i].self <= v->functions[i].total);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(flame_tree_freep) struct flame_tree *t = NULL;
	CLEANUP(flame_view_fini) struct flame_view v = {0};
	struct flame_tree_limits limits = {0};
	struct flame_view_limits shown = {UINT32_MAX, UINT32_MAX, 0};
	int64_t total;

	if (size < 4)
		return 0;
	limits.max_nodes = data[0];
	limits.max_text_bytes = data[1] ? data[1] + 5u : 0;
	shown.max_nodes = data[2] ? data[2] : UINT32_MAX;
	shown.max_functions = data[3] ? data[3] : UINT32_MAX;
	assert(flame_tree_new(&t, &limits) == 0);
	total = add_stacks(t, (const char *)data + 4, size - 4);
	flame_tree_add_other(t, 1, (struct stack_value){data[3], 0});
	assert(flame_tree_view(t, &shown, &v) == 0);
	check_view(&v, total + data[3]);
	return 0;
}
