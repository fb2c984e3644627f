/* Processes of a made-up /proc, and a filter whose verdicts the test decides. */
#include <errno.h>
#include <fcntl.h>

#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/runtime_processes.h"
#include "test/lib/fake_proc.h"
#include "test/lib/scan_all.h"
#include "test/lib/toy_runtime.h"
#include "test/lib/unit.h"

#define INTERVAL_NS 1000u
#define PID 7

struct fixture {
	struct fake_proc proc;
	struct runtime_processes *p;
	enum runtime_verdict verdict;
	int subject_error;
	bool has_none; /* executables do not have the runtime */
	struct file_id libraries[2];
	int n_libraries;
	unsigned n_detected;
	unsigned n_left;
	unsigned n_subjects;
	int leave_error;
	bool has_leftovers; /* of an agent before */
	bool may_wait;      /* as decide() was asked last */
};

static int detect(void *ctx, const struct program_id *id)
{
	struct fixture *f = ctx;

	f->n_detected++;
	return id->library.ino != 0 || !f->has_none;
}

static int libraries(void *ctx, const struct program_id *id, struct file_id *files, size_t max)
{
	const struct fixture *f = ctx;

	(void)id;
	assert_true(max >= ARRAY_SIZE(f->libraries));
	memcpy(files, f->libraries, sizeof(f->libraries));
	return f->n_libraries;
}

static int read_subject(void *ctx, const struct program_id *id, struct runtime_subject *ret)
{
	const struct workload_facts facts = {.exe = "/bin/a", .comm = "a"};
	struct fixture *f = ctx;

	(void)id;
	f->n_subjects++;
	if (f->subject_error < 0)
		return f->subject_error;
	return workload_new(&ret->raw, &facts);
}

static enum runtime_verdict decide(void *ctx, const struct runtime_subject *s, bool may_wait)
{
	struct fixture *f = ctx;

	assert_string_equal(s->raw->container_id, "/process/a");
	f->may_wait = may_wait;
	/* as the real one: what may not wait is decided */
	return f->verdict == RUNTIME_UNDECIDED && !may_wait ? RUNTIME_PROFILED : f->verdict;
}

static int leave(void *ctx, struct runtime_process *p)
{
	struct fixture *f = ctx;

	assert_int_equal(p->id.pid, PID);
	assert_non_null(p->session);
	f->n_left++;
	return f->leave_error;
}

static bool has_leftovers(void *ctx, const struct program_id *id)
{
	const struct fixture *f = ctx;

	assert_int_equal(id->pid, PID);
	return f->has_leftovers;
}

enum past {
	PAST_NONE,   /* what is found is new */
	PAST_THREAD, /* there was a thread before that saw the process */
	PAST_AGENT,  /* the process is older than the agent */
};

static void begin_with(struct fixture *f, enum runtime_verdict verdict, enum past past)
{
	struct runtime_processes_config cfg;

	*f = (struct fixture){
		.verdict = verdict,
		.libraries = {{1, 100, 4096, 1}, {1, 101, 4096, 1}},
	};
	fake_proc_begin(&f->proc);
	cfg = (struct runtime_processes_config){
		.root_fd = f->proc.root_fd,
		.interval_ns = INTERVAL_NS,
		.ops = &toy_runtime_ops,
		.detect = detect,
		.libraries = libraries,
		.subject = read_subject,
		.decide = decide,
		.leave = leave,
		.ctx = f,
		.leave_unknown = past == PAST_THREAD,
		.has_leftovers = has_leftovers,
		.seen_ticks = past == PAST_NONE ? 1 : 2000, /* of the earlier scan */
	};
	assert_int_equal(runtime_processes_new(&f->p, &cfg), 0);
	fake_proc_start(&f->proc, PID, 1000, "a");
}

static void begin(struct fixture *f, enum runtime_verdict verdict)
{
	begin_with(f, verdict, PAST_NONE);
}

static void end(struct fixture *f)
{
	runtime_processes_free(f->p);
	fake_proc_end(&f->proc);
}

/* Returns the number of programs. */
static size_t scan(struct fixture *f, uint64_t now_ns)
{
	assert_int_equal(scan_all(f->p, f->proc.root_fd, now_ns), 0);
	return runtime_processes_count(f->p);
}

