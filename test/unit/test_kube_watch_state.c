#include "common/kubernetes/kube_watch_state.h"

#include <errno.h>

#include "test/lib/unit.h"

#define MIN_NS (500 * NS_PER_MS)
#define MAX_NS (60 * NS_PER_S)

static struct kube_watch_state at(enum kube_step step)
{
	struct kube_watch_state st;

	kube_watch_state_init(&st, MIN_NS, MAX_NS, 7);
	st.step = step;
	return st;
}

TEST(it_begins_with_a_list)
{
	const struct kube_watch_state st = at(KUBE_STEP_LIST);

	assert_int_equal(st.step, KUBE_STEP_LIST);
	assert_int_equal(st.delay_ns, 0);
	assert_false(st.failing);
}

/* What may be said of the wait before the next request. */
enum wait {
	AT_ONCE,
	SPACED,     /* a second after the last one began */
	BACKED_OFF, /* 250 to 500 ms: the first retry */
	ASKED,      /* 7 s, as Retry-After says */
};

static void check_wait(size_t i, enum wait wait, uint64_t lasted_ns, uint64_t delay_ns)
{
	bool ok = false;

	switch (wait) {
	case AT_ONCE:
		ok = delay_ns == 0;
		break;
	case SPACED:
		ok = delay_ns == 2 * MIN_NS - lasted_ns;
		break;
	case BACKED_OFF:
		ok = delay_ns >= MIN_NS / 2 && delay_ns <= MIN_NS;
		break;
	case ASKED:
		ok = delay_ns == 7 * NS_PER_S;
		break;
	}
	if (!ok)
		fail_msg("case %zu waits for %llu ns", i, (unsigned long long)delay_ns);
}

