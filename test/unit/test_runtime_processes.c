#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "node-agent/runtime/runtime_processes.h"
#include "test/lib/fake_proc.h"
#include "test/lib/scan_all.h"
#include "test/lib/toy_runtime.h"
#include "test/lib/unit.h"

#define INTERVAL_NS 1000u

struct fixture {
	struct fake_proc proc;
	struct runtime_processes *p;
	int answer; /* to whether an executable has the runtime */
	unsigned n_asked;
};

static int detect(void *ctx, const struct program_id *id)
{
	struct fixture *f = ctx;

	(void)id;
	f->n_asked++;
	return f->answer;
}

static struct runtime_processes_config config(struct fixture *f)
{
	return (struct runtime_processes_config){
		.root_fd = f->proc.root_fd,
		.interval_ns = INTERVAL_NS,
		.ops = &toy_runtime_ops,
		.detect = detect,
		.ctx = f,
	};
}

static void begin(struct fixture *f)
{
	struct runtime_processes_config cfg;

	memset(f, 0, sizeof(*f));
	fake_proc_begin(&f->proc);
	f->answer = 1;
	cfg = config(f);
	assert_int_equal(runtime_processes_new(&f->p, &cfg), 0);
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

static struct runtime_process *find(struct fixture *f, pid_t pid)
{
	struct runtime_process *g = NULL;

	do
		g = runtime_processes_each(f->p, g);
	while (g && g->id.pid != pid);
	return g;
}

static struct toy_session *session_of(const struct runtime_process *g)
{
	return g->session;
}

static bool is_from_zero(const struct runtime_process *g)
{
	assert_non_null(g);
	return g->baseline == RUNTIME_BASELINE_ZERO;
}

TEST(test_processes_found_together_are_spread_over_the_interval)
{
	bool seen[4] = {false};
	struct fixture f;

	begin(&f);
	for (unsigned pid = 1; pid <= 4; pid++)
		fake_proc_start(&f.proc, pid, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 77, FAKE_PROC_BEFORE, "a");
	fake_proc_put_stat(&f.proc, 77, FAKE_PROC_BEFORE, FAKE_PROC_KERNEL_THREAD);
	fake_proc_put_file(&f.proc, "not-a-process", "");
	fake_proc_put_file(&f.proc, "0", "");
	assert_int_equal(scan(&f, 5000), 4);
	assert_int_equal(f.n_asked, 1); /* one executable */
	for (int i = 0; i < 4; i++) {
		struct runtime_process *g = runtime_processes_next(f.p);
		uint64_t due_ns = g->due_ns;

		assert_in_range(due_ns, 5000, 5750);
		assert_int_equal(due_ns % 250, 0);
		seen[(due_ns - 5000) / 250] = true;
		runtime_processes_done(f.p, g, 5800, false);
		assert_int_equal(g->due_ns, due_ns + INTERVAL_NS); /* and stay so */
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		assert_true(seen[i]);
	end(&f);
}

TEST(test_a_program_that_cannot_be_read_is_tried_less_and_less_often)
{
	uint64_t now_ns = 1000, pause_ns = INTERVAL_NS;
	struct runtime_process *g;
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, now_ns), 1);
	g = runtime_processes_next(f.p);
	for (int i = 0; i < 10; i++) {
		pause_ns = pause_ns < 64 * INTERVAL_NS ? pause_ns * 2 : pause_ns;
		runtime_processes_done(f.p, g, now_ns, true);
		assert_int_equal(g->due_ns, now_ns + pause_ns);
		now_ns = g->due_ns;
	}
	runtime_processes_done(f.p, g, now_ns, false);
	assert_int_equal(g->due_ns, now_ns + INTERVAL_NS);
	/* a turn that comes late does not bring the next ones forward */
	runtime_processes_done(f.p, g, now_ns + 10 * INTERVAL_NS + 5, false);
	assert_int_equal(g->due_ns, now_ns + 11 * INTERVAL_NS);
	end(&f);
}