static enum runtime_baseline baseline(struct fixture *f)
{
	struct runtime_process *p = runtime_processes_each(f->p, NULL);

	assert_non_null(p);
	return p->baseline;
}

/* As of an agent that was killed, before its successor was told to exclude the process. */
TEST(what_an_earlier_agent_left_in_an_excluded_process_is_undone)
{
	struct fixture f;

	begin_with(&f, RUNTIME_EXCLUDED, PAST_AGENT);
	assert_int_equal(scan(&f, 10), 0);
	assert_int_equal(f.n_left, 0);
	end(&f);
	begin_with(&f, RUNTIME_EXCLUDED, PAST_AGENT);
	f.has_leftovers = true;
	assert_int_equal(scan(&f, 10), 0);
	assert_int_equal(f.n_left, 1);
	assert_int_equal(scan(&f, 20), 0);
	assert_int_equal(f.n_left, 1);
	assert_int_equal(f.n_detected, 1);
	end(&f);
}

TEST(an_excluded_process_is_not_examined)
{
	struct fixture f;

	begin(&f, RUNTIME_EXCLUDED);
	assert_int_equal(scan(&f, 10), 0);
	assert_int_equal(scan(&f, 20), 0);
	assert_int_equal(f.n_detected, 0);
	assert_int_equal(runtime_processes_excluded(f.p), 1);
	assert_null(runtime_processes_next(f.p));
	end(&f);
}

/* A shell, say, of which there are many: its name and its environment are not read. */
static void begin_with_plain_processes(struct fixture *f)
{
	begin(f, RUNTIME_PROFILED);
	f->has_none = true;
	assert_int_equal(scan(f, 10), 0);
	assert_int_equal(f->n_detected, 1);
	assert_int_equal(f->n_subjects, 1);
	fake_proc_start(&f->proc, PID + 1, 1000, "a");
	f->verdict = RUNTIME_EXCLUDED;
	assert_int_equal(scan_all(f->p, f->proc.root_fd, 20), 0);
}

TEST(the_filter_is_not_asked_where_nothing_would_be_opened)
{
	struct fixture f;

	begin_with_plain_processes(&f);
	f.verdict = RUNTIME_PROFILED;
	assert_int_equal(scan(&f, 30), 0);
	assert_int_equal(f.n_subjects, 1);
	assert_int_equal(f.n_detected, 1);
	assert_int_equal(runtime_processes_excluded(f.p), 0);
	assert_int_equal(runtime_processes_undecided(f.p), 0);
	/* one of them executes what is not known */
	fake_proc_execute(&f.proc, PID + 1, "b");
	f.has_none = false;
	assert_int_equal(scan(&f, 40), 1);
	assert_int_equal(f.n_subjects, 2);
	end(&f);
}

TEST(it_is_asked_before_a_library_is_opened)
{
	struct fixture f;

	begin_with_plain_processes(&f);
	f.n_libraries = 1;
	assert_int_equal(scan(&f, 20 + INTERVAL_NS), 0);
	assert_int_equal(f.n_subjects, 2);
	assert_int_equal(f.n_detected, 1);
	assert_true(runtime_processes_excluded(f.p) >= 1);
	/* it may be profiled later, and reports what it counts from then on */
	f.verdict = RUNTIME_PROFILED;
	assert_int_equal(scan(&f, 30 + INTERVAL_NS), 2);
	assert_int_equal(f.n_detected, 2);
	for (struct runtime_process *p = runtime_processes_each(f.p, NULL); p;
	     p = runtime_processes_each(f.p, p))
		assert_int_equal(p->baseline, RUNTIME_BASELINE_NOW);
	end(&f);
}

TEST(one_that_loads_a_library_waits_for_its_name_first)
{
	struct fixture f;

	begin_with_plain_processes(&f);
	fake_proc_stop(&f.proc, PID);
	f.n_libraries = 1;
	f.verdict = RUNTIME_UNDECIDED;
	assert_int_equal(scan(&f, 20 + INTERVAL_NS), 0);
	assert_int_equal(runtime_processes_undecided(f.p), 1);
	assert_int_equal(f.n_detected, 1);
	f.verdict = RUNTIME_PROFILED;
	assert_int_equal(scan(&f, 30 + INTERVAL_NS), 1);
	assert_int_equal(baseline(&f), RUNTIME_BASELINE_ZERO);
	end(&f);
}

