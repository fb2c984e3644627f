#include <errno.h>

#include "common/pprof/unused_parts.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

static const struct made_sample samples[] = {{{5, 9}, 2, {1}}, {{9, 7, 5}, 3, {2}}};

TEST(what_samples_refer_to_stays)
{
	static const char *const names[][3] = {{"f5", "f9"}, {"f9", "f7", "f5"}};
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	arena_init(&arena, 1 << 20);
	p = made_profile(&arena, "a/count", samples, ARRAY_SIZE(samples));
	assert_int_equal(unused_parts_remove(&p), 0);
	assert_int_equal(p.n_locations, 3);
	assert_int_equal(p.n_functions, 3);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(p.samples[i].n_locations, samples[i].depth);
		assert_int_equal(p.samples[i].values[0], samples[i].values[0]);
		for (uint32_t l = 0; l < p.samples[i].n_locations; l++) {
			const struct profile_location *at = &p.locations[p.samples[i].locations[l]];

			assert_int_equal(at->address, 0x1000 + samples[i].stack[l]);
			assert_int_equal(at->lines[0].line, 10 + samples[i].stack[l]);
			assert_string_equal(p.functions[at->lines[0].function].name.data,
					    names[i][l]);
		}
	}
}

TEST(without_samples_nothing_stays)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	arena_init(&arena, 1 << 20);
	p = made_profile(&arena, "a/count", NULL, 0);
	assert_int_equal(unused_parts_remove(&p), 0);
	assert_int_equal(p.n_locations + p.n_functions, 0);
}

static int remove_with_little_memory(void *ctx)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p = *(const struct profile *)ctx;

	arena_init(&arena, 1 << 20);
	p.arena = &arena;
	p.samples = arena_alloc(&arena, p.n_samples * sizeof(*p.samples));
	if (!p.samples)
		return -ENOMEM;
	memcpy(p.samples, ((const struct profile *)ctx)->samples, p.n_samples * sizeof(*p.samples));
	return unused_parts_remove(&p);
}

TEST(no_memory_is_an_error)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	arena_init(&arena, 1 << 20);
	p = made_profile(&arena, "a/count", samples, ARRAY_SIZE(samples));
	check_oom(remove_with_little_memory, &p);
}

TEST(a_full_arena_differs_from_lack_of_memory)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	arena_init(&arena, 1 << 20);
	p = made_profile(&arena, "a/count", samples, ARRAY_SIZE(samples));
	arena.limit_bytes = arena.used_bytes;
	p.n_functions = 1 << 20; /* never read */
	assert_int_equal(unused_parts_remove(&p), -EFBIG);
}