static const struct {
	enum kube_step step;
	struct kube_outcome outcome;
	enum kube_verdict verdict;
	enum kube_step next;
	enum wait wait;
} outcomes[] = {
	/* lists */
	{KUBE_STEP_LIST, {.status = 200}, KUBE_VERDICT_FINE, KUBE_STEP_WATCH, AT_ONCE},
	{KUBE_STEP_LIST,
	 {.status = 200, .has_more = true},
	 KUBE_VERDICT_FINE,
	 KUBE_STEP_PAGE,
	 AT_ONCE},
	{KUBE_STEP_PAGE,
	 {.status = 200, .has_more = true},
	 KUBE_VERDICT_FINE,
	 KUBE_STEP_PAGE,
	 AT_ONCE},
	{KUBE_STEP_PAGE, {.status = 200}, KUBE_VERDICT_FINE, KUBE_STEP_WATCH, AT_ONCE},
	{KUBE_STEP_PAGE, {.status = 410}, KUBE_VERDICT_GONE, KUBE_STEP_LIST, BACKED_OFF},
	{KUBE_STEP_PAGE, {.status = 500}, KUBE_VERDICT_FAILED, KUBE_STEP_PAGE, BACKED_OFF},
	{KUBE_STEP_PAGE, {.error = -ECONNRESET}, KUBE_VERDICT_FAILED, KUBE_STEP_PAGE, BACKED_OFF},
	{KUBE_STEP_PAGE, {.status = 400}, KUBE_VERDICT_FAILED, KUBE_STEP_LIST, BACKED_OFF},
	{KUBE_STEP_PAGE,
	 {.status = 200, .error = -EBADMSG},
	 KUBE_VERDICT_FAILED,
	 KUBE_STEP_LIST,
	 BACKED_OFF},
	{KUBE_STEP_LIST, {.status = 403}, KUBE_VERDICT_FAILED, KUBE_STEP_LIST, BACKED_OFF},
	{KUBE_STEP_LIST,
	 {.status = 429, .retry_after_ns = 7 * NS_PER_S},
	 KUBE_VERDICT_FAILED,
	 KUBE_STEP_LIST,
	 ASKED},
	{KUBE_STEP_LIST, {.error = -ECONNREFUSED}, KUBE_VERDICT_FAILED, KUBE_STEP_LIST, BACKED_OFF},
	/* watches that end */
	{KUBE_STEP_WATCH,
	 {.status = 200, .lasted_ns = 270 * NS_PER_S},
	 KUBE_VERDICT_FINE,
	 KUBE_STEP_WATCH,
	 AT_ONCE},
	{KUBE_STEP_WATCH, {.status = 200}, KUBE_VERDICT_FINE, KUBE_STEP_WATCH, SPACED},
	{KUBE_STEP_WATCH,
	 {.status = 200, .lasted_ns = NS_PER_MS, .n_events = 3},
	 KUBE_VERDICT_FINE,
	 KUBE_STEP_WATCH,
	 SPACED},
	{KUBE_STEP_WATCH,
	 {.error = -ECONNRESET, .lasted_ns = NS_PER_S},
	 KUBE_VERDICT_FINE,
	 KUBE_STEP_WATCH,
	 AT_ONCE},
	{KUBE_STEP_WATCH,
	 {.error = -ECONNRESET, .n_events = 1},
	 KUBE_VERDICT_FINE,
	 KUBE_STEP_WATCH,
	 SPACED},
	/* watches that fail */
	{KUBE_STEP_WATCH,
	 {.error = -ECONNRESET, .lasted_ns = NS_PER_MS},
	 KUBE_VERDICT_FAILED,
	 KUBE_STEP_WATCH,
	 BACKED_OFF},
	/* silence may be all there is to say */
	{KUBE_STEP_WATCH,
	 {.error = -ETIMEDOUT, .lasted_ns = 90 * NS_PER_S},
	 KUBE_VERDICT_FINE,
	 KUBE_STEP_WATCH,
	 AT_ONCE},
	{KUBE_STEP_WATCH, {.status = 401}, KUBE_VERDICT_FAILED, KUBE_STEP_WATCH, BACKED_OFF},
	{KUBE_STEP_WATCH, {.status = 403}, KUBE_VERDICT_FAILED, KUBE_STEP_WATCH, BACKED_OFF},
	{KUBE_STEP_WATCH, {.status = 404}, KUBE_VERDICT_FAILED, KUBE_STEP_WATCH, BACKED_OFF},
	{KUBE_STEP_WATCH,
	 {.status = 503, .retry_after_ns = 7 * NS_PER_S},
	 KUBE_VERDICT_FAILED,
	 KUBE_STEP_WATCH,
	 ASKED},
	{KUBE_STEP_WATCH, {.status = 400}, KUBE_VERDICT_FAILED, KUBE_STEP_LIST, BACKED_OFF},
	{KUBE_STEP_WATCH, {.status = 302}, KUBE_VERDICT_FAILED, KUBE_STEP_LIST, BACKED_OFF},
	{KUBE_STEP_WATCH,
	 {.error = -EBADMSG, .n_events = 5},
	 KUBE_VERDICT_FAILED,
	 KUBE_STEP_LIST,
	 BACKED_OFF},
	{KUBE_STEP_WATCH, {.status = 410}, KUBE_VERDICT_GONE, KUBE_STEP_LIST, BACKED_OFF},
	{KUBE_STEP_WATCH,
	 {.error = -ECANCELED, .event_code = 410},
	 KUBE_VERDICT_GONE,
	 KUBE_STEP_LIST,
	 BACKED_OFF},
	{KUBE_STEP_WATCH,
	 {.error = -ECANCELED, .event_code = 500},
	 KUBE_VERDICT_FAILED,
	 KUBE_STEP_LIST,
	 BACKED_OFF},
};

TEST(every_outcome_has_a_next_step)
{
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++) {
		struct kube_watch_state st = at(outcomes[i].step);
		enum kube_verdict v = kube_watch_state_advance(&st, &outcomes[i].outcome);

		if (v != outcomes[i].verdict || st.step != outcomes[i].next)
			fail_msg("case %zu: verdict %d, step %d", i, (int)v, (int)st.step);
		assert_int_equal(st.failing, v == KUBE_VERDICT_FAILED);
		check_wait(i, outcomes[i].wait, outcomes[i].outcome.lasted_ns, st.delay_ns);
	}
}

