#include "test/bench/ingest/bench_profiles.h"

#include <stdio.h>

#include "common/data/arena.h"
#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"

#define NAME_BYTES 128

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: failed\n", what);
	exit(1);
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static struct profile_string text(struct arena *a, const char *s)
{
	char *copy = arena_strndup(a, s, strlen(s));

	require(copy, "memory");
	return (struct profile_string){copy, strlen(copy)};
}

static void *alloc(struct arena *a, size_t n, size_t size)
{
	void *p = arena_calloc(a, n, size);

	require(p, "memory");
	return p;
}

static void add_functions(struct profile *p, uint32_t n)
{
	p->functions = alloc(p->arena, n, sizeof(*p->functions));
	p->locations = alloc(p->arena, n, sizeof(*p->locations));
	p->n_functions = p->n_locations = n;
	for (uint32_t i = 0; i < n; i++) {
		struct profile_line *line = alloc(p->arena, 1, sizeof(*line));
		char name[NAME_BYTES];

		snprintf(name, sizeof(name), "example.com/shop/internal/p%u.(*Type%u).Method%u",
			 i % 40, i % 300, i);
		p->functions[i].name = text(p->arena, name);
		snprintf(name, sizeof(name), "/src/shop/internal/p%u/file%u.go", i % 40, i % 300);
		p->functions[i].file = text(p->arena, name);
		*line = (struct profile_line){i, (int64_t)(10 + i % 900)};
		p->locations[i] = (struct profile_location){line, 1, 0x400000 + 64 * (uint64_t)i};
	}
}

static void add_samples(struct profile *p, uint64_t seed, uint32_t n, uint32_t depth)
{
	uint64_t random = seed * UINT64_C(0x100000001b3);

	p->samples = alloc(p->arena, n, sizeof(*p->samples));
	p->n_samples = n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t *stack = alloc(p->arena, depth, sizeof(*stack));
		int64_t *value = alloc(p->arena, 1, sizeof(*value));

		for (uint32_t d = 0; d < depth; d++)
			stack[d] = (uint32_t)(next_random(&random) % p->n_locations);
		*value = (int64_t)(next_random(&random) % 20 + 1) * 10101010;
		p->samples[i] = (struct profile_sample){stack, depth, value};
	}
}

static void finish(struct bench_profile *ret, struct profile *p)
{
	CLEANUP(buf_fini) struct buf raw;

	p->time_ns = 0;
	buf_init(&ret->gzipped, LIMIT_UPLOAD_BYTES);
	buf_init(&raw, LIMIT_UPLOAD_INFLATED_BYTES);
	require(pprof_encode(p, &ret->gzipped) == 0, "encoding a profile");
	require(gzip_inflate(ret->gzipped.data, ret->gzipped.len, &raw) == 0, "inflating it");
	ret->n_bytes = raw.len;
	ret->n_samples = p->n_samples;
	ret->n_frames = 0;
	for (uint32_t i = 0; i < p->n_samples; i++)
		for (uint32_t l = 0; l < p->samples[i].n_locations; l++)
			ret->n_frames += p->locations[p->samples[i].locations[l]].n_lines;
}

void bench_profile_random(struct bench_profile *ret, uint64_t seed, uint32_t n_samples,
			  uint32_t depth, uint32_t n_functions)
{
	CLEANUP(arena_fini) struct arena arena;
	struct profile p = {.arena = &arena, .n_types = 1, .period = 10101010};

	arena_init(&arena, SIZE_MAX);
	p.types = alloc(&arena, 1, sizeof(*p.types));
	p.types[0].type = text(&arena, "ebpf:cpu:nanoseconds");
	p.types[0].unit = text(&arena, "nanoseconds");
	p.period_type.type = text(&arena, "cpu");
	p.period_type.unit = p.types[0].unit;
	p.duration_ns = INT64_C(10000000000);
	add_functions(&p, n_functions);
	add_samples(&p, seed, n_samples, depth);
	finish(ret, &p);
}

/* Profiles of Go's own profilers have plain types: "cpu" becomes "go:cpu:nanoseconds". */
static void name_types(struct profile *p)
{
	for (uint32_t i = 0; i < p->n_types; i++) {
		struct profile_value_type *t = &p->types[i];
		char name[NAME_BYTES];

		if (memchr(t->type.data, ':', t->type.len))
			continue;
		snprintf(name, sizeof(name), "go:%s:%s", t->type.data, t->unit.data);
		t->type = text(p->arena, name);
	}
}

void bench_profile_load(struct bench_profile *ret, const char *path)
{
	CLEANUP(arena_fini) struct arena arena;
	char *file = malloc(LIMIT_UPLOAD_BYTES);
	FILE *f = fopen(path, "rb");
	struct profile p;
	size_t len;

	require(file && f, path);
	len = fread(file, 1, LIMIT_UPLOAD_BYTES, f);
	fclose(f);
	arena_init(&arena, SIZE_MAX);
	require(pprof_decode(&p, &arena, file, len, NULL) == 0, path);
	free(file);
	name_types(&p);
	finish(ret, &p);
}

void bench_profile_fini(struct bench_profile *p)
{
	buf_fini(&p->gzipped);
}
