/*
 * A runtime that is made up (toy_runtime.h), beside Go's: what every runtime gets from
 * runtime/ without a line about it there. Its programs are children of the test that execute
 * one file.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/procfs/file_id.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/runtime_states.h"
#include "node-agent/runtime/runtime_worker.h"
#include "node-agent/workload/process_namer.h"
#include "test/lib/runtime_fixture.h"
#include "test/lib/toy_runtime.h"
#include "test/lib/unit.h"

#define INTERVAL_NS (100 * NS_PER_MS)
/* Long enough for a sound process to be read on a busy machine. */
#define HANG_NS (5 * NS_PER_S)
#define MAX_CHILDREN 4u

struct fixture {
	struct runtime_fixture base;
	struct toy_runtime toy;
	struct toy_runtime *config; /* &toy */
	int answer_fd;              /* ends what hangs */
	char program[64];           /* that children of the runtime execute */
	pid_t children[MAX_CHILDREN];
	size_t n_children;
	int log_fd;
	struct runtime_states *states;
	struct runtime_worker *worker, *go;
	/* what came */
	unsigned n_steps, n_bursts;
	unsigned n_wanted;
};

static void on_profile(void *ctx, const struct runtime_upload *u)
{
	struct fixture *f = ctx;

	assert_int_equal(u->pprof->len, 5);
	assert_int_equal(strncmp(u->workload->service, "/", 1), 0);
	f->n_steps += memcmp(u->pprof->data, "steps", 5) == 0;
	f->n_bursts += memcmp(u->pprof->data, "burst", 5) == 0;
}

/* ---- fixture ---- */

static void copy_program(struct fixture *f)
{
	char command[160];
	struct file_version version;

	(void)snprintf(f->program, sizeof(f->program), "/tmp/toy_program.%d", (int)getpid());
	(void)snprintf(command, sizeof(command), "cp -L /bin/sleep %s", f->program);
	assert_int_equal(system(command), 0);
	assert_int_equal(file_version_read(AT_FDCWD, f->program, &version, NULL), 0);
	f->toy.program = version.id;
}

static void begin(struct fixture *f)
{
	int fds[2];

	memset(f, 0, sizeof(*f));
	runtime_fixture_begin(&f->base);
	copy_program(f);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	f->toy.hang_fd = fds[0];
	f->answer_fd = fds[1];
	f->config = &f->toy;
	f->log_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(f->log_fd >= 0);
	log_set_fd(f->log_fd);
	assert_int_equal(runtime_fixture_start(&f->base), 0);
	assert_int_equal(runtime_states_new(&f->states), 0);
}

