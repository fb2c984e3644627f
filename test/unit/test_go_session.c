#include <errno.h>

#include "node-agent/go/profile/go_session.h"
#include "test/lib/history_start.h"
#include "test/lib/unit.h"

static struct go_session *make(enum runtime_baseline baseline)
{
	struct go_session *s = NULL;

	assert_int_equal(go_session_new(&s, baseline, 1000), 0);
	return s;
}

TEST(test_a_program_that_has_just_started_reports_all_allocations)
{
	struct go_session *s = make(RUNTIME_BASELINE_ZERO);

	assert_true(history_starts_from_zero(s->heap));
	go_session_free(s);
	s = make(RUNTIME_BASELINE_NOW);
	assert_false(history_starts_from_zero(s->heap));
	go_session_free(s);
}

TEST(test_a_profiler_that_was_just_switched_on_begins_now)
{
	struct go_session *s = make(RUNTIME_BASELINE_ZERO);

	assert_int_equal(go_session_restart_heap(s), 0);
	assert_false(history_starts_from_zero(s->heap));
	assert_int_equal(go_session_reset(s, RUNTIME_BASELINE_ZERO), 0);
	assert_true(history_starts_from_zero(s->heap));
	/* there is room for a few records */
	assert_in_range(go_session_bytes(s), sizeof(struct go_bucket), 64 * 1024);
	go_session_free(s);
}

TEST(test_another_program_has_no_rates_of_ours)
{
	struct go_session *s = make(RUNTIME_BASELINE_NOW);

	s->locks[LOCK_BLOCK].is_ours = true;
	s->burst_end_ns = 9;
	/* a history that was dropped for want of memory changes nothing in the program */
	assert_int_equal(go_session_reset(s, RUNTIME_BASELINE_NOW), 0);
	assert_true(s->locks[LOCK_BLOCK].is_ours);
	assert_int_equal(s->burst_end_ns, 9);
	assert_int_equal(go_session_reset(s, RUNTIME_BASELINE_ZERO), 0);
	assert_false(s->locks[LOCK_BLOCK].is_ours);
	assert_int_equal(s->burst_end_ns, 0);
	go_session_free(s);
}

static int make_and_reset(void *arg)
{
	CLEANUP(go_session_freep) struct go_session *s = NULL;
	int r = go_session_new(&s, RUNTIME_BASELINE_NOW, 1);

	(void)arg;
	return r == 0 ? go_session_reset(s, RUNTIME_BASELINE_ZERO) : r;
}

TEST(test_failed_allocations_are_survived)
{
	check_oom(make_and_reset, NULL);
}
