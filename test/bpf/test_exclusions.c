/*
 * From the user's wish to no samples: real processes in cgroups with paths like those of
 * container runtimes, the real table of processes, and the sampler. Needs root.
 *
 * All tests have one sampler (test_sampler.c says why); what one excludes it includes at its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/data/buf.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "node-agent/sample/exclusions.h"
#include "node-agent/workload/name_rules.h"
#include "test/lib/sampling.h"
#include "test/lib/test_cgroup.h"
#include "test/lib/unit.h"

#define HZ 499
#define ENOUGH 20 /* samples of a busy process */
#define BUSY_MAX 4

/* Of containers, and the beginnings that names have; other runs of this test have others. */
static char ids[2][65];
static char short_ids[2][13];
static struct cgroup_hierarchy *hierarchy;
static struct sampler *sampler;

static int start_group(void **state)
{
	AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct sampler_config cfg = {.hz = HZ, .ring_bytes = SAMPLER_RING_MAX_BYTES};
	struct err err = {""};
	char head[32];

	(void)state;
	assert_int_equal(cgroup_hierarchy_new(&hierarchy, proc), 0);
	cfg.cgroups = sampler_cgroups_of(hierarchy);
	if (sampler_new(&sampler, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	for (int i = 0; i < 2; i++) {
		int len = snprintf(head, sizeof(head), "%d%010d", i + 1, (int)getpid());
		memset(ids[i], '0', sizeof(ids[i]) - 1);
		memcpy(ids[i], head, (size_t)len);
		snprintf(short_ids[i], sizeof(short_ids[i]), "%.12s", ids[i]);
	}
	return 0;
}

static int stop_group(void **state)
{
	(void)state;
	sampler_free(sampler);
	cgroup_hierarchy_free(hierarchy);
	return 0;
}

struct busy {
	pid_t pid;
	unsigned n_profiled; /* samples that were not dropped */
	uint64_t cgroup_id;  /* of the last sample */
	char container_id[WORKLOAD_NAME_BYTES];
};

/* All that one test needs. */
struct fixture {
	struct profile_filter *filter;
	struct name_rules *name_rules;
	struct process_table *processes;
	struct exclusions *exclusions;
	struct loop *loop;
	struct container_directory *directory;
	struct directory_source *source;
	struct busy busy[BUSY_MAX];
	size_t n_busy;
	struct test_cgroup cgroups[BUSY_MAX];
	size_t n_cgroups;
	bool loses_execs;          /* the events, as if the ring had been full */
	uint64_t recheck_ns;       /* exclusions_config.recheck_ns */
	uint64_t watched;          /* id of a cgroup … */
	const struct busy *parent; /* … of the children of this process: */
	unsigned n_children_profiled, n_children_dropped; /* samples */
};

/* A source that is not asked, and answers when the test says so. */
static int refuse(void *source, const struct container_question *of, container_source_done_fn done,
		  void *ctx)
{
	(void)source;
	(void)of;
	(void)done;
	(void)ctx;
	return -ENOENT;
}

static void free_nothing(void *source)
{
	(void)source;
}

static const struct container_source_ops source_ops = {"test", refuse, free_nothing};

static void make_directory(struct fixture *f)
{
	const struct container_source_config cfg = {
		.ops = &source_ops,
		.kinds = CONTAINER_KIND(CGROUP_CONTAINERD),
	};

	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(container_directory_new(&f->directory, f->loop,
						 &(struct container_directory_config){0}),
			 0);
	assert_int_equal(container_directory_add_source(f->directory, &cfg, &f->source), 0);
	directory_source_attach(f->source, f);
}

/* What the source says about the container with this id. */
static void answer(struct fixture *f, const char *id, bool profiling_disabled)
{
	const struct container_facts facts = {.id = id,
					      .name = "nginx",
					      .namespace = "shop",
					      .pod = "web-5d8f9c7b6d-x2x4v",
					      .owner = "web",
					      .profiling_disabled = profiling_disabled};
	const struct container_sink *sink = directory_source_sink(f->source);

	sink->found(sink->ctx, &facts);
	exclusions_update(f->exclusions);
}

static void begin_with(struct fixture *f, const char *denylist, bool with_directory)
{
	const struct profile_filter_config filter = {.denylist = denylist};
	struct process_table_config processes = {0};
	struct exclusions_config exclusions;
	struct err err = {""};

	*f = (struct fixture){.recheck_ns = f->recheck_ns};
	sampling_discard(sampler);
	/* by their executables, whatever has started this test: below make all would be a build */
	assert_int_equal(name_rules_new(&f->name_rules, "^([^ ]*/)?([^/ ]+)( .*)?$=\\2", &err), 0);
	processes.name_rules = f->name_rules;
	assert_int_equal(profile_filter_new(&f->filter, &filter, &err), 0);
	assert_int_equal(process_table_new(&f->processes, &processes, &err), 0);
	if (with_directory)
		make_directory(f);
	exclusions = (struct exclusions_config){.directory = f->directory,
						.filter = f->filter,
						.hierarchy = hierarchy,
						.sampler = sampler,
						.processes = f->processes,
						.recheck_ns = f->recheck_ns};
	assert_int_equal(exclusions_new(&f->exclusions, &exclusions), 0);
}

static void begin(struct fixture *f, const char *denylist)
{
	begin_with(f, denylist, false);
}

static void end(struct fixture *f)
{
	for (size_t i = 0; i < f->n_busy; i++) {
		kill(f->busy[i].pid, SIGKILL);
		waitpid(f->busy[i].pid, NULL, 0);
	}
	for (size_t i = 0; i < f->n_cgroups; i++)
		test_cgroup_remove(&f->cgroups[i]);
	exclusions_free(f->exclusions);
	process_table_free(f->processes);
	name_rules_unref(f->name_rules);
	container_directory_free(f->directory);
	loop_free(f->loop);
	profile_filter_free(f->filter);
}

static struct test_cgroup *make_cgroup(struct fixture *f, const char *parent, const char *id)
{
	struct test_cgroup *c = &f->cgroups[f->n_cgroups++];
	char path[256];

	snprintf(path, sizeof(path), "/test_exclusions.%d%s%s", (int)getpid(), parent, id);
	test_cgroup_make(c, hierarchy, path);
	return c;
}

/* An endless loop in a program of its own, because the environment is that of execve(2). */
static struct busy *start(struct fixture *f, const struct test_cgroup *c, const char *variable)
{
	struct busy *b = &f->busy[f->n_busy++];
	char *const env[] = {(char *)(uintptr_t)variable, NULL};

	b->pid = fork();
	assert_true(b->pid >= 0);
	if (b->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (c)
			test_cgroup_enter(c);
		/* as runtimes do it with v2: what the process sees is not what we see */
		if (c && unshare(CLONE_NEWCGROUP) < 0)
			_exit(1);
		execle("/bin/sh", "sh", "-c", "ulimit -t 300; while :; do :; done", (char *)NULL,
		       env);
		_exit(1);
	}
	return b;
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	struct fixture *f = ctx;
	struct process_snapshot *snapshot;
	bool is_child;
	const struct process_seen seen = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.comm = e->comm,
		.kernel_thread = e->flags & SAMPLE_KERNEL_THREAD,
	};

	assert_int_equal(process_table_get(f->processes, &seen, clock_monotonic_ns(), &snapshot),
			 0);
	is_child = f->watched != 0 && e->cgroup_id == f->watched && seen.pid != f->parent->pid;
	if (exclusions_drop(f->exclusions, e)) {
		f->n_children_dropped += is_child;
		return;
	}
	f->n_children_profiled += is_child;
	for (size_t i = 0; i < f->n_busy; i++) {
		struct busy *b = &f->busy[i];

		if (b->pid != seen.pid)
			continue;
		b->n_profiled++;
		b->cgroup_id = e->cgroup_id;
		snprintf(b->container_id, sizeof(b->container_id), "%s",
			 snapshot->workload->container_id);
	}
}

static void on_fork(void *ctx, const struct fork_event *e)
{
	struct fixture *f = ctx;
	const struct process_fork fork = {
		.pid = (pid_t)e->header.tgid,
		.parent = (pid_t)e->parent_tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.parent_start_boottime_ns = e->parent_start_boottime_ns,
		.cgroup_id = e->cgroup_id,
	};

	(void)process_table_fork(f->processes, &fork);
}

static void on_exec(void *ctx, const struct exec_event *e)
{
	struct fixture *f = ctx;
	struct process_exec exec = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.cgroup_id = e->cgroup_id,
		.end_code = e->end_code,
		.path = e->path,
	};

	if (f->loses_execs)
		return;
	event_file_version(&e->file, &exec.file);
	(void)process_table_exec(f->processes, &exec);
}