/* Returns once it executes what it shall. */
static pid_t add_child(struct fixture *f, bool is_toy)
{
	int started[2];
	pid_t pid;
	char byte;

	assert_true(f->n_children < MAX_CHILDREN);
	assert_int_equal(pipe2(started, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(is_toy ? f->program : "/bin/sleep", "toy", "1000", (char *)NULL);
		_exit(1);
	}
	close(started[1]);
	assert_int_equal(read(started[0], &byte, 1), 0);
	close(started[0]);
	f->children[f->n_children++] = pid;
	runtime_fixture_show(&f->base, pid);
	return pid;
}

/* filter: NULL for none. */
static void begin_work_with(struct fixture *f, const struct profile_filter *filter)
{
	const struct go_profiler_config profiler = {.heap = true};
	struct runtime_worker_config cfg = {
		.ops = &toy_runtime_ops,
		.config = &f->config,
		.proc_root = f->base.root,
		.processes = f->base.processes,
		.interval_ns = INTERVAL_NS,
		.filter = {filter, NULL},
		.states = f->states,
		.hang_ns = HANG_NS,
		.on_profile = on_profile,
		.ctx = f,
	};
	struct err err = {""};

	assert_int_equal(runtime_worker_new(&f->worker, f->base.loop, f->base.ms, &cfg, &err), 0);
	cfg.ops = &go_runtime_ops;
	cfg.config = &profiler;
	assert_int_equal(runtime_worker_new(&f->go, f->base.loop, f->base.ms, &cfg, &err), 0);
}

static void begin_work(struct fixture *f)
{
	begin_work_with(f, NULL);
}

static void end_work(struct fixture *f)
{
	runtime_worker_free(TAKE_PTR(f->worker));
	runtime_worker_free(TAKE_PTR(f->go));
}

static void end(struct fixture *f)
{
	end_work(f);
	for (size_t i = 0; i < f->n_children; i++) {
		kill(f->children[i], SIGKILL);
		waitpid(f->children[i], NULL, 0);
	}
	runtime_fixture_stop(&f->base);
	runtime_fixture_end(&f->base);
	log_set_fd(STDERR_FILENO);
	close(f->log_fd);
	close(f->toy.hang_fd);
	close(f->answer_fd);
	(void)unlink(f->program);
	runtime_states_unref(f->states);
	assert_int_equal(f->toy.n_readers, 0);
}

static uint64_t metric(const struct fixture *f, const char *beginning)
{
	return runtime_fixture_metric(&f->base, beginning);
}

static bool has_profiles(void *ctx)
{
	const struct fixture *f = ctx;

	return f->n_steps >= f->n_wanted && f->n_bursts >= f->n_wanted;
}

static void await_profiles(struct fixture *f, unsigned n)
{
	f->n_wanted = (f->n_steps > f->n_bursts ? f->n_steps : f->n_bursts) + n;
	assert_true(runtime_fixture_work(&f->base, has_profiles, f));
}

/*
 * How many programs of the children's workload step along. It is read as the runtime does that:
 * without a container their name depends on their ancestors.
 */
static unsigned n_stepping(const struct fixture *f)
{
	CLEANUP(process_namer_freep) struct process_namer *namer = NULL;
	struct workload_facts facts = {.comm = "toy"};
	CLEANUP(workload_unrefp) struct workload *w = NULL;
	struct runtime_state_count counts[RUNTIME_STATE_COUNTS_MAX];
	char path[32];
	AUTO_CLOSE int fd = -1;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)f->children[0]);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(process_namer_new(&namer, NULL), 0);
	facts.namer = namer;
	assert_int_equal(workload_read(&w, fd, &facts), 0);
	n = runtime_states_count(f->states, w, counts);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(counts[i].runtime, "toy");
		if (strcmp(counts[i].state, "stepping") == 0)
			return counts[i].n;
	}
	return 0;
}

static bool is_one_stepping(void *ctx)
{
	return n_stepping(ctx) == 1;
}

/* ---- tests ---- */

TEST(test_programs_of_any_runtime_are_found_read_and_restored)
{
	struct fixture f;

	begin(&f);
	(void)add_child(&f, true);
	(void)add_child(&f, false);
	(void)add_child(&f, true);
	begin_work(&f);
	await_profiles(&f, 10);
	assert_int_equal(metric(&f, "toy_processes "), 2);
	assert_in_range(metric(&f, "toy_profiles_total{profile=\"steps\"}"), 10, 10000);
	assert_in_range(metric(&f, "toy_profiles_total{profile=\"burst\"}"), 10, 10000);
	assert_int_equal(metric(&f, "toy_readings_failed_total"), 0);
	assert_int_equal(metric(&f, "container_toy_depth"), 14);
	assert_int_equal(n_stepping(&f), 2);
	assert_true(metric(&f, "container_toy_steps_total") > 0);
	/* the other runtime has nothing to do with them */
	assert_int_equal(metric(&f, "coroot_node_agent_go_processes "), 0);
	assert_int_equal(metric(&f, "coroot_node_agent_go_readings_failed_total"), 0);
	end_work(&f);
	assert_int_equal(n_stepping(&f), 0);
	assert_int_equal(f.toy.n_restored, 2);
	assert_int_equal(f.toy.n_readers, 0);
	end(&f);
}

static bool is_abandoned(void *ctx)
{
	const struct fixture *f = ctx;

	return metric(f, "toy_processes_left_out_total ") == 1;
}

static bool has_recovered(void *ctx)
{
	const struct fixture *f = ctx;

	return metric(f, "toy_stuck_threads ") == 0;
}

static bool is_one_excluded(void *ctx)
{
	const struct fixture *f = ctx;

	return metric(f, "toy_processes_excluded ") == 1;
}

/* Its environment is read, and nothing else; it is never opened, and not changed. */
TEST(test_a_process_that_asks_not_to_be_profiled_is_left_alone)
{
	CLEANUP(profile_filter_freep) struct profile_filter *filter = NULL;
	const struct profile_filter_config cfg = {0};
	struct fixture f;

	assert_int_equal(profile_filter_new(&filter, &cfg, NULL), 0);
	begin(&f);
	assert_int_equal(setenv("COROOT_EBPF_PROFILING", "disabled", 1), 0);
	(void)add_child(&f, true);
	assert_int_equal(unsetenv("COROOT_EBPF_PROFILING"), 0);
	begin_work_with(&f, filter);
	assert_true(runtime_fixture_work(&f.base, is_one_excluded, &f));
	(void)add_child(&f, true);
	await_profiles(&f, 3);
	assert_int_equal(metric(&f, "toy_processes "), 1);
	assert_int_equal(metric(&f, "toy_processes_excluded "), 1);
	end_work(&f);
	assert_int_equal(f.toy.n_restored, 1);
	end(&f);
}

