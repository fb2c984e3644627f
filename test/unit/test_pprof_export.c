#include <errno.h>

#include "cluster-agent/query/pprof_export.h"
#include "common/pprof/pprof_decode.h"
#include "test/lib/unit.h"

#define F(s)                       \
	{                          \
		(s), sizeof(s) - 1 \
	}

static const struct query_filter filter = {.service = "/k8s/a/b",
					   .type = "ebpf:cpu:nanoseconds",
					   .from_ns = INT64_C(1000000000),
					   .to_ns = INT64_C(11000000000)};

static void stacks_come_back_from_the_pprof(void **state)
{
	static const struct flame_frame a[] = {F("work [x]:0"), F("operator new(int) n.cc:7")};
	static const struct flame_frame b[] = {F("idle :0"), F("operator new(int) n.cc:7")};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;
	CLEANUP(arena_fini) struct arena arena;
	struct profile p;

	(void)state;
	buf_init(&out, 1 << 20);
	arena_init(&arena, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 10), 0);
	assert_int_equal(pprof_export_add(&e, a, 2, 30), 0);
	assert_int_equal(pprof_export_add(&e, b, 2, 12), 0);
	assert_int_equal(pprof_export_write(&e, &filter, &out), 0);
	assert_int_equal(pprof_decode(&p, &arena, out.data, out.len, NULL), 0);
	assert_int_equal(p.n_samples, 2);
	assert_int_equal(p.samples[0].values[0], 30);
	assert_int_equal(p.samples[0].locations[1], p.samples[1].locations[1]);
	{
		const struct profile_line *line = p.locations[p.samples[0].locations[1]].lines;

		assert_string_equal(p.functions[line->function].name.data, "operator new(int)");
		assert_string_equal(p.functions[line->function].file.data, "n.cc");
		assert_int_equal(line->line, 7);
	}
	assert_string_equal(p.types[0].type.data, "ebpf:cpu:nanoseconds");
	assert_string_equal(p.types[0].unit.data, "nanoseconds");
	assert_true(p.time_ns == filter.to_ns && p.duration_ns == INT64_C(10000000000));
}

static void takes_no_more_than_announced(void **state)
{
	static const struct flame_frame f[] = {F("a :0")};
	CLEANUP(pprof_export_fini) struct pprof_export e;

	(void)state;
	assert_int_equal(pprof_export_init(&e, 1), 0);
	assert_int_equal(pprof_export_add(&e, f, 1, 1), 0);
	assert_int_equal(pprof_export_add(&e, f, 1, 1), -EFBIG);
}

/* Leaves the arena no more than its last chunk has. */
static void forbid_more(struct pprof_export *e)
{
	e->arena.limit_bytes = e->arena.used_bytes;
}

static void stacks_beyond_the_limit_are_too_large_and_not_out_of_memory(void **state)
{
	static const struct flame_frame f[] = {F("a :0")};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	int r = 0;

	(void)state;
	assert_int_equal(pprof_export_init(&e, 1000000), 0);
	forbid_more(&e);
	for (unsigned i = 0; i < 1000000 && r == 0; i++)
		r = pprof_export_add(&e, f, 1, 1);
	assert_int_equal(r, -EFBIG);
}

static void texts_beyond_the_limit_are_too_large_and_not_out_of_memory(void **state)
{
	CLEANUP(pprof_export_fini) struct pprof_export e;
	CLEANUP(buf_fini) struct buf out;

	(void)state;
	buf_init(&out, 1 << 20);
	assert_int_equal(pprof_export_init(&e, 2), 0);
	for (size_t i = 0; i < 2; i++) {
		static char text[60000];
		const struct flame_frame f = {text, sizeof(text) - i};

		memset(text, 'a', sizeof(text));
		assert_int_equal(pprof_export_add(&e, &f, 1, 1), 0);
	}
	forbid_more(&e);
	assert_int_equal(pprof_export_write(&e, &filter, &out), -EFBIG);
}

static int export_some(void *arg)
{
	static const struct flame_frame f[] = {F("a :0"), F("b c:1")};
	CLEANUP(pprof_export_fini) struct pprof_export e;
	int r = pprof_export_init(&e, 4);

	(void)arg;
	return r == 0 ? pprof_export_add(&e, f, 2, 1) : r;
}

static void survives_every_failed_allocation(void **state)
{
	(void)state;
	check_oom(export_some, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_come_back_from_the_pprof),
		cmocka_unit_test(takes_no_more_than_announced),
		cmocka_unit_test(stacks_beyond_the_limit_are_too_large_and_not_out_of_memory),
		cmocka_unit_test(texts_beyond_the_limit_are_too_large_and_not_out_of_memory),
		cmocka_unit_test(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
