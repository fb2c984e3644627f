/*
 * Cgroup ids of samples, and excluding by them, on the running kernel, in cgroups made for the
 * test: in a hierarchy of v1 or in v2, whichever cgroup_hierarchy.h chooses. Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/data/buf.h"
#include "common/system/fs.h"
#include "node-agent/sample/sampler.h"
#include "node-agent/workload/cgroup_hierarchy.h"
#include "test/lib/sampling.h"
#include "test/lib/test_cgroup.h"
#include "test/lib/unit.h"

#define HZ 499
#define ENOUGH 30 /* samples of a busy process */

/* A busy process in a cgroup of its own. */
struct busy {
	pid_t pid;
	struct test_cgroup cgroup;
	unsigned n_samples;
	unsigned n_other_cgroup;        /* of n_samples, with another cgroup id */
	struct sampler_process process; /* of the last sample */
	uint64_t cost_ns;
};

static struct busy busy[2];
static struct cgroup_hierarchy *hierarchy;
static struct sampler *sampler;
static char online_path[] = "/tmp/test_exclude.XXXXXX"; /* the list of CPUs */
static int online_fd;

/* Returns when it is in its cgroup: on a busy machine that takes as long as many samples. */
static void start(struct busy *b, char name)
{
	char path[64], byte = 0;
	int entered[2];

	*b = (struct busy){0};
	snprintf(path, sizeof(path), "/test_exclude.%d.%c", (int)getpid(), name);
	test_cgroup_make(&b->cgroup, hierarchy, path);
	assert_int_equal(pipe2(entered, O_CLOEXEC), 0);
	b->pid = fork();
	assert_true(b->pid >= 0);
	if (b->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_cgroup_enter(&b->cgroup);
		if (write(entered[1], &byte, 1) != 1)
			_exit(1);
		for (volatile unsigned n = 0;; n++)
			;
	}
	close(entered[1]);
	assert_int_equal(read(entered[0], &byte, 1), 1);
	close(entered[0]);
}

static void stop(struct busy *b)
{
	if (b->pid > 0) {
		kill(b->pid, SIGKILL);
		assert_int_equal(waitpid(b->pid, NULL, 0), b->pid);
	}
	test_cgroup_remove(&b->cgroup);
}

