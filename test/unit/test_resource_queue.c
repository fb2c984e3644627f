#include "cluster-agent/operator/reconcile/resource_queue.h"

#include <errno.h>

#include "test/lib/unit.h"

#define S NS_PER_S

static struct resource_queue q;

static int set_up(void **state)
{
	(void)state;
	q = (struct resource_queue){.random = 7};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	resource_queue_fini(&q);
	return 0;
}

static void put(const char *name, const char *uid, uint64_t digest, uint64_t now_ns)
{
	assert_int_equal(resource_queue_put(&q, "ns", name, uid, digest, now_ns), 0);
}

/* Runs the one that is due and ends it. */
static void run(uint64_t now_ns, enum reconcile_outcome outcome)
{
	struct resource *r = resource_queue_next(&q, now_ns);

	assert_non_null(r);
	resource_queue_done(&q, r, outcome, now_ns);
}

TEST_FIXTURE(a_change_is_due_soon_and_several_are_one, set_up, tear_down)
{
	struct resource *r;

	assert_true(resource_queue_next_ns(&q) == UINT64_MAX);
	put("a", "u1", 1, 10 * S);
	put("a", "u1", 2, 10 * S + 1);
	put("a", "u1", 2, 10 * S + 2);
	assert_true(resource_queue_next_ns(&q) == 10 * S + RESOURCE_CHANGE_NS);
	assert_null(resource_queue_next(&q, 10 * S));
	r = resource_queue_next(&q, 11 * S);
	assert_non_null(r);
	assert_string_equal(r->key, "ns/a");
	assert_string_equal(r->name, "a");
	assert_string_equal(r->namespace, "ns");
	/* it is running: not due again */
	assert_null(resource_queue_next(&q, 100 * S));
	assert_true(resource_queue_next_ns(&q) == UINT64_MAX);
	resource_queue_done(&q, r, RECONCILE_DONE, 12 * S);
	assert_true(resource_queue_next_ns(&q) == 12 * S + RESOURCE_RESYNC_NS);
	/* the same again is no change */
	put("a", "u1", 2, 13 * S);
	assert_true(resource_queue_next_ns(&q) == 12 * S + RESOURCE_RESYNC_NS);
	put("a", "u1", 3, 13 * S);
	assert_true(resource_queue_next_ns(&q) == 13 * S + RESOURCE_CHANGE_NS);
}

TEST_FIXTURE(the_one_that_waits_for_longest_is_first, set_up, tear_down)
{
	struct resource *r;

	put("a", "u1", 1, 2 * S);
	put("b", "u2", 1, 1 * S);
	r = resource_queue_next(&q, 5 * S);
	assert_string_equal(r->name, "b");
	r = resource_queue_next(&q, 5 * S);
	assert_string_equal(r->name, "a");
}

TEST_FIXTURE(failures_are_retried_ever_later_until_it_changes, set_up, tear_down)
{
	uint64_t now_ns = 1 * S, wait_ns = 0;

	put("a", "u1", 1, now_ns);
	for (unsigned i = 0; i < 20; i++) {
		now_ns = resource_queue_next_ns(&q);
		run(now_ns, RECONCILE_RETRY);
		wait_ns = resource_queue_next_ns(&q) - now_ns;
		assert_true(wait_ns >= RESOURCE_RETRY_NS / 2 && wait_ns <= RESOURCE_RETRY_MAX_NS);
	}
	assert_true(wait_ns >= RESOURCE_RETRY_MAX_NS / 2);
	/* events of its objects may be of its own doing */
	resource_queue_drifted(resource_queue_find_uid(&q, "u1"), now_ns);
	resource_queue_progressed(resource_queue_find_uid(&q, "u1"), now_ns);
	assert_true(resource_queue_next_ns(&q) == now_ns + wait_ns);
	put("a", "u1", 2, now_ns);
	assert_true(resource_queue_next_ns(&q) == now_ns + RESOURCE_CHANGE_NS);
	run(now_ns + S, RECONCILE_RETRY);
	assert_true(resource_queue_next_ns(&q) <= now_ns + S + RESOURCE_RETRY_NS);
}

