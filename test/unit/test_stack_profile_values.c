#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/profile/stack_profile.h"
#include "test/lib/unit.h"

#define MAX_BYTES ((size_t)1 << 20)

/* Addresses below 100 are the runtime's; 900 has no frame. */
struct program {
	unsigned n_resolved;
	unsigned n_asked; /* calls of is_runtime() */
	char names[1000][32];
};

static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	struct program *p = ctx;
	char *name = p->names[address % ARRAY_SIZE(p->names)];

	(void)all;
	p->n_resolved++;
	(void)snprintf(name, sizeof(p->names[0]), address < 100 ? "runtime.f%llu" : "main.f%llu",
		       (unsigned long long)address);
	ret->frames[0] = (struct frame){
		.function = name, .file = "main.go", .line = (uint32_t)address, .address = address};
	ret->n = address != 900;
	return 0;
}

static bool is_runtime(void *ctx, uint64_t address)
{
	struct program *p = ctx;

	p->n_asked++;
	return address < 100 || address == 900;
}

struct fixture {
	struct program program;
	struct stack_profile *p;
	struct buf out;
	struct arena arena;
	struct profile profile;
	size_t n_samples;
};

static void begin(struct fixture *f, size_t max_bytes)
{
	const struct stack_profile_config cfg = {
		.resolver = {resolve, is_runtime, &f->program},
		.types = {"go:mutex_contentions:count", "go:mutex_delay:nanoseconds"},
		.units = {"count", "nanoseconds"},
		.n_types = 2,
		.period_type = "contentions",
		.period_unit = "count",
		.tentative = true,
		.max_bytes = max_bytes,
		.out = &f->out,
	};

	memset(f, 0, sizeof(*f));
	buf_init(&f->out, LIMIT_UPLOAD_BYTES);
	arena_init(&f->arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(stack_profile_new(&f->p, &cfg), 0);
}

static void end(struct fixture *f)
{
	stack_profile_free(f->p);
	buf_fini(&f->out);
	arena_fini(&f->arena);
}

static void add(struct fixture *f, const struct stack_profile_stack *s, int64_t value)
{
	const struct stack_values values = {{1, value}};

	assert_int_equal(stack_profile_add(f->p, s, &values), 0);
}

static void finish(struct fixture *f)
{
	const struct stack_profile_times times = {.end_ns = 50, .duration_ns = 30, .period = 7};
	struct err err = {""};

	assert_int_equal(stack_profile_finish(f->p, &times, &f->n_samples), 0);
	if (f->n_samples > 0)
		assert_int_equal(
			pprof_decode(&f->profile, &f->arena, f->out.data, f->out.len, &err), 0);
}

/* Expects the functions of a sample, leaf first. */
static void expect(const struct fixture *f, uint32_t sample, const char *expected)
{
	const struct profile_sample *s = &f->profile.samples[sample];
	char got[256] = "";
	size_t len = 0;

	assert_true(sample < f->profile.n_samples);
	for (uint32_t i = 0; i < s->n_locations; i++) {
		const struct profile_location *l = &f->profile.locations[s->locations[i]];

		assert_int_equal(l->n_lines, 1);
		len += (size_t)snprintf(got + len, sizeof(got) - len, "%s%s", i ? " " : "",
					f->profile.functions[l->lines[0].function].name.data);
		assert_true(len < sizeof(got));
	}
	assert_string_equal(got, expected);
}

TEST(test_it_is_a_pprof_with_its_types_and_times)
{
	const uint64_t stack[] = {101, 102};
	const struct stack_profile_stack s = {.addresses = stack, .n = 2};
	struct fixture f;

	begin(&f, MAX_BYTES);
	add(&f, &s, 40);
	finish(&f);
	assert_int_equal(f.profile.n_types, 2);
	assert_string_equal(f.profile.types[1].type.data, "go:mutex_delay:nanoseconds");
	assert_string_equal(f.profile.types[1].unit.data, "nanoseconds");
	assert_string_equal(f.profile.period_type.type.data, "contentions");
	assert_int_equal(f.profile.period, 7);
	assert_int_equal(f.profile.time_ns, 50);
	assert_int_equal(f.profile.duration_ns, 30);
	expect(&f, 0, "main.f101 main.f102");
	assert_int_equal(f.profile.samples[0].values[1], 40);
	end(&f);
}

TEST(test_a_reason_is_in_front_of_the_leaf)
{
	const uint64_t stack[] = {1, 101};
	struct stack_profile_stack s = {
		.addresses = stack, .n = 2, .hide_runtime = true, .reason = "[chan receive]"};
	struct fixture f;

	begin(&f, MAX_BYTES);
	add(&f, &s, 1);
	s.n = 1; /* nothing but the runtime: shown */
	add(&f, &s, 1);
	s.n = 0;
	add(&f, &s, 1);
	finish(&f);
	expect(&f, 0, "[chan receive] main.f101");
	expect(&f, 1, "[chan receive] runtime.f1");
	expect(&f, 2, "[chan receive]");
	end(&f);
}

TEST(test_the_runtime_is_hidden_at_the_leaf_only)
{
	const uint64_t stack[] = {1, 2, 101, 3, 900};
	struct stack_profile_stack s = {.addresses = stack, .n = 5, .hide_runtime = true};
	struct fixture f;

	begin(&f, MAX_BYTES);
	add(&f, &s, 1);
	s.hide_runtime = false;
	add(&f, &s, 1);
	s.n = 2;
	s.hide_runtime = true;
	add(&f, &s, 1);
	finish(&f);
	expect(&f, 0, "main.f101 runtime.f3");
	expect(&f, 1, "runtime.f1 runtime.f2 main.f101 runtime.f3");
	expect(&f, 2, "runtime.f1 runtime.f2");
	end(&f);
}

TEST(test_a_stack_with_nothing_to_show_is_none)
{
	const uint64_t root[] = {900};
	const struct stack_profile_stack stacks[] = {
		{.addresses = root, .n = 0},
		{.addresses = root, .n = 1},
		{.addresses = root, .n = 1, .hide_runtime = true}};
	const struct stack_values values = {{1}};
	struct fixture f;

	begin(&f, MAX_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		assert_int_equal(stack_profile_add(f.p, &stacks[i], &values), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 0);
	assert_int_equal(f.out.len, 0);
	end(&f);
}

TEST(test_equal_stacks_are_one_sample_and_addresses_are_resolved_once)
{
	const uint64_t stack[] = {101, 102, 103}, shorter[] = {101, 102}, hidden[] = {1, 101, 102};
	struct stack_profile_stack s = {.addresses = stack, .n = 3};
	struct fixture f;

	begin(&f, MAX_BYTES);
	add(&f, &s, 5);
	add(&f, &s, 6);
	s.addresses = shorter;
	s.n = 2;
	add(&f, &s, 7);
	s.addresses = hidden;
	s.n = 3;
	s.hide_runtime = true;
	add(&f, &s, 8);
	finish(&f);
	assert_int_equal(f.n_samples, 2);
	assert_int_equal(f.profile.samples[0].values[0], 2);
	assert_int_equal(f.profile.samples[0].values[1], 11);
	assert_int_equal(f.profile.samples[1].values[1], 15);
	/* the last address of a stack is resolved again, with its inlined calls */
	assert_int_equal(f.program.n_resolved, 5);
	assert_int_equal(f.program.n_asked, 2);
	end(&f);
}

TEST(test_samples_without_a_value_are_left_out)
{
	const uint64_t stack[] = {101, 102};
	struct stack_profile_stack s = {.addresses = stack, .n = 2};
	const struct stack_values none = {{0}};
	struct fixture f;

	begin(&f, MAX_BYTES);
	assert_int_equal(stack_profile_add(f.p, &s, &none), 0);
	s.n = 1;
	add(&f, &s, -1);
	finish(&f);
	assert_int_equal(f.n_samples, 1);
	expect(&f, 0, "main.f101");
	end(&f);
}

/* Adds different stacks until the profile is full. */
static int fill(struct fixture *f, size_t max_stacks)
{
	const struct stack_values values = {{1}};
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < max_stacks; i++) {
		const uint64_t stack[] = {1000000 + i, 102};
		const struct stack_profile_stack s = {.addresses = stack, .n = 2};

		r = stack_profile_add(f->p, &s, &values);
	}
	return r;
}

TEST(test_more_than_its_memory_is_no_profile)
{
	const struct stack_profile_times times = {0};
	size_t n_full = 0;

	for (size_t n = 1; n_full < 3; n *= 2) {
		struct fixture f;
		int r;

		begin(&f, MAX_BYTES / 4);
		r = fill(&f, n);
		if (r < 0) {
			assert_int_equal(r, -ENOBUFS);
			n_full++;
		}
		r = stack_profile_finish(f.p, &times, &f.n_samples);
		if (r < 0)
			assert_int_equal(r, -ENOBUFS);
		end(&f);
	}
}

TEST(test_a_profile_that_is_nearly_full_is_finished)
{
	const struct stack_profile_times times = {0};
	size_t n_done = 0, n_over = 0;

	for (size_t n = 100; n_over == 0; n += 100) {
		struct fixture f;

		begin(&f, MAX_BYTES / 4);
		if (fill(&f, n) == 0) {
			assert_int_equal(stack_profile_finish(f.p, &times, &f.n_samples), 0);
			assert_int_equal(f.n_samples, n);
			n_done++;
		} else {
			n_over++;
		}
		end(&f);
	}
	assert_true(n_done > 3);
}

TEST(test_values_of_a_type_can_be_forgotten)
{
	const uint64_t stack[] = {101, 102, 103};
	struct stack_profile_stack s = {.addresses = stack, .n = 3};
	struct fixture f;

	begin(&f, MAX_BYTES);
	add(&f, &s, 5);
	s.n = 2;
	add(&f, &s, 6);
	stack_profile_forget(f.p, 1, 1);
	add(&f, &s, 7);
	finish(&f);
	assert_int_equal(f.profile.samples[0].values[0], 1);
	assert_int_equal(f.profile.samples[0].values[1], 0);
	assert_int_equal(f.profile.samples[1].values[0], 2);
	assert_int_equal(f.profile.samples[1].values[1], 7);
	end(&f);
}

/* Stacks that were added more than once may be several samples. */
TEST(test_the_memory_for_stacks_is_that_of_some_of_them)
{
	enum { STACKS = 300 * 300, TURNS = 2 };
	uint8_t *sums = calloc(STACKS, 1);
	struct fixture f;

	assert_non_null(sums);
	begin(&f, (size_t)8 << 20);
	stack_profile_forget(f.p, 0, 1);
	for (size_t i = 0; i < (size_t)STACKS * TURNS; i++) {
		uint64_t stack[14] = {100 + i % 300, 400 + i / 300 % 300};
		struct stack_profile_stack s = {.addresses = stack, .n = ARRAY_SIZE(stack)};

		for (size_t k = 2; k < ARRAY_SIZE(stack); k++)
			stack[k] = 800 + k;

		add(&f, &s, 1);
	}
	finish(&f);
	assert_in_range(f.n_samples, STACKS + 1, STACKS * TURNS);
	for (uint32_t i = 0; i < f.profile.n_samples; i++) {
		const struct profile_sample *s = &f.profile.samples[i];
		int64_t leaf = f.profile.locations[s->locations[0]].lines[0].line - 100;
		int64_t caller = f.profile.locations[s->locations[1]].lines[0].line - 400;

		sums[caller * 300 + leaf] += (uint8_t)s->values[0];
	}
	for (size_t i = 0; i < STACKS; i++)
		assert_int_equal(sums[i], TURNS);
	free(sums);
	end(&f);
}

static int make(void *arg)
{
	const struct stack_profile_times times = {0};
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(stack_profile_freep) struct stack_profile *p = NULL;
	const struct stack_profile_config cfg = {
		.resolver = {resolve, is_runtime, arg},
		.types = {"a"},
		.units = {"b"},
		.n_types = 1,
		.period_type = "c",
		.period_unit = "d",
		.max_bytes = MAX_BYTES,
		.out = &out,
	};
	const uint64_t stack[] = {1, 200, 101};
	const struct stack_profile_stack s = {
		.addresses = stack, .n = 3, .hide_runtime = true, .reason = "[sleep]"};
	const struct stack_values values = {{1}};
	size_t n;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = stack_profile_new(&p, &cfg);
	if (r == 0)
		r = stack_profile_add(p, &s, &values);
	if (r < 0)
		return r;
	return stack_profile_finish(p, &times, &n);
}

TEST(test_failed_allocations_are_survived)
{
	struct program program = {0};

	check_oom(make, &program);
}
