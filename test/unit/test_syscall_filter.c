/* A filter cannot be removed, so tests use children, which exit with the line that failed. */
#include "common/privilege/syscall_filter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/data/buf.h"
#include "common/privilege/syscall_refusals.h"
#include "common/system/fs.h"
#include "common/telemetry/log.h"
#include "common/telemetry/metrics.h"
#include "test/lib/unit.h"

#define N_THREADS 4
#define QUERY 0xffffffffu

#define CHECK(condition)                 \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static int install(enum syscall_filter_mode mode, bool starts_programs)
{
	const struct syscall_filter_config cfg = {.mode = mode, .starts_programs = starts_programs};
	struct err err = {""};

	return syscall_filter_install(&cfg, &err);
}

/* Runs fn in a child; returns its wait status. */
static int status_of(int (*fn)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn() & 255);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void expect_line_0(int (*fn)(void))
{
	int status = status_of(fn);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- refused ---- */

/* personality(2) with this argument only reads; it is in no list */
static long call_refused(void)
{
	return syscall(SYS_personality, QUERY);
}

static pthread_barrier_t barrier;

static void *refused_thread(void *arg)
{
	bool *right = arg;

	pthread_barrier_wait(&barrier); /* all run */
	pthread_barrier_wait(&barrier); /* the filter is installed */
	*right = call_refused() == -1 && errno == EPERM;
	pthread_barrier_wait(&barrier); /* the main thread has seen all */
	return NULL;
}

static int count_filtered_threads(void)
{
	char path[64];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	while (tasks && (e = readdir(tasks))) {
		CLEANUP(buf_fini) struct buf text;

		buf_init(&text, 65536);
		snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", e->d_name);
		if (fs_read_at(AT_FDCWD, path, &text) == 0 && text.len > 0)
			n += memmem(text.data, text.len, "Seccomp:\t2", 10) != NULL;
	}
	if (tasks)
		closedir(tasks);
	return n;
}

static int refuse_in_all_threads(void)
{
	pthread_t threads[N_THREADS];
	bool right[N_THREADS] = {0};

	CHECK(pthread_barrier_init(&barrier, NULL, N_THREADS + 1) == 0);
	for (int i = 0; i < N_THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, refused_thread, &right[i]) == 0);
	pthread_barrier_wait(&barrier);
	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	pthread_barrier_wait(&barrier);
	CHECK(count_filtered_threads() >= N_THREADS);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		CHECK(right[i]);
	}
	CHECK(syscall_refusals_count() == N_THREADS);
	return 0;
}

TEST(test_threads_that_run_already_are_refused_too)
{
	expect_line_0(refuse_in_all_threads);
}

static int count_text(int fd, const char *text)
{
	char log[8192];
	ssize_t len = pread(fd, log, sizeof(log) - 1, 0);
	int n = 0;

	log[len > 0 ? len : 0] = '\0';
	for (const char *p = log; (p = strstr(p, text)); p++)
		n++;
	return n;
}

static int refuse_and_report(void)
{
	struct metrics *ms = NULL;
	struct buf text;
	int fd = (int)syscall(SYS_memfd_create, "log", 0);

	log_set_fd(fd);
	CHECK(metrics_new(&ms) == 0 && syscall_refusals_register(ms, "x") == 0);
	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	syscall_refusals_report();
	CHECK(count_text(fd, "call=") == 0);
	CHECK(call_refused() == -1 && call_refused() == -1);
	syscall_refusals_report();
	CHECK(call_refused() == -1);
	syscall_refusals_report();
	CHECK(count_text(fd, "call=personality") == 1);
	buf_init(&text, 65536);
	CHECK(metrics_write(ms, &text) == 0);
	CHECK(memmem(text.data, text.len, "\nx_syscalls_refused_total 3\n", 28));
	CHECK(raise(SIGSYS) == 0 && syscall_refusals_count() == 3);
	return 0;
}

TEST(test_a_refused_call_is_counted_and_named_once)
{
	expect_line_0(refuse_and_report);
}

