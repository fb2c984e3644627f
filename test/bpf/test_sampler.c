/*
 * The sampler on the running kernel: needs root and BTF. The sampled programs are children of
 * this one, compiled with frame pointers, at the same addresses.
 *
 * All tests that can share one sampler do: verifying its programs takes an emulated kernel seconds
 * (make check-kernels). So what a test counts is of its own children, and since its beginning.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "node-agent/sample/sampler.h"
#include "test/lib/unit.h"

#define HZ 499
#define DEPTH 30
#define FUNCTION_BYTES 64 /* more than any of f1 … f30 has */
#define RING_BYTES (8u * 1024 * 1024)

static volatile uint64_t sink;
static volatile bool stop; /* never set, but the compiler must assume that functions return */

/* Asking for the frame's address makes the compiler set one up in this leaf too. */
static void __attribute__((noinline)) burn(void)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	while (!stop)
		sink += frame;
}

/* f1 calls burn(), each fN calls fN-1; the empty asm keeps the call from becoming a jump. */
#define CHAIN(n, callee)                                 \
	static void __attribute__((noinline)) f##n(void) \
	{                                                \
		callee();                                \
		__asm__ volatile("");                    \
	}
CHAIN(1, burn)
CHAIN(2, f1)
CHAIN(3, f2)
CHAIN(4, f3)
CHAIN(5, f4)
CHAIN(6, f5)
CHAIN(7, f6)
CHAIN(8, f7)
CHAIN(9, f8)
CHAIN(10, f9)
CHAIN(11, f10)
CHAIN(12, f11)
CHAIN(13, f12)
CHAIN(14, f13)
CHAIN(15, f14)
CHAIN(16, f15)
CHAIN(17, f16)
CHAIN(18, f17)
CHAIN(19, f18)
CHAIN(20, f19)
CHAIN(21, f20)
CHAIN(22, f21)
CHAIN(23, f22)
CHAIN(24, f23)
CHAIN(25, f24)
CHAIN(26, f25)
CHAIN(27, f26)
CHAIN(28, f27)
CHAIN(29, f28)
CHAIN(30, f29)

typedef void (*chain_fn)(void);
static const chain_fn chain[DEPTH] = {f1,  f2,  f3,  f4,  f5,  f6,  f7,  f8,  f9,  f10,
				      f11, f12, f13, f14, f15, f16, f17, f18, f19, f20,
				      f21, f22, f23, f24, f25, f26, f27, f28, f29, f30};

static void __attribute__((noinline)) recurse(unsigned n)
{
	if (n == 0)
		burn();
	else
		recurse(n - 1);
	__asm__ volatile("");
}

static void burn_deep(void)
{
	f30();
}

/* Pinned to the first CPU, for a test that samples no other. */
static void burn_on_first_cpu(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	(void)sched_setaffinity(0, sizeof(first), &first);
	f30();
}

static void __attribute__((noinline)) burn_too_deep(void)
{
	recurse(SAMPLER_USER_FRAMES + 50);
	__asm__ volatile("");
}

static void __attribute__((noinline)) read_zeros(void)
{
	static char zeros[1 << 20];
	int fd = open("/dev/zero", O_RDONLY);

	while (!stop)
		sink += (uint64_t)read(fd, zeros, sizeof(zeros));
}

/* libc's read() keeps no frame, so the walk goes from it to the caller of read_zeros(). */
static void __attribute__((noinline)) call_reader(void)
{
	read_zeros();
	__asm__ volatile("");
}

/* What the handlers saw of one process. */
struct seen {
	pid_t pid;
	unsigned n_samples;
	unsigned n_user;        /* without kernel frames */
	unsigned n_chain;       /* of n_user, with exactly f1 … f30 above burn() */
	unsigned n_depth_limit; /* of SAMPLER_USER_FRAMES frames */
	unsigned n_root;   /* of n_depth_limit, with burn() at one end and recurse()'s caller */
	unsigned n_kernel; /* with kernel frames */
	unsigned n_both;   /* of n_kernel, with call_reader() among the user frames */
	unsigned n_idle;   /* of pid 0 */
	unsigned n_fork;
	unsigned n_exec;
	unsigned n_exit;
	unsigned n_map;
	unsigned n_in_map;      /* of n_map, with in_map */
	uintptr_t in_map;       /* an address, set by the test */
	struct map_event map;   /* the last one that has it */
	struct fork_event fork; /* the last one whose parent is pid */
	struct exec_event exec; /* the last one */
	uint64_t start_ns;
	char comm[SAMPLER_COMM_BYTES];
};

