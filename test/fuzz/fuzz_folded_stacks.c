/* Any text as folded stacks: no line is lost, and frames are whole. */
#include <assert.h>

#include "cluster-agent/push/folded_stacks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;
	size_t n_lines = 0;

	arena_init(&arena, (size_t)64 << 20);
	for (size_t i = 0; i < size; i++)
		n_lines += data[i] == '\n';
	for (int form = FOLDED_VALUES; form <= FOLDED_LINES; form++) {
		const struct folded_config cfg = {
			.form = (enum folded_form)form,
			.unit = {"cpu", "nanoseconds", 10000000, true},
			.unit_is_default = true,
		};

		if (folded_stacks_read(&p, &arena, (const char *)data, size, &cfg, NULL) < 0)
			continue;
		assert(p.n_types == 1);
		assert(p.n_samples + p.losses.n[PROFILE_LOSS_BROKEN_LINES] <= n_lines + 1);
		for (uint32_t i = 0; i < p.n_samples; i++) {
			assert(p.samples[i].values[0] >= 0);
			for (uint32_t l = 0; l < p.samples[i].n_locations; l++)
				assert(p.samples[i].locations[l] < p.n_locations);
		}
		for (uint32_t i = 0; i < p.n_functions; i++)
			assert(p.functions[i].name.len > 0 && p.locations[i].lines[0].line >= 0);
	}
	return 0;
}
