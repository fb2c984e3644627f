/*
 * Uploads for benchmarks: made up ones, whose stacks are all different, and files of real
 * profiles. Everything that fails ends the program.
 */
#ifndef TEST_BENCH_INGEST_BENCH_PROFILES_H
#define TEST_BENCH_INGEST_BENCH_PROFILES_H

#include "common/data/buf.h"

struct bench_profile {
	struct buf gzipped; /* pprof without time, which the receiver then sets */
	uint64_t n_samples;
	uint64_t n_frames;
	uint64_t n_bytes; /* inflated */
};

/*
 * n_samples random stacks of that depth over n_functions functions, whose names and files are as
 * long as those of Go programs. Another seed gives other stacks of the same functions.
 */
void bench_profile_random(struct bench_profile *ret, uint64_t seed, uint32_t n_samples,
			  uint32_t depth, uint32_t n_functions);
/* Reads a gzipped pprof and removes its time. */
void bench_profile_load(struct bench_profile *ret, const char *path);
void bench_profile_fini(struct bench_profile *p);

#endif /* TEST_BENCH_INGEST_BENCH_PROFILES_H */
