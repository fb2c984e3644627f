/* Go processes, read by the worker: children of the test in a folder that stands for /proc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/go/record/go_bucket.h"
#include "node-agent/runtime/runtime_worker.h"
#include "test/lib/go_lookalike.h"
#include "test/lib/runtime_fixture.h"
#include "test/lib/unit.h"

#define N_RECORDS 40u
#define LOOKALIKE "--lookalike"
#define INTERVAL_NS (100 * NS_PER_MS)

struct fixture {
	struct runtime_fixture base;
	struct runtime_worker *worker;
	/* what came */
	unsigned n_profiles;
	int64_t in_use;    /* of the last */
	int64_t allocated; /* of all together */
	/* what is waited for */
	bool (*is_done)(struct fixture *f);
};

static void on_profile(void *ctx, const struct runtime_upload *u)
{
	CLEANUP(arena_fini) struct arena arena;
	struct fixture *f = ctx;
	struct err err = {""};
	struct profile p;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(pprof_decode(&p, &arena, u->pprof->data, u->pprof->len, &err), 0);
	f->n_profiles++;
	f->in_use = 0;
	for (uint32_t i = 0; i < p.n_samples; i++) {
		f->allocated += p.samples[i].values[0];
		f->in_use += p.samples[i].values[2];
	}
}

static void make_root(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	runtime_fixture_begin(&f->base);
}

static int begin_work(struct fixture *f, size_t max_bytes)
{
	const struct go_profiler_config profiler = {.heap = true};
	const struct runtime_worker_config cfg = {
		.ops = &go_runtime_ops,
		.config = &profiler,
		.proc_root = f->base.root,
		.processes = f->base.processes,
		.interval_ns = INTERVAL_NS,
		.history_max_bytes = max_bytes,
		.on_profile = on_profile,
		.ctx = f,
	};
	struct err err = {""};
	int r = runtime_fixture_start(&f->base);

	return r == 0 ? runtime_worker_new(&f->worker, f->base.loop, f->base.ms, &cfg, &err) : r;
}

static void end_work(struct fixture *f)
{
	runtime_worker_free(TAKE_PTR(f->worker));
	runtime_fixture_stop(&f->base);
}

static void end(struct fixture *f)
{
	end_work(f);
	runtime_fixture_end(&f->base);
}

static bool is_done(void *ctx)
{
	struct fixture *f = ctx;

	return f->is_done(f);
}

static bool work(struct fixture *f, bool (*until)(struct fixture *f))
{
	f->is_done = until;
	return runtime_fixture_work(&f->base, is_done, f);
}

static uint64_t metric(struct fixture *f, const char *beginning)
{
	return runtime_fixture_metric(&f->base, beginning);
}

#define FAILED "coroot_node_agent_go_readings_failed_total"

static uint64_t failed(struct fixture *f, const char *reason)
{
	char name[128];

	(void)snprintf(name, sizeof(name), FAILED "{reason=\"%s\"}", reason);
	return metric(f, name);
}

