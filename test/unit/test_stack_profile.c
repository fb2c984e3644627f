#include <errno.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "node-agent/profile/stack_profile.h"
#include "test/lib/unit.h"

#define MAX_BYTES (1u << 20)

/*
 * The program of these tests; the line of a frame is its address: at 523, "leaf" is inlined
 * into "middle", whose call is listed as 500, and that into "outer", listed as 501; 300 is a
 * wrapper, into which "leaf" is inlined at 623; 400 is what a wrapper calls when it panics;
 * 900 has no frame. At 723, "leaf" is inlined into "middle" and that into "outer", in one location.
 */
static int resolve(void *ctx, uint64_t address, bool all, struct frame_list *ret)
{
	static const char *const names[] = {"leaf", "middle", "outer"};

	(void)ctx;
	if (address == 5000)
		return -EIO;
	ret->frames[0] = (struct frame){names[address == 500   ? 1
					      : address == 501 ? 2
							       : 0],
					"a.go", (uint32_t)address, address};
	ret->n = 1;
	if (address == 300 || address == 400)
		ret->frames[0].role = address == 300 ? FRAME_WRAPPER : FRAME_PANIC;
	if (address == 900)
		ret->n = 0;
	if (address == 523 && all) {
		ret->frames[1] = (struct frame){names[1], "a.go", 500, 500};
		ret->frames[2] = (struct frame){names[2], "a.go", 501, 501};
		ret->n = 3;
	}
	if (address == 623 && all) {
		ret->frames[1] = (struct frame){names[0], "a.go", 300, 300, FRAME_WRAPPER};
		ret->n = 2;
	}
	for (size_t i = 0; address == 723 && i < 3; i++) {
		ret->frames[i] = (struct frame){.function = names[i], .file = "a.go"};
		ret->frames[i].line = 723 + (uint32_t)i;
		ret->frames[i].inlined = i < 2;
		ret->n = i + 1;
	}
	return 0;
}

static bool is_runtime(void *ctx, uint64_t address)
{
	(void)ctx;
	return address < 100;
}

static const struct stack_profile_config config = {
	.resolver = {resolve, is_runtime, NULL},
	.types = {"go:mutex_contentions:count", "go:mutex_delay:nanoseconds"},
	.units = {"count", "nanoseconds"},
	.n_types = 2,
	.period_type = "contentions",
	.period_unit = "count",
	.max_bytes = MAX_BYTES,
};

static const struct stack_values one = {{1}};

struct fixture {
	struct stack_profile *p;
	struct buf out;
	struct arena arena;
	struct profile profile;
	size_t n_samples;
};

static void begin(struct fixture *f)
{
	struct stack_profile_config cfg = config;

	memset(f, 0, sizeof(*f));
	cfg.out = &f->out;
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

static int add(struct fixture *f, const uint64_t *addresses, size_t n,
	       enum stack_profile_inlined inlined)
{
	const struct stack_profile_stack stack = {
		.addresses = addresses, .n = n, .inlined = inlined};

	return stack_profile_add(f->p, &stack, &one);
}

static void finish(struct fixture *f)
{
	const struct stack_profile_times times = {5, 3, 1};
	struct err err = {""};

	assert_int_equal(stack_profile_finish(f->p, &times, &f->n_samples), 0);
	assert_int_equal(pprof_decode(&f->profile, &f->arena, f->out.data, f->out.len, &err), 0);
}

/* Expects the lines, which are addresses, of a sample. */
static void expect_lines(const struct fixture *f, uint32_t sample, const int64_t *lines, uint32_t n)
{
	const struct profile_sample *s = &f->profile.samples[sample];

	assert_int_equal(s->n_locations, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(f->profile.locations[s->locations[i]].lines[0].line, lines[i]);
}

TEST(test_each_physical_address_stands_for_what_it_is_inlined_into)
{
	const uint64_t stack[] = {523, 110, 523, 120, 900};
	const int64_t lines[] = {523, 500, 501, 110, 523, 500, 501, 120};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(&f, stack, 5, STACK_PROFILE_PHYSICAL), 0);
	finish(&f);
	expect_lines(&f, 0, lines, 8);
	end(&f);
}

TEST(test_frames_that_are_listed_as_well_are_shown_once)
{
	const uint64_t all[] = {523, 500, 501, 110}, rest[] = {500, 501, 110},
		       from_second[] = {523, 501, 110};
	const int64_t all_lines[] = {523, 500, 501, 110}, rest_lines[] = {500, 501, 110},
		      second_lines[] = {523, 500, 501, 110};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(&f, rest, 3, STACK_PROFILE_PHYSICAL), 0);
	assert_int_equal(add(&f, all, 4, STACK_PROFILE_PHYSICAL), 0);
	assert_int_equal(add(&f, from_second, 3, STACK_PROFILE_PHYSICAL), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 2);
	expect_lines(&f, 0, rest_lines, 3);
	expect_lines(&f, 1, all_lines, 4);
	expect_lines(&f, 1, second_lines, 4);
	assert_int_equal(f.profile.samples[1].values[0], 2);
	end(&f);
}

