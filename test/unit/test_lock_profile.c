#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/go/lock/lock_profile.h"
#include "test/lib/unit.h"

/* At 200 a function is inlined into the one listed as 150. */
static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	(void)ctx;
	ret->frames[0] = (struct frame){"main.f", "main.go", (uint32_t)address, address};
	ret->n = 1;
	if (address == 200 && all)
		ret->frames[ret->n++] = (struct frame){"main.outer", "main.go", 150, 150};
	return 0;
}

static bool is_runtime(void *ctx, uint64_t address)
{
	(void)ctx;
	(void)address;
	return true;
}

struct fixture {
	struct lock_profile *p;
	struct buf out;
	struct arena arena;
	struct profile profile;
	size_t n_samples;
};

static void begin(struct fixture *f, enum lock_kind kind, unsigned minor, uint64_t factor)
{
	const struct lock_profile_config cfg = {
		.resolver = {resolve, is_runtime, NULL},
		.kind = kind,
		.minor = minor,
		.factor = factor,
		.ns_per_tick = 0.5,
		.max_bytes = 1u << 20,
		.out = &f->out,
	};

	memset(f, 0, sizeof(*f));
	buf_init(&f->out, LIMIT_UPLOAD_BYTES);
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(lock_profile_new(&f->p, &cfg), 0);
}

static void end(struct fixture *f)
{
	lock_profile_free(f->p);
	buf_fini(&f->out);
	arena_fini(&f->arena);
}

static int add(struct lock_profile *p, const uint64_t *stack, uint32_t n, uint64_t waits,
	       uint64_t ticks)
{
	const struct lock_counts since = {waits, ticks};
	static struct go_bucket b;

	b.n_stack = n;
	b.stack = b.copy;
	memcpy(b.copy, stack, n * sizeof(*stack));
	return lock_profile_add(p, &b, &since);
}

static void finish(struct fixture *f)
{
	struct err err = {""};

	assert_int_equal(lock_profile_finish(f->p, 10, 4, &f->n_samples), 0);
	if (f->n_samples > 0)
		assert_int_equal(
			pprof_decode(&f->profile, &f->arena, f->out.data, f->out.len, &err), 0);
}

static const char *function(const struct fixture *f, uint32_t sample, uint32_t i)
{
	const struct profile_location *l =
		&f->profile.locations[f->profile.samples[sample].locations[i]];

	return f->profile.functions[l->lines[0].function].name.data;
}

TEST(test_waits_and_their_time_are_two_types)
{
	const uint64_t stack[] = {101, 102};
	struct fixture f;

	begin(&f, LOCK_MUTEX, 19, 128);
	assert_int_equal(add(f.p, stack, 2, 3, 1000), 0);
	assert_int_equal(add(f.p, stack, 2, 1, 10), 0);
	finish(&f);
	assert_int_equal(f.profile.n_types, 2);
	assert_string_equal(f.profile.types[0].type.data, "go:mutex_contentions:count");
	assert_string_equal(f.profile.types[1].type.data, "go:mutex_delay:nanoseconds");
	assert_int_equal(f.profile.time_ns, 10);
	assert_int_equal(f.profile.duration_ns, 4);
	assert_int_equal(f.n_samples, 1);
	assert_int_equal(f.profile.samples[0].values[0], 4 * 128);
	assert_int_equal(f.profile.samples[0].values[1], 505 * 128);
	end(&f);
	begin(&f, LOCK_BLOCK, 19, 1);
	assert_int_equal(add(f.p, stack, 2, 3, 1000), 0);
	finish(&f);
	assert_string_equal(f.profile.types[0].type.data, "go:block_contentions:count");
	assert_string_equal(f.profile.types[1].type.data, "go:block_delay:nanoseconds");
	end(&f);
}

TEST(test_stacks_are_physical_since_1_23)
{
	const uint64_t stack[] = {200, 101};
	struct fixture f;

	begin(&f, LOCK_MUTEX, 22, 1);
	assert_int_equal(add(f.p, stack, 2, 1, 2), 0);
	finish(&f);
	assert_int_equal(f.profile.samples[0].n_locations, 2);
	end(&f);
	begin(&f, LOCK_MUTEX, 23, 1);
	assert_int_equal(add(f.p, stack, 2, 1, 2), 0);
	finish(&f);
	assert_int_equal(f.profile.samples[0].n_locations, 3);
	assert_string_equal(function(&f, 0, 1), "main.outer");
	end(&f);
}

TEST(test_the_mark_of_a_logical_stack_is_no_frame)
{
	const uint64_t stack[] = {GO_BUCKET_LOGICAL, 200, 150, 101}, mark[] = {GO_BUCKET_LOGICAL};
	struct fixture f;

	begin(&f, LOCK_MUTEX, 24, 1);
	assert_int_equal(add(f.p, stack, 4, 1, 2), 0);
	assert_int_equal(add(f.p, mark, 1, 1, 2), 0);
	assert_int_equal(add(f.p, stack, 0, 1, 2), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 2);
	assert_int_equal(f.profile.samples[0].n_locations, 3);
	/* without a stack it is still a wait */
	assert_int_equal(f.profile.samples[1].n_locations, 1);
	assert_string_equal(function(&f, 1, 0), "[unknown]");
	assert_int_equal(f.profile.samples[1].values[0], 2);
	end(&f);
}

TEST(test_nothing_new_is_no_sample)
{
	const uint64_t stack[] = {101};
	struct fixture f;

	begin(&f, LOCK_MUTEX, 24, 1);
	assert_int_equal(add(f.p, stack, 1, 0, 0), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 0);
	assert_int_equal(f.out.len, 0);
	end(&f);
}

TEST(test_sums_do_not_overflow)
{
	const uint64_t stack[] = {101};
	struct fixture f;

	begin(&f, LOCK_MUTEX, 19, INT32_MAX);
	for (int i = 0; i < 2; i++)
		assert_int_equal(add(f.p, stack, 1, UINT64_C(1) << 53, INT64_MAX), 0);
	finish(&f);
	assert_int_equal(f.profile.samples[0].values[0], INT64_MAX);
	assert_int_equal(f.profile.samples[0].values[1], INT64_MAX);
	end(&f);
}

static int make(void *arg)
{
	CLEANUP(buf_fini) struct buf out;
	const struct lock_profile_config cfg = {.resolver = {resolve, is_runtime, NULL},
						.minor = 24,
						.factor = 1,
						.max_bytes = 1u << 20,
						.out = &out};
	CLEANUP(lock_profile_freep) struct lock_profile *p = NULL;
	const uint64_t stack[] = {200, 101};
	size_t n;
	int r;

	(void)arg;
	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = lock_profile_new(&p, &cfg);
	if (r == 0)
		r = add(p, stack, 2, 1, 1);
	return r == 0 ? lock_profile_finish(p, 1, 1, &n) : r;
}

TEST(test_failed_allocations_are_survived)
{
	check_oom(make, NULL);
}