TEST(test_only_programs_started_after_the_previous_scan_are_new)
{
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 2, FAKE_PROC_AFTER, "a"); /* there is no last scan yet */
	assert_int_equal(scan(&f, 1), 2);
	assert_false(is_from_zero(find(&f, 1)));
	assert_false(is_from_zero(find(&f, 2)));
	fake_proc_start(&f.proc, 3, FAKE_PROC_AFTER, "a");
	fake_proc_start(&f.proc, 4, FAKE_PROC_BEFORE,
			"a"); /* it was there, but could not be looked at */
	assert_int_equal(scan(&f, 2), 4);
	assert_true(is_from_zero(find(&f, 3)));
	assert_false(is_from_zero(find(&f, 4)));
	end(&f);
}

/* Its event can come after a later scan. */
TEST(test_a_process_reported_as_started_is_new)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(scan(&f, 1), 0);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	assert_int_equal(runtime_processes_change(f.p, 1, PROCESS_STARTED), 0);
	assert_int_equal(runtime_processes_change(f.p, 1, PROCESS_EXECUTED),
			 0); /* it executes a program */
	assert_int_equal(runtime_processes_scan(f.p, 2), 0);
	assert_true(is_from_zero(find(&f, 1)));
	/* once: later reports are about the same process */
	runtime_processes_done(f.p, find(&f, 1), 1, true);
	assert_int_equal(runtime_processes_change(f.p, 1, PROCESS_STARTED), 0);
	assert_int_equal(runtime_processes_scan(f.p, 3), 0);
	assert_int_equal(find(&f, 1)->n_failures, 1);
	end(&f);
}

/* The table knows that the process runs, so it cannot have exited. */
TEST(test_a_process_is_read_as_soon_as_it_is_visible)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(scan(&f, 1), 0);
	assert_int_equal(runtime_processes_change(f.p, 1, PROCESS_STARTED), 0);
	assert_int_equal(runtime_processes_scan(f.p, 2), 0);
	assert_int_equal(runtime_processes_scan(f.p, 3), 0);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	assert_int_equal(runtime_processes_scan(f.p, 4), 0);
	assert_int_equal(runtime_processes_count(f.p), 1);
	assert_true(is_from_zero(find(&f, 1)));
	end(&f);
}

TEST(test_a_process_that_exits_before_it_is_read_leaves_nothing)
{
	struct fixture f;

	begin(&f);
	assert_int_equal(runtime_processes_change(f.p, 1, PROCESS_STARTED), 0);
	assert_int_equal(runtime_processes_scan(f.p, 1), 0);
	assert_int_equal(runtime_processes_change(f.p, 1, PROCESS_EXITED), 0);
	assert_int_equal(runtime_processes_scan(f.p, 2), 0);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	assert_int_equal(runtime_processes_scan(f.p, 3), 0);
	assert_int_equal(runtime_processes_count(f.p), 0);
	assert_int_equal(f.n_asked, 0);
	end(&f);
}

/* Begins anew, as a successor does. */
static void begin_after(struct fixture *f, const struct runtime_processes_config *before)
{
	struct runtime_processes_config cfg = config(f);

	cfg.at = before->at;
	cfg.left_out = before->left_out;
	cfg.seen_ticks = before->seen_ticks;
	runtime_processes_free(f->p);
	assert_int_equal(runtime_processes_new(&f->p, &cfg), 0);
}

TEST(test_a_successor_knows_when_its_predecessor_scanned)
{
	struct runtime_processes_config before = {0};
	struct fixture f;

	begin(&f);
	assert_int_equal(runtime_processes_seen_ticks(f.p), 0);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "go");
	assert_int_equal(scan(&f, 1), 1);
	before.seen_ticks = runtime_processes_seen_ticks(f.p);
	/* one that began in the same tick may have been seen */
	fake_proc_start(&f.proc, 2, before.seen_ticks - 1, "go");
	fake_proc_start(&f.proc, 3, before.seen_ticks, "go");
	begin_after(&f, &before);
	assert_int_equal(scan(&f, 2), 3);
	assert_false(is_from_zero(find(&f, 1)));
	assert_false(is_from_zero(find(&f, 2)));
	assert_true(is_from_zero(find(&f, 3)));
	end(&f);
}

static pid_t was_at[4];
static size_t n_at;

static void at(void *ctx, pid_t pid)
{
	(void)ctx;
	assert_true(n_at < ARRAY_SIZE(was_at));
	was_at[n_at++] = pid;
}