TEST_FIXTURE(a_drift_while_it_succeeds_after_a_failure_brings_another_run, set_up, tear_down)
{
	struct resource *r;

	put("a", "u1", 1, 0);
	run(S, RECONCILE_RETRY);
	r = resource_queue_next(&q, resource_queue_next_ns(&q));
	resource_queue_drifted(r, 5 * S);
	resource_queue_done(&q, r, RECONCILE_DONE, 6 * S);
	assert_true(resource_queue_next_ns(&q) < 10 * S);

	run(10 * S, RECONCILE_RETRY);
	r = resource_queue_next(&q, resource_queue_next_ns(&q));
	resource_queue_progressed(r, 15 * S);
	resource_queue_done(&q, r, RECONCILE_DONE, 16 * S);
	assert_true(resource_queue_next_ns(&q) == 15 * S + RESOURCE_PROGRESS_NS);
}

TEST_FIXTURE(a_change_while_it_runs_brings_another_run, set_up, tear_down)
{
	struct resource *r;

	put("a", "u1", 1, 0);
	r = resource_queue_next(&q, S);
	put("a", "u1", 2, 2 * S);
	resource_queue_done(&q, r, RECONCILE_DONE, 3 * S);
	assert_true(resource_queue_next_ns(&q) == 2 * S + RESOURCE_CHANGE_NS);
}

/* Why pods are not ready may change without an event. */
TEST_FIXTURE(one_whose_pods_are_not_ready_is_due_again_soon, set_up, tear_down)
{
	uint64_t now_ns = 1 * S, wait_ns = 0;

	put("a", "u1", 1, now_ns);
	now_ns = resource_queue_next_ns(&q);
	for (unsigned i = 0; i < 10; i++) {
		run(now_ns, RECONCILE_WAITS);
		wait_ns = resource_queue_next_ns(&q) - now_ns;
		assert_true(i > 0 || wait_ns <= RESOURCE_WAIT_NS);
		now_ns += wait_ns;
	}
	assert_true(wait_ns >= RESOURCE_WAIT_MAX_NS / 2 && wait_ns <= RESOURCE_WAIT_MAX_NS);
	assert_false(resource_queue_find_uid(&q, "u1")->failing);
	run(now_ns, RECONCILE_DONE);
	assert_true(resource_queue_next_ns(&q) == now_ns + RESOURCE_RESYNC_NS);
	now_ns += RESOURCE_RESYNC_NS;
	run(now_ns, RECONCILE_WAITS);
	assert_true(resource_queue_next_ns(&q) <= now_ns + RESOURCE_WAIT_NS);
}

/* One that is running when its namespace ends has to run again: it did not know. */
TEST_FIXTURE(resources_of_a_namespace_leave_once, set_up, tear_down)
{
	struct resource *running, *idle;

	put("a", "u1", 1, 0);
	put("b", "u2", 1, 0);
	running = resource_queue_next(&q, S);
	assert_false(running->leaves);
	resource_queue_leave(&q, "elsewhere", S);
	assert_false(resource_queue_is_leaving(&q));
	resource_queue_leave(&q, "ns", S);
	assert_true(resource_queue_is_leaving(&q));
	idle = resource_queue_next(&q, S);
	assert_true(idle && idle != running && idle->leaves);
	resource_queue_done(&q, idle, RECONCILE_DONE, 2 * S);
	resource_queue_done(&q, running, RECONCILE_DONE, 2 * S);
	assert_true(resource_queue_is_leaving(&q));
	/* whatever happens to it now, it does not come back */
	resource_queue_drifted(idle, 2 * S);
	idle->due_ns = 0;
	assert_ptr_equal(resource_queue_next(&q, 2 * S), idle);
	assert_true(idle->leaves);
	resource_queue_done(&q, idle, RECONCILE_DONE, 2 * S);
	assert_ptr_equal(resource_queue_next(&q, 2 * S), running);
	assert_true(running->leaves);
	/* what failed is tried again */
	resource_queue_done(&q, running, RECONCILE_RETRY, 3 * S);
	assert_true(resource_queue_is_leaving(&q));
	assert_ptr_equal(resource_queue_next(&q, 3 * S + RESOURCE_RETRY_NS), running);
	resource_queue_done(&q, running, RECONCILE_GONE, 6 * S);
	assert_false(resource_queue_is_leaving(&q));
}

