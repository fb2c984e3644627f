#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/go/heap/heap_profile.h"
#include "test/lib/unit.h"

#define RATE 524288u

/* Addresses below 100 are the runtime's, 1000 says nothing; 200 is inlined into 201. */
static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	static char names[1100][32];
	char *name = names[address % ARRAY_SIZE(names)];

	(void)ctx;
	if (address == 5000)
		return -EIO;
	snprintf(name, sizeof(names[0]), address < 100 ? "runtime.f%llu" : "main.f%llu",
		 (unsigned long long)address);
	ret->frames[0] = (struct frame){name, "main.go", (uint32_t)address};
	ret->n = address != 1000;
	if (address == 200 && all)
		ret->frames[ret->n++] = (struct frame){"main.outer", "main.go", 7};
	return 0;
}

static bool is_runtime(void *ctx, uint64_t address)
{
	(void)ctx;
	return address < 100 || address == 1000;
}

#define MAX_BYTES (1u << 20)
static const struct heap_profile_config config = {
	.resolver = {resolve, is_runtime, NULL}, .rate = RATE, .max_bytes = MAX_BYTES};

struct fixture {
	struct heap_profile *p;
	struct buf out;
	struct arena arena;
	struct profile profile;
	size_t n_samples;
};

static void begin(struct fixture *f)
{
	struct heap_profile_config cfg = config;

	memset(f, 0, sizeof(*f));
	cfg.out = &f->out;
	buf_init(&f->out, LIMIT_UPLOAD_BYTES);
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(heap_profile_new(&f->p, &cfg), 0);
}

static void end(struct fixture *f)
{
	heap_profile_free(f->p);
	buf_fini(&f->out);
	arena_fini(&f->arena);
}

static int add(struct heap_profile *p, const uint64_t *stack, uint32_t n, struct heap_pair active,
	       struct heap_pair future)
{
	const struct heap_counts counts = {active, future};
	static struct go_bucket b;

	b.size = RATE * 64; /* not scaled */
	b.n_stack = n;
	b.stack = b.copy;
	memcpy(b.copy, stack, n * sizeof(*stack));
	return heap_profile_add(p, &b, &counts,
				(struct heap_growth){0, active.allocs + future.allocs});
}

static void finish(struct fixture *f)
{
	struct err err = {""};

	assert_int_equal(heap_profile_finish(f->p, 5, 3, &f->n_samples), 0);
	if (f->n_samples > 0)
		assert_int_equal(
			pprof_decode(&f->profile, &f->arena, f->out.data, f->out.len, &err), 0);
}

static const char *frame(const struct fixture *f, uint32_t sample, uint32_t i)
{
	const struct profile_location *l =
		&f->profile.locations[f->profile.samples[sample].locations[i]];

	return f->profile.functions[l->lines[0].function].name.data;
}

/* Of the sample with this leaf. */
static const int64_t *values_of(const struct fixture *f, const char *leaf)
{
	for (uint32_t i = 0; i < f->profile.n_samples; i++) {
		if (strcmp(frame(f, i, 0), leaf) == 0)
			return f->profile.samples[i].values;
	}
	fail_msg("no sample of %s", leaf);
	return NULL;
}

TEST(test_allocations_and_what_is_in_use_are_four_types)
{
	const uint64_t stack[] = {101, 102, 1000};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(f.p, stack, 3, (struct heap_pair){10, 4}, (struct heap_pair){3, 1}),
			 0);
	finish(&f);
	assert_int_equal(f.profile.n_types, 4);
	assert_string_equal(f.profile.types[3].type.data, "go_runtime:heap_inuse_space:bytes");
	assert_int_equal(f.profile.n_samples, 1);
	assert_int_equal(f.profile.samples[0].n_locations, 2);
	assert_string_equal(frame(&f, 0, 0), "main.f101");
	assert_int_equal(f.profile.samples[0].values[0], 13);
	assert_int_equal(f.profile.samples[0].values[1], INT64_C(13) * RATE * 64);
	assert_int_equal(f.profile.samples[0].values[2], 6);
	assert_int_equal(f.profile.samples[0].values[3], INT64_C(6) * RATE * 64);
	end(&f);
}

TEST(test_before_the_second_collection_the_future_is_in_use)
{
	const uint64_t stack[] = {101};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(f.p, stack, 1, (struct heap_pair){0, 0}, (struct heap_pair){3, 1}), 0);
	finish(&f);
	assert_int_equal(f.profile.samples[0].values[2], 2);
	end(&f);
}

