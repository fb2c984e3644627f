/*
 * Any text as a file of speedscope: within bounds and limits, and what is read is whole. Corpus:
 * files of py-spy 0.4.3 and pyinstrument 5, and files made by hand.
 */
#include <assert.h>
#include <errno.h>

#include "cluster-agent/push/speedscope_profiles.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct profile *p)
{
	assert(p->n_types == 1 && p->period >= 0);
	for (uint32_t i = 0; i < p->n_samples; i++) {
		assert(p->samples[i].values[0] >= 0);
		for (uint32_t l = 0; l < p->samples[i].n_locations; l++)
			assert(p->samples[i].locations[l] < p->n_locations);
	}
	for (uint32_t i = 0; i < p->n_functions; i++)
		assert(p->functions[i].name.len > 0 && p->locations[i].lines[0].line >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct folded_unit unit = {"cpu", "nanoseconds", 10000000, true};
	CLEANUP(arena_fini) struct arena arena;
	struct speedscope_profiles profiles;
	struct err err = {""};
	int e;

	arena_init(&arena, (size_t)64 << 20);
	(void)speedscope_detect((const char *)data, size);
	e = speedscope_profiles_read(&profiles, &arena, (const char *)data, size, &unit, &err);
	if (e < 0)
		assert((e == -EBADMSG || e == -EFBIG) && err.msg[0]);
	else
		assert(profiles.n > 0 && profiles.n <= SPEEDSCOPE_KINDS);
	for (size_t i = 0; e == 0 && i < profiles.n; i++)
		check(&profiles.items[i]);
	return 0;
}
