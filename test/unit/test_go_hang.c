/*
 * A Go process whose memory does not answer: its records become those of a silent file
 * (silent_file.h) while the agent reads them. Under TSan and ASan this also shows that a
 * thread which returns late touches nothing that was freed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/runtime/runtime_worker.h"
#include "test/lib/go_lookalike.h"
#include "test/lib/runtime_fixture.h"
#include "test/lib/silent_file.h"
#include "test/lib/unit.h"

#define N_RECORDS 40u
#define INTERVAL_NS (50 * NS_PER_MS)
#define LONG_INTERVAL_NS (2 * NS_PER_S)
/* Long enough for a sound process to be read on a busy machine. */
#define HANG_NS (5 * NS_PER_S)
#define MAX_CHILDREN 8u
/* What each record counts: shows which process a profile is of. */
#define SOUND 10u
#define HUNG 100u

struct child {
	pid_t pid;
	int done; /* it has done what the last signal asked for */
};

struct fixture {
	struct runtime_fixture base;
	struct silent_file *silent;
	struct child children[MAX_CHILDREN];
	size_t n_children;
	size_t n_others; /* threads that a failed test has left behind */
	int log_fd;
	struct runtime_worker *worker;
	/* what came */
	unsigned n_sound, n_hung;
	int64_t allocated; /* by the sound one */
	/* what is waited for */
	bool (*is_done)(struct fixture *f);
	unsigned n_wanted;
};

static void on_profile(void *ctx, const struct runtime_upload *u)
{
	CLEANUP(arena_fini) struct arena arena;
	struct fixture *f = ctx;
	struct err err = {""};
	struct profile p;
	int64_t in_use = 0, allocated = 0;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	assert_int_equal(pprof_decode(&p, &arena, u->pprof->data, u->pprof->len, &err), 0);
	for (uint32_t i = 0; i < p.n_samples; i++) {
		allocated += p.samples[i].values[0];
		in_use += p.samples[i].values[2];
	}
	if (in_use >= (int64_t)HUNG * N_RECORDS) {
		f->n_hung++;
		assert_int_equal(allocated, 0);
	} else {
		f->n_sound++;
		f->allocated += allocated;
	}
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

/* ---- children ---- */

/* The rate stays what it is now. */
static void allocate(unsigned count)
{
	uint64_t rate = go_lookalike_word(GO_LOOKALIKE_RATE);

	(void)go_lookalike_build(N_RECORDS, count);
	go_lookalike_put(GO_LOOKALIKE_RATE, rate);
}

/* At a signal the sound one allocates as much again, and the records of the other one go silent. */
static void run_child(const struct fixture *f, bool is_sound, unsigned count, int done)
{
	sigset_t set;
	int signo;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	for (unsigned i = 1;; i++) {
		(void)!write(done, "", 1);
		(void)sigwait(&set, &signo);
		if (is_sound)
			allocate(count * (i + 1));
		else if (mmap(go_lookalike_records, SILENT_FILE_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_FIXED, f->silent->fd, 0) == MAP_FAILED)
			_exit(1);
	}
}

static void await(const struct child *c)
{
	char byte;

	assert_int_equal(read(c->done, &byte, 1), 1);
}

static void signal_child(const struct child *c)
{
	kill(c->pid, SIGUSR1);
	await(c);
}

static struct child *add_child(struct fixture *f, bool is_sound)
{
	struct child *c = &f->children[f->n_children++];
	unsigned count = is_sound ? SOUND : HUNG;
	int done[2];

	assert_true(f->n_children <= MAX_CHILDREN);
	assert_true(go_lookalike_build(N_RECORDS, count));
	if (!is_sound)
		memcpy(f->silent->content, go_lookalike_records, SILENT_FILE_BYTES);
	/* off, by the linker */
	go_lookalike_put(GO_LOOKALIKE_RATE, 0);
	go_lookalike_put(GO_LOOKALIKE_DISABLED, 1);
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	c->pid = fork();
	if (c->pid == 0)
		run_child(f, is_sound, count, done[1]);
	go_lookalike_put(GO_LOOKALIKE_DISABLED, 0);
	c->done = done[0];
	close(done[1]);
	await(c);
	runtime_fixture_show(&f->base, c->pid);
	return c;
}

static uint64_t rate_of(const struct child *c)
{
	AUTO_CLOSE int fd = -1;
	uint64_t rate = UINT64_MAX;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)c->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(
		pread(fd, &rate, sizeof(rate), (off_t)go_lookalike_address(GO_LOOKALIKE_RATE)),
		sizeof(rate));
	return rate;
}

/* ---- the fixture ---- */

/* Threads of workers; a sanitizer may have threads of its own. */
static size_t count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *d;
	size_t n = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)) != NULL) {
		char path[300], name[32] = "";
		AUTO_CLOSE int fd = -1;

		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", d->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, name, sizeof(name) - 1) > 0)
			n += strcmp(name, "go-profile\n") == 0;
	}
	closedir(dir);
	return n;
}

