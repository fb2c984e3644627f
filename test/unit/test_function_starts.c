#include "cluster-agent/ingest/function_starts.h"
#include "common/system/clock.h"
#include "test/lib/made_profile.h"
#include "test/lib/unit.h"

#define NOW ((int64_t)1700000000 * (int64_t)NS_PER_S)

static const struct made_sample samples[] = {{{5, 9}, 2, {1}}, {{9, 7, 5}, 3, {2}}};

struct fixture {
	struct arena arena;
	struct seen_stacks *seen;
	struct profile_rows rows;
};

/* f5 starts at line 50, f7 has no start. */
static size_t list(struct fixture *f, const char *type, struct row_count **ret)
{
	const struct profile_rows_limits limits = {
		.now_ns = NOW, .max_age_ns = 1000, .max_hash_bytes = 1 << 20};
	const struct profile_rows_known known = {f->seen, {"/svc", 4}};
	struct profile *p = arena_calloc(&f->arena, 1, sizeof(*p));
	struct err err = {""};
	size_t n = 0;

	assert_non_null(p);
	*p = made_profile(&f->arena, type, samples, ARRAY_SIZE(samples));
	p->time_ns = NOW;
	p->functions[5].start_line = 50;
	p->functions[9].start_line = 90;
	p->functions[11].start_line = 110; /* in no stack */
	if (profile_rows_make(&f->rows, p, &limits, &known, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(function_starts_list(&f->rows, ret, &n), 0);
	return n;
}

static void setup(struct fixture *f)
{
	*f = (struct fixture){0};
	arena_init(&f->arena, 1 << 20);
	assert_int_equal(seen_stacks_new(&f->seen, 64), 0);
}

static void teardown(struct fixture *f)
{
	seen_stacks_free(f->seen);
	arena_fini(&f->arena);
}

TEST(functions_of_new_stacks_are_listed_once)
{
	struct row_count *starts;
	struct fixture f;

	setup(&f);
	assert_int_equal(list(&f, "ebpf:cpu:nanoseconds/nanoseconds", &starts), 2);
	assert_int_equal(starts[0].name.len, 8);
	assert_memory_equal(starts[0].name.data, "f5 f5.go", 8);
	assert_int_equal(starts[0].count, 50);
	assert_int_equal(starts[1].count, 90);
	teardown(&f);
}

TEST(of_stacks_that_the_store_has_nothing_is_listed)
{
	struct row_count *starts;
	struct fixture f;

	setup(&f);
	assert_int_equal(list(&f, "ebpf:cpu:nanoseconds/nanoseconds", &starts), 2);
	for (uint32_t i = 0; i < f.rows.n_stacks; i++) {
		const struct profile_rows_stack *s = &f.rows.stacks[i];
		const struct seen_stack stack = {s->key, s->hash};

		seen_stacks_add(f.seen, &stack, 1, NOW + 1000);
	}
	assert_int_equal(list(&f, "ebpf:cpu:nanoseconds/nanoseconds", &starts), 0);
	teardown(&f);
}

TEST(only_profiles_of_cpu_time_have_starts)
{
	struct row_count *starts;
	struct fixture f;

	setup(&f);
	assert_int_equal(list(&f, "go:heap_inuse_space:bytes/bytes", &starts), 0);
	assert_int_equal(list(&f, "go:profile_cpu:nanoseconds/nanoseconds", &starts), 2);
	teardown(&f);
}