static void on_exit_event(void *ctx, const struct event_header *e)
{
	struct fixture *f = ctx;

	process_table_exit(f->processes, (pid_t)e->tgid, e->start_boottime_ns,
			   clock_monotonic_ns());
}

static void drain(struct fixture *f)
{
	const struct sampler_handlers h = {on_sample,           on_fork, on_exec, on_exit_event,
					   sampling_ignore_map, NULL,    f};

	assert_true(sampler_drain(sampler, &h) >= 0);
}

static struct exclusions_stats stats_of(const struct fixture *f)
{
	struct exclusions_stats s;

	exclusions_read_stats(f->exclusions, &s);
	return s;
}

static uint64_t n_in_kernel(void)
{
	struct sampler_stats s;

	assert_int_equal(sampler_read_stats(sampler, &s), 0);
	return s.kernel.excluded;
}

/* Until the kernel has refused some samples, and the other process has as many as one has. */
static void watch_excluded(struct fixture *f, const struct busy *other)
{
	uint64_t from = n_in_kernel();
	unsigned profiled = other->n_profiled;

	for (int i = 0; i < 6000; i++) {
		usleep(50000);
		drain(f);
		if (n_in_kernel() >= from + ENOUGH && other->n_profiled >= profiled + ENOUGH)
			return;
	}
	fail_msg("%llu samples excluded, %u of the other process",
		 (unsigned long long)(n_in_kernel() - from), other->n_profiled - profiled);
}

