#include "node-agent/container/container_entry.h"

#include "common/system/clock.h"
#include "test/lib/unit.h"

static const struct facts_origin api = {.source = 0, .rank = 0, .is_trusted = true};
static const struct facts_origin runtime = {.source = 1, .rank = 0, .is_trusted = true};

static bool is_disabled(struct container_entry *e)
{
	struct container_facts f;

	container_entry_facts(e, &f);
	return f.profiling_disabled;
}

static void put(struct container_entry *e, const struct facts_origin *from, bool disabled,
		bool is_live)
{
	const struct container_facts f = {
		.id = "c1",
		.name = "web",
		.profiling_disabled = disabled,
		.annotation_is_live = is_live,
	};

	assert_true(container_entry_put(e, from, &f) >= 0);
}

TEST(the_annotation_as_it_is_now_counts)
{
	struct container_entry *e = container_entry_new("c1");

	assert_non_null(e);
	put(e, &runtime, true, false);
	assert_true(is_disabled(e));
	/* it has been removed since the pod was made */
	put(e, &api, false, true);
	assert_false(is_disabled(e));
	put(e, &api, true, true);
	assert_true(is_disabled(e));
	put(e, &runtime, false, false);
	assert_true(is_disabled(e));
	put(e, &api, false, true);
	assert_false(is_disabled(e));
	container_entry_free(e);
}

TEST(the_order_of_sources_does_not_matter)
{
	struct container_entry *e = container_entry_new("c1");

	assert_non_null(e);
	put(e, &api, true, false);
	put(e, &runtime, false, true);
	assert_false(is_disabled(e));
	container_entry_free(e);
}

/* ---- rounds ---- */

#define RUNTIME 1u
#define OTHER 2u

/* Ends the round under way at 0; returns the pause in seconds, or UINT64_MAX. */
static uint64_t end_round(struct container_entry *e)
{
	(void)container_entry_end_round(e, 0);
	return e->next_round_ns == UINT64_MAX ? UINT64_MAX : e->next_round_ns / NS_PER_S;
}

static uint64_t round_with(struct container_entry *e, const struct round_sources *s, bool fails)
{
	container_entry_begin_round(e, s);
	e->failed |= fails && e->queued != 0;
	e->queued = 0;
	return end_round(e);
}

TEST(a_round_that_begins_during_another_contains_it)
{
	const struct round_sources both = {.available = RUNTIME | OTHER}, none = {0};
	struct container_entry *e = container_entry_new("c1");

	assert_non_null(e);
	container_entry_begin_round(e, &both);
	assert_int_equal(e->queued, RUNTIME | OTHER);
	e->queued = 0;
	e->asked = RUNTIME;
	e->failed = true; /* the other one has */
	container_entry_begin_round(e, &none);
	assert_true(e->failed);
	assert_true(e->is_asking);
	e->asked = 0;
	e->failed = false;
	/* its answer does not make the first name the last */
	assert_int_equal(end_round(e), 1);
	assert_false(e->settled);
	container_entry_free(e);
}

TEST(a_source_that_is_gone_does_not_change_the_pauses)
{
	static const uint64_t pauses[] = {1, 3, 10, 60, 600, 600};
	const struct round_sources live = {.available = RUNTIME};
	const struct round_sources gone = {.available = RUNTIME, .absent = OTHER};
	const struct round_sources failing = {.available = RUNTIME, .failing = OTHER};
	struct container_entry *e1 = container_entry_new("c1"), *e2 = container_entry_new("c2"),
			       *e3 = container_entry_new("c3");

	assert_true(e1 && e2 && e3);
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
		assert_int_equal(round_with(e1, &live, false), pauses[i]);
		assert_int_equal(round_with(e2, &gone, false), pauses[i]);
		assert_int_equal(round_with(e3, &failing, false), i < 3 ? pauses[i] : 60);
		assert_int_equal(e1->settled, i > 0);
		assert_int_equal(e2->settled, i > 0);
		assert_true(e3->settled);
	}
	container_entry_free(e1);
	container_entry_free(e2);
	container_entry_free(e3);
}

TEST(what_only_an_absent_source_may_know_is_asked_for_later)
{
	const struct round_sources absent = {.absent = RUNTIME}, none = {0};
	const struct round_sources failing = {.available = RUNTIME};
	struct container_entry *e = container_entry_new("c1");

	assert_non_null(e);
	assert_int_equal(round_with(e, &absent, false), 1);
	assert_true(e->settled);
	assert_int_equal(round_with(e, &failing, true), 3);
	assert_int_equal(round_with(e, &none, false), UINT64_MAX);
	container_entry_free(e);
}