/* That the active counters are in use shows only in the middle of a round. */
TEST(test_once_a_record_is_active_future_counts_are_not_in_use)
{
	const uint64_t fresh[] = {101}, old[] = {102}, both[] = {103};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(f.p, fresh, 1, (struct heap_pair){0, 0}, (struct heap_pair){3, 1}), 0);
	assert_int_equal(add(f.p, both, 1, (struct heap_pair){0, 0}, (struct heap_pair){3, 1}), 0);
	assert_int_equal(add(f.p, old, 1, (struct heap_pair){5, 1}, (struct heap_pair){3, 1}), 0);
	assert_int_equal(add(f.p, both, 1, (struct heap_pair){2, 1}, (struct heap_pair){3, 1}), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 3);
	assert_int_equal(values_of(&f, "main.f101")[0], 3);
	assert_int_equal(values_of(&f, "main.f101")[2], 0);
	assert_int_equal(values_of(&f, "main.f101")[3], 0);
	assert_int_equal(values_of(&f, "main.f103")[0], 8);
	assert_int_equal(values_of(&f, "main.f103")[2], 1);
	assert_int_equal(values_of(&f, "main.f102")[2], 4);
	end(&f);
}

TEST(test_the_runtime_at_the_leaf_is_hidden_unless_there_is_nothing_else)
{
	const uint64_t mixed[] = {1, 2, 101, 3}, runtime[] = {1, 2, 1000};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(f.p, mixed, 4, (struct heap_pair){1, 0}, (struct heap_pair){0}), 0);
	assert_int_equal(add(f.p, runtime, 3, (struct heap_pair){1, 0}, (struct heap_pair){0}), 0);
	finish(&f);
	assert_int_equal(f.profile.samples[0].n_locations, 2);
	assert_string_equal(frame(&f, 0, 0), "main.f101");
	assert_string_equal(frame(&f, 0, 1), "runtime.f3");
	assert_int_equal(f.profile.samples[1].n_locations, 2);
	assert_string_equal(frame(&f, 1, 0), "runtime.f1");
	end(&f);
}

TEST(test_only_the_last_address_stands_for_its_callers_too)
{
	const uint64_t first[] = {200, 101}, last[] = {101, 200};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(f.p, first, 2, (struct heap_pair){1, 0}, (struct heap_pair){0}), 0);
	assert_int_equal(add(f.p, last, 2, (struct heap_pair){1, 0}, (struct heap_pair){0}), 0);
	finish(&f);
	assert_int_equal(f.profile.samples[0].n_locations, 2);
	assert_int_equal(f.profile.samples[1].n_locations, 3);
	assert_string_equal(frame(&f, 1, 2), "main.outer");
	end(&f);
}

TEST(test_equal_stacks_are_one_and_empty_ones_none)
{
	const uint64_t a[] = {101, 102}, b[] = {1, 101, 102}, c[] = {103};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(f.p, c, 1, (struct heap_pair){0, 0}, (struct heap_pair){0}), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 0);
	assert_int_equal(f.out.len, 0);
	end(&f);
	begin(&f);
	assert_int_equal(add(f.p, a, 2, (struct heap_pair){1, 0}, (struct heap_pair){0}), 0);
	assert_int_equal(add(f.p, b, 3, (struct heap_pair){2, 0}, (struct heap_pair){0}), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 1);
	assert_int_equal(f.profile.samples[0].values[2], 3);
	end(&f);
}

TEST(test_absurd_counters_do_not_become_negative)
{
	const uint64_t stack[] = {101};
	const struct heap_pair huge = {UINT64_MAX / 2, 0};
	struct fixture f;

	begin(&f);
	for (int i = 0; i < 3; i++)
		assert_int_equal(add(f.p, stack, 1, huge, huge), 0);
	finish(&f);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(f.profile.samples[0].values[i], INT64_MAX);
	end(&f);
}

TEST(test_errors_of_reading_and_of_memory_are_passed_on)
{
	const uint64_t unreadable[] = {101, 5000};
	uint64_t stack[100];
	struct fixture f;
	int r = 0;

	begin(&f);
	assert_int_equal(add(f.p, unreadable, 2, (struct heap_pair){1, 0}, (struct heap_pair){0}),
			 -EIO);
	for (uint64_t i = 0; r == 0 && i < 100000; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(stack); k++)
			stack[k] = 10000 + i * 100 + k;
		r = add(f.p, stack, ARRAY_SIZE(stack), (struct heap_pair){1, 0},
			(struct heap_pair){0});
	}
	assert_int_equal(r, -ENOBUFS);
	end(&f);
}

static int make(void *arg)
{
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(heap_profile_freep) struct heap_profile *p = NULL;
	struct heap_profile_config cfg = config;
	const uint64_t stack[] = {1, 101, 102};
	size_t n;
	int r;

	(void)arg;
	buf_init(&out, LIMIT_UPLOAD_BYTES);
	cfg.out = &out;
	r = heap_profile_new(&p, &cfg);
	if (r == 0)
		r = add(p, stack, 3, (struct heap_pair){1, 0}, (struct heap_pair){0});
	return r == 0 ? heap_profile_finish(p, 5, 3, &n) : r;
}

TEST(test_failed_allocations_are_survived)
{
	check_oom(make, NULL);
}