static void watch_profiled(struct fixture *f, const struct busy *b)
{
	unsigned from = b->n_profiled;

	for (int i = 0; i < 6000 && b->n_profiled < from + ENOUGH; i++) {
		usleep(50000);
		drain(f);
	}
	assert_true(b->n_profiled >= from + ENOUGH);
}

/*
 * Until the kernel excludes something. Before that, a few samples may still count for what the
 * process was when it was read first: another program, in another cgroup.
 */
static void settle(struct fixture *f, struct busy *b)
{
	for (int i = 0; i < 6000 && stats_of(f).cgroups + stats_of(f).processes == 0; i++) {
		usleep(50000);
		drain(f);
	}
	drain(f);
	b->n_profiled = 0;
}

/* Until the process has executed its program and is in its cgroup. */
static void wait_for_sh(const struct busy *b)
{
	char path[64], comm[32] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)b->pid);
	for (int i = 0; i < 60000 && strcmp(comm, "sh\n") != 0; i++) {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		if (!fgets(comm, sizeof(comm), file))
			comm[0] = '\0';
		fclose(file);
		usleep(5000);
	}
	assert_string_equal(comm, "sh\n");
}

/* ---- tests ---- */

static const char *deny_first(void)
{
	static char denylist[64];

	snprintf(denylist, sizeof(denylist), "^/docker/%s$", short_ids[0]);
	return denylist;
}

