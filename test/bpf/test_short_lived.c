/*
 * Processes that have all exited when their first sample is handled: nothing of them can be read,
 * so what their samples are named by is what the kernel's events said. Needs root and BTF.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/sample/sampler.h"
#include "test/lib/unit.h"

#define HZ 499
#define RING_BYTES (8u * 1024 * 1024)
#define BURN_NS (20 * NS_PER_MS) /* of CPU time */
#define ENOUGH_SAMPLES 50
#define TOGETHER 16       /* children at a time */
#define MAX_CHILDREN 4000 /* a multiple */

static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void __attribute__((noinline)) burn(void)
{
	uint64_t begin_ns = cpu_ns();

	while (cpu_ns() - begin_ns < BURN_NS) {
		for (unsigned i = 0; i < 100000; i++)
			sink += i;
	}
}

static struct sampler *sampler; /* of both tests (test_sampler.c says why) */

static int start_group(void **state)
{
	const struct sampler_config cfg = {.hz = HZ, .ring_bytes = RING_BYTES};
	struct err err = {0};

	(void)state;
	if (sampler_new(&sampler, &cfg, &err) < 0)
		fail_msg("%s", err.msg);
	return 0;
}

static int stop_group(void **state)
{
	(void)state;
	sampler_free(sampler);
	return 0;
}

struct seen {
	struct process_table *table;
	const struct process_snapshot *own; /* of this process */
	pid_t children[MAX_CHILDREN];
	unsigned n_children;
	const char *comm; /* of the samples to look at */
	unsigned n_samples;
	unsigned n_mapped; /* whose process is known to have mapped this executable */
	unsigned n_named;  /* in burn() or what it calls */
};

static bool is_child(const struct seen *s, pid_t pid)
{
	for (unsigned i = 0; i < s->n_children; i++) {
		if (s->children[i] == pid)
			return true;
	}
	return false;
}

/* Whether both addresses are of the same byte of this executable. */
static bool is_same_code(const struct process_snapshot *a, uint64_t in_a, uint64_t offset)
{
	const struct process_mapping *m = process_snapshot_find(a, in_a);

	return m && m->kind == PROCESS_MAPPING_FILE && m->file->fd >= 0 &&
	       in_a - m->start + m->file_offset == offset;
}

static uint64_t own_offset(const struct seen *s, uintptr_t addr)
{
	const struct process_mapping *m = process_snapshot_find(s->own, addr);

	assert_non_null(m);
	return addr - m->start + m->file_offset;
}

static bool maps_own_file(const struct seen *s, const struct process_snapshot *snapshot)
{
	const struct mapped_file *own = process_snapshot_find(s->own, (uintptr_t)burn)->file;

	for (size_t i = 0; i < snapshot->n_mappings; i++) {
		if (snapshot->mappings[i].file == own)
			return true;
	}
	return false;
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	struct seen *s = ctx;
	const uint64_t *user = sample_event_addrs(e) + e->n_kernel;
	const struct process_seen seen = {
		.pid = (pid_t)e->header.tgid,
		.tid = (pid_t)e->header.tid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.cgroup_id = e->cgroup_id,
		.comm = e->comm,
		.kernel_thread = e->flags & SAMPLE_KERNEL_THREAD,
		.addrs = user,
		.n_addrs = e->n_user,
	};
	uint64_t first = own_offset(s, (uintptr_t)burn), size = 512;
	struct process_snapshot *snapshot;

	if (!is_child(s, seen.pid))
		return;
	assert_int_equal(process_table_get(s->table, &seen, clock_monotonic_ns(), &snapshot), 0);
	if (strcmp(e->comm, s->comm) != 0 || e->flags & SAMPLE_IN_KERNEL || e->n_user < 1)
		return; /* in the kernel, execve(2) may not be done yet */
	/* libc's clock_gettime() and the vDSO are not the executable: look at their caller */
	s->n_samples++;
	s->n_mapped += maps_own_file(s, snapshot);
	for (unsigned i = 0; i < e->n_user && i < 3; i++) {
		for (uint64_t offset = first; offset < first + size; offset++) {
			if (is_same_code(snapshot, user[i], offset)) {
				s->n_named++;
				return;
			}
		}
	}
}

static void on_fork(void *ctx, const struct fork_event *e)
{
	struct seen *s = ctx;
	const struct process_fork event = {
		.pid = (pid_t)e->header.tgid,
		.parent = (pid_t)e->parent_tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.parent_start_boottime_ns = e->parent_start_boottime_ns,
		.cgroup_id = e->cgroup_id,
	};

	assert_int_equal(process_table_fork(s->table, &event), 0);
}