TEST(failures_wait_longer_and_longer_up_to_the_limit)
{
	const struct kube_outcome refused = {.error = -ECONNREFUSED};
	struct kube_watch_state st = at(KUBE_STEP_WATCH);

	for (uint64_t cap = MIN_NS; cap < MAX_NS; cap *= 2) {
		kube_watch_state_advance(&st, &refused);
		assert_in_range(st.delay_ns, cap / 2, cap);
	}
	for (int i = 0; i < 5; i++) {
		kube_watch_state_advance(&st, &refused);
		assert_in_range(st.delay_ns, MAX_NS / 2, MAX_NS);
	}
	/* an event, and it begins anew */
	kube_watch_state_event(&st);
	assert_false(st.failing);
	kube_watch_state_advance(&st, &refused);
	assert_in_range(st.delay_ns, MIN_NS / 2, MIN_NS);
}

TEST(retry_after_is_believed_up_to_five_minutes)
{
	struct kube_watch_state st = at(KUBE_STEP_LIST);

	kube_watch_state_advance(
		&st, &(struct kube_outcome){.status = 429, .retry_after_ns = 86400 * NS_PER_S});
	assert_int_equal(st.delay_ns, 300 * NS_PER_S);
}

TEST(lists_that_work_do_not_excuse_watches_that_do_not)
{
	const struct kube_outcome fine = {.status = 200}, garbage = {.error = -EBADMSG};
	struct kube_watch_state st = at(KUBE_STEP_WATCH);
	uint64_t waited_ns = 0;

	/* list, watch that fails, list …: a hundred lists in no less than half an hour */
	for (int i = 0; i < 100; i++) {
		assert_int_equal(kube_watch_state_advance(&st, &garbage), KUBE_VERDICT_FAILED);
		assert_int_equal(st.step, KUBE_STEP_LIST);
		waited_ns += st.delay_ns;
		assert_int_equal(kube_watch_state_advance(&st, &fine), KUBE_VERDICT_FINE);
		assert_int_equal(st.step, KUBE_STEP_WATCH);
		assert_true(st.failing);
	}
	assert_true(waited_ns > 1800 * NS_PER_S);
}

TEST(a_list_that_works_ends_a_lists_failure)
{
	struct kube_watch_state st = at(KUBE_STEP_LIST);

	kube_watch_state_advance(&st, &(struct kube_outcome){.status = 403});
	assert_true(st.failing);
	kube_watch_state_advance(&st, &(struct kube_outcome){.status = 200});
	assert_false(st.failing);
}

TEST(repeated_410_is_a_failure)
{
	const struct kube_outcome fine = {.status = 200}, gone = {.status = 410};
	struct kube_watch_state st = at(KUBE_STEP_WATCH);

	assert_int_equal(kube_watch_state_advance(&st, &gone), KUBE_VERDICT_GONE);
	kube_watch_state_advance(&st, &fine);
	assert_int_equal(kube_watch_state_advance(&st, &gone), KUBE_VERDICT_FAILED);
	assert_int_equal(st.step, KUBE_STEP_LIST);
	kube_watch_state_advance(&st, &fine);
	kube_watch_state_event(&st);
	assert_int_equal(kube_watch_state_advance(&st, &gone), KUBE_VERDICT_GONE);
}

TEST(a_410_after_a_long_absence_is_not_delayed)
{
	const struct kube_outcome away = {.error = -ECONNREFUSED}, gone = {.status = 410};
	struct kube_watch_state st = at(KUBE_STEP_WATCH);

	for (int i = 0; i < 20; i++)
		kube_watch_state_advance(&st, &away);
	assert_int_equal(kube_watch_state_advance(&st, &gone), KUBE_VERDICT_GONE);
	assert_in_range(st.delay_ns, MIN_NS / 2, MIN_NS);
	/* but further 410s are delayed */
	for (int i = 0; i < 20; i++)
		assert_int_equal(kube_watch_state_advance(&st, &gone), KUBE_VERDICT_FAILED);
	assert_in_range(st.delay_ns, MAX_NS / 2, MAX_NS);
}