static void show(struct fixture *f, pid_t pid)
{
	runtime_fixture_show(&f->base, pid);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- a process that executes itself ---- */

#define FIRST_COUNT 10u

static void on_signal(int signo)
{
	(void)signo;
}

static int run_lookalike(const char *text)
{
	unsigned count = (unsigned)strtoul(text, NULL, 10);
	const struct sigaction act = {.sa_handler = on_signal};
	char next[16];
	sigset_t set;
	int signo;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaction(SIGUSR1, &act, NULL);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	if (!go_lookalike_build(N_RECORDS, count))
		return 1;
	if (count == FIRST_COUNT) /* the test continues when this is set up */
		(void)raise(SIGSTOP);
	(void)sigwait(&set, &signo);
	(void)snprintf(next, sizeof(next), "%u", count + FIRST_COUNT);
	execl("/proc/self/exe", "lookalike", LOOKALIKE, next, (char *)NULL);
	return 1;
}

static bool has_first(struct fixture *f)
{
	return f->n_profiles >= 2 && f->in_use == 10 * N_RECORDS;
}

static bool has_second(struct fixture *f)
{
	return f->in_use == 20 * N_RECORDS;
}

static bool has_three_more(struct fixture *f)
{
	static unsigned begun;

	if (begun == 0)
		begun = f->n_profiles;
	return f->n_profiles >= begun + 3;
}

TEST(test_the_same_file_executed_again_is_reported_completely_and_once)
{
	struct fixture f;
	pid_t child;
	int status;

	make_root(&f);
	child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "lookalike", LOOKALIKE, "10", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	kill(child, SIGCONT);
	show(&f, child);
	assert_int_equal(begin_work(&f, 0), 0);
	assert_true(work(&f, has_first));
	/* what was allocated before the agent started is not reported */
	assert_int_equal(f.allocated, 0);
	kill(child, SIGUSR1);
	assert_true(work(&f, has_second));
	assert_true(work(&f, has_three_more));
	assert_int_equal(f.allocated, 20 * N_RECORDS);
	end_child(child);
	end(&f);
}

/* ---- a list that is broken for a while ---- */

static bool has_failed(struct fixture *f)
{
	return failed(f, "corrupt_list") >= 2;
}

static bool has_profile(struct fixture *f)
{
	return f->n_profiles > 0;
}

/* Each signal breaks the list or repairs it; a byte in the pipe says that it is done. */
static void run_broken(int done)
{
	uint64_t head = go_lookalike_word(GO_LOOKALIKE_BUCKETS);
	sigset_t set;
	int signo;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (bool broken = false;; broken = !broken) {
		go_lookalike_put(GO_LOOKALIKE_BUCKETS, broken ? UINT64_MAX - 7 : head);
		(void)!write(done, "", 1);
		(void)sigwait(&set, &signo);
	}
}

TEST(test_a_wild_pointer_does_not_make_everything_new)
{
	struct fixture f;
	int done[2];
	pid_t child;
	char byte;

	make_root(&f);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	assert_true(go_lookalike_build(N_RECORDS, 10));
	child = fork();
	if (child == 0)
		run_broken(done[1]);
	assert_int_equal(read(done[0], &byte, 1), 1);
	show(&f, child);
	assert_int_equal(begin_work(&f, 0), 0);
	assert_true(work(&f, has_profile));
	for (int turn = 0; turn < 2; turn++) {
		kill(child, SIGUSR1);
		assert_int_equal(read(done[0], &byte, 1), 1);
		if (turn == 0)
			assert_true(work(&f, has_failed));
	}
	f.n_profiles = 0;
	assert_true(work(&f, has_profile));
	assert_int_equal(f.in_use, 10 * N_RECORDS);
	assert_int_equal(f.allocated, 0);
	assert_int_equal(metric(&f, FAILED), failed(&f, "corrupt_list"));
	close(done[0]);
	close(done[1]);
	end_child(child);
	end(&f);
}

/* ---- a child that has not executed anything ---- */

static void pause_forever(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
}

/* Forks when it is signalled, and writes the pid of its child to the pipe. */
static void run_parent(int done)
{
	sigset_t set;
	pid_t copy;
	int signo;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)!write(done, "", 1);
	(void)sigwait(&set, &signo);
	copy = fork();
	if (copy > 0)
		(void)!write(done, &copy, sizeof(copy));
	pause_forever();
}

static bool has_met_the_copy(struct fixture *f)
{
	return failed(f, "copy_of_parent") > 0 && f->n_profiles >= 3;
}

TEST(test_what_a_copy_has_of_its_parent_is_not_reported_again)
{
	pid_t child, copy = 0;
	struct fixture f;
	int done[2];
	char byte;

	make_root(&f);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	assert_true(go_lookalike_build(N_RECORDS, 10));
	child = fork();
	if (child == 0)
		run_parent(done[1]);
	assert_int_equal(read(done[0], &byte, 1), 1);
	show(&f, child); /* its own parent is not to be seen */
	assert_int_equal(begin_work(&f, 0), 0);
	assert_true(work(&f, has_profile));
	kill(child, SIGUSR1);
	assert_int_equal(read(done[0], &copy, sizeof(copy)), sizeof(copy));
	show(&f, copy);
	f.n_profiles = 0;
	assert_true(work(&f, has_met_the_copy));
	assert_int_equal(f.allocated, 0);
	assert_int_equal(metric(&f, FAILED), failed(&f, "copy_of_parent"));
	close(done[0]);
	close(done[1]);
	end_child(child); /* which ends the other one */
	end(&f);
}

/* ---- too many records ---- */

static bool is_over(struct fixture *f)
{
	return failed(f, "limit_records") > 0 && f->n_profiles > 2;
}

TEST(test_processes_that_are_too_much_together_are_not_remembered)
{
	pid_t children[2];
	struct fixture f;

	make_root(&f);
	assert_true(go_lookalike_build(N_RECORDS, 10));
	for (size_t i = 0; i < ARRAY_SIZE(children); i++) {
		children[i] = fork();
		if (children[i] == 0)
			pause_forever();
		show(&f, children[i]);
	}
	/* room for two that are empty, and the records of one */
	assert_int_equal(begin_work(&f, 2 * sizeof(struct go_bucket) + 2048), 0);
	assert_true(work(&f, is_over));
	assert_int_equal(f.allocated, 0);
	for (size_t i = 0; i < ARRAY_SIZE(children); i++)
		end_child(children[i]);
	end(&f);
}

