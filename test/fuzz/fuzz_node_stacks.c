/* Any bytes as a tree and as a trie of stacks: within bounds and limits, and frames are whole. */
#include <assert.h>
#include <errno.h>

#include "cluster-agent/push/node_stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int form = NODE_TREE; form <= NODE_TRIE; form++) {
		CLEANUP(arena_fini) struct arena arena;
		const struct node_config cfg = {(enum node_form)form,
						{"cpu", "nanoseconds", 10000000, true}};
		struct profile p;
		struct err err = {""};
		int e;

		arena_init(&arena, (size_t)64 << 20);
		e = node_stacks_read(&p, &arena, data, size, &cfg, &err);
		if (e < 0) {
			assert((e == -EBADMSG || e == -EFBIG) && err.msg[0]);
			continue;
		}
		assert(p.n_types == 1 && p.n_samples <= size);
		for (uint32_t i = 0; i < p.n_samples; i++) {
			assert(p.samples[i].values[0] > 0);
			for (uint32_t l = 0; l < p.samples[i].n_locations; l++)
				assert(p.samples[i].locations[l] < p.n_locations);
		}
		for (uint32_t i = 0; i < p.n_functions; i++)
			assert(p.functions[i].name.len > 0);
	}
	return 0;
}
