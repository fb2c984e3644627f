/* Sessions with a JVM that the test plays. */
#include <dirent.h>
#include <errno.h>

#include "common/system/clock.h"
#include "test/lib/played_jvm.h"
#include "test/lib/unit.h"

/* Another agent begins with the same JVM. */
static void next_agent(struct played_jvm *f)
{
	java_session_fini(&f->session);
	java_session_init(&f->session);
	java_plan_init(&f->session.plan, &f->plan, f->step.now_ns, f->step.now_ns);
	f->step.agent_start_time++;
}

static unsigned n_files(struct played_jvm *f)
{
	DIR *d = opendir(f->dir);
	unsigned n = 0;

	for (const struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void start(struct played_jvm *f)
{
	assert_int_equal(java_session_start(&f->session, &f->step), 0);
	assert_int_equal(f->session.plan.state, JAVA_STATE_PROFILED);
	assert_true(f->session.plan.is_running);
}

static void collect(struct played_jvm *f)
{
	f->step.now_ns += PLAYED_JVM_INTERVAL_NS;
	assert_int_equal(java_session_collect(&f->session, &f->step), 0);
}

static enum java_state try_start(struct played_jvm *f)
{
	assert_int_equal(java_session_start(&f->session, &f->step), 0);
	return f->session.plan.state;
}

/* The windows of all profiles of a kind, in order: their number, if they join. */
static unsigned n_joined(const struct played_jvm *f, enum java_profile kind)
{
	const struct played_jvm_emitted *last = NULL;
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_emitted; i++) {
		const struct played_jvm_emitted *e = &f->emitted[i];

		if (e->kind != kind)
			continue;
		assert_true(!last || last->end_ns == e->start_ns);
		last = e;
		n++;
	}
	return n;
}

/* ---- the straight path ---- */

TEST(test_windows_join)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	for (int i = 0; i < 6; i++)
		collect(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 6);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_ALLOC), 6);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_LOCK), 6);
	/* that is longer than one recording lives */
	assert_true(metric_get(&f.metrics[JAVA_METRIC_STARTS]) > 1);
	assert_int_equal(n_files(&f), 1);
	assert_int_equal(metric_get(&f.metrics[JAVA_METRIC_BROKEN]), 0);
}

TEST(test_values)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;
	int64_t bytes = 0, objects = 0, waits = 0, delay = 0;

	played_jvm_setup(&f);
	start(&f);
	collect(&f);
	collect(&f);
	for (unsigned i = 0; i < f.n_emitted; i++) {
		const struct played_jvm_emitted *e = &f.emitted[i];

		assert_true(e->end_ns - e->start_ns == PLAYED_JVM_CHUNK_NS);
		if (e->kind == JAVA_PROFILE_CPU) {
			assert_int_equal(e->period, 10000000);
			assert_true(e->sums[0] > 0 && e->sums[0] % 10000000 == 0);
		}
		objects += e->kind == JAVA_PROFILE_ALLOC ? e->sums[0] : 0;
		bytes += e->kind == JAVA_PROFILE_ALLOC ? e->sums[1] : 0;
		waits += e->kind == JAVA_PROFILE_LOCK ? e->sums[0] : 0;
		delay += e->kind == JAVA_PROFILE_LOCK ? e->sums[1] : 0;
	}
	assert_true(bytes > 50000000 && objects > 50000 && waits > 0 && delay > 0);
	assert_int_equal(f.session.totals.alloc_bytes, bytes);
	assert_int_equal(f.session.totals.alloc_objects, objects);
	assert_int_equal(f.session.totals.lock_contentions, waits);
	assert_int_equal(f.session.totals.lock_ns, delay);
}

TEST(test_leaves_nothing)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	collect(&f);
	assert_int_equal(java_session_leave(&f.session, &f.step), 0);
	assert_false(f.is_running);
	assert_false(f.session.may_be_ours);
	assert_int_equal(access(f.dir, F_OK), -1);
	assert_int_equal(metric_get(&f.metrics[JAVA_METRIC_STOPS]), 1);
	/* once more, as when the JVM was never touched */
	f.n_commands = 0;
	assert_int_equal(java_session_leave(&f.session, &f.step), 0);
	assert_int_equal(f.n_commands, 0);
}

/* ---- earlier and other agents ---- */

TEST(test_takes_over)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	collect(&f);
	/* the agent is killed; the next one starts half an interval later */
	next_agent(&f);
	start(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 2);
	/* the settings were in the first chunk, which is uploaded already */
	assert_int_equal(f.emitted[f.n_emitted - 1].period, 10000000);
	collect(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 3);
	assert_int_equal(n_files(&f), 1);
	assert_int_equal(metric_get(&f.metrics[JAVA_METRIC_TAKEN_OVER]), 1);
}

