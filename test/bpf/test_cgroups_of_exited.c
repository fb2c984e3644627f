/*
 * What the table learns of cgroups from real processes that are exiting or moved, and so what a
 * process belongs to that exited before it was read. Needs root for its cgroups.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/workload.h"
#include "test/lib/test_cgroup.h"
#include "test/lib/unit.h"

#define GONE 4100000 /* beyond PID_MAX_LIMIT: no such process */
#define ID_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

struct fixture {
	struct cgroup_hierarchy *hierarchy;
	struct test_cgroup a, b;
	struct process_table *table;
	pid_t children[4];
	unsigned n_children;
};

static int set_up(void **state)
{
	static struct fixture f;
	AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(cgroup_hierarchy_new(&f.hierarchy, proc), 0);
	test_cgroup_make(&f.a, f.hierarchy, "/test_cgroups_of_exited/docker/" ID_A);
	test_cgroup_make(&f.b, f.hierarchy, "/test_cgroups_of_exited/docker/" ID_B);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	while (f->n_children > 0) {
		kill(f->children[--f->n_children], SIGKILL);
		waitpid(f->children[f->n_children], NULL, 0);
	}
	process_table_free(f->table);
	f->table = NULL;
	test_cgroup_remove(&f->a);
	test_cgroup_remove(&f->b);
	cgroup_hierarchy_free(f->hierarchy);
	return 0;
}

static void new_table(struct fixture *f, const struct cgroup_hierarchy *h)
{
	process_table_free(f->table);
	assert_int_equal(
		process_table_new(&f->table, &(struct process_table_config){.hierarchy = h}, NULL),
		0);
}

/* Samples it in the cgroup with this id; returns the runtime's id of its container. */
static const char *sample(struct fixture *f, pid_t pid, uint64_t cgroup_id)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = procfs_open_process(root, pid);
	struct proc_stat st = {.comm = "gone", .start_time = 1};
	struct process_snapshot *s = NULL;
	struct process_seen seen = {.pid = pid, .comm = st.comm, .cgroup_id = cgroup_id};

	if (pid != GONE)
		assert_int_equal(procfs_read_stat(fd, &st), 0);
	seen.start_boottime_ns = st.start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	assert_int_equal(process_table_get(f->table, &seen, clock_monotonic_ns(), &s), 0);
	return s->workload->runtime_id;
}

struct family {
	pid_t parent;
	pid_t zombie;
};

static void run_parent(const struct fixture *f, int out)
{
	pid_t child;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	test_cgroup_enter(&f->a);
	child = fork();
	if (child == 0)
		_exit(0);
	if (child < 0 || waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT) < 0 ||
	    write(out, &child, sizeof(child)) != sizeof(child))
		_exit(1);
	for (;;)
		pause();
}

static struct family start_family(struct fixture *f)
{
	struct family ret;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	ret.parent = fork();
	if (ret.parent == 0)
		run_parent(f, ends[1]);
	f->children[f->n_children++] = ret.parent;
	close(ends[1]);
	assert_int_equal(read(ends[0], &ret.zombie, sizeof(ret.zombie)), sizeof(ret.zombie));
	close(ends[0]);
	return ret;
}

/* Cgroup v1 shows a zombie in the root. */
TEST_FIXTURE(nothing_is_learned_of_a_zombie, set_up, tear_down)
{
	struct fixture *f = *state;
	struct family family = start_family(f);

	for (unsigned verified = 0; verified < 2; verified++) {
		new_table(f, verified ? f->hierarchy : NULL);
		(void)sample(f, family.zombie, f->a.id); /* its container may not be known yet */
		assert_string_equal(sample(f, family.parent, f->a.id), ID_A);
		assert_string_equal(sample(f, GONE, f->a.id), ID_A);

		new_table(f, verified ? f->hierarchy : NULL);
		assert_string_equal(sample(f, family.parent, f->a.id), ID_A);
		assert_string_equal(sample(f, family.zombie, f->a.id), ID_A);
		assert_string_equal(sample(f, GONE, f->a.id), ID_A);
	}
}

static pid_t start_in(struct fixture *f, const struct test_cgroup *c)
{
	char ready;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_cgroup_enter(c);
		(void)!write(ends[1], "", 1);
		for (;;)
			pause();
	}
	f->children[f->n_children++] = pid;
	close(ends[1]);
	assert_int_equal(read(ends[0], &ready, 1), 1);
	close(ends[0]);
	return pid;
}

/* Runtimes move the first process of a container out of their own cgroup. */
TEST_FIXTURE(nothing_is_learned_of_a_process_that_was_moved, set_up, tear_down)
{
	struct fixture *f = *state;
	pid_t first = start_in(f, &f->b), second = start_in(f, &f->b), own = start_in(f, &f->a);

	new_table(f, f->hierarchy);
	(void)sample(f, first, f->a.id); /* sampled in a, read in b */
	(void)sample(f, second, f->a.id);
	assert_string_equal(sample(f, GONE, f->a.id), "");
	assert_string_equal(sample(f, own, f->a.id), ID_A);
	new_table(f, f->hierarchy);
	assert_string_equal(sample(f, own, f->a.id), ID_A);
	(void)sample(f, first, f->a.id);
	(void)sample(f, second, f->a.id);
	assert_string_equal(sample(f, GONE, f->a.id), ID_A);
}
