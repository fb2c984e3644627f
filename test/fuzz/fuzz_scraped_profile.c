#include <assert.h>

#include "cluster-agent/scrape/scraped_profile.h"
#include "common/pprof/pprof_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Any pprof, scraped twice as each kind: what is taken the first time is taken the second time,
 * nothing was added in between and nothing in use is lost; every reference holds.
 */
static void check(const struct profile *p)
{
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		bool any = false;

		for (uint32_t t = 0; t < p->n_types; t++) {
			assert(s->values[t] >= 0);
			any |= s->values[t] > 0;
		}
		assert(any);
		for (uint32_t l = 0; l < s->n_locations; l++)
			assert(s->locations[l] < p->n_locations);
	}
	for (uint32_t i = 0; i < p->n_locations; i++)
		for (uint32_t l = 0; l < p->locations[i].n_lines; l++)
			assert(p->locations[i].lines[l].function < p->n_functions);
}

static uint64_t sum(const struct profile *p, uint32_t type)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->n_samples; i++)
		sum += (uint64_t)p->samples[i].values[type];
	return sum;
}

static void compare(const struct profile *first, const struct profile *second)
{
	uint32_t f = 0;

	assert(first->n_types <= second->n_types);
	for (uint32_t t = 0; t < second->n_types; t++) {
		bool in_both = f < first->n_types &&
			       strcmp(first->types[f].type.data, second->types[t].type.data) == 0;

		assert(sum(second, t) == (in_both ? sum(first, f) : 0));
		f += in_both;
	}
	assert(f == first->n_types);
}

static void scrape_twice(const uint8_t *data, size_t size, enum profile_kind kind)
{
	const struct scraped_profile_info info = {
		.kind = kind, .scraped_at_ns = 1800000000, .interval_ns = 60};
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(profile_baseline_fini) struct profile_baseline baseline = {0};
	struct profile first, second;
	bool restarted = false;

	arena_init(&arena, (size_t)64 << 20);
	if (pprof_decode(&first, &arena, data, size, NULL) < 0 ||
	    pprof_decode(&second, &arena, data, size, NULL) < 0)
		return;
	if (scraped_profile_convert(&first, &baseline, &info, &restarted, NULL) < 0) {
		assert(!baseline.valid && !baseline.data);
		return;
	}
	check(&first);
	if (scraped_profile_convert(&second, &baseline, &info, &restarted, NULL) < 0)
		return; /* the arena is full */
	check(&second);
	assert(!restarted);
	compare(&first, &second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (unsigned kind = 0; kind < PROFILE_KIND_MAX; kind++)
		scrape_twice(data, size, (enum profile_kind)kind);
	return 0;
}