static void on_exec(void *ctx, const struct exec_event *e)
{
	struct seen *s = ctx;
	struct process_exec event = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.cgroup_id = e->cgroup_id,
		.end_code = e->end_code,
		.vdso = e->vdso,
		.path = e->path,
	};

	event_file_version(&e->file, &event.file);
	assert_int_equal(process_table_exec(s->table, &event), 0);
}

static void on_exit_event(void *ctx, const struct event_header *e)
{
	struct seen *s = ctx;

	process_table_exit(s->table, (pid_t)e->tgid, e->start_boottime_ns, clock_monotonic_ns());
}

static void on_map(void *ctx, const struct map_event *e)
{
	struct seen *s = ctx;
	struct process_map map = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.start = e->start,
		.end = e->end,
		.file_offset = e->page_offset * (uint64_t)sysconf(_SC_PAGESIZE),
	};
	struct file_version file;

	event_file_version(&e->file, &file);
	map.file = file.id;
	assert_int_equal(process_table_map(s->table, &map), 0);
}

static void burn_after_exec(void)
{
	execl("/proc/self/exe", "short", "--burn", (char *)NULL);
}

/* Whether an event was lost since the last call, which makes *lost their number. */
static bool has_lost_events(uint64_t *lost)
{
	struct sampler_stats stats;
	uint64_t before = *lost;

	assert_int_equal(sampler_read_stats(sampler, &stats), 0);
	*lost = stats.kernel.events_lost;
	return *lost > before;
}

/*
 * Samples children until there are enough; none is alive when its samples are handled. The ring
 * may have been too small for the time in which all of them ran; then they do not count.
 */
static void run(struct seen *s, void (*body)(void), const char *comm)
{
	const struct sampler_handlers h = {on_sample, on_fork, on_exec, on_exit_event,
					   on_map,    NULL,    s};
	uint64_t lost = 0;

	s->comm = comm;
	assert_true(sampler_drain(sampler, &h) >= 0);
	(void)has_lost_events(&lost);
	for (unsigned n = 0; s->n_named < ENOUGH_SAMPLES && n < MAX_CHILDREN; n += TOGETHER) {
		unsigned n_before = s->n_children;

		for (unsigned i = 0; i < TOGETHER; i++) {
			pid_t pid = fork();

			assert_true(pid >= 0);
			if (pid == 0) {
				body();
				_exit(0);
			}
			s->children[s->n_children++] = pid;
		}
		while (waitpid(-1, NULL, 0) > 0)
			;
		assert_int_equal(errno, ECHILD);
		if (has_lost_events(&lost))
			s->n_children = n_before;
		assert_true(sampler_drain(sampler, &h) >= 0);
	}
}

static void check(void (*body)(void), const char *comm)
{
	CLEANUP(process_table_freep) struct process_table *t = NULL;
	CLEANUP(process_snapshot_unrefp) struct process_snapshot *own = NULL;
	const struct process_seen self = {.pid = getpid(), .comm = "test_short_live"};
	struct process_table_stats stats;
	struct process_seen seen = self;
	static struct seen s;

	s = (struct seen){0};
	assert_int_equal(process_table_new(&t, &(struct process_table_config){0}, NULL), 0);
	assert_true(process_table_scan(t) > 0);
	/* another process of the same file, which could be read */
	seen.start_boottime_ns = 0;
	{
		AUTO_CLOSE int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct proc_stat st;

		assert_int_equal(procfs_read_stat(fd, &st), 0);
		seen.start_boottime_ns =
			st.start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
	}
	assert_int_equal(process_table_get(t, &seen, 1, &own), 0);
	process_snapshot_ref(own);
	assert_false(own->unreadable);
	s.table = t;
	s.own = own;
	run(&s, body, comm);
	process_table_read_stats(t, &stats);
	assert_true(stats.restored > 0);
	print_message("%u of %u samples of %u processes have names\n", s.n_named, s.n_samples,
		      s.n_children);
	assert_int_equal(s.n_mapped, s.n_samples);
	/* the others: libraries, and the program's start and end */
	assert_true(s.n_named >= ENOUGH_SAMPLES);
}

TEST(programs_are_named_by_their_exec_events)
{
	check(burn_after_exec, "exe");
}

TEST(children_without_a_program_of_their_own_are_named_by_their_parent)
{
	check(burn, "test_short_live");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--burn") == 0) {
		burn();
		return 0;
	}
	return unit_run(start_group, stop_group);
}