static int refuse_sockets(void)
{
	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	CHECK(socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno == EAFNOSUPPORT);
	CHECK(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	CHECK(socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EPERM);
	CHECK(socket(AF_VSOCK, SOCK_STREAM, 0) < 0 && errno == EPERM);
	CHECK(socket(AF_ALG, SOCK_SEQPACKET, 0) < 0 && errno == EPERM);
	/* the kernel takes an int, and so must the filter */
	CHECK(syscall(SYS_socket, (UINT64_C(7) << 32) | AF_PACKET, SOCK_RAW, 0) < 0 &&
	      errno == EPERM);
	CHECK(socket(10000, SOCK_STREAM, 0) < 0 && errno == ENOSYS);
	CHECK(syscall_refusals_count() == 4);
	return 0;
}

TEST(test_sockets_of_unusual_families_are_refused)
{
	expect_line_0(refuse_sockets);
}

/* ---- absent ---- */

static int call_absent(void)
{
	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	CHECK(syscall(435, NULL, 0) < 0 && errno == ENOSYS); /* clone3 */
	CHECK(syscall(425, 1, NULL) < 0 && errno == ENOSYS); /* io_uring_setup */
	CHECK(syscall(1000) < 0 && errno == ENOSYS);
	CHECK(syscall_refusals_count() == 0);
	return 0;
}

TEST(test_calls_that_are_newer_than_the_list_are_absent)
{
	expect_line_0(call_absent);
}

/* ---- what libraries call of their own accord ---- */

/* Any of them may run in any thread, with all signals blocked, and must get an error. */
static int call_as_libraries_do(void)
{
	static const int numbers[] = {SYS_process_vm_readv, 440 /* process_madvise */};
	sigset_t all;

	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	sigfillset(&all);
	CHECK(sigprocmask(SIG_BLOCK, &all, NULL) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		CHECK(syscall(numbers[i], getpid(), NULL, 0, NULL, 0, 0) < 0 && errno == ENOSYS);
	CHECK(syscall_refusals_count() == 0);
	CHECK(sigprocmask(SIG_UNBLOCK, &all, NULL) == 0);
	CHECK(syscall(SYS_keyctl, 0, -3, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0) < 0 && errno == EPERM);
	CHECK(syscall(SYS_adjtimex, NULL) < 0 && errno == EPERM);
	CHECK(syscall_refusals_count() == 4);
	CHECK(syscall(SYS_tkill, getpid(), 0) == 0);
	return 0;
}

TEST(test_calls_of_libraries_do_not_kill)
{
	expect_line_0(call_as_libraries_do);
}

/* ---- fatal ---- */

static const char *fatal_name;
static enum syscall_filter_mode fatal_mode;

static int call_fatal(void)
{
	int number = seccomp_syscall_resolve_name(fatal_name);

	CHECK(install(fatal_mode, false) == 0);
	(void)syscall(number, -1, -1, -1, -1, -1, -1); /* would do nothing but fail */
	return 0;
}

static bool kills(const char *name, enum syscall_filter_mode mode)
{
	int status;

	fatal_name = name;
	fatal_mode = mode;
	status = status_of(call_fatal);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

TEST(test_fatal_calls_end_the_process)
{
	int n = 0;

	for (const struct syscall_group *g = syscalls_fatal; g->reason; g++) {
		for (const char *const *name = g->names; *name; name++) {
			if (seccomp_syscall_resolve_name(*name) < 0)
				continue; /* of other machines */
			n++;
			assert_true(kills(*name, SYSCALL_FILTER_ON));
		}
	}
	assert_true(n > 40);
}

static int make_namespace(void)
{
	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	(void)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	return 0;
}

static int type_into_terminal(void)
{
	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	CHECK(syscall(SYS_ioctl, 0, FIONREAD, &(int){0}) == 0 || errno != EPERM);
	(void)syscall(SYS_ioctl, -1, (UINT64_C(1) << 32) | TIOCSTI, "x");
	return 0;
}

#ifdef __x86_64__
static int call_as_32_bit(void)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid */
	return 0;
}

static int call_as_32_bit_filtered(void)
{
	CHECK(install(SYSCALL_FILTER_ON, false) == 0);
	return call_as_32_bit();
}
#endif

TEST(test_arguments_and_architectures_that_end_the_process)
{
	int (*const bodies[])(void) = {
		make_namespace,
		type_into_terminal,
#ifdef __x86_64__
		call_as_32_bit_filtered,
#endif
	};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		int status = status_of(bodies[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}

/* ---- modes ---- */

static int pass_all(void)
{
	CHECK(install(SYSCALL_FILTER_LOG, false) == 0);
	CHECK(call_refused() >= 0);
	CHECK(syscall(SYS_setns, -1, 0) < 0 && errno == EBADF);
#ifdef __x86_64__
	CHECK(call_as_32_bit() == 0);
#endif
	CHECK(syscall_refusals_count() == 0);
	return 0;
}

TEST(test_log_lets_every_call_pass)
{
	expect_line_0(pass_all);
	assert_false(kills("setns", SYSCALL_FILTER_OFF));
}

/* The exit status of a shell that runs the command. */
static int run_shell(const char *command)
{
	char *const argv[] = {strdup("sh"), strdup("-c"), strdup(command), NULL};
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, NULL) != 0 ||
	    waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int start_program(void)
{
	CHECK(install(SYSCALL_FILTER_ON, true) == 0);
	CHECK(run_shell("exit 7") == 7);
	CHECK(call_refused() >= 0);
	/* what would kill us is only refused: a program may try what it can do */
	CHECK(run_shell("unshare -U true 2>/dev/null || exit 8") == 8);
	CHECK(syscall(SYS_setns, -1, 0) < 0 && errno == EPERM);
	CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM);
	CHECK(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL) < 0 &&
	      errno == EPERM);
	return 0;
}

TEST(test_programs_start_if_the_agent_needs_one)
{
	expect_line_0(start_program);
}

/* ---- the lists ---- */

/* Newer than the library of Debian 12. */
static bool is_new(const char *name)
{
	static const char *const names[] = {
		"cachestat",     "fchmodat2", "map_shadow_stack", "futex_wait", "futex_wake",
		"futex_requeue", "mseal",     "process_mrelease", "uretprobe",  "uprobe"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static void check_names(const struct syscall_group *groups)
{
	for (const struct syscall_group *g = groups; g->reason; g++) {
		for (const char *const *n = g->names; *n; n++) {
			if (seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, *n) ==
				    __NR_SCMP_ERROR &&
			    !is_new(*n))
				fail_msg("no system call is called %s", *n);
		}
	}
}

TEST(test_names_are_of_system_calls)
{
	check_names(syscalls_common);
	check_names(syscalls_fatal);
	check_names(syscalls_absent);
	for (const struct syscall_limit *l = syscall_limits_common; l->name; l++)
		assert_true(seccomp_syscall_resolve_name(l->name) >= 0);
}

TEST(test_an_own_group_takes_precedence)
{
	const struct syscall_group own[] = {{"sampling", SYSCALLS("bpf")}, {0}};
	const struct syscall_filter_config with = {.own = own}, without = {0},
					   plugin = {.starts_programs = true};

	assert_int_equal(syscall_filter_verdict(&with, SYS_bpf), SYSCALL_ALLOWED);
	assert_int_equal(syscall_filter_verdict(&without, SYS_bpf), SYSCALL_FATAL);
	assert_int_equal(syscall_filter_verdict(&without, SYS_execve), SYSCALL_FATAL);
	assert_int_equal(syscall_filter_verdict(&plugin, SYS_execve), SYSCALL_ALLOWED);
	assert_int_equal(syscall_filter_verdict(&plugin, SYS_mount), SYSCALL_FATAL);
	assert_int_equal(syscall_filter_verdict(&without, SYS_personality), SYSCALL_REFUSED);
	assert_int_equal(syscall_filter_verdict(&without, SYS_read), SYSCALL_ALLOWED);
	assert_int_equal(syscall_filter_verdict(&without, 435), SYSCALL_ABSENT);
	assert_int_equal(syscall_filter_verdict(&without, -1), SYSCALL_ABSENT);
	assert_int_equal(syscall_filter_verdict(&without, 1 << 30), SYSCALL_ABSENT);
#ifdef __x86_64__
	assert_int_equal(syscall_filter_verdict(&without, 335), SYSCALL_ALLOWED); /* uretprobe */
	assert_int_equal(syscall_filter_verdict(&without, 336), SYSCALL_ALLOWED); /* uprobe */
#endif
}
