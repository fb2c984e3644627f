#include "cluster-agent/ingest/stack_hash.h"
#include "common/data/hash.h"
#include "test/lib/unit.h"

#define N_LOCATIONS 50u
#define N_SAMPLES 203u
#define MAX_DEPTH 9u

/* Stacks of all depths from 0 on, of locations with 0 to 2 frames of 0 to 40 bytes. */
static struct row_text frames[N_LOCATIONS][2];
static struct profile_rows_location locations[N_LOCATIONS];
static uint32_t refs[N_SAMPLES][MAX_DEPTH];
static struct profile_sample samples[N_SAMPLES];

static int make(void **state)
{
	static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789\xff\x80\x00";
	uint32_t seed = 1;

	(void)state;
	for (uint32_t i = 0; i < N_LOCATIONS; i++) {
		frames[i][0] = (struct row_text){text + i % 7, i % 30};
		frames[i][1] = (struct row_text){text, i % 40};
		locations[i] =
			(struct profile_rows_location){.frames = frames[i], .n_frames = i % 3};
	}
	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		for (uint32_t d = 0; d < MAX_DEPTH; d++) {
			seed = seed * 1664525 + 1013904223;
			refs[i][d] = (seed >> 8) % N_LOCATIONS;
		}
		samples[i] = (struct profile_sample){refs[i], i % (MAX_DEPTH + 1), NULL};
	}
	return 0;
}

static uint64_t one_by_one(const struct profile_sample *s)
{
	uint64_t h = FNV1A64_INIT;

	for (uint32_t i = 0; i < s->n_locations; i++)
		for (uint32_t f = 0; f < locations[s->locations[i]].n_frames; f++) {
			const struct row_text *t = &locations[s->locations[i]].frames[f];

			h = fnv1a64(h, t->data, t->len);
		}
	return h;
}

TEST_FIXTURE(any_number_of_stacks_hash_as_if_alone, make, NULL)
{
	uint32_t all[N_SAMPLES];

	for (uint32_t i = 0; i < N_SAMPLES; i++)
		all[i] = i;
	for (uint32_t n = 0; n <= N_SAMPLES; n++) {
		uint64_t hashes[N_SAMPLES + 1] = {0};

		hashes[n] = 42;
		stack_hash_all(locations, samples, all, n, hashes);
		for (uint32_t i = 0; i < n; i++)
			assert_true(hashes[i] == one_by_one(&samples[i]));
		assert_int_equal(hashes[n], 42);
	}
}

TEST_FIXTURE(only_those_asked_for_are_hashed, make, NULL)
{
	uint64_t hashes[N_SAMPLES] = {0};
	uint32_t odd[N_SAMPLES / 2];

	for (uint32_t i = 0; i < ARRAY_SIZE(odd); i++)
		odd[i] = 2 * i + 1;
	stack_hash_all(locations, samples, odd, ARRAY_SIZE(odd), hashes);
	for (uint32_t i = 0; i < N_SAMPLES; i++)
		assert_true(hashes[i] == (i % 2 ? one_by_one(&samples[i]) : 0));
}