/* It is in the middle of execve(2), or has just exited. */
TEST(one_that_cannot_be_asked_about_is_found_again)
{
	struct fixture f;

	begin_with_plain_processes(&f);
	fake_proc_stop(&f.proc, PID);
	f.n_libraries = 1;
	f.subject_error = -EAGAIN;
	assert_int_equal(scan(&f, 20 + INTERVAL_NS), 0);
	f.subject_error = 0;
	f.verdict = RUNTIME_PROFILED;
	assert_int_equal(scan(&f, 30 + INTERVAL_NS), 1);
	f.subject_error = -ENOMEM;
	fake_proc_start(&f.proc, PID + 2, 1000, "a");
	assert_int_equal(scan_all(f.p, f.proc.root_fd, 40 + INTERVAL_NS), -ENOMEM);
	end(&f);
}

TEST(one_that_waited_for_its_name_reports_from_its_start)
{
	struct fixture f;

	begin(&f, RUNTIME_UNDECIDED);
	assert_int_equal(scan(&f, 10), 0);
	assert_int_equal(f.n_detected, 0);
	assert_int_equal(runtime_processes_undecided(f.p), 1);
	f.verdict = RUNTIME_PROFILED;
	assert_int_equal(scan(&f, 20), 1);
	assert_int_equal(runtime_processes_undecided(f.p), 0);
	assert_int_equal(baseline(&f), RUNTIME_BASELINE_ZERO);
	end(&f);
}

TEST(it_waits_for_a_few_seconds_at_most)
{
	struct fixture f;

	begin(&f, RUNTIME_UNDECIDED);
	assert_int_equal(scan(&f, 10), 0);
	assert_true(f.may_wait);
	assert_int_equal(scan(&f, 10 + RUNTIME_FILTER_WAIT_NS - 1), 0);
	assert_int_equal(scan(&f, 10 + RUNTIME_FILTER_WAIT_NS), 1);
	assert_false(f.may_wait);
	/* the name is asked for again later: what was decided stays meanwhile */
	assert_int_equal(scan(&f, 20 + RUNTIME_FILTER_WAIT_NS), 1);
	assert_true(f.may_wait);
	assert_int_equal(f.n_left, 0);
	end(&f);
}

TEST(one_that_becomes_excluded_is_left_and_may_come_back)
{
	struct fixture f;

	begin(&f, RUNTIME_PROFILED);
	assert_int_equal(scan(&f, 10), 1);
	assert_int_equal(baseline(&f), RUNTIME_BASELINE_ZERO);
	f.verdict = RUNTIME_EXCLUDED;
	assert_int_equal(scan(&f, 20), 0);
	assert_int_equal(f.n_left, 1);
	assert_int_equal(runtime_processes_bytes(f.p), 0);
	assert_int_equal(scan(&f, 30), 0);
	assert_int_equal(f.n_left, 1);
	/* what it counted meanwhile is not reported */
	f.verdict = RUNTIME_PROFILED;
	assert_int_equal(scan(&f, 40), 1);
	assert_int_equal(baseline(&f), RUNTIME_BASELINE_NOW);
	assert_int_equal(runtime_processes_excluded(f.p), 0);
	end(&f);
}