/* Examining any of them may hang the scan. One that is left out is not examined at all. */
TEST(test_each_process_is_announced_before_it_is_examined)
{
	const struct program_id id = {.pid = 2, .start_time = FAKE_PROC_BEFORE};
	struct left_out left_out = {0};
	const struct runtime_processes_config before = {.at = at, .left_out = &left_out};
	struct fixture f;

	left_out_add(&left_out, &id);
	begin(&f);
	begin_after(&f, &before);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "go");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "go");
	assert_int_equal(scan(&f, 1), 1);
	assert_int_equal(scan(&f, 2), 1);
	assert_int_equal(n_at, 2);
	assert_int_equal(was_at[0], 1);
	assert_int_equal(was_at[1], 1);
	end(&f);
}

TEST(test_a_process_is_left_out_until_another_has_its_pid)
{
	const struct program_id id = {.pid = 2, .start_time = FAKE_PROC_BEFORE};
	struct left_out left_out = {0};
	const struct runtime_processes_config before = {.left_out = &left_out};
	struct fixture f;

	left_out_add(&left_out, &id);
	begin(&f);
	begin_after(&f, &before);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "go");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "go");
	assert_int_equal(scan(&f, 1), 1);
	assert_int_equal(scan(&f, 2), 1);
	assert_null(find(&f, 2));
	fake_proc_stop(&f.proc, 2);
	fake_proc_start(&f.proc, 2, FAKE_PROC_AFTER, "go");
	assert_int_equal(scan(&f, 3), 2);
	end(&f);
}

TEST(test_a_process_that_executes_something_else_is_new)
{
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, 1), 1);
	runtime_processes_done(f.p, find(&f, 1), 1, true);
	fake_proc_put_file(&f.proc, "a", "touched, and of another size");
	assert_int_equal(scan(&f, 2), 1);
	assert_int_equal(find(&f, 1)->n_failures, 1);
	fake_proc_execute(&f.proc, 1, "b");
	assert_int_equal(scan(&f, 3), 1);
	assert_int_equal(find(&f, 1)->n_failures, 0);
	assert_true(is_from_zero(find(&f, 1)));
	f.answer = 0;
	fake_proc_execute(&f.proc, 1, "c");
	assert_int_equal(scan(&f, 4), 0);
	fake_proc_execute(&f.proc, 1, "b"); /* is known to be Go's */
	assert_int_equal(scan(&f, 5), 1);
	end(&f);
}

TEST(test_an_id_that_is_used_again_is_another_process)
{
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, 1), 1);
	fake_proc_stop(&f.proc, 1);
	fake_proc_start(&f.proc, 1, FAKE_PROC_AFTER, "a");
	assert_int_equal(scan(&f, 2), 1);
	assert_int_equal(find(&f, 1)->id.start_time, FAKE_PROC_AFTER);
	assert_true(is_from_zero(find(&f, 1)));
	fake_proc_stop(&f.proc, 1);
	assert_int_equal(scan(&f, 3), 0);
	assert_null(runtime_processes_next(f.p));
	end(&f);
}

/* Nothing was reported of it. */
TEST(test_a_known_process_is_not_read_again)
{
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, 1), 2);
	fake_proc_put_stat(&f.proc, 1, FAKE_PROC_AFTER, 0);
	assert_int_equal(runtime_processes_scan(f.p, 2), 0);
	assert_int_equal(runtime_processes_count(f.p), 2);
	assert_int_equal(find(&f, 1)->id.start_time, FAKE_PROC_BEFORE);
	runtime_processes_remove(f.p, find(&f, 1));
	assert_int_equal(runtime_processes_scan(f.p, 3), 0);
	assert_int_equal(runtime_processes_count(f.p), 2);
	fake_proc_put_stat(&f.proc, 2, FAKE_PROC_AFTER, 0);
	runtime_processes_change_all(f.p);
	assert_int_equal(runtime_processes_scan(f.p, 4), 0);
	assert_int_equal(find(&f, 2)->id.start_time, FAKE_PROC_AFTER);
	assert_int_equal(find(&f, 1)->id.start_time, FAKE_PROC_AFTER);
	end(&f);
}

