#include <assert.h>

#include "cluster-agent/ingest/profile_rows.h"
#include "common/data/hash.h"
#include "common/pprof/pprof_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Any pprof that is taken: every value is in exactly one row, hashes are those
 * of the frames, and every type has a row.
 */
static void check_stack(const struct profile_rows *r, uint32_t stack)
{
	struct row_text *frames = calloc(r->max_frames + 1u, sizeof(*frames));
	uint64_t h = FNV1A64_INIT;
	size_t n;

	assert(frames);
	n = profile_rows_frames(r, stack, frames);
	assert(n <= r->max_frames);
	for (size_t i = 0; i < n; i++)
		h = fnv1a64(h, frames[i].data, frames[i].len);
	assert(h == r->stacks[stack].hash);
	free(frames);
}

static void check_types(const struct profile_rows *r)
{
	const struct profile *p = r->profile;
	uint32_t type = 0;

	for (uint32_t i = 0; i < p->n_types; i++) {
		int64_t rest = 0;
		uint32_t n_rows = 0;

		if (p->types[i].type.len == 0)
			continue;
		for (uint32_t s = 0; s < p->n_samples; s++)
			rest += p->samples[s].values[i];
		for (uint32_t s = 0; s < r->n_stacks; s++) {
			n_rows += profile_rows_has(&r->types[type], s);
			rest -= r->types[type].values[s];
		}
		assert(rest == 0 && n_rows > 0);
		assert(r->types[type].n_truncated <= r->types[type].n_samples);
		type++;
	}
	assert(type == r->n_types);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct profile_rows_limits limits = {
		.now_ns = INT64_C(1800000000000000000),
		.max_age_ns = INT64_C(1800000000000000000),
		.max_hash_bytes = 1 << 20,
	};
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;
	struct profile_rows r;

	arena_init(&arena, (size_t)64 << 20);
	if (pprof_decode(&p, &arena, data, size, NULL) < 0 ||
	    profile_rows_make(&r, &p, &limits, NULL, NULL) < 0)
		return 0;
	assert(r.n_stacks > 0 && r.window.start_ns <= r.window.end_ns);
	for (uint32_t i = 0; i < r.n_stacks; i++)
		check_stack(&r, i);
	check_types(&r);
	return 0;
}