static bool has_no_thread(struct fixture *f)
{
	return count_threads() <= f->n_others;
}

/* Returns NULL without root. */
static struct fixture *begin(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->silent = silent_file_new();
	if (!f->silent) {
		free(f);
		return NULL;
	}
	f->n_others = count_threads();
	runtime_fixture_begin(&f->base);
	f->log_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(f->log_fd >= 0);
	log_set_fd(f->log_fd);
	return f;
}

/* end_ns: see runtime_worker_config. */
static void begin_work_until(struct fixture *f, uint64_t interval_ns, uint64_t end_ns)
{
	const struct go_profiler_config profiler = {
		.heap = true,
		.heap_reader = {.raw = true, .force = true},
		.heap_restore = true,
	};
	const struct runtime_worker_config cfg = {
		.ops = &go_runtime_ops,
		.config = &profiler,
		.proc_root = f->base.root,
		.processes = f->base.processes,
		.interval_ns = interval_ns,
		.hang_ns = HANG_NS,
		.end_ns = end_ns,
		.on_profile = on_profile,
		.ctx = f,
	};
	struct err err = {""};

	assert_int_equal(runtime_fixture_start(&f->base), 0);
	assert_int_equal(runtime_worker_new(&f->worker, f->base.loop, f->base.ms, &cfg, &err), 0);
}

static void begin_work(struct fixture *f, uint64_t interval_ns)
{
	begin_work_until(f, interval_ns, 0);
}

/* The worker has been freed already. */
static void end(struct fixture *f)
{
	assert_true(work(f, has_no_thread));
	runtime_fixture_stop(&f->base);
	for (size_t i = 0; i < f->n_children; i++) {
		kill(f->children[i].pid, SIGKILL);
		waitpid(f->children[i].pid, NULL, 0);
		close(f->children[i].done);
	}
	runtime_fixture_end(&f->base);
	log_set_fd(STDERR_FILENO);
	close(f->log_fd);
	silent_file_free(f->silent);
	free(f);
}

#define GO "coroot_node_agent_go_"

static uint64_t n_left_out(struct fixture *f)
{
	return runtime_fixture_metric(&f->base, GO "processes_left_out_total ");
}

static uint64_t n_stuck(struct fixture *f)
{
	return runtime_fixture_metric(&f->base, GO "stuck_threads ");
}

static unsigned count_lines(const struct fixture *f, const char *text)
{
	return runtime_fixture_count(f->log_fd, text);
}

#define LEFT_OUT_LINE "ignoring this process from now on"

static void assert_switched_off(const struct fixture *f, const struct child *c)
{
	if (rate_of(c) != 0)
		runtime_fixture_show_log(f->log_fd);
	assert_int_equal(rate_of(c), 0);
}

/* ---- what is waited for ---- */

static bool has_both(struct fixture *f)
{
	return f->n_sound >= 2 && f->n_hung >= 2;
}

static bool waits(struct fixture *f)
{
	return silent_file_is_waited_for(f->silent);
}

static bool has_left_out(struct fixture *f)
{
	return n_left_out(f) >= f->n_wanted;
}

static bool has_more_sound(struct fixture *f)
{
	return f->n_sound >= f->n_wanted;
}

static bool has_allocated(struct fixture *f)
{
	return f->allocated >= (int64_t)(f->n_wanted * N_RECORDS);
}

static bool has_none_stuck(struct fixture *f)
{
	return n_stuck(f) == 0;
}

static bool wait_for_sound(struct fixture *f, unsigned n)
{
	f->n_wanted = f->n_sound + n;
	return work(f, has_more_sound);
}

static bool wait_for_allocated(struct fixture *f, unsigned count)
{
	f->n_wanted = count;
	return work(f, has_allocated);
}

static bool wait_for_left_out(struct fixture *f, unsigned n)
{
	f->n_wanted = n;
	return work(f, has_left_out);
}

/* ---- tests ---- */

/*
 * What a failed test has left behind: its threads get an answer. Its fixture and its worker stay as
 * they are, because a thread may still use them.
 */
static int release(void **state)
{
	(void)state;
	silent_file_free_all();
	return 0;
}