static void a_denied_container_is_excluded_by_its_cgroup(void **state)
{
	struct busy *denied, *other, *later;
	struct test_cgroup *c;
	struct fixture f = {0};

	(void)state;
	begin(&f, deny_first());
	c = make_cgroup(&f, "/docker/", ids[0]);
	denied = start(&f, c, "A=1");
	other = start(&f, make_cgroup(&f, "/docker/", ids[1]), "A=1");
	wait_for_sh(denied);
	wait_for_sh(other);
	settle(&f, denied);
	watch_excluded(&f, other);
	assert_int_equal(denied->n_profiled, 0);
	assert_int_equal(stats_of(&f).cgroups, 1);
	assert_int_equal(stats_of(&f).processes, 0);

	/* one that begins later costs not even its first sample */
	later = start(&f, c, "A=1");
	wait_for_sh(later);
	settle(&f, later);
	watch_excluded(&f, other);
	assert_int_equal(later->n_profiled, 0);
	end(&f);
}

#define POD "11111111_2222_3333_4444_555555555555"
#define IN_POD "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD ".slice/"

/* Paths as container runtimes and systemd make them, with the names that they are profiled as. */
static const struct {
	const char *path;
	const char *container_id;
} layouts[] = {
	{"/docker/%s", "/docker/%s"},
	{"/system.slice/docker-%s.scope", "/docker/%s"},
	{IN_POD "cri-containerd-%s.scope", "/containerd/%s"},
	{IN_POD "crio-%s.scope", "/crio/%s"},
	{"/kubepods/besteffort/pod11111111-2222-3333-4444-555555555555/%s", "/kubepods/%s"},
	{"/machine.slice/libpod-%s.scope/container", "/podman/%s"},
	{"/system.slice/test-exclusions-%s.service", "/system.slice/test-exclusions-%s.service"},
};

/* Each alone, first without a filter and then denied by its name. */
static void check_layout(const char *path, const char *container_id)
{
	struct test_cgroup *c;
	struct busy *b, *other;
	struct fixture f = {0};

	begin(&f, NULL);
	c = &f.cgroups[f.n_cgroups++];
	test_cgroup_make(c, hierarchy, path);
	b = start(&f, c, "A=1");
	wait_for_sh(b);
	drain(&f);
	b->n_profiled = 0;
	watch_profiled(&f, b);
	assert_string_equal(b->container_id, container_id);
	assert_int_equal(b->cgroup_id, c->id);
	end(&f);

	begin(&f, container_id);
	other = start(&f, make_cgroup(&f, "/other", ""), "A=1");
	c = &f.cgroups[f.n_cgroups++];
	test_cgroup_make(c, hierarchy, path);
	b = start(&f, c, "A=1");
	wait_for_sh(b);
	wait_for_sh(other);
	settle(&f, b);
	watch_excluded(&f, other);
	assert_int_equal(b->n_profiled, 0);
	assert_int_equal(stats_of(&f).cgroups, 1);
	assert_int_equal(stats_of(&f).processes, 0);
	end(&f);
}

/* Replaces the only "%s". */
static void insert(char *ret, size_t size, const char *format, const char *id)
{
	const char *at = strstr(format, "%s");

	assert_non_null(at);
	snprintf(ret, size, "%.*s%s%s", (int)(at - format), format, id, at + 2);
}

static void each_layout_is_named_and_excluded_by_its_cgroup(void **state)
{
	char path[256], container_id[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		bool is_unit = strstr(layouts[i].path, ".service") != NULL;

		insert(path, sizeof(path), layouts[i].path, ids[0]);
		insert(container_id, sizeof(container_id), layouts[i].container_id,
		       is_unit ? ids[0] : short_ids[0]);
		check_layout(path, container_id);
	}
}