static bool is_in(uint64_t addr, const void *fn, size_t bytes)
{
	return addr > (uintptr_t)fn && addr < (uintptr_t)fn + bytes;
}

static bool has_chain(const uint64_t *user, unsigned n)
{
	if (n < DEPTH + 1)
		return false;
	for (unsigned i = 0; i < DEPTH; i++) {
		if (!is_in(user[i + 1], (const void *)(uintptr_t)chain[i], FUNCTION_BYTES))
			return false;
	}
	return true;
}

static bool has_reader(const uint64_t *user, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (is_in(user[i], (const void *)(uintptr_t)call_reader, FUNCTION_BYTES))
			return true;
	}
	return false;
}

/* Whether both ends of a stack are there that is too deep: user addresses. */
static bool has_ends(const struct sample_event *e, const uint64_t *user)
{
	bool caller = false;

	for (unsigned i = e->root_at; i < e->n_user; i++)
		caller |= is_in(user[i], (const void *)(uintptr_t)burn_too_deep, FUNCTION_BYTES);
	return e->root_at == SAMPLER_ROOT_AT && caller &&
	       is_in(user[1], (const void *)(uintptr_t)recurse, FUNCTION_BYTES) &&
	       is_in(user[e->root_at], (const void *)(uintptr_t)recurse, FUNCTION_BYTES);
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	struct seen *s = ctx;
	const uint64_t *addrs = sample_event_addrs(e);

	s->n_idle += e->header.tgid == 0;
	if ((pid_t)e->header.tgid != s->pid)
		return;
	s->n_samples++;
	s->n_user += e->n_kernel == 0;
	s->n_chain += e->n_kernel == 0 && has_chain(addrs, e->n_user);
	s->n_depth_limit += e->end == WALK_END_DEPTH_LIMIT && e->n_user == SAMPLER_USER_FRAMES;
	s->n_root += e->n_user == SAMPLER_USER_FRAMES && has_ends(e, addrs + e->n_kernel);
	s->n_kernel +=
		e->n_kernel > 0 && e->flags & SAMPLE_IN_KERNEL && addrs[0] >= UINT64_C(1) << 63;
	s->n_both += e->n_kernel > 0 && has_reader(addrs + e->n_kernel, e->n_user);
	s->start_ns = e->header.start_boottime_ns;
	memcpy(s->comm, e->comm, sizeof(s->comm));
}

static void on_fork(void *ctx, const struct fork_event *e)
{
	struct seen *s = ctx;

	if ((pid_t)e->parent_tgid != s->pid)
		return;
	s->n_fork++;
	s->fork = *e;
}

static void on_exec(void *ctx, const struct exec_event *e)
{
	struct seen *s = ctx;

	if ((pid_t)e->header.tgid != s->pid)
		return;
	s->n_exec++;
	s->exec = *e;
}

static void on_exit_event(void *ctx, const struct event_header *e)
{
	struct seen *s = ctx;

	s->n_exit += (pid_t)e->tgid == s->pid;
}

static void on_map(void *ctx, const struct map_event *e)
{
	struct seen *s = ctx;

	if ((pid_t)e->header.tgid != s->pid)
		return;
	s->n_map++;
	if (e->start > s->in_map || s->in_map >= e->end)
		return;
	s->n_in_map++;
	s->map = *e;
}

static struct sampler_handlers handlers(struct seen *s)
{
	return (struct sampler_handlers){on_sample, on_fork, on_exec, on_exit_event,
					 on_map,    NULL,    s};
}

static void drain(struct sampler *sampler, struct seen *s)
{
	struct sampler_handlers h = handlers(s);

	assert_true(sampler_drain(sampler, &h) >= 0);
}

static struct sampler *new_sampler(const struct sampler_config *cfg)
{
	struct sampler *s = NULL;
	struct err err = {0};