TEST_FIXTURE(two_programs_that_undo_each_other_slow_down, set_up, tear_down)
{
	uint64_t now_ns = 1 * S, first_ns, wait_ns = 0;
	struct resource *r;

	put("a", "u1", 1, now_ns);
	run(2 * S, RECONCILE_DONE);
	r = resource_queue_find_uid(&q, "u1");
	now_ns = 2 * S;
	resource_queue_drifted(r, now_ns);
	first_ns = resource_queue_next_ns(&q) - now_ns;
	assert_true(first_ns <= RESOURCE_CHANGE_NS);
	/* several at once are one */
	for (unsigned i = 0; i < 20; i++)
		resource_queue_drifted(r, now_ns);
	assert_true(resource_queue_next_ns(&q) - now_ns == first_ns);
	for (unsigned i = 0; i < 20; i++) {
		now_ns = resource_queue_next_ns(&q);
		r = resource_queue_next(&q, now_ns);
		/* while it runs counts as much as afterwards */
		resource_queue_drifted(r, now_ns);
		resource_queue_done(&q, r, RECONCILE_DONE, now_ns);
		wait_ns = resource_queue_next_ns(&q) - now_ns;
		assert_true(wait_ns <= RESOURCE_DRIFT_MAX_NS);
	}
	assert_true(wait_ns >= RESOURCE_DRIFT_MAX_NS / 2);
	/* after a calm the first is repaired soon again */
	now_ns = resource_queue_next_ns(&q);
	run(now_ns, RECONCILE_DONE);
	now_ns += RESOURCE_CALM_NS + RESOURCE_DRIFT_MAX_NS + S;
	resource_queue_drifted(r, now_ns);
	assert_true(resource_queue_next_ns(&q) <= now_ns + RESOURCE_CHANGE_NS);
}

TEST_FIXTURE(what_a_list_does_not_name_is_forgotten, set_up, tear_down)
{
	struct resource *r;

	put("a", "u1", 1, 0);
	put("b", "u2", 1, 0);
	put("c", "u3", 1, 0);
	r = resource_queue_next(&q, S);
	assert_string_equal(r->name, "a");
	resource_queue_list_begin(&q);
	put("c", "u3", 1, 0);
	resource_queue_list_end(&q);
	assert_null(resource_queue_find_uid(&q, "u2"));
	assert_non_null(resource_queue_find_uid(&q, "u3"));
	/* the running one stays until it has ended */
	assert_ptr_equal(resource_queue_find_uid(&q, "u1"), r);
	resource_queue_done(&q, r, RECONCILE_DONE, S);
	assert_null(resource_queue_find_uid(&q, "u1"));
	assert_int_equal(q.n, 1);
	resource_queue_remove(&q, "ns", "c");
	resource_queue_remove(&q, "ns", "c");
	assert_int_equal(q.n, 0);
}

TEST_FIXTURE(one_that_is_made_again_has_another_uid, set_up, tear_down)
{
	struct resource *r;

	put("a", "u1", 1, 0);
	put("a", "u2", 1, S);
	assert_null(resource_queue_find_uid(&q, "u1"));
	r = resource_queue_next(&q, 2 * S);
	assert_string_equal(r->uid, "u2");
	resource_queue_remove(&q, "ns", "a");
	put("a", "u3", 1, 3 * S);
	assert_string_equal(r->uid, "u2");
	/* what it did was about the one before */
	resource_queue_done(&q, r, RECONCILE_GONE, 4 * S);
	assert_null(resource_queue_find_uid(&q, "u2"));
	assert_non_null(resource_queue_find_uid(&q, "u3"));
	run(5 * S, RECONCILE_DONE);
	assert_int_equal(q.n, 1);
}

TEST_FIXTURE(one_that_does_not_exist_is_forgotten, set_up, tear_down)
{
	put("a", "u1", 1, 0);
	run(S, RECONCILE_GONE);
	assert_int_equal(q.n, 0);
}

TEST_FIXTURE(there_is_a_limit, set_up, tear_down)
{
	char name[32];

	for (unsigned i = 0; i < RESOURCES_MAX; i++) {
		snprintf(name, sizeof(name), "r%u", i);
		put(name, name, 1, 0);
	}
	assert_int_equal(resource_queue_put(&q, "ns", "more", "more", 1, 0), -ENOSPC);
	put("r5", "r5", 2, 0);
	assert_int_equal(resource_queue_put(&q, "ns", "x", "", 1, 0), -EINVAL);
	assert_int_equal(
		resource_queue_put(&q, "ns", "x",
				   "0123456789012345678901234567890123456789012345678901234567890"
				   "123456789",
				   1, 0),
		-EINVAL);
}

static int put_two(void *arg)
{
	int r;

	(void)arg;
	resource_queue_fini(&q);
	r = resource_queue_put(&q, "ns", "a", "u1", 1, 0);
	return r < 0 ? r : resource_queue_put(&q, "ns", "b", "u2", 1, 0);
}

TEST_FIXTURE(memory_may_be_short, set_up, tear_down)
{
	check_oom(put_two, NULL);
	assert_int_equal(q.n, 2);
}