/* Of this process, in that hierarchy. */
static int read_own_path(const struct cgroup_hierarchy *h,
			 char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, 65536);
	if (fs_read_at(AT_FDCWD, "/proc/self/cgroup", &text) < 0)
		return -ENOENT;
	return cgroup_hierarchy_parse(cgroup_hierarchy_kind(h), text.data, text.len, ret);
}

/* Returns what the test's process expects as 0. In a child, because the namespace changes. */
static int join_from_a_namespace(const struct test_cgroup *c)
{
	AUTO_CLOSE int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int first = open("/proc/1/ns/cgroup", O_RDONLY | O_CLOEXEC);
	char path[CGROUP_HIERARCHY_PATH_BYTES];

	test_cgroup_enter(c);
	if (unshare(CLONE_NEWCGROUP) < 0 || read_own_path(hierarchy, path) < 0)
		return 2;
	if (strcmp(path, "/") != 0)
		return 3;
	cgroup_hierarchy_join_host(proc);
	if (first < 0) /* not allowed here */
		return 0;
	if (read_own_path(hierarchy, path) < 0 || strcmp(path, c->path) != 0)
		return 4;
	return cgroup_hierarchy_id(hierarchy, path) == c->id ? 0 : 5;
}

static void an_agent_in_a_cgroup_namespace_sees_whole_paths(void **state)
{
	struct test_cgroup *c;
	struct fixture f = {0};
	int status = 0;
	pid_t pid;

	(void)state;
	begin(&f, NULL);
	c = make_cgroup(&f, "/docker/", ids[0]);
	pid = fork();
	if (pid == 0)
		_exit(join_from_a_namespace(c));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end(&f);
}

#define K8S_CONTAINER "/k8s/shop/web-5d8f9c7b6d-x2x4v/nginx"

static struct test_cgroup *make_pod_cgroup(struct fixture *f, const char *id)
{
	struct test_cgroup *c = &f->cgroups[f->n_cgroups++];
	char path[256];

	snprintf(path, sizeof(path), IN_POD "cri-containerd-%s.scope", id);
	test_cgroup_make(c, hierarchy, path);
	return c;
}

static void a_pod_can_be_excluded_while_it_runs_and_included_again(void **state)
{
	struct busy *b, *other;
	struct fixture f = {0};

	(void)state;
	begin_with(&f, NULL, true);
	other = start(&f, make_cgroup(&f, "/docker/", ids[1]), "A=1");
	b = start(&f, make_pod_cgroup(&f, ids[0]), "A=1");
	wait_for_sh(b);
	wait_for_sh(other);
	answer(&f, ids[0], false);
	watch_profiled(&f, b);

	answer(&f, ids[0], true);
	settle(&f, b);
	watch_excluded(&f, other);
	assert_int_equal(b->n_profiled, 0);
	assert_int_equal(stats_of(&f).cgroups, 1);

	answer(&f, ids[0], false);
	watch_profiled(&f, b);
	assert_int_equal(stats_of(&f).cgroups, 0);
	end(&f);
}

/* The expression knows the container by its name alone, which comes after the first samples. */
static void a_container_is_excluded_when_its_name_becomes_known(void **state)
{
	struct busy *b, *other;
	struct fixture f = {0};

	(void)state;
	begin_with(&f, "^" K8S_CONTAINER "$", true);
	other = start(&f, make_cgroup(&f, "/docker/", ids[1]), "A=1");
	b = start(&f, make_pod_cgroup(&f, ids[0]), "A=1");
	wait_for_sh(b);
	wait_for_sh(other);
	watch_profiled(&f, b);
	answer(&f, ids[0], false);
	settle(&f, b);
	watch_excluded(&f, other);
	assert_int_equal(b->n_profiled, 0);
	assert_int_equal(stats_of(&f).cgroups, 1);
	end(&f);
}