TEST_FIXTURE(test_a_process_that_hangs_is_left_out_and_the_others_are_not, NULL, release)
{
	struct child *sound, *hung;
	struct fixture *f = begin();
	char pid[32];
	unsigned n;

	if (!f)
		skip();
	sound = add_child(f, true);
	hung = add_child(f, false);
	begin_work(f, INTERVAL_NS);
	assert_true(work(f, has_both));
	assert_int_equal(rate_of(hung), HEAP_FORCE_RATE);
	signal_child(sound);
	assert_true(wait_for_allocated(f, SOUND));

	silent_file_silence(f->silent);
	signal_child(hung);
	assert_true(wait_for_left_out(f, 1));
	n = f->n_hung;
	/*
	 * the successor starts from what is there now: reported twice, it would be more than
	 * the second
	 */
	assert_true(wait_for_sound(f, 2));
	signal_child(sound);
	assert_true(wait_for_allocated(f, 2 * SOUND));
	assert_true(wait_for_sound(f, 3));
	assert_int_equal(f->allocated, 2 * SOUND * N_RECORDS);
	assert_int_equal(n_left_out(f), 1);
	assert_int_equal(n_stuck(f), 1);
	assert_int_equal(runtime_fixture_metric(&f->base, GO "processes "), 1);
	assert_int_equal(count_lines(f, LEFT_OUT_LINE), 1);
	(void)snprintf(pid, sizeof(pid), "pid=%d service=\"", (int)hung->pid);
	assert_int_equal(count_lines(f, pid), 1);

	/* the thread that returns reports nothing, and restores the process */
	silent_file_answer(f->silent);
	assert_true(work(f, has_none_stuck));
	assert_int_equal(rate_of(hung), 0);
	assert_true(wait_for_sound(f, 3));
	assert_int_equal(f->n_hung, n);
	assert_int_equal(f->allocated, 2 * SOUND * N_RECORDS);
	assert_int_equal(n_left_out(f), 1);
	runtime_worker_free(f->worker);
	assert_int_equal(count_lines(f, "level=warn"), 1);
	end(f);
}

TEST_FIXTURE(test_the_end_does_not_wait_for_one_that_hangs, NULL, release)
{
	struct child *hung;
	struct fixture *f = begin();

	if (!f)
		skip();
	(void)add_child(f, true);
	hung = add_child(f, false);
	begin_work(f, INTERVAL_NS);
	assert_true(work(f, has_both));
	silent_file_silence(f->silent);
	signal_child(hung);
	assert_true(work(f, waits));
	runtime_worker_free(f->worker); /* would not return */
	assert_int_equal(count_lines(f, "level=warn"), 1);
	/* there is no worker any more by the time that its thread ends */
	silent_file_answer(f->silent);
	end(f);
}

static bool has_forced_all(struct fixture *f)
{
	for (size_t i = 0; i < f->n_children; i++) {
		if (rate_of(&f->children[i]) != HEAP_FORCE_RATE)
			return false;
	}
	return f->n_hung > 0;
}

/* The second one has not read most of them by then. */
TEST_FIXTURE(test_what_an_abandoned_thread_switched_on_is_switched_off_by_the_next, NULL, release)
{
	struct child *hung;
	struct fixture *f = begin();

	if (!f)
		skip();
	hung = add_child(f, false);
	for (int i = 0; i < 4; i++)
		(void)add_child(f, true);
	begin_work_until(f, LONG_INTERVAL_NS, 300 * NS_PER_S);
	assert_true(work(f, has_forced_all));
	silent_file_silence(f->silent);
	signal_child(hung);
	assert_true(wait_for_left_out(f, 1));
	runtime_worker_free(f->worker);
	for (size_t i = 1; i < f->n_children; i++)
		assert_switched_off(f, &f->children[i]);
	assert_int_equal(rate_of(hung), HEAP_FORCE_RATE);
	silent_file_answer(f->silent);
	assert_true(work(f, has_no_thread));
	assert_int_equal(rate_of(hung), 0);
	end(f);
}

TEST_FIXTURE(test_with_too_many_stuck_threads_nothing_is_read_until_one_returns, NULL, release)
{
	struct child *hung[RUNTIME_WORKER_MAX_STUCK];
	struct fixture *f = begin();

	if (!f)
		skip();
	(void)add_child(f, true);
	for (size_t i = 0; i < ARRAY_SIZE(hung); i++)
		hung[i] = add_child(f, false);
	begin_work(f, INTERVAL_NS);
	assert_true(work(f, has_both));
	silent_file_silence(f->silent);
	for (size_t i = 0; i < ARRAY_SIZE(hung); i++)
		signal_child(hung[i]);
	assert_true(wait_for_left_out(f, RUNTIME_WORKER_MAX_STUCK));
	assert_int_equal(n_stuck(f), RUNTIME_WORKER_MAX_STUCK);
	assert_int_equal(runtime_fixture_metric(&f->base, GO "processes "), 0);
	assert_int_equal(count_lines(f, LEFT_OUT_LINE), RUNTIME_WORKER_MAX_STUCK);
	assert_int_equal(count_lines(f, "level=error"), 1);

	silent_file_answer(f->silent);
	assert_true(work(f, has_none_stuck));
	assert_true(wait_for_sound(f, 3));
	assert_int_equal(count_lines(f, "level=error"), 1);
	assert_int_equal(n_left_out(f), RUNTIME_WORKER_MAX_STUCK);
	assert_int_equal(runtime_fixture_metric(&f->base, GO "processes "), 1);
	runtime_worker_free(f->worker);
	end(f);
}