/* Its memory disappeared in the middle of a reading. */
TEST(test_a_program_reported_as_exited_begins_anew)
{
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, 1), 2);
	runtime_processes_remove(f.p, find(&f, 1));
	assert_int_equal(runtime_processes_count(f.p), 1);
	assert_null(find(&f, 1));
	assert_int_equal(runtime_processes_next(f.p)->id.pid, 2);
	assert_int_equal(scan(&f, 2), 2);
	assert_true(is_from_zero(find(&f, 1)));
	assert_false(is_from_zero(find(&f, 2)));
	end(&f);
}

TEST(test_an_executable_that_could_not_be_examined_is_examined_again)
{
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	f.answer = -EBUSY;
	assert_int_equal(scan(&f, 1), 0);
	assert_int_equal(scan(&f, 2), 0);
	assert_int_equal(f.n_asked, 2);
	f.answer = 1;
	assert_int_equal(scan(&f, 3), 1);
	assert_false(is_from_zero(find(&f, 1)));
	f.answer = -ENOMEM;
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "b");
	assert_int_equal(scan_all(f.p, f.proc.root_fd, 4), -ENOMEM);
	assert_int_equal(runtime_processes_count(f.p), 1); /* an incomplete scan drops no process */
	end(&f);
}

/* It need not have exited: there may be no descriptor left, or no permission. */
TEST(test_a_process_that_cannot_be_examined_for_a_while_is_kept)
{
	struct runtime_process *g;
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "2/exe"); /* a link to itself */
	assert_int_equal(scan(&f, 1), 1);
	g = find(&f, 1);
	session_of(g)->is_changed = true;
	fake_proc_execute(&f.proc, 1, "1/exe");
	assert_int_equal(scan(&f, 2), 1);
	fake_proc_execute(&f.proc, 1, "a");
	assert_int_equal(scan(&f, 3), 1);
	assert_ptr_equal(find(&f, 1), g);
	assert_true(session_of(g)->is_changed);
	end(&f);
}

TEST(test_answers_are_remembered_up_to_a_limit)
{
	struct runtime_processes_config cfg;
	struct fixture f;

	begin(&f);
	cfg = config(&f);
	cfg.max_verdicts = 200;
	runtime_processes_free(f.p);
	assert_int_equal(runtime_processes_new(&f.p, &cfg), 0);
	f.answer = 0;
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, 1), 0);
	for (unsigned i = 0; i < 199; i++) {
		char exe[32];

		(void)snprintf(exe, sizeof(exe), "x%u", i);
		fake_proc_execute(&f.proc, 1, exe);
		assert_int_equal(scan(&f, 2 + i), 0);
	}
	assert_int_equal(f.n_asked, 200);
	fake_proc_execute(&f.proc, 1, "a");
	assert_int_equal(scan(&f, 10000), 0);
	assert_int_equal(f.n_asked, 200);
	fake_proc_execute(&f.proc, 1, "one-more");
	assert_int_equal(scan(&f, 10001), 0);
	fake_proc_execute(&f.proc, 1, "a");
	assert_int_equal(scan(&f, 10002), 0);
	assert_int_equal(f.n_asked, 202); /* all were forgotten */
	end(&f);
}

TEST(test_a_turn_with_a_schedule_of_its_own_comes_between_two_others)
{
	struct runtime_process *g;
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, 5000), 2); /* due at 5000 and 5500 */
	g = runtime_processes_next(f.p);
	session_of(g)->burst_ns = 5700;
	runtime_processes_done(f.p, g, 5000, false);
	assert_ptr_not_equal(runtime_processes_next(f.p), g);
	runtime_processes_done(f.p, runtime_processes_next(f.p), 5500, false);
	assert_ptr_equal(runtime_processes_next(f.p), g);
	assert_int_equal(runtime_process_next_ns(g), 5700);
	session_of(g)->burst_ns = 0;
	assert_ptr_equal(runtime_processes_next(f.p), g);
	assert_int_equal(runtime_process_next_ns(g), 6000);
	end(&f);
}

