#include <errno.h>

#include "common/data/gzip.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_writer.h"
#include "test/lib/unit.h"

#define STR(s)                   \
	{                        \
		s, sizeof(s) - 1 \
	}
#define DEPTH 20u

static const struct profile_value_type type = {STR("space"), STR("bytes")};
static const struct pprof_times times = {&type, 512, INT64_C(1700000000000000000), 60};

static void put_function(struct pprof_writer *w, unsigned i)
{
	const struct profile_line line = {i, i + 10};
	const struct profile_location location = {.lines = &line, .n_lines = 1};
	struct profile_function f = {.file = STR("main.go")};
	char name[32];

	f.name.len = (size_t)snprintf(name, sizeof(name), "f%u", i);
	f.name.data = name;
	pprof_writer_put_function(w, &f);
	pprof_writer_put_location(w, &location);
}

/* Sample i has the digits of i for its stack. */
static void put_sample(struct pprof_writer *w, uint32_t i)
{
	uint8_t packed[DEPTH * PPROF_PACKED_LOCATION_MAX_BYTES];
	uint8_t values[2 * PPROF_PACKED_MAX_BYTES];
	size_t len = 0, values_len;
	uint32_t rest = i;

	for (unsigned k = 0; k < DEPTH; k++, rest /= 200)
		len += pprof_pack_location(packed + len, rest % 200);
	values_len = pprof_pack(values, i);
	values_len += pprof_pack(values + values_len, (uint64_t)INT64_MAX - i);
	pprof_writer_put_packed_sample(
		w, &(struct pprof_packed_sample){packed, len, values, values_len});
}

static int write_all(struct buf *out, uint32_t n_samples)
{
	CLEANUP(pprof_writer_freep) struct pprof_writer *w = NULL;
	int r = pprof_writer_new(&w, PPROF_LEVEL_FAST, out);

	if (r < 0)
		return r;
	pprof_writer_put_type(w, &type);
	pprof_writer_put_type(w, &type);
	for (uint32_t i = 0; i < n_samples; i++)
		put_sample(w, i);
	for (unsigned i = 0; i < 200; i++)
		put_function(w, i);
	return pprof_writer_finish(w, &times);
}

static void check(uint32_t n_samples)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	struct profile p;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&out, LIMIT_UPLOAD_BYTES);
	assert_int_equal(write_all(&out, n_samples), 0);
	assert_int_equal(pprof_decode(&p, &arena, out.data, out.len, &err), 0);
	assert_int_equal(p.n_samples, n_samples);
	assert_int_equal(p.n_functions, 200);
	assert_string_equal(p.functions[199].name.data, "f199");
	for (uint32_t i = 0; i < n_samples; i++) {
		const struct profile_sample *s = &p.samples[i];

		assert_int_equal(s->n_locations, DEPTH);
		assert_int_equal(s->locations[0], i % 200);
		assert_int_equal(s->locations[1], i / 200 % 200);
		assert_int_equal(s->values[0], i);
		assert_true(s->values[1] == INT64_MAX - (int64_t)i);
	}
}

TEST(packed_samples_are_samples)
{
	check(3);
	check(500);
}

TEST(what_is_large_is_written_in_pieces_of_one_file)
{
	check(40000); /* 30 bytes each */
}

TEST(out_is_as_before_unless_it_is_finished)
{
	CLEANUP(buf_fini) struct buf out;
	struct pprof_writer *w;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	assert_int_equal(buf_add(&out, "head", 4), 0);
	assert_int_equal(pprof_writer_new(&w, PPROF_LEVEL_FAST, &out), 0);
	for (uint32_t i = 0; i < 40000; i++)
		put_sample(w, i);
	assert_true(out.len > 4);
	pprof_writer_free(w);
	assert_int_equal(out.len, 4);
	assert_string_equal(out.data, "head");
}

TEST(beyond_the_limit_there_is_nothing)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 20000);
	assert_int_equal(write_all(&out, 40000), -EFBIG);
	assert_int_equal(out.len, 0);
}

static int write_some(void *arg)
{
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	return write_all(&out, *(uint32_t *)arg);
}

TEST(survives_every_failed_allocation)
{
	uint32_t n_samples = 20000;

	check_oom(write_some, &n_samples);
}
