/*
 * Any bytes: what is accepted has every reference in range, and encoding it is
 * stable: decode and encode once more, and not a byte has changed. What is moved in time differs in
 * nothing else.
 */
#include "common/data/arena.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"
#include "common/pprof/pprof_time.h"

#define ARENA_BYTES ((size_t)(64 * MIB))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_references(const struct profile *p)
{
	volatile uint8_t sink = 0; /* every array is read to its end */

	require(p->n_types > 0);
	for (uint32_t i = 0; i < p->n_functions; i++)
		sink += (uint8_t)(p->functions[i].name.data[p->functions[i].name.len] +
				  p->functions[i].file.data[p->functions[i].file.len]);
	for (uint32_t i = 0; i < p->n_locations; i++) {
		require(p->locations[i].n_lines > 0);
		for (uint32_t j = 0; j < p->locations[i].n_lines; j++)
			require(p->locations[i].lines[j].function < p->n_functions);
	}
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		for (uint32_t j = 0; j < s->n_locations; j++)
			require(s->locations[j] < p->n_locations);
		for (uint32_t j = 0; j < p->n_types; j++)
			require(s->values[j] >= 0);
	}
	(void)sink;
}

static void check_shift(const struct profile *p, const uint8_t *data, size_t size)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf out;
	struct profile q;

	arena_init(&arena, ARENA_BYTES);
	buf_init(&out, 64 * MIB);
	if (pprof_time_shift(data, size, 1000, INT64_MAX, &out) < 0) {
		require(p->time_ns <= 0 || p->time_ns > INT64_MAX - 1000);
		return;
	}
	require(pprof_decode(&q, &arena, out.data, out.len, NULL) == 0);
	require(q.time_ns == p->time_ns + 1000 && q.duration_ns == p->duration_ns);
	require(q.n_samples == p->n_samples && q.n_locations == p->n_locations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_fini) struct arena first, second;
	CLEANUP(buf_fini) struct buf once, twice;
	struct profile p, q;
	struct err err = {0};

	arena_init(&first, ARENA_BYTES);
	arena_init(&second, ARENA_BYTES);
	buf_init(&once, 64 * MIB);
	buf_init(&twice, 64 * MIB);

	if (pprof_decode(&p, &first, data, size, &err) < 0) {
		require(err.msg[0] != '\0');
		return 0;
	}
	check_references(&p);
	check_shift(&p, data, size);
	require(pprof_encode(&p, &once) == 0);
	require(pprof_decode(&q, &second, once.data, once.len, &err) == 0);
	/* what was left out or cut needs no more of it */
	require(!profile_losses_any(&q.losses));
	require(q.n_samples == p.n_samples && q.n_locations == p.n_locations);
	require(pprof_encode(&q, &twice) == 0);
	require(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	return 0;
}