TEST(test_inlined_frames_are_lines_of_one_location)
{
	static const char *const names[] = {"leaf", "middle", "outer"};
	const uint64_t stack[] = {723, 110};
	const struct profile_location *l;
	struct fixture f;

	begin(&f);
	assert_int_equal(add(&f, stack, 2, STACK_PROFILE_LOGICAL), 0);
	assert_int_equal(add(&f, stack, 2, STACK_PROFILE_PHYSICAL), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 1);
	assert_int_equal(f.profile.samples[0].n_locations, 2);
	l = &f.profile.locations[f.profile.samples[0].locations[0]];
	assert_int_equal(l->n_lines, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(f.profile.functions[l->lines[i].function].name.data, names[i]);
		assert_int_equal(l->lines[i].line, 723 + i);
	}
	end(&f);
}

TEST(test_logical_addresses_are_one_frame_each)
{
	const uint64_t stack[] = {523, 110}, last[] = {110, 523};
	const int64_t lines[] = {523, 110}, last_lines[] = {110, 523, 500, 501};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(&f, stack, 2, STACK_PROFILE_LOGICAL), 0);
	assert_int_equal(add(&f, last, 2, STACK_PROFILE_LOGICAL), 0);
	finish(&f);
	expect_lines(&f, 0, lines, 2);
	expect_lines(&f, 1, last_lines, 4);
	end(&f);
}

TEST(test_wrappers_are_shown_where_they_panicked_or_were_listed)
{
	const uint64_t stack[] = {110, 300, 120}, panicked[] = {400, 300, 300, 120},
		       inlined[] = {623, 120};
	const int64_t hidden[] = {110, 120}, shown[] = {400, 300, 120}, all[] = {110, 300, 120},
		      around[] = {623, 120};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(&f, stack, 3, STACK_PROFILE_UNWOUND), 0);
	assert_int_equal(add(&f, panicked, 4, STACK_PROFILE_UNWOUND), 0);
	assert_int_equal(add(&f, stack, 3, STACK_PROFILE_PHYSICAL), 0);
	assert_int_equal(add(&f, inlined, 2, STACK_PROFILE_PHYSICAL), 0);
	assert_int_equal(add(&f, stack, 3, STACK_PROFILE_LOGICAL), 0); /* the same as physical */
	finish(&f);
	expect_lines(&f, 0, hidden, 2);
	expect_lines(&f, 1, shown, 3);
	expect_lines(&f, 2, all, 3);
	expect_lines(&f, 3, around, 2);
	assert_int_equal(f.profile.samples[2].values[0], 2);
	end(&f);
}

TEST(test_a_reason_is_the_leaf)
{
	const uint64_t addresses[] = {300, 120};
	const struct stack_profile_stack stack = {addresses, 2, STACK_PROFILE_UNWOUND, false,
						  "[select]"};
	const int64_t lines[] = {0, 120};
	struct fixture f;

	begin(&f);
	assert_int_equal(stack_profile_add(f.p, &stack, &one), 0);
	finish(&f);
	expect_lines(&f, 0, lines, 2);
	assert_string_equal(f.profile.functions[0].name.data, "[select]");
	end(&f);
}

TEST(test_a_stack_is_cut_at_its_limit)
{
	static uint64_t stack[STACK_PROFILE_DEPTH_MAX];
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = 523;
	assert_int_equal(add(&f, stack, ARRAY_SIZE(stack), STACK_PROFILE_PHYSICAL), 0);
	finish(&f);
	assert_int_equal(f.profile.samples[0].n_locations, STACK_PROFILE_DEPTH_MAX);
	end(&f);
}

TEST(test_a_stack_that_fails_is_left_out_and_the_others_stay)
{
	const uint64_t stack[] = {110, 5000};
	const int64_t lines[] = {110};
	struct fixture f;

	begin(&f);
	assert_int_equal(add(&f, stack, 1, STACK_PROFILE_PHYSICAL), 0);
	assert_int_equal(add(&f, stack, 2, STACK_PROFILE_PHYSICAL), -EIO);
	assert_int_equal(add(&f, stack, 1, STACK_PROFILE_PHYSICAL), 0);
	finish(&f);
	assert_int_equal(f.n_samples, 1);
	expect_lines(&f, 0, lines, 1);
	assert_int_equal(f.profile.samples[0].values[0], 2);
	end(&f);
}

static int make(void *arg)
{
	const uint64_t stack[] = {523, 110};
	CLEANUP(stack_profile_freep) struct stack_profile *p = NULL;
	const struct stack_profile_stack s = {
		.addresses = stack, .n = 2, .inlined = STACK_PROFILE_PHYSICAL};
	struct stack_profile_config cfg = config;
	int r;

	(void)arg;
	r = stack_profile_new(&p, &cfg);
	return r == 0 ? stack_profile_add(p, &s, &one) : r;
}

TEST(test_failed_allocations_are_survived)
{
	check_oom(make, NULL);
}