static void the_entry_goes_with_the_cgroup(void **state)
{
	struct busy *denied, *other;
	struct fixture f = {0};

	(void)state;
	begin(&f, deny_first());
	other = start(&f, make_cgroup(&f, "/docker/", ids[1]), "A=1");
	denied = start(&f, make_cgroup(&f, "/docker/", ids[0]), "A=1");
	wait_for_sh(denied);
	wait_for_sh(other);
	watch_excluded(&f, other);
	exclusions_update(f.exclusions);
	assert_int_equal(stats_of(&f).cgroups, 1);
	kill(denied->pid, SIGKILL);
	waitpid(denied->pid, NULL, 0);
	f.n_busy--;
	test_cgroup_remove(&f.cgroups[--f.n_cgroups]);
	exclusions_update(f.exclusions);
	assert_int_equal(stats_of(&f).cgroups, 0);
	end(&f);
}

/* Both are in one container. */
static void a_process_with_the_variable_is_excluded_and_its_neighbour_is_not(void **state)
{
	struct busy *asks, *other;
	struct test_cgroup *c;
	struct fixture f = {0};

	(void)state;
	begin(&f, NULL);
	c = make_cgroup(&f, "/docker/", ids[0]);
	asks = start(&f, c, "COROOT_EBPF_PROFILING=disabled");
	other = start(&f, c, "COROOT_EBPF_PROFILING=enabled");
	wait_for_sh(asks);
	wait_for_sh(other);
	settle(&f, asks);
	watch_excluded(&f, other);
	assert_int_equal(asks->n_profiled, 0);
	assert_int_equal(stats_of(&f).cgroups, 0);
	assert_int_equal(stats_of(&f).processes, 1);
	end(&f);
}

static void a_cgroup_that_does_not_name_the_container_is_not_excluded(void **state)
{
	struct busy *denied, *other;
	struct test_cgroup *shared;
	struct fixture f = {0};

	(void)state;
	/* bare processes: one is denied by name, and shares its cgroup with all others */
	begin(&f, "^/process/(sh|dash|bash|busybox)$");
	shared = make_cgroup(&f, "/shared", "");
	denied = start(&f, shared, "A=1");
	wait_for_sh(denied);
	other = &f.busy[f.n_busy++];
	other->pid = fork();
	if (other->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_cgroup_enter(shared);
		for (volatile unsigned n = 0;; n++)
			;
	}
	settle(&f, denied);
	watch_excluded(&f, other);
	assert_int_equal(denied->n_profiled, 0);
	assert_int_equal(stats_of(&f).cgroups, 0);
	assert_true(stats_of(&f).processes >= 1);
	end(&f);
}

/* Also if the event is lost: the kernel alone says so. */
static void an_excluded_process_is_forgotten_when_it_executes_something_else(void **state)
{
	char *const env[] = {(char[]){"COROOT_EBPF_PROFILING=disabled"}, NULL};
	struct busy *b, *other;
	struct fixture f = {0};

	begin(&f, NULL);
	other = start(&f, NULL, "A=1");
	b = &f.busy[f.n_busy++];
	b->pid = fork();
	if (b->pid == 0) {
		execle("/bin/sh", "sh", "-c",
		       "trap 'unset COROOT_EBPF_PROFILING;"
		       "  exec sh -c \"ulimit -t 300; while :; do :; done\"' USR1;"
		       "ulimit -t 300; while :; do :; done",
		       (char *)NULL, env);
		_exit(1);
	}
	wait_for_sh(b);
	wait_for_sh(other);
	drain(&f);
	watch_excluded(&f, other);
	assert_int_equal(stats_of(&f).processes, 1);
	f.loses_execs = *state != NULL;
	kill(b->pid, SIGUSR1);
	watch_profiled(&f, b);
	assert_int_equal(stats_of(&f).processes, 0);
	end(&f);
}

static void move(const struct busy *b, const struct test_cgroup *to)
{
	char path[PATH_MAX + 16];
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.procs", to->dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%d", (int)b->pid);
	assert_int_equal(fclose(file), 0);
}