TEST(test_takes_over_what_has_ended)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	collect(&f);
	next_agent(&f);
	played_jvm_expire(&f);
	start(&f);
	collect(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 3);
	assert_int_equal(n_files(&f), 1);
}

TEST(test_leaves_the_jvms_of_another_agent_alone)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;
	struct java_session first;

	played_jvm_setup(&f);
	f.step.agent_pid = PLAYED_JVM_OTHER_PID;
	f.is_other_alive = true;
	start(&f);
	first = f.session;
	next_agent(&f);
	f.step.agent_pid = PLAYED_JVM_AGENT_PID;
	f.n_commands = 0;
	assert_int_equal(try_start(&f), JAVA_STATE_OTHER_AGENT);
	assert_true(f.session.plan.attempt_ns > f.step.now_ns);
	assert_int_equal(java_session_leave(&f.session, &f.step), 0);
	assert_int_equal(f.n_commands, 0);
	assert_true(f.is_running);
	assert_int_equal(n_files(&f), 1);
	/* until it is gone */
	f.is_other_alive = false;
	start(&f);
	java_session_fini(&first);
}

/* ---- faults ---- */

TEST(test_refusals)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.check_error = -EPERM;
	f.check_why.state = JAVA_STATE_SIGNALS_REDUCED;
	assert_int_equal(try_start(&f), JAVA_STATE_SIGNALS_REDUCED);
	assert_int_equal(f.session.plan.attempt_ns, 0);
	assert_int_equal(f.n_commands, 0);
	assert_false(f.session.may_be_ours);
	assert_int_equal(metric_get(&f.metrics[JAVA_METRIC_FAILED_BY(JAVA_STATE_SIGNALS_REDUCED)]),
			 1);
}

TEST(test_waits_for_a_jvm_that_starts)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.check_error = -EAGAIN;
	for (int i = 0; i < 20; i++)
		assert_int_equal(try_start(&f), JAVA_STATE_WAITING);
	f.check_error = 0;
	start(&f);
}

/* A container may be paused for days. */
TEST(test_waits_for_a_jvm_that_is_stopped)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.check_error = -EAGAIN;
	f.check_why.state = JAVA_STATE_UNRESPONSIVE;
	(void)err_set(&f.check_why.err, 0, "it is frozen");
	for (int i = 0; i < 100; i++) {
		assert_int_equal(try_start(&f), JAVA_STATE_UNRESPONSIVE);
		assert_true(f.session.plan.attempt_ns > f.step.now_ns);
		f.step.now_ns = f.session.plan.attempt_ns;
	}
	f.check_error = 0;
	start(&f);
}

TEST(test_exited)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.check_error = -ESRCH;
	assert_int_equal(java_session_start(&f.session, &f.step), -ESRCH);
	f.check_error = 0;
	f.command_error = -ESRCH;
	assert_int_equal(java_session_start(&f.session, &f.step), -ESRCH);
	f.command_error = 0;
	start(&f);
	f.command_error = -ESRCH;
	assert_int_equal(java_session_collect(&f.session, &f.step), -ESRCH);
}

TEST(test_no_place)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.prepare_error = -ENOENT;
	assert_int_equal(try_start(&f), JAVA_STATE_NO_PLACE);
	assert_true(f.session.plan.attempt_ns > f.step.now_ns);
}

TEST(test_next_place_if_it_cannot_be_loaded)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.not_loaded_from = JVM_PLACE_TMP;
	start(&f);
	assert_int_equal(f.kind, JVM_PLACE_SHM);
}

TEST(test_cannot_be_loaded_at_all)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.outcome = ATTACH_NOT_LOADED;
	assert_int_equal(try_start(&f), JAVA_STATE_LOAD_FAILED);
	assert_int_equal(access(f.dir, F_OK), -1);
	f.session.skip = 0;
	f.outcome = ATTACH_LOADING_DISABLED;
	assert_int_equal(try_start(&f), JAVA_STATE_LOADING_DISABLED);
	assert_int_equal(f.session.plan.attempt_ns, 0);
}

TEST(test_start_refused)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.start_code = 200;
	assert_int_equal(try_start(&f), JAVA_STATE_START_FAILED);
	assert_non_null(strstr(f.session.err.msg, "No such luck"));
	assert_int_equal(n_files(&f), 0);
	assert_true(f.session.plan.attempt_ns > f.step.now_ns);
}