TEST(test_a_turn_that_hangs_costs_one_process_and_no_other_runtime)
{
	struct fixture f;
	char pid[32];
	pid_t hung;

	begin(&f);
	(void)add_child(&f, true);
	hung = add_child(&f, true);
	begin_work(&f);
	await_profiles(&f, 2);
	f.toy.hang_pid = hung;
	assert_true(runtime_fixture_work(&f.base, is_abandoned, &f));
	assert_true(f.toy.is_hanging);
	await_profiles(&f, 3);
	assert_true(runtime_fixture_work(&f.base, is_one_stepping, &f));
	assert_int_equal(metric(&f, "toy_processes "), 1);
	assert_int_equal(metric(&f, "toy_stuck_threads "), 1);
	assert_int_equal(f.toy.n_readers, 2);
	(void)snprintf(pid, sizeof(pid), "runtime=toy pid=%d ", (int)hung);
	assert_int_equal(runtime_fixture_count(f.log_fd, pid), 1);
	assert_int_equal(metric(&f, "coroot_node_agent_go_stuck_threads "), 0);
	assert_int_equal(metric(&f, "coroot_node_agent_go_processes_left_out_total "), 0);

	assert_int_equal(write(f.answer_fd, "", 1), 1);
	assert_true(runtime_fixture_work(&f.base, has_recovered, &f));
	await_profiles(&f, 3);
	assert_int_equal(n_stepping(&f), 1);
	assert_int_equal(metric(&f, "toy_processes "), 1);
	assert_int_equal(runtime_fixture_count(f.log_fd, "level=warn"), 1);
	end(&f);
}

static bool has_failed_twice(void *ctx)
{
	const struct fixture *f = ctx;

	return metric(f, "toy_readings_failed_total{reason=\"corrupt_list\"} ") >= 2;
}

TEST(test_a_program_that_cannot_be_opened_is_counted_and_tried_again)
{
	struct fixture f;

	begin(&f);
	(void)add_child(&f, true);
	f.toy.open_error = -EBADMSG;
	begin_work(&f);
	assert_true(runtime_fixture_work(&f.base, has_failed_twice, &f));
	assert_int_equal(f.n_steps, 0);
	f.toy.open_error = 0;
	await_profiles(&f, 1);
	/* a burst that ends while it cannot be opened */
	f.toy.open_error = -EBADMSG;
	assert_true(runtime_fixture_work(&f.base, has_failed_twice, &f));
	f.toy.open_error = 0;
	await_profiles(&f, 1);
	assert_int_equal(metric(&f, "toy_processes "), 1);
	end(&f);
}

static bool has_failed_turns(void *ctx)
{
	const struct fixture *f = ctx;

	return metric(f, "toy_readings_failed_total{reason=\"limit_time\"} ") >= 2;
}

TEST(test_one_part_of_a_turn_that_fails_does_not_keep_the_others_from_it)
{
	struct fixture f;

	begin(&f);
	(void)add_child(&f, true);
	f.toy.turn_error = -ETIME;
	begin_work(&f);
	assert_true(runtime_fixture_work(&f.base, has_failed_turns, &f));
	assert_int_equal(metric(&f, "container_toy_depth"), 7);
	assert_int_equal(f.n_steps, 0);
	end(&f);
}

static bool has_left(void *ctx)
{
	const struct fixture *f = ctx;

	return metric(f, "toy_processes ") == 0 && metric(f, "container_toy_depth") == 0;
}

TEST(test_a_process_that_exits_takes_its_gauges_with_it)
{
	struct fixture f;

	begin(&f);
	(void)add_child(&f, true);
	begin_work(&f);
	await_profiles(&f, 3); /* the first turn only begins to count */
	assert_int_equal(metric(&f, "container_toy_depth"), 7);
	kill(f.children[0], SIGKILL);
	assert_true(runtime_fixture_work(&f.base, has_left, &f));
	assert_true(metric(&f, "container_toy_steps_total") > 0);
	end(&f);
}
