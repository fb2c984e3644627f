/*
 * What it costs to make frames of uploads, step by step: CPU time of one thread, the least of
 * several rounds, because all that a busy machine does to a round makes it longer. Prints a line of
 * JSON for each kind of profile.
 *
 *	ingest_cost FILE.pb.gz …
 */
#include <stdio.h>

#include "common/data/arena.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "test/bench/ingest/bench_uploads.h"

#define ROUNDS 15
#define MAX_PROFILES 100u
#define SEEN_ENTRIES ((size_t)1 << 20)

enum step { INFLATE, DECODE, NEW, KNOWN, N_STEPS };

static struct bench_profile profiles[MAX_PROFILES];
static size_t n_profiles;
static uint64_t least_ns[N_STEPS], n_packed[N_STEPS];
static struct arena arena;
static struct row_batch batch;

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void inflate_all(void)
{
	for (size_t i = 0; i < n_profiles; i++) {
		CLEANUP(buf_fini) struct buf out;

		buf_init(&out, LIMIT_UPLOAD_INFLATED_BYTES);
		require(gzip_inflate(profiles[i].gzipped.data, profiles[i].gzipped.len, &out) == 0);
	}
}

static void decode_all(void)
{
	for (size_t i = 0; i < n_profiles; i++) {
		struct profile p;

		arena_clear(&arena);
		require(pprof_decode(&p, &arena, profiles[i].gzipped.data, profiles[i].gzipped.len,
				     NULL) == 0);
	}
}

static uint64_t rows_of_all(struct seen_stacks *seen)
{
	uint64_t n = 0;

	for (size_t i = 0; i < n_profiles; i++) {
		struct upload_rows rows;

		bench_uploads_rows(&rows, &batch, &profiles[i], i, seen, &arena);
		n += batch.n_packed;
		if (seen)
			bench_uploads_remember(seen, &rows);
		else
			free(rows.stacks);
	}
	return n;
}

static void run_step(enum step step, struct seen_stacks *seen)
{
	uint64_t start = clock_thread_cpu_ns(), ns;

	if (step == INFLATE)
		inflate_all();
	else if (step == DECODE)
		decode_all();
	else
		n_packed[step] = rows_of_all(step == KNOWN ? seen : NULL);
	ns = clock_thread_cpu_ns() - start;
	if (least_ns[step] == 0 || ns < least_ns[step])
		least_ns[step] = ns;
}

static void run(const char *name)
{
	CLEANUP(seen_stacks_freep) struct seen_stacks *seen = NULL;
	uint64_t n_samples = 0, n_bytes = 0, n_frames = 0;

	memset(least_ns, 0, sizeof(least_ns));
	require(seen_stacks_new(&seen, SEEN_ENTRIES) == 0);
	rows_of_all(seen);
	for (int i = 0; i < ROUNDS; i++)
		for (enum step step = 0; step < N_STEPS; step++)
			run_step(step, seen);
	for (size_t i = 0; i < n_profiles; i++) {
		n_samples += profiles[i].n_samples;
		n_bytes += profiles[i].n_bytes;
		n_frames += profiles[i].n_frames;
		bench_profile_fini(&profiles[i]);
	}
	printf("{\"name\":\"%s\",\"profiles\":%zu,\"stacks\":%llu,\"depth\":%.1f,\"inflated\":%llu,"
	       "\"inflateNs\":%llu,\"decodeNs\":%llu,\"newNs\":%llu,\"knownNs\":%llu,"
	       "\"newBytes\":%llu,\"knownBytes\":%llu}\n",
	       name, n_profiles, (unsigned long long)n_samples,
	       (double)n_frames / (double)n_samples, (unsigned long long)n_bytes,
	       (unsigned long long)least_ns[INFLATE], (unsigned long long)least_ns[DECODE],
	       (unsigned long long)least_ns[NEW], (unsigned long long)least_ns[KNOWN],
	       (unsigned long long)n_packed[NEW], (unsigned long long)n_packed[KNOWN]);
}

static void run_random(const char *name, size_t n, uint32_t n_stacks, uint32_t n_functions)
{
	for (n_profiles = 0; n_profiles < n; n_profiles++)
		bench_profile_random(&profiles[n_profiles], n_profiles, n_stacks, 30, n_functions);
	run(name);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	row_batch_init(&batch, LIMIT_PROFILE_PACKED_BYTES, LIMIT_PROFILE_ROWS_BYTES);
	run_random("random, 100", 80, 100, 500);
	run_random("random, 1000", 8, 1000, 2000);
	run_random("random, 20000", 1, 20000, 4000);
	for (int i = 1; i < argc; i++) {
		/* several, as a small one takes microseconds */
		for (n_profiles = 0; n_profiles < 20; n_profiles++)
			bench_profile_load(&profiles[n_profiles], argv[i]);
		run(base_name(argv[i]));
	}
	for (n_profiles = 0;
	     argc > 1 && n_profiles < 20 * (size_t)(argc - 1) && n_profiles < MAX_PROFILES;
	     n_profiles++)
		bench_profile_load(&profiles[n_profiles],
				   argv[1 + n_profiles % (size_t)(argc - 1)]);
	if (n_profiles > 0)
		run("all files");
	row_batch_fini(&batch);
	arena_fini(&arena);
	return 0;
}