/* ---- no permission ---- */

static bool has_scanned_twice(struct fixture *f)
{
	static uint64_t begun_ns;

	if (begun_ns == 0)
		begun_ns = clock_monotonic_ns();
	return metric(f, "coroot_node_agent_go_processes_denied") > 0 &&
	       clock_monotonic_ns() > begun_ns + 2500 * NS_PER_MS;
}

/* In a process of its own that has no rights of root. Returns the line that failed, or 0. */
static int work_denied(struct fixture *f, int log_fd)
{
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
		return __LINE__;
	log_set_fd(log_fd);
	if (begin_work(f, 0) < 0 || !work(f, has_scanned_twice))
		return __LINE__;
	if (metric(f, FAILED) != 0 || metric(f, "coroot_node_agent_go_processes ") != 0)
		return __LINE__;
	end_work(f);
	return 0;
}

TEST(test_processes_that_cannot_be_examined_are_counted_and_logged_once)
{
	int log_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), status;
	struct fixture f;
	pid_t child, agent;
	char expected[64];

	assert_true(log_fd >= 0);
	make_root(&f);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_DUMPABLE, 0);
		(void)raise(SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	show(&f, child);
	agent = fork();
	if (agent == 0) {
		int line = work_denied(&f, log_fd);

		if (line != 0)
			print_message("line %d: %s\n", line, strerror(errno));
		_exit(line != 0);
	}
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_int_equal(status, 0);
	(void)snprintf(expected, sizeof(expected), "pid=%d name=\"test_go_worker\" reason=\"",
		       (int)child);
	assert_int_equal(runtime_fixture_count(log_fd, expected), 1);
	assert_int_equal(runtime_fixture_count(log_fd, "lacks CAP_SYS_PTRACE"), 1);
	assert_int_equal(runtime_fixture_count(log_fd, "level=warn"), 1);
	close(log_fd);
	end_child(child);
	end(&f);
}

/* ---- many short-lived processes ---- */

#define STORM 600u
#define AT_ONCE 60u

static unsigned n_stormed;
static pid_t storm[AT_ONCE];

/* And some were there when the thread came by, however late that was. */
static bool is_enough(const struct fixture *f)
{
	return n_stormed >= STORM && f->n_profiles > 0;
}

static bool is_over_storm(struct fixture *f)
{
	for (size_t i = 0; i < AT_ONCE; i++) {
		if (storm[i] > 0 && waitpid(storm[i], NULL, WNOHANG) == 0)
			continue;
		if (storm[i] > 0) {
			runtime_fixture_hide(&f->base, storm[i]);
			storm[i] = 0;
		}
		if (is_enough(f))
			continue;
		n_stormed++;
		storm[i] = fork();
		if (storm[i] == 0) {
			usleep(50000 + n_stormed * 37 % 400 * 1000);
			_exit(0);
		}
		show(f, storm[i]);
	}
	for (size_t i = 0; i < AT_ONCE; i++) {
		if (storm[i] > 0)
			return false;
	}
	return is_enough(f) && metric(f, "coroot_node_agent_go_processes ") == 0;
}

static size_t count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static bool has_scanned(struct fixture *f)
{
	return metric(f, "coroot_node_agent_go_cpu_seconds_total") < UINT64_MAX;
}

static size_t n_before;

/* Some are open while the thread looks at a process. */
static bool has_closed(struct fixture *f)
{
	(void)f;
	return count_descriptors() <= n_before;
}

TEST(test_a_storm_of_processes_leaves_nothing_behind)
{
	struct fixture f;

	make_root(&f);
	assert_true(go_lookalike_build(N_RECORDS, 10));
	assert_int_equal(begin_work(&f, 0), 0);
	assert_true(work(&f, has_scanned));
	n_before = count_descriptors();
	assert_true(work(&f, is_over_storm));
	assert_true(f.n_profiles > 0);
	assert_true(work(&f, has_closed));
	/* nothing was wrong with any of them but that it ended */
	assert_int_equal(metric(&f, FAILED), failed(&f, "gone"));
	end(&f);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], LOOKALIKE) == 0)
		return run_lookalike(argv[2]);
	return unit_run(NULL, NULL);
}