	if (sampler_new(&s, cfg, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static struct sampler *shared;
static uint64_t lost_before;                            /* events of the shared sampler */
static char online_path[] = "/tmp/test_sampler.XXXXXX"; /* its list of CPUs */

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void list_all_cpus(void)
{
	char all[32];

	snprintf(all, sizeof(all), "0-%ld\n", sysconf(_SC_NPROCESSORS_CONF) - 1);
	write_text(online_path, all);
}

static int start_group(void **state)
{
	int fd = mkstemp(online_path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	list_all_cpus();
	shared = new_sampler(&(struct sampler_config){
		.hz = HZ,
		.kernel_stacks = true,
		.ring_bytes = RING_BYTES,
		.online_path = online_path,
	});
	return 0;
}

static int stop_group(void **state)
{
	(void)state;
	sampler_free(shared);
	unlink(online_path);
	return 0;
}

/* Returns the shared sampler, after discarding what it has of earlier tests. */
static struct sampler *begin(void)
{
	struct sampler_stats stats;
	struct seen nothing = {.pid = -1};

	drain(shared, &nothing);
	assert_int_equal(sampler_read_stats(shared, &stats), 0);
	lost_before = stats.kernel.events_lost;
	return shared;
}

static pid_t start_child(void (*body)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
		_exit(0);
	}
	return pid;
}

static void stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Events do not fit into the ring if this process has to wait too long for a CPU. */
static bool has_lost_events(void)
{
	struct sampler_stats stats;

	assert_int_equal(sampler_read_stats(shared, &stats), 0);
	return stats.kernel.events_lost > lost_before;
}

/* Samples until the counter at want has reached enough, for five minutes at most. */
static void watch(struct sampler *sampler, struct seen *s, const unsigned *want, unsigned enough)
{
	for (int i = 0; i < 6000 && *want < enough; i++) {
		usleep(50000);
		drain(sampler, s);
	}
}

/* Starts a child and waits for events of it, with another child if events were lost meanwhile. */
static void watch_events(struct seen *s, void (*body)(void), const unsigned *want, unsigned enough)
{
	for (;;) {
		(void)begin();
		*s = (struct seen){.pid = start_child(body), .in_map = s->in_map};
		watch(shared, s, want, enough);
		if (*want >= enough || !has_lost_events())
			return;
		stop_child(s->pid);
	}
}

/* ---- tests ---- */

TEST(a_chain_of_thirty_frames_arrives_whole)
{
	struct sampler *sampler = begin();
	struct seen s = {.pid = start_child(burn_deep)};

	watch(sampler, &s, &s.n_chain, 100);
	stop_child(s.pid);
	assert_true(s.n_chain >= 100);
	assert_true(s.n_chain >= s.n_user * 9 / 10); /* the rest: start of the child */
	assert_int_equal(s.n_idle, 0);
	assert_string_equal(s.comm, "test_sampler");
}

TEST(a_stack_beyond_the_limit_is_marked_and_keeps_both_ends)
{
	struct sampler *sampler = begin();
	struct seen s = {.pid = start_child(burn_too_deep)};

	watch(sampler, &s, &s.n_depth_limit, 10);
	stop_child(s.pid);
	assert_true(s.n_depth_limit >= 10);
	assert_true(s.n_root >= s.n_depth_limit);
}

TEST(a_tick_in_the_kernel_gives_both_halves_of_the_stack)
{
	struct sampler *sampler = begin();
	struct seen s = {.pid = start_child(call_reader)};

	watch(sampler, &s, &s.n_both, 50);
	stop_child(s.pid);
	assert_true(s.n_kernel >= 50);
	assert_true(s.n_both >= s.n_kernel / 2);
}

TEST(kernel_stacks_can_be_switched_off)
{
	CLEANUP(sampler_freep)
	struct sampler *sampler = new_sampler(&(struct sampler_config){.hz = HZ});
	struct seen s = {.pid = start_child(call_reader)};

	watch(sampler, &s, &s.n_samples, 50);
	stop_child(s.pid);
	assert_true(s.n_samples >= 50);
	assert_int_equal(s.n_kernel, 0);
}

TEST(the_start_time_is_that_of_proc)
{
	struct sampler *sampler = begin();
	struct seen s = {.pid = start_child(burn)};
	char path[64], text[1024] = "";
	const char *p;
	FILE *f;

	watch(sampler, &s, &s.n_samples, 5);
	snprintf(path, sizeof(path), "/proc/%d/stat", s.pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	stop_child(s.pid);

	p = strrchr(text, ')');
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	assert_non_null(p);
	assert_int_equal(s.start_ns / (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)),
			 strtoull(p, NULL, 10));
}

static bool all_ticks_are_counted(const struct sampler_stats *s)
{
	const struct sampler_counters *k = &s->kernel;

	return k->ticks == k->idle + k->excluded + k->sent + k->lost_ring_full + k->lost_no_task;
}

static int attach_to_all_cpus(void **state)
{
	(void)state;
	list_all_cpus();
	return sampler_update_cpus(shared, NULL) < 0;
}

TEST_FIXTURE(cpus_come_and_go_and_every_tick_is_accounted_for, NULL, attach_to_all_cpus)
{
	struct sampler_stats a, b;
	struct sampler *sampler = begin();
	struct seen s = {0};

	write_text(online_path, "0\n");
	assert_int_equal(sampler_update_cpus(sampler, NULL), sysconf(_SC_NPROCESSORS_CONF) - 1);
	s.pid = start_child(burn_on_first_cpu);
	assert_int_equal(sampler_read_stats(sampler, &a), 0);
	assert_int_equal(a.n_cpus, 1);
	assert_int_equal(sampler_update_cpus(sampler, NULL), 0);
	write_text(online_path, "0-1\n");
	assert_int_equal(sampler_update_cpus(sampler, NULL), sysconf(_SC_NPROCESSORS_CONF) > 1);
	watch(sampler, &s, &s.n_samples, 50);
	write_text(online_path, "\n"); /* no CPU: the counters do not change */
	assert_true(sampler_update_cpus(sampler, NULL) >= 1);
	stop_child(s.pid);

	assert_int_equal(sampler_read_stats(sampler, &a), 0);
	usleep(100000);
	assert_int_equal(sampler_read_stats(sampler, &b), 0);
	assert_int_equal(a.n_cpus, 0);
	assert_true(a.kernel.ticks >= 50);
	assert_int_equal(a.kernel.ticks, b.kernel.ticks);
	assert_true(all_ticks_are_counted(&a));
	assert_true(a.map_bytes > RING_BYTES && a.map_bytes < RING_BYTES + 16 * 1024 * 1024);
}

TEST(records_that_are_not_drained_are_counted_as_lost)
{
	CLEANUP(sampler_freep)
	struct sampler *sampler = new_sampler(
		&(struct sampler_config){.hz = HZ, .ring_bytes = (size_t)sysconf(_SC_PAGESIZE)});
	pid_t pid = start_child(burn_deep);
	struct sampler_stats stats;

	for (int i = 0; i < 6000; i++) {
		usleep(50000);
		assert_int_equal(sampler_read_stats(sampler, &stats), 0);
		if (stats.kernel.lost_ring_full > 20)
			break;
	}
	stop_child(pid);
	assert_true(stats.kernel.lost_ring_full > 20);
	assert_true(stats.kernel.sent > 0);
}

static void exec_true(void)
{
	usleep(20000);
	execl("/bin/true", "true", (char *)NULL);
}

static int child_exit[2]; /* a pipe; closing its write end makes the child exit */

static void *outlive_the_leader(void *arg)
{
	char byte;

	(void)arg;
	close(child_exit[1]);
	(void)!read(child_exit[0], &byte, 1);
	_exit(0);
}

static void leave_a_thread_behind(void)
{
	pthread_t t;

	pthread_create(&t, NULL, outlive_the_leader, NULL);
	syscall(SYS_exit, 0); /* this thread alone */
}

TEST(exec_and_exit_arrive)
{
	struct sampler *sampler;
	struct seen s;

	do {
		sampler = begin();
		s = (struct seen){.pid = start_child(exec_true)};
		assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
		drain(sampler, &s);
	} while ((s.n_exec == 0 || s.n_exit == 0) && has_lost_events());
	assert_int_equal(s.n_exec, 1);
	assert_int_equal(s.n_exit, 1);
	assert_string_equal(s.exec.path, "/bin/true");
}

static void exec_own_file(void)
{
	execl("/proc/self/exe", "test_sampler", "--wait", (char *)NULL);
	_exit(1);
}

/* Field n of /proc/<pid>/stat, from 3 on. */
static uint64_t stat_field(pid_t pid, unsigned n)
{
	char path[64], text[2048] = "", *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	at = strrchr(text, ')');
	assert_non_null(at);
	for (unsigned i = 2; i < n; i++) {
		at = strchr(at + 1, ' ');
		assert_non_null(at);
	}
	return strtoull(at, NULL, 10);
}

/* The same file in another process: what the event says must be what /proc says. */
TEST(an_exec_event_identifies_the_executable_and_its_addresses)
{
	struct seen s = {0};
	struct file_version said, own;
	AUTO_CLOSE int dir = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	watch_events(&s, exec_own_file, &s.n_exec, 1);
	assert_int_equal(s.n_exec, 1);
	assert_int_equal(file_version_read(dir, "exe", &own, NULL), 0);
	event_file_version(&s.exec.file, &said);
	assert_int_equal(said.id.ino, own.id.ino);
	assert_int_equal(said.id.size_bytes, own.id.size_bytes);
	assert_int_equal(said.id.mtime_ns, own.id.mtime_ns);
	assert_int_equal(said.ctime_ns, own.ctime_ns);
	assert_int_equal(s.exec.start_code, stat_field(s.pid, 26));
	assert_int_equal(s.exec.end_code, stat_field(s.pid, 27));
	assert_true(s.exec.vdso != 0);
	assert_string_equal(s.exec.path, "/proc/self/exe");
	stop_child(s.pid);
}

/*
 * The code of this file is in the executable, that of libc is not. A sample outside read() names
 * the library that called the test.
 */
TEST(the_first_samples_name_a_mapping_outside_the_executable)
{
	struct seen s = {.in_map = (uintptr_t)&read};
	bool named =
		libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_find_vma, NULL) == 1;

	watch_events(&s, call_reader, named ? &s.n_in_map : &s.n_samples, 1);
	watch(shared, &s, &s.n_samples, 30);
	stop_child(s.pid);
	assert_true(s.n_samples >= 30);
	if (!named) {
		assert_int_equal(s.n_map, 0);
		return;
	}
	assert_in_range(s.n_map, 1, 8);
	assert_true(s.n_in_map > 0);
	assert_true(s.map.file.ino != 0 && s.map.file.size_bytes > 0);
}

static void *wait_in_a_thread(void *arg)
{
	pause();
	return arg;
}

static void fork_twice(void)
{
	pthread_t thread;
	pid_t pid;

	/* a thread is no process */
	if (pthread_create(&thread, NULL, wait_in_a_thread, NULL) != 0)
		_exit(1);
	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	pause();
}

TEST(a_fork_names_parent_and_child)
{
	struct seen s = {0};

	watch_events(&s, fork_twice, &s.n_fork, 2);
	drain(shared, &s);
	assert_int_equal(s.n_fork, 2);
	assert_int_equal(s.fork.header.tgid, s.fork.header.tid);
	assert_int_not_equal(s.fork.header.tgid, s.pid);
	assert_int_equal(s.fork.parent_start_boottime_ns /
				 (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)),
			 stat_field(s.pid, 22));
	assert_true(s.fork.header.start_boottime_ns >= s.fork.parent_start_boottime_ns);
	stop_child(s.pid);
}

/* The leader stays a zombie as long as other threads of its process are alive. */
static void wait_until_leader_ended(pid_t pid)
{
	char path[64], text[1024] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 60000 && !strstr(text, ") Z "); i++) {
		FILE *f = fopen(path, "r");

		assert_non_null(f);
		assert_non_null(fgets(text, sizeof(text), f));
		fclose(f);
		usleep(5000);
	}
	assert_non_null(strstr(text, ") Z "));
}

