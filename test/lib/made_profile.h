/*
 * Profiles for tests: frame i is function "f<i>" in "f<i>.go" at line 10 + i, and location i is
 * that frame. Everything lives in the arena and may be changed.
 */
#ifndef TEST_LIB_MADE_PROFILE_H
#define TEST_LIB_MADE_PROFILE_H

#include "common/pprof/profile.h"

#define MADE_PROFILE_FRAMES 32u

struct made_sample {
	uint32_t stack[4]; /* leaf first */
	uint32_t depth;
	int64_t values[4];
};

/* types: "name/unit name/unit …" */
struct profile made_profile(struct arena *arena, const char *types,
			    const struct made_sample *samples, uint32_t n_samples);

/* Sum of one value over all samples. */
int64_t made_profile_sum(const struct profile *p, uint32_t type);

#endif /* TEST_LIB_MADE_PROFILE_H */