TEST(one_that_cannot_be_left_is_left_later)
{
	struct fixture f;

	begin(&f, RUNTIME_PROFILED);
	assert_int_equal(scan(&f, 10), 1);
	f.verdict = RUNTIME_EXCLUDED;
	f.leave_error = -EIO;
	assert_int_equal(scan(&f, 20), 0);
	assert_int_equal(f.n_left, 1);
	assert_null(runtime_processes_next(f.p));
	assert_non_null(runtime_processes_each(f.p, NULL)); /* to be left at the end, too */
	/* before it is profiled again, it is left */
	f.verdict = RUNTIME_PROFILED;
	assert_int_equal(scan(&f, 30), 0);
	assert_int_equal(f.n_left, 2);
	assert_int_equal(runtime_processes_excluded(f.p), 1);
	f.leave_error = 0;
	assert_int_equal(scan(&f, 40), 1);
	assert_int_equal(f.n_left, 3);
	assert_int_equal(baseline(&f), RUNTIME_BASELINE_NOW);
	/* nothing is left to be done for one that has exited */
	f.verdict = RUNTIME_EXCLUDED;
	f.leave_error = -ESRCH;
	assert_int_equal(scan(&f, 50), 0);
	assert_int_equal(scan(&f, 60), 0);
	assert_int_equal(f.n_left, 4);
	assert_int_equal(runtime_processes_bytes(f.p), 0);
	end(&f);
}

TEST(one_that_a_predecessor_may_have_changed_is_left_at_once)
{
	struct fixture f;

	begin_with(&f, RUNTIME_UNDECIDED, PAST_THREAD);
	assert_int_equal(scan(&f, 10), 0);
	assert_int_equal(f.n_detected, 0);
	f.verdict = RUNTIME_EXCLUDED;
	f.leave_error = -EIO;
	assert_int_equal(scan(&f, 20), 0);
	assert_int_equal(f.n_left, 1);
	f.leave_error = 0;
	assert_int_equal(scan(&f, 30), 0);
	assert_int_equal(scan(&f, 40), 0);
	assert_int_equal(f.n_left, 2);
	assert_null(runtime_processes_each(f.p, NULL));
	end(&f);
}

TEST(what_decides_is_read_again)
{
	struct fixture f;

	begin(&f, RUNTIME_PROFILED);
	assert_int_equal(scan(&f, 10), 1);
	assert_int_equal(scan(&f, 20), 1);
	assert_int_equal(f.n_subjects, 1);
	runtime_processes_each(f.p, NULL)->image = 5; /* it has executed its own file */
	assert_int_equal(scan(&f, 30), 1);
	assert_int_equal(scan(&f, 40), 1);
	assert_int_equal(f.n_subjects, 2);
	assert_int_equal(scan(&f, 30 + 60 * NS_PER_S), 1);
	assert_int_equal(f.n_subjects, 3);
	f.verdict = RUNTIME_EXCLUDED;
	assert_int_equal(scan(&f, 40 + 60 * NS_PER_S), 0);
	assert_int_equal(scan(&f, 30 + 120 * NS_PER_S), 0);
	assert_true(f.n_subjects >= 4);
	end(&f);
}

TEST(one_whose_container_cannot_be_read_is_tried_again)
{
	struct fixture f;

	begin(&f, RUNTIME_PROFILED);
	f.subject_error = -ESRCH;
	assert_int_equal(scan(&f, 10), 0);
	assert_int_equal(f.n_detected, 0);
	f.subject_error = 0;
	assert_int_equal(scan(&f, 20), 1);
	end(&f);
}

TEST(the_environment_and_the_container_of_a_process_are_read)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(profile_filter_freep) struct profile_filter *filter = NULL;
	const struct profile_filter_config cfg = {.denylist = "/no-such-thing/"};
	struct runtime_filter f = {NULL, NULL};
	struct runtime_subject s = {0};
	struct program_id id = {.pid = getpid()};
	AUTO_CLOSE int self = procfs_open_process(root, getpid());
	struct proc_stat st;

	assert_int_equal(profile_filter_new(&filter, &cfg, NULL), 0);
	f.filter = filter;
	assert_int_equal(procfs_read_stat(self, &st), 0);
	id.start_time = st.start_time + 1; /* of the next process with this pid */
	assert_int_equal(runtime_subject_read(&s, root, &id, NULL), -ESRCH);
	assert_null(s.raw);
	id.start_time = st.start_time;
	assert_int_equal(runtime_subject_read(&s, root, &id, NULL), 0);
	assert_false(s.by_environ);
	assert_int_equal(runtime_filter_decide(&f, &s, true), RUNTIME_PROFILED);
	s.by_environ = true;
	assert_int_equal(runtime_filter_decide(&f, &s, true), RUNTIME_EXCLUDED);
	runtime_subject_fini(&s);
}
