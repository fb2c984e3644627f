#include "cluster-agent/symbols/asked_builds.h"

#include "common/system/clock.h"
#include "test/lib/unit.h"

#define NOW (UINT64_C(1800000000) * NS_PER_S)
#define DAY (UINT64_C(86400) * NS_PER_S)

static struct build_key key(unsigned n)
{
	struct build_key k = {.id = {(uint8_t)(n >> 8), (uint8_t)n, 0xcd}, .n_bytes = 3};

	return k;
}

static const struct asked_build *want(struct asked_builds *a, unsigned n, uint64_t weight)
{
	const struct asked_want w = {.key = key(n), .weight = weight};

	return asked_builds_want(a, &w, NOW);
}

static void expect_next(struct asked_builds *a, unsigned n)
{
	const struct build_key k = key(n);
	const struct asked_build *b = asked_builds_next(a, NOW);

	assert_non_null(b);
	assert_true(build_key_equal(&b->key, &k));
	assert_int_equal(b->state, ASKED_NOW);
}

TEST(the_hottest_is_next_and_each_once)
{
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL;

	assert_int_equal(asked_builds_new(&a), 0);
	assert_null(asked_builds_next(a, NOW));
	assert_int_equal(asked_builds_due_ns(a), UINT64_MAX);
	want(a, 1, 10);
	want(a, 2, 30);
	want(a, 3, 20);
	want(a, 1, 40); /* what the last query says counts */
	assert_int_equal(asked_builds_due_ns(a), 0);
	expect_next(a, 1);
	expect_next(a, 2);
	assert_int_equal(want(a, 2, 99)->state, ASKED_NOW);
	expect_next(a, 3);
	assert_null(asked_builds_next(a, NOW));
	assert_int_equal(asked_builds_counts(a).n_asking, 3);
}

TEST(what_is_settled_is_not_asked_for_until_its_time_is_up)
{
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL;
	struct asked_want w = {.key = key(1), .weight = 1};
	struct asked_build *b;

	assert_int_equal(asked_builds_new(&a), 0);
	want(a, 1, 1);
	b = asked_builds_next(a, NOW);
	b->absent_at = 3;
	asked_builds_settle(a, b, ASKED_ABSENT, NOW + DAY);
	assert_int_equal(want(a, 1, 5)->state, ASKED_SETTLED);
	assert_null(asked_builds_next(a, NOW));
	assert_int_equal(asked_builds_want(a, &w, NOW + DAY)->state, ASKED_WAITING);
	b = asked_builds_next(a, NOW + DAY);
	assert_int_equal(b->absent_at, 0);
	/* found: it is forgotten, and a query that misses it again asks again */
	asked_builds_found(a, b);
	assert_null(asked_builds_find(a, &w.key));
	assert_int_equal(want(a, 1, 5)->state, ASKED_WAITING);
}

TEST(without_offsets_a_build_is_only_settled_for_frames_that_are_offsets)
{
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL;
	struct asked_want w = {.key = key(1), .weight = 1, .needs_offsets = true};

	assert_int_equal(asked_builds_new(&a), 0);
	assert_non_null(asked_builds_want(a, &w, NOW));
	asked_builds_settle(a, asked_builds_next(a, NOW), ASKED_NO_OFFSETS, NOW + DAY);
	assert_int_equal(asked_builds_want(a, &w, NOW)->state, ASKED_SETTLED);
	w.needs_offsets = false; /* its table is gone from the store */
	assert_int_equal(asked_builds_want(a, &w, NOW)->state, ASKED_WAITING);
}

TEST(a_failed_build_waits)
{
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL;

	assert_int_equal(asked_builds_new(&a), 0);
	want(a, 1, 10);
	want(a, 2, 1);
	asked_builds_retry(a, asked_builds_next(a, NOW), NOW + 5);
	expect_next(a, 2);
	assert_null(asked_builds_next(a, NOW));
	assert_int_equal(asked_builds_due_ns(a), NOW + 5);
	assert_int_equal(want(a, 1, 10)->state, ASKED_WAITING);
	assert_null(asked_builds_next(a, NOW + 4));
	assert_non_null(asked_builds_next(a, NOW + 5));
}

TEST(when_too_many_wait_the_coldest_is_forgotten)
{
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL;
	const struct build_key coldest = key(0);

	assert_int_equal(asked_builds_new(&a), 0);
	for (unsigned i = 0; i < ASKED_BUILDS_WAITING_MAX; i++)
		assert_non_null(want(a, i, 10 + i));
	assert_non_null(want(a, 60000, 11));
	assert_null(asked_builds_find(a, &coldest));
	assert_null(want(a, 60001, 1));
	assert_int_equal(asked_builds_counts(a).n_forgotten, 2);
	assert_int_equal(asked_builds_counts(a).n_waiting, ASKED_BUILDS_WAITING_MAX);
	expect_next(a, ASKED_BUILDS_WAITING_MAX - 1);
}

TEST(what_is_settled_outlives_the_program)
{
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL, *b = NULL, *c = NULL;
	CLEANUP(buf_fini) struct buf text;
	const struct build_key first = key(0), late = key(3);

	assert_int_equal(asked_builds_new(&a), 0);
	assert_int_equal(asked_builds_new(&b), 0);
	assert_int_equal(asked_builds_new(&c), 0);
	buf_init(&text, ASKED_BUILDS_TEXT_MAX_BYTES);
	for (unsigned i = 0; i < ASKED_REASONS; i++) {
		want(a, i, 1);
		asked_builds_settle(a, asked_builds_next(a, NOW), (enum asked_reason)i,
				    i == 3 ? NOW + NS_PER_S : NOW + DAY);
	}
	want(a, 99, 1); /* waits, and is not saved */
	assert_int_equal(asked_builds_write(a, "http://x http://y", &text), 0);
	assert_int_equal(
		asked_builds_read(b, "http://x http://y", text.data, text.len, NOW + 2 * NS_PER_S),
		0);
	assert_int_equal(asked_builds_counts(b).n_settled, ASKED_REASONS - 1);
	assert_int_equal(asked_builds_find(b, &first)->reason, 0);
	assert_int_equal(asked_builds_find(b, &first)->until_ns, NOW + DAY);
	assert_null(asked_builds_find(b, &late));
	/* other servers may have them */
	assert_int_equal(asked_builds_read(c, "http://x", text.data, text.len, NOW), 0);
	assert_int_equal(asked_builds_counts(c).n_settled, 0);
}

TEST(lines_that_are_none_are_passed_over)
{
	static const char text[] = "builds without symbols at s\n"
				   "\n"
				   "abcd absent\n"
				   "abcd nothing 1900000000\n"
				   "xyz absent 1900000000\n"
				   "abcd absent 99999999999999999999999\n"
				   "abce absent 1900000000\n"
				   "abce disk 1900000001\n"
				   "abcf absent 190000000"; /* the time is up */
	CLEANUP(asked_builds_freep) struct asked_builds *a = NULL;
	struct build_key k;

	assert_int_equal(asked_builds_new(&a), 0);
	assert_int_equal(asked_builds_read(a, "s", text, sizeof(text) - 1, NOW), 0);
	assert_int_equal(asked_builds_counts(a).n_settled, 1);
	assert_true(build_key_parse(&k, "abce", 4));
	assert_int_equal(asked_builds_find(a, &k)->reason, ASKED_ABSENT);
}