static int setup(void **state)
{
	AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sampler_config cfg = {.hz = HZ, .kernel_stacks = true, .online_path = online_path};
	CLEANUP(buf_fini) struct buf cpus;
	struct err err = {""};

	(void)state;
	assert_int_equal(cgroup_hierarchy_new(&hierarchy, proc), 0);
	cfg.cgroups = (enum sampler_cgroups)cgroup_hierarchy_kind(hierarchy);
	buf_init(&cpus, 4096);
	assert_int_equal(fs_read_at(AT_FDCWD, "/sys/devices/system/cpu/online", &cpus), 0);
	online_fd = mkstemp(online_path);
	assert_int_equal(write(online_fd, cpus.data, cpus.len), cpus.len);
	if (sampler_new(&sampler, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	start(&busy[0], 'a');
	start(&busy[1], 'b');
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	stop(&busy[0]);
	stop(&busy[1]);
	sampler_free(sampler);
	cgroup_hierarchy_free(hierarchy);
	close(online_fd);
	unlink(online_path);
	return 0;
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	(void)ctx;
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++) {
		struct busy *b = &busy[i];

		if ((pid_t)e->header.tgid != b->pid)
			continue;
		b->n_samples++;
		b->n_other_cgroup += e->cgroup_id != b->cgroup.id;
		b->process = (struct sampler_process){
			.tgid = e->header.tgid, .start_boottime_ns = e->header.start_boottime_ns};
		b->cost_ns += e->cost_ns;
	}
}

static void drain(void)
{
	const struct sampler_handlers h = sampling_handlers(on_sample, NULL);

	assert_true(sampler_drain(sampler, &h) >= 0);
}

/* Forgets what was sampled until now. */
static void begin(void)
{
	drain();
	for (size_t i = 0; i < ARRAY_SIZE(busy); i++)
		busy[i].n_samples = busy[i].n_other_cgroup = 0;
}

static void watch(const struct busy *b)
{
	for (int i = 0; i < 6000 && b->n_samples < ENOUGH; i++) {
		usleep(50000);
		drain();
	}
	assert_true(b->n_samples >= ENOUGH);
}

static uint64_t n_excluded(void)
{
	struct sampler_stats stats;

	assert_int_equal(sampler_read_stats(sampler, &stats), 0);
	return stats.kernel.excluded;
}

static void watch_excluded(uint64_t at_least)
{
	for (int i = 0; i < 6000 && n_excluded() < at_least; i++) {
		usleep(50000);
		drain();
	}
	assert_true(n_excluded() >= at_least);
}

/*
 * Forgets what was sampled until now, once something is excluded. A tick that had begun before may
 * still end; a thread's next one, which is refused, comes after it.
 */
static void begin_excluded(uint64_t excluded_before)
{
	watch_excluded(excluded_before + 1);
	begin();
}

/* ---- tests ---- */

TEST(the_cgroup_id_is_the_number_of_its_directory)
{
	begin();
	watch(&busy[0]);
	watch(&busy[1]);
	assert_int_equal(cgroup_hierarchy_id(hierarchy, busy[0].cgroup.path), busy[0].cgroup.id);
	assert_int_not_equal(busy[0].cgroup.id, busy[1].cgroup.id);
	assert_int_equal(busy[0].n_other_cgroup, 0);
	assert_int_equal(busy[1].n_other_cgroup, 0);
}

TEST(a_sample_says_what_it_cost)
{
	watch(&busy[0]);
	assert_true(busy[0].cost_ns > 0);
}

TEST(an_excluded_cgroup_has_no_samples_and_its_sibling_has)
{
	uint64_t before = n_excluded();

	assert_int_equal(sampler_exclude_cgroup(sampler, busy[0].cgroup.id), 0);
	begin_excluded(before);
	watch(&busy[1]);
	watch_excluded(before + ENOUGH);
	assert_int_equal(busy[0].n_samples, 0);

	sampler_include_cgroup(sampler, busy[0].cgroup.id);
	begin();
	watch(&busy[0]);
}

TEST(an_excluded_process_has_no_samples_and_others_have)
{
	struct sampler_process other;
	uint64_t before = n_excluded();

	watch(&busy[0]);
	watch(&busy[1]);
	other = busy[1].process;
	other.start_boottime_ns--; /* an earlier process with the same pid */
	assert_int_equal(sampler_exclude_process(sampler, &busy[0].process), 0);
	assert_int_equal(sampler_exclude_process(sampler, &other), 0);
	begin_excluded(before);
	watch(&busy[1]);
	watch_excluded(before + ENOUGH);
	assert_int_equal(busy[0].n_samples, 0);

	sampler_include_process(sampler, &busy[0].process);
	sampler_include_process(sampler, &other);
	begin();
	watch(&busy[0]);
}

TEST(when_nothing_is_excluded_any_more_nothing_is_looked_up)
{
	uint64_t before;

	/* twice the same is one entry */
	assert_int_equal(sampler_exclude_cgroup(sampler, busy[0].cgroup.id), 0);
	assert_int_equal(sampler_exclude_cgroup(sampler, busy[0].cgroup.id), 0);
	sampler_include_cgroup(sampler, busy[0].cgroup.id);
	sampler_include_cgroup(sampler, busy[0].cgroup.id);
	begin();
	watch(&busy[0]); /* so a tick that was still being refused has ended */
	before = n_excluded();
	begin();
	watch(&busy[0]);
	assert_int_equal(n_excluded(), before);
}

TEST(the_maps_are_bounded)
{
	for (uint64_t i = 0; i < SAMPLER_EXCLUDE_MAX; i++)
		assert_int_equal(sampler_exclude_cgroup(sampler, UINT64_MAX - i), 0);
	assert_int_equal(sampler_exclude_cgroup(sampler, 2), -E2BIG);
	for (uint64_t i = 0; i < SAMPLER_EXCLUDE_MAX; i++)
		sampler_include_cgroup(sampler, UINT64_MAX - i);
}

/* The sampler of the group, which no longer ticks when it is attached to no CPU. */
TEST(excluded_ticks_are_accounted_for)
{
	struct sampler_stats s;
	uint64_t before = n_excluded();

	assert_int_equal(sampler_exclude_cgroup(sampler, busy[0].cgroup.id), 0);
	watch_excluded(before + ENOUGH);
	assert_int_equal(ftruncate(online_fd, 0), 0);
	assert_true(sampler_update_cpus(sampler, NULL) >= 1);
	assert_int_equal(sampler_read_stats(sampler, &s), 0);
	assert_int_equal(s.n_cpus, 0);
	assert_int_equal(s.kernel.ticks, s.kernel.idle + s.kernel.excluded + s.kernel.sent +
						 s.kernel.lost_ring_full + s.kernel.lost_no_task);
}

GROUP_FIXTURE(setup, teardown)