TEST(watches_closed_every_second_resume_without_longer_delays)
{
	const struct kube_outcome closed = {.error = -ECONNRESET, .lasted_ns = NS_PER_S};
	struct kube_watch_state st = at(KUBE_STEP_WATCH);

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(kube_watch_state_advance(&st, &closed), KUBE_VERDICT_FINE);
		assert_int_equal(st.step, KUBE_STEP_WATCH);
		assert_int_equal(st.delay_ns, 0);
	}
}

TEST(watches_last_four_to_five_minutes_and_two_seconds_after_a_failure)
{
	struct kube_watch_state st = at(KUBE_STEP_WATCH);
	unsigned low = UINT32_MAX, high = 0;

	for (int i = 0; i < 2000; i++) {
		unsigned s = kube_watch_state_timeout_s(&st);

		low = s < low ? s : low;
		high = s > high ? s : high;
	}
	assert_int_equal(low, 240);
	assert_int_equal(high, 300);
	kube_watch_state_advance(&st, &(struct kube_outcome){.error = -ECONNREFUSED});
	assert_int_equal(kube_watch_state_timeout_s(&st), 2);
	kube_watch_state_advance(&st,
				 &(struct kube_outcome){.status = 200, .lasted_ns = 2 * NS_PER_S});
	assert_in_range(kube_watch_state_timeout_s(&st), 240, 300);
}

TEST(silence_is_a_failure_when_a_short_watch_does_not_end)
{
	const struct kube_outcome silent = {.error = -ETIMEDOUT, .lasted_ns = 90 * NS_PER_S};
	const struct kube_outcome ended = {.status = 200, .lasted_ns = 2 * NS_PER_S};
	struct kube_watch_state st = at(KUBE_STEP_WATCH);

	/* a quiet server without bookmarks: never a failure */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(kube_watch_state_advance(&st, &silent), KUBE_VERDICT_FINE);
		assert_int_equal(kube_watch_state_timeout_s(&st), KUBE_WATCH_SHORT_S);
		assert_int_equal(kube_watch_state_advance(&st, &ended), KUBE_VERDICT_FINE);
		assert_in_range(kube_watch_state_timeout_s(&st), 240, 300);
	}
	/* one that hangs */
	assert_int_equal(kube_watch_state_advance(&st, &silent), KUBE_VERDICT_FINE);
	assert_int_equal(kube_watch_state_advance(&st, &silent), KUBE_VERDICT_FAILED);
	assert_int_equal(kube_watch_state_advance(&st, &silent), KUBE_VERDICT_FAILED);
	assert_int_equal(st.step, KUBE_STEP_WATCH);
}

TEST(failures_come_with_advice)
{
	static const struct {
		enum kube_step step;
		struct kube_outcome outcome;
		const char *msg, *text, *hint;
	} cases[] = {
		{KUBE_STEP_LIST,
		 {.status = 403},
		 "pods is forbidden: User \"x\" cannot list resource \"pods\"",
		 "cannot list pods: pods is forbidden: User \"x\" cannot list resource \"pods\"",
		 "the agent needs get, list and watch of pods (RBAC)"},
		{KUBE_STEP_WATCH,
		 {.status = 401},
		 "Unauthorized",
		 "cannot watch pods: Unauthorized",
		 "the API server rejects the agent's credentials"},
		{KUBE_STEP_PAGE,
		 {.status = 404},
		 "the server could not find the requested resource",
		 "cannot list pods: the server could not find the requested resource",
		 "check that this is the address of an API server and that it serves pods"},
		{KUBE_STEP_WATCH,
		 {.error = -EBADMSG},
		 "no event",
		 "cannot watch pods: cannot parse the answer: no event",
		 ""},
		{KUBE_STEP_LIST,
		 {.error = -ECONNREFUSED},
		 "connect to 10.0.0.1 port 6443 failed",
		 "cannot list pods: connect to 10.0.0.1 port 6443 failed",
		 ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kube_watch_problem p;

		kube_watch_explain(&p, "pods", cases[i].step, &cases[i].outcome, cases[i].msg);
		assert_string_equal(p.text, cases[i].text);
		assert_string_equal(p.hint, cases[i].hint);
	}
}