/* Out of the container: the exclusion of its cgroup ends there, that of the process later. */
static void a_process_that_is_moved_to_another_container_is_profiled_there(void **state)
{
	struct test_cgroup *denied, *allowed;
	struct busy *b, *other;
	struct fixture f = {.recheck_ns = 1};

	(void)state;
	begin(&f, deny_first());
	denied = make_cgroup(&f, "/docker/", ids[0]);
	allowed = make_cgroup(&f, "/docker/", ids[1]);
	b = start(&f, denied, "A=1");
	other = start(&f, allowed, "A=1");
	wait_for_sh(b);
	wait_for_sh(other);
	settle(&f, b);
	watch_excluded(&f, other);
	assert_int_equal(b->n_profiled, 0);
	move(b, allowed);
	for (int i = 0; i < 6000 && b->n_profiled < ENOUGH; i++) {
		usleep(50000);
		drain(&f);
		exclusions_update(f.exclusions);
	}
	assert_true(b->n_profiled >= ENOUGH);
	assert_int_equal(stats_of(&f).processes, 0);
	end(&f);
}

/* A shell that makes children, most of which have exited when their first sample is handled. */
static void check_children(const char *variable, const char *child, bool is_dropped)
{
	char script[256], *const env[] = {(char *)(uintptr_t)variable, NULL};
	struct test_cgroup *c;
	struct fixture f = {0};
	struct busy *b;

	begin(&f, NULL);
	c = make_cgroup(&f, "/docker/", ids[0]);
	snprintf(script, sizeof(script), "ulimit -t 300; while :; do %s; done", child);
	b = &f.busy[f.n_busy++];
	b->pid = fork();
	if (b->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test_cgroup_enter(c);
		execle("/bin/sh", "sh", "-c", script, (char *)NULL, env);
		_exit(1);
	}
	wait_for_sh(b);
	drain(&f);
	f.parent = b;
	f.watched = c->id;
	for (int i = 0; i < 1000 && f.n_children_dropped + f.n_children_profiled < ENOUGH; i++) {
		usleep(300000);
		drain(&f);
	}
	assert_true(f.n_children_dropped + f.n_children_profiled >= ENOUGH);
	assert_int_equal(is_dropped ? f.n_children_profiled : f.n_children_dropped, 0);
	end(&f);
}

#define COUNT "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done"

static void children_that_exit_at_once_are_treated_as_their_parent(void **state)
{
	(void)state;
	check_children("COROOT_EBPF_PROFILING=disabled", "(" COUNT ")", true);
	check_children("COROOT_EBPF_PROFILING=disabled", "sh -c '" COUNT "'", true);
	check_children("A=1", "sh -c '" COUNT "'", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_denied_container_is_excluded_by_its_cgroup),
		cmocka_unit_test(each_layout_is_named_and_excluded_by_its_cgroup),
		cmocka_unit_test(an_agent_in_a_cgroup_namespace_sees_whole_paths),
		cmocka_unit_test(a_pod_can_be_excluded_while_it_runs_and_included_again),
		cmocka_unit_test(a_container_is_excluded_when_its_name_becomes_known),
		cmocka_unit_test(the_entry_goes_with_the_cgroup),
		cmocka_unit_test(a_process_with_the_variable_is_excluded_and_its_neighbour_is_not),
		cmocka_unit_test(a_cgroup_that_does_not_name_the_container_is_not_excluded),
		cmocka_unit_test(an_excluded_process_is_forgotten_when_it_executes_something_else),
		cmocka_unit_test_prestate(
			an_excluded_process_is_forgotten_when_it_executes_something_else,
			(char[]){"the event is lost"}),
		cmocka_unit_test(a_process_that_is_moved_to_another_container_is_profiled_there),
		cmocka_unit_test(children_that_exit_at_once_are_treated_as_their_parent),
	};

	return cmocka_run_group_tests(tests, start_group, stop_group);
}
