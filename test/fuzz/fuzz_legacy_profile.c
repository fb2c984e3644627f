/* Any bytes as a profile of an old format: references exist and values are not negative. */
#include <assert.h>

#include "common/pprof/legacy_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	arena_init(&arena, (size_t)64 << 20);
	if (legacy_profile_decode(&p, &arena, data, size, NULL) == 0) {
		assert(legacy_profile_detect(data, size) || size == 0 || data[0] <= ' ');
		for (uint32_t i = 0; i < p.n_samples; i++) {
			for (uint32_t t = 0; t < p.n_types; t++)
				assert(p.samples[i].values[t] >= 0);
			for (uint32_t l = 0; l < p.samples[i].n_locations; l++)
				assert(p.samples[i].locations[l] < p.n_locations);
		}
		for (uint32_t i = 0; i < p.n_functions; i++)
			assert(p.functions[i].name.len > 0);
	}
	return 0;
}