TEST(a_process_ends_with_its_last_thread)
{
	struct sampler *sampler;
	struct seen s;

	do {
		sampler = begin();
		assert_int_equal(pipe(child_exit), 0);
		s = (struct seen){.pid = start_child(leave_a_thread_behind)};
		close(child_exit[0]);
		wait_until_leader_ended(s.pid);
		drain(sampler, &s);
		assert_int_equal(s.n_exit, 0);
		close(child_exit[1]);
		assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
		drain(sampler, &s);
	} while (s.n_exit == 0 && has_lost_events());
	assert_int_equal(s.n_exit, 1);
}

TEST(a_new_process_wakes_us_at_its_first_sample)
{
	/* so few samples that half a ring, which wakes us too, would take them many minutes */
	CLEANUP(sampler_freep)
	struct sampler *sampler =
		new_sampler(&(struct sampler_config){.hz = 19, .ring_bytes = RING_BYTES});
	struct pollfd p = {.fd = sampler_fd(sampler), .events = POLLIN};
	struct seen s = {0};

	usleep(200000); /* those that run already */
	drain(sampler, &s);
	s.pid = start_child(burn);
	while (s.n_samples == 0 && poll(&p, 1, 300000) > 0)
		drain(sampler, &s);
	stop_child(s.pid);
	assert_true(s.n_samples >= 1);
}

TEST(maps_can_be_reached_by_name)
{
	struct sampler *sampler = begin();
	uint32_t zero = 0, value = 0;

	assert_int_equal(sampler_map_fd(sampler, "events"), sampler_fd(sampler));
	assert_int_equal(bpf_map_lookup_elem(sampler_map_fd(sampler, "seen"), &zero, &value), 0);
	assert_int_equal(sampler_map_fd(sampler, "nothing"), -ENOENT);
}

TEST(a_rate_out_of_range_is_refused)
{
	struct sampler *s = NULL;
	struct err err = {0};

	assert_int_equal(sampler_new(&s, &(struct sampler_config){.hz = 0}, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "sample rate 0 Hz"));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--wait") == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		return 0;
	}
	return unit_run(start_group, stop_group);
}