TEST(test_other_timer_if_there_is_none_per_thread)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.has_no_timers = true;
	start(&f);
	assert_int_equal(metric_get(&f.metrics[JAVA_METRIC_FAILED_BY(JAVA_STATE_START_FAILED)]), 0);
	for (int i = 0; i < 5; i++)
		collect(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 5);
	assert_int_equal(n_files(&f), 1);
}

TEST(test_without_allocations_if_they_are_refused)
{
	for (int has_no_timers = 0; has_no_timers <= 1; has_no_timers++) {
		CLEANUP(played_jvm_teardown) struct played_jvm f;

		(void)state;
		played_jvm_setup(&f);
		f.has_no_allocs = true;
		f.has_no_timers = has_no_timers;
		assert_true(f.settings.alloc_interval_bytes > 0);
		start(&f);
		assert_int_equal(f.session.settings.alloc_interval_bytes, 0);
		for (int i = 0; i < 5; i++)
			collect(&f);
		assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 5);
		assert_int_equal(n_files(&f), 1);
	}
}

/* Makes the agent begin another recording. */
static void replace_recording(struct played_jvm *f)
{
	unsigned n = f->n_starts;

	for (int i = 0; i < 10 && f->n_starts == n; i++)
		collect(f);
	assert_int_not_equal(f->n_starts, n);
}

TEST(test_what_is_refused_for_a_moment_is_recorded_later)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.n_refused = 2; /* the second time, it was asked why */
	start(&f);
	assert_false(f.has_allocs);
	assert_false(f.has_timers);
	f.has_no_timers = true;
	replace_recording(&f);
	assert_true(f.has_allocs);
	assert_false(f.has_timers);
	f.has_no_timers = false;
	replace_recording(&f);
	assert_true(f.has_allocs);
	assert_true(f.has_timers);
}

TEST(test_what_a_jvm_cannot_do_is_not_asked_of_it_again)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;
	unsigned n;

	played_jvm_setup(&f);
	f.has_no_allocs = true;
	start(&f);
	assert_true(f.has_timers);
	n = f.n_starts;
	replace_recording(&f);
	assert_int_equal(f.n_starts, n + 1);
	assert_true(f.has_timers);
	assert_false(f.has_allocs);
}

/* As of an agent that left while the JVM did not answer. */
TEST(test_recording_of_nobody_is_ended)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	f.command_error = -ETIMEDOUT;
	assert_int_equal(java_session_leave(&f.session, &f.step), -ETIMEDOUT);
	assert_int_equal(access(f.dir, F_OK), -1);
	assert_true(f.is_running);
	f.command_error = 0;
	next_agent(&f);
	start(&f);
	collect(&f);
	assert_int_equal(n_files(&f), 1);
	assert_int_equal(f.n_emitted, 3);
}

/* What was recorded meanwhile is in the next profile. */
TEST(test_unanswered_dump)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	collect(&f);
	f.command_error = -ETIMEDOUT;
	collect(&f);
	assert_int_equal(f.session.plan.state, JAVA_STATE_UNRESPONSIVE);
	assert_true(f.session.plan.is_running);
	f.is_lost = true; /* executed, but late */
	collect(&f);
	f.command_error = 0;
	collect(&f);
	assert_int_equal(f.session.plan.state, JAVA_STATE_PROFILED);
	assert_true(n_joined(&f, JAVA_PROFILE_CPU) >= 3);
	assert_true(metric_get(&f.metrics[JAVA_METRIC_UNANSWERED]) >= 2);
}

/* The thread must not wait for it in each interval. When it answers again, nothing is lost. */
TEST(test_jvm_that_stays_silent)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	f.command_error = -ETIMEDOUT;
	for (unsigned i = 0; i < JAVA_PLAN_MISSES_MAX; i++) {
		assert_true(f.session.plan.is_running);
		collect(&f);
	}
	assert_false(f.session.plan.is_running);
	assert_int_equal(f.session.plan.state, JAVA_STATE_UNRESPONSIVE);
	assert_true(f.session.plan.attempt_ns > f.step.now_ns);
	f.n_commands = 0;
	collect(&f);
	assert_int_equal(f.n_commands, 0);
	f.command_error = 0;
	f.step.now_ns = f.session.plan.attempt_ns;
	start(&f);
	collect(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 2);
	assert_int_equal(n_files(&f), 1);
}