TEST(test_the_next_program_is_the_one_due_first_whatever_happens_to_others)
{
	static const unsigned order[] = {3, 5, 2, 4};
	struct fixture f;

	begin(&f);
	for (unsigned pid = 1; pid <= 5; pid++) {
		fake_proc_start(&f.proc, pid, FAKE_PROC_BEFORE, "a");
		assert_int_equal(scan(&f, pid), pid);
	}
	for (unsigned pid = 1; pid <= 5; pid++) {
		assert_int_equal(runtime_processes_next(f.p)->id.pid, pid);
		runtime_processes_done(f.p, find(&f, (pid_t)pid), pid, false);
	}
	/* due at 1001 to 1005 */
	assert_int_equal(runtime_processes_next(f.p)->id.pid, 1);
	runtime_processes_next(f.p)->due_ns = 7000;
	runtime_processes_done(f.p, find(&f, 4), 1004, false);
	runtime_processes_done(f.p, find(&f, 2), 1004, false);
	fake_proc_stop(&f.proc, 1);
	assert_int_equal(scan(&f, 6), 4);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct runtime_process *g = runtime_processes_next(f.p);

		assert_int_equal(g->id.pid, order[i]);
		runtime_processes_remove(f.p, g);
	}
	assert_null(runtime_processes_next(f.p));
	assert_int_equal(runtime_processes_bytes(f.p), 0);
	end(&f);
}

TEST(test_memory_of_sessions_is_counted_as_it_grows)
{
	struct runtime_process *g;
	struct fixture f;
	size_t bytes;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "a");
	assert_int_equal(scan(&f, 1), 2);
	bytes = runtime_processes_bytes(f.p);
	assert_int_equal(bytes,
			 runtime_process_bytes(find(&f, 1)) + runtime_process_bytes(find(&f, 2)));
	g = runtime_processes_next(f.p);
	session_of(g)->n_bytes += 1000;
	assert_true(runtime_processes_bytes(f.p) > bytes);
	assert_int_equal(runtime_processes_bytes(f.p),
			 runtime_process_bytes(find(&f, 1)) + runtime_process_bytes(find(&f, 2)));
	runtime_processes_done(f.p, g, 1, false);
	assert_ptr_not_equal(runtime_processes_next(f.p), g);
	assert_int_equal(runtime_processes_bytes(f.p),
			 runtime_process_bytes(find(&f, 1)) + runtime_process_bytes(find(&f, 2)));
	runtime_processes_remove(f.p, g);
	assert_int_equal(runtime_processes_bytes(f.p),
			 runtime_process_bytes(runtime_processes_next(f.p)));
	end(&f);
}

static int detect_own(void *ctx, const struct program_id *id)
{
	const struct file_id *own = ctx;

	return file_id_same_file(&id->exe, own);
}

/* The real /proc: this program runs twice, until its child executes another one. */
TEST(test_processes_of_proc_are_found_while_they_execute_the_program)
{
	CLEANUP(runtime_processes_freep) struct runtime_processes *p = NULL;
	AUTO_CLOSE int root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct runtime_processes_config cfg = {
		.root_fd = root_fd,
		.interval_ns = INTERVAL_NS,
		.ops = &toy_runtime_ops,
		.detect = detect_own,
	};
	struct file_version own;
	int go[2];
	pid_t pid;

	assert_int_equal(file_version_read(AT_FDCWD, "/proc/self/exe", &own, NULL), 0);
	cfg.ctx = &own.id;
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!read(go[0], &byte, 1);
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(runtime_processes_new(&p, &cfg), 0);
	assert_int_equal(scan_all(p, root_fd, 1), 0);
	assert_int_equal(runtime_processes_count(p), 2);
	assert_int_equal(write(go[1], "", 1), 1);
	do {
		usleep(1000);
		assert_int_equal(scan_all(p, root_fd, 2), 0);
	} while (runtime_processes_count(p) == 2);
	assert_int_equal(runtime_processes_count(p), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(go[0]);
	close(go[1]);
}

static int scan_anew(void *arg)
{
	CLEANUP(runtime_processes_freep) struct runtime_processes *p = NULL;
	struct fixture *f = arg;
	struct runtime_processes_config cfg = config(f);
	int r = runtime_processes_new(&p, &cfg);

	return r == 0 ? scan_all(p, f->proc.root_fd, 1) : r;
}

TEST(test_failed_allocations_are_survived)
{
	struct fixture f;

	begin(&f);
	fake_proc_start(&f.proc, 1, FAKE_PROC_BEFORE, "a");
	fake_proc_start(&f.proc, 2, FAKE_PROC_BEFORE, "b");
	check_oom(scan_anew, &f);
	end(&f);
}
