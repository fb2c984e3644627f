/* Profiles that are moved in time are otherwise the same. */
#include <errno.h>

#include "common/data/gzip.h"
#include "common/pprof/pprof_decode.h"
#include "common/pprof/pprof_encode.h"
#include "common/pprof/pprof_time.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define T INT64_C(1700000000000000000)
#define HOUR INT64_C(3600000000000)

static const struct made_sample samples[] = {{{0, 1}, 2, {3}}, {{2}, 1, {4}}};

struct fixture {
	struct arena arena;
	struct buf gzipped, raw, out;
};

static void setup(struct fixture *f, int64_t time_ns)
{
	struct profile p;

	arena_init(&f->arena, 1 << 20);
	buf_init(&f->gzipped, 1 << 20);
	buf_init(&f->raw, 1 << 20);
	buf_init(&f->out, 1 << 20);
	p = made_profile(&f->arena, "ebpf:cpu:nanoseconds/nanoseconds", samples, 2);
	p.time_ns = time_ns;
	p.duration_ns = HOUR / 60;
	assert_int_equal(pprof_encode(&p, &f->gzipped), 0);
	assert_int_equal(gzip_inflate(f->gzipped.data, f->gzipped.len, &f->raw), 0);
}

static void teardown(struct fixture *f)
{
	buf_fini(&f->gzipped);
	buf_fini(&f->raw);
	buf_fini(&f->out);
	arena_fini(&f->arena);
}

/* The result is gzipped, and differs in nothing but the time. */
static void expect(struct fixture *f, int64_t time_ns)
{
	CLEANUP(buf_fini) struct buf again;
	struct profile p;

	assert_int_equal(pprof_decode(&p, &f->arena, f->out.data, f->out.len, NULL), 0);
	assert_true(p.time_ns == time_ns);
	assert_true(p.duration_ns == HOUR / 60);
	assert_int_equal(made_profile_sum(&p, 0), 7);
	p.time_ns = T;
	buf_init(&again, 1 << 20);
	assert_int_equal(pprof_encode(&p, &again), 0);
	assert_int_equal(again.len, f->gzipped.len);
	assert_memory_equal(again.data, f->gzipped.data, again.len);
	buf_truncate(&f->out, 0);
}

TEST(a_profile_is_moved_and_stays_the_same)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f, T);
	assert_int_equal(pprof_time_shift(f.gzipped.data, f.gzipped.len, HOUR, INT64_MAX, &f.out),
			 0);
	expect(&f, T + HOUR);
	assert_int_equal(pprof_time_shift(f.raw.data, f.raw.len, -HOUR, INT64_MAX, &f.out), 0);
	expect(&f, T - HOUR);
	/* it cannot end later than now */
	assert_int_equal(pprof_time_shift(f.raw.data, f.raw.len, HOUR, T + 5, &f.out), 0);
	expect(&f, T + 5);
}

TEST(a_profile_without_a_time_stays_without)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f, 0);
	assert_int_equal(pprof_time_shift(f.gzipped.data, f.gzipped.len, HOUR, INT64_MAX, &f.out),
			 -ENODATA);
	assert_int_equal(pprof_time_shift("", 0, HOUR, INT64_MAX, &f.out), -ENODATA);
}

TEST(nonsense_is_refused)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f, T);
	assert_int_equal(pprof_time_shift("profile", 7, HOUR, INT64_MAX, &f.out), -EBADMSG);
	assert_int_equal(
		pprof_time_shift(f.gzipped.data, f.gzipped.len / 2, HOUR, INT64_MAX, &f.out),
		-EBADMSG);
	assert_int_equal(pprof_time_shift(f.raw.data, f.raw.len, INT64_MAX, INT64_MAX, &f.out),
			 -ENODATA);
	assert_int_equal(pprof_time_shift(f.raw.data, f.raw.len, -T, INT64_MAX, &f.out), -ENODATA);
}

static int shift(void *arg)
{
	struct fixture *f = arg;
	CLEANUP(buf_fini) struct buf out;

	buf_init(&out, 1 << 20);
	return pprof_time_shift(f->gzipped.data, f->gzipped.len, HOUR, INT64_MAX, &out);
}

TEST(without_memory_it_says_so)
{
	CLEANUP(teardown) struct fixture f;

	setup(&f, T);
	check_oom(shift, &f);
}