/* A chunk that is too large to be read must not end profiling. */
TEST(test_recording_without_an_end_is_replaced)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;
	uint32_t number;

	played_jvm_setup(&f);
	start(&f);
	f.is_endless = true;
	for (int i = 0; i < 4; i++)
		collect(&f);
	number = f.session.recording.number;
	assert_true(number > 1);
	assert_int_equal(f.n_emitted, 0);
	f.is_endless = false;
	collect(&f);
	collect(&f);
	assert_true(f.n_emitted > 0);
	assert_true(f.is_running);
	assert_int_equal(n_files(&f), 1);
}

TEST(test_unanswered_start)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	f.command_error = -ETIMEDOUT;
	f.is_lost = true;
	assert_int_equal(try_start(&f), JAVA_STATE_UNRESPONSIVE);
	assert_true(f.is_running);
	assert_true(f.session.may_be_ours);
	/* the next attempt ends what came late */
	f.command_error = 0;
	start(&f);
	collect(&f);
	assert_int_equal(n_files(&f), 1);
}

/* As an async-profiler whose agent was away for too long, or that somebody else stopped. */
TEST(test_recording_that_has_ended_is_replaced)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	played_jvm_expire(&f);
	collect(&f);
	assert_true(f.is_running);
	assert_int_equal(f.session.plan.state, JAVA_STATE_PROFILED);
	collect(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 2);
	assert_int_equal(n_files(&f), 1);
}

TEST(test_removed_files)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	collect(&f);
	assert_int_equal(remove_tree(f.dir), 0); /* by something that cleans /tmp */
	collect(&f);
	assert_int_equal(metric_get(&f.metrics[JAVA_METRIC_MISSING]), 1);
	assert_true(f.is_running);
	assert_int_equal(f.session.plan.state, JAVA_STATE_PROFILED);
	collect(&f);
	assert_int_equal(n_files(&f), 1);
	assert_int_equal(f.n_emitted, 6);
}

TEST(test_broken_recording_is_replaced)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	f.is_garbage = true;
	collect(&f);
	assert_true(metric_get(&f.metrics[JAVA_METRIC_BROKEN]) > 0);
	assert_int_equal(f.n_emitted, 0);
	f.is_garbage = false;
	collect(&f);
	collect(&f);
	assert_true(f.n_emitted > 0);
	assert_true(f.is_running);
	assert_int_equal(n_files(&f), 1);
}

/* A recording decides nothing about when its profiles were made. */
TEST(test_wrong_times)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	f.clock_ns = 1;
	collect(&f);
	f.clock_ns = clock_realtime_ns() + 7200 * NS_PER_S;
	collect(&f);
	assert_int_equal(f.n_emitted, 0);
	assert_true(metric_get(&f.metrics[JAVA_METRIC_BROKEN]) >= 2);
}

TEST(test_large_recording_is_replaced)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;
	uint32_t number;

	played_jvm_setup(&f);
	start(&f);
	number = f.session.recording.number;
	assert_int_equal(java_session_watch(&f.session, &f.step), 0);
	assert_int_equal(f.session.recording.number, number);
	assert_true(f.session.plan.watch_ns > f.step.now_ns);
	f.plan.file_max_bytes = PLAYED_JVM_HEADER_BYTES - 1;
	assert_int_equal(java_session_watch(&f.session, &f.step), 0);
	assert_int_equal(f.session.recording.number, number + 1);
	assert_int_equal(f.n_emitted, 3);
	assert_true(f.is_running);
	assert_int_equal(n_files(&f), 1);
}

TEST(test_a_full_disk_is_left_to_the_program)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	f.plan.free_min_bytes = UINT64_MAX;
	assert_int_equal(java_session_watch(&f.session, &f.step), 0);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 1);
	assert_false(f.is_running);
	assert_int_equal(access(f.dir, F_OK), -1);
	assert_int_equal(f.session.plan.state, JAVA_STATE_NO_PLACE);
	assert_true(f.session.plan.attempt_ns > f.step.now_ns);
	f.plan.free_min_bytes = 0;
	start(&f);
}

TEST(test_a_profiler_that_comes_later_has_the_jvm_for_itself)
{
	CLEANUP(played_jvm_teardown) struct played_jvm f;

	played_jvm_setup(&f);
	start(&f);
	collect(&f);
	f.has_other_profiler = true;
	collect(&f);
	assert_int_equal(n_joined(&f, JAVA_PROFILE_CPU), 2);
	assert_false(f.is_running);
	assert_int_equal(access(f.dir, F_OK), -1);
	assert_int_equal(f.session.plan.state, JAVA_STATE_FOREIGN_PROFILER);
	/* until that one has gone */
	assert_true(f.session.plan.attempt_ns > f.step.now_ns);
	f.has_other_profiler = false;
	start(&f);
}
