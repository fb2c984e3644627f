/*
 * Real processes in a PID namespace of the test's own: so what has started the test (make, a
 * terminal) is not among their ancestors. Needs root.
 */
#include "node-agent/workload/process_namer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "common/system/fs.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/name_rules.h"
#include "test/lib/unit.h"

#define WAIT_NS (120 * NS_PER_S)
#define PAUSE_US 20000

static char folder[] = "/tmp/test_process_namer.XXXXXX";
static int root_fd = -1;
static bool is_inside; /* the namespace */

static int enter_folder(void **state)
{
	(void)state;
	root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0 || !mkdtemp(folder) || chdir(folder) < 0 ? -1 : 0;
}

static int leave_folder(void **state)
{
	static const char *const files[] = {"app.py", "etl.py", "Makefile", "nightly.sh",
					    "loop.sh"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		(void)unlink(files[i]);
	(void)rmdir("shop/__pycache__");
	(void)rmdir("shop");
	(void)rmdir("blog");
	closep(&root_fd);
	return chdir("/") == 0 ? rmdir(folder) : -1;
}

/* All other processes of the namespace. */
static int kill_all(void **state)
{
	(void)state;
	if (!is_inside) /* these would be the machine's processes */
		return -1;
	(void)kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	return 0;
}

static void write_file(const char *name, const char *text)
{
	AUTO_CLOSE int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* With in_fd as standard input; -1: /dev/null. Neither has a terminal. */
static pid_t start(const char *const *argv, int in_fd)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDWR);

		(void)setsid();
		(void)dup2(in_fd >= 0 ? in_fd : null_fd, STDIN_FILENO);
		(void)dup2(null_fd, STDOUT_FILENO);
		(void)setenv("PATH", "/usr/bin:/bin", 1);
		(void)execvp(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	return pid;
}

/* An interactive shell with a terminal, whose other end is returned. */
static int start_session(pid_t *ret)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	assert_true(fd >= 0);
	assert_int_equal(grantpt(fd), 0);
	assert_int_equal(unlockpt(fd), 0);
	assert_int_equal(ptsname_r(fd, name, sizeof(name)), 0);
	*ret = fork();
	assert_true(*ret >= 0);
	if (*ret == 0) {
		int tty = -1;

		(void)setsid();
		tty = open(name, O_RDWR);
		(void)ioctl(tty, TIOCSCTTY, 0);
		for (int i = 0; i < 3; i++)
			(void)dup2(tty, i);
		(void)execl("/bin/bash", "-bash", "--norc", "--noprofile", "-i", NULL);
		_exit(127);
	}
	return fd;
}

struct search {
	const char *command_line; /* '|' for NUL */
	pid_t pid;
};

static int compare(void *ctx, pid_t pid)
{
	struct search *s = ctx;
	CLEANUP(buf_fini) struct buf text;
	char path[64];

	buf_init(&text, 4096);
	snprintf(path, sizeof(path), "%d/cmdline", (int)pid);
	if (fs_read_at(root_fd, path, &text) < 0 || text.len == 0)
		return 0;
	for (size_t i = 0; i + 1 < text.len; i++) {
		if (text.data[i] == '\0')
			text.data[i] = '|';
	}
	if (text.data[text.len - 1] == '\0' && strstr(text.data, s->command_line))
		s->pid = pid;
	return 0;
}

static pid_t wait_for_process(const char *command_line)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	struct search s = {command_line, 0};

	while (s.pid == 0 && clock_monotonic_ns() < end_ns) {
		assert_int_equal(procfs_each_pid(root_fd, compare, &s), 0);
		usleep(PAUSE_US);
	}
	if (s.pid == 0)
		fail_msg("no process is \"%s\"", command_line);
	return s.pid;
}

static int name_once(struct process_namer *n, pid_t pid, char ret[static 128])
{
	const struct cgroup_path cgroup = {.kind = CGROUP_NONE, .session = true};
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	AUTO_FREE char *exe = NULL;
	struct proc_stat st;
	struct process_to_name p = {.proc_fd = fd, .cgroup = &cgroup, .comm = st.comm};
	int r;

	if (fd < 0 || procfs_read_stat(fd, &st) < 0)
		return -ESRCH;
	r = procfs_read_link(fd, "exe", &exe);
	p.exe = exe ? exe : "";
	return r < 0 ? r : process_namer_name(n, &p, ret, 128);
}

/* Polls, because a process that is being started is still the one that has forked it. */
static void wait_for_name(struct process_namer *n, pid_t pid, const char *want)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;
	char name[128] = "";

	while (clock_monotonic_ns() < end_ns) {
		if (name_once(n, pid, name) == 0 && strcmp(name, want) == 0)
			return;
		usleep(PAUSE_US);
	}
	fail_msg("%d is called %s instead of %s", (int)pid, name, want);
}

static void a_python_program_is_called_as_its_script(void **state)
{
	const char *const argv[] = {"python3", "-u", "etl.py", "--password=x", NULL};
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	char name[128];

	(void)state;
	assert_int_equal(process_namer_new(&n, NULL), 0);
	write_file("etl.py", "import time\ntime.sleep(100000)\n");
	snprintf(name, sizeof(name), "/process%s/etl.py", strrchr(folder, '/'));
	wait_for_name(n, start(argv, -1), name);
}

static void start_in(const char *dir, const char *const *argv, const char *name)
{
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;

	assert_int_equal(process_namer_new(&n, NULL), 0);
	if (dir)
		assert_int_equal(chdir(dir), 0);
	wait_for_name(n, start(argv, -1), name);
	if (dir)
		assert_int_equal(chdir(".."), 0);
}

static void two_programs_of_a_common_name_are_two_applications(void **state)
{
	static const char sleeps[] = "import time\ntime.sleep(100000)\n";
	const char *const relative[] = {"python3", "main.py", NULL};
	const char *const module[] = {"python3", "-m", "main", NULL};
	char path[128], name[128];
	const char *const absolute[] = {"python3", path, NULL};

	(void)state;
	assert_int_equal(mkdir("shop", 0755), 0);
	assert_int_equal(mkdir("blog", 0755), 0);
	write_file("shop/main.py", sleeps);
	write_file("blog/main.py", sleeps);
	snprintf(path, sizeof(path), "%s/blog/main.py", folder);
	snprintf(name, sizeof(name), "/process%s/shop/main.py", strrchr(folder, '/'));
	start_in("shop", relative, name);
	snprintf(name, sizeof(name), "/process%s/blog/main.py", strrchr(folder, '/'));
	start_in("blog", relative, name);
	start_in("shop", absolute, name);
	snprintf(name, sizeof(name), "/process%s/shop/main", strrchr(folder, '/'));
	start_in("shop", module, name);
	assert_int_equal(unlink("shop/main.py"), 0);
	assert_int_equal(unlink("blog/main.py"), 0);
}

static void a_loader_is_called_as_its_program(void **state)
{
	static const char *const loaders[] = {"/lib64/ld-linux-x86-64.so.2",
					      "/lib/ld-linux-aarch64.so.1"};
	const char *loader = loaders[access(loaders[0], X_OK) == 0 ? 0 : 1];
	const char *const sleeps[] = {loader, "--library-path", "/x", "/bin/sleep", "100008", NULL};
	char name[128];
	const char *const python[] = {loader, "/usr/bin/python3", "etl.py", NULL};

	(void)state;
	start_in(NULL, sleeps, "/process/sleep");
	write_file("etl.py", "import time\ntime.sleep(100000)\n");
	snprintf(name, sizeof(name), "/process%s/etl.py", strrchr(folder, '/'));
	start_in(NULL, python, name);
}

static void what_make_runs_is_one_build(void **state)
{
	const char *const argv[] = {"make", "-s", NULL};
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	pid_t make;
	int pipe_fds[2];

	(void)state;
	assert_int_equal(process_namer_new(&n, NULL), 0);
	/* the compiler waits for its source */
	write_file("Makefile", "all:\n\tcc -x c -c -o /dev/null -\n");
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	make = start(argv, pipe_fds[0]);
	wait_for_name(n, wait_for_process("cc1|-quiet"), "/build/make");
	wait_for_name(n, make, "/build/make");
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void a_shell_script_and_its_commands_are_one(void **state)
{
	const char *const argv[] = {"./nightly.sh", NULL};
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	pid_t script;

	(void)state;
	assert_int_equal(process_namer_new(&n, NULL), 0);
	write_file("nightly.sh", "#!/bin/bash\nsleep 100001\nexit\n");
	script = start(argv, -1);
	wait_for_name(n, wait_for_process("sleep|100001"), "/process/nightly.sh");
	wait_for_name(n, script, "/process/nightly.sh");
}

static void a_session_is_its_users_and_a_daemon_is_not(void **state)
{
	static const char commands[] = "sleep 100002 &\n"
				       "setsid -f sleep 100003 </dev/null >/dev/null 2>&1\n"
				       "nohup bash loop.sh </dev/null >/dev/null 2>&1 &\n";
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	AUTO_CLOSE int fd = -1;
	pid_t shell, looped;

	(void)state;
	assert_int_equal(process_namer_new(&n, NULL), 0);
	write_file("loop.sh", "sleep 100004\nexit\n");
	fd = start_session(&shell);
	assert_int_equal(write(fd, commands, strlen(commands)), strlen(commands));
	wait_for_name(n, shell, "/session/root");
	wait_for_name(n, wait_for_process("sleep|100002"), "/session/root");
	wait_for_name(n, wait_for_process("sleep|100003"), "/process/sleep");
	looped = wait_for_process("sleep|100004");
	wait_for_name(n, looped, "/session/root");
	/* its shell outlives the session, which the namer remembers */
	assert_int_equal(kill(shell, SIGKILL), 0);
	assert_int_equal(waitpid(shell, NULL, 0), shell);
	wait_for_name(n, looped, "/process/loop.sh");
}

static void rules_override_everything(void **state)
{
	const char *const argv[] = {"make", "-s", NULL};
	CLEANUP(name_rules_unrefp) struct name_rules *rules = NULL;
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	struct err err = {""};

	(void)state;
	assert_int_equal(name_rules_new(&rules,
					"/python3[.0-9]* (app)\\.py$=/shop/\\1\n"
					"/sleep$=sleeper",
					&err),
			 0);
	assert_int_equal(process_namer_new(&n, rules), 0);
	write_file("app.py", "import time\ntime.sleep(100000)\n");
	write_file("Makefile", "all:\n\tpython3 app.py & sleep 100005; true\n");
	(void)start(argv, -1);
	wait_for_name(n, wait_for_process("python3|app.py"), "/shop/app");
	wait_for_name(n, wait_for_process("sleep|100005"), "/process/sleeper");
}

static uint64_t start_time_of(pid_t pid)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	struct proc_stat st;

	assert_true(fd >= 0);
	assert_int_equal(procfs_read_stat(fd, &st), 0);
	return st.start_time;
}

static void check_exited(struct process_namer *n, const char *exe,
			 const struct parent_to_name *parent, const char *want)
{
	const struct cgroup_path cgroup = {.kind = CGROUP_NONE, .session = true}; /* root's */
	const struct process_to_name p = {-1, exe, "x", &cgroup};
	char name[128];

	assert_int_equal(process_namer_name_exited(n, &p, parent, name, sizeof(name)), 0);
	assert_string_equal(name, want);
}

static void a_process_that_has_exited_is_named_by_its_parents(void **state)
{
	const char *const argv[] = {"make", "-s", NULL};
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	struct parent_to_name built, typed;
	AUTO_CLOSE int fd = -1;
	pid_t make, shell;

	(void)state;
	assert_int_equal(process_namer_new(&n, NULL), 0);
	write_file("Makefile", "all:\n\tsleep 100007; true\n");
	make = start(argv, -1);
	wait_for_name(n, wait_for_process("sleep|100007"), "/build/make");
	fd = start_session(&shell);
	wait_for_name(n, shell, "/session/root");
	built = (struct parent_to_name){root_fd, make, start_time_of(make)};
	typed = (struct parent_to_name){root_fd, shell, start_time_of(shell)};

	check_exited(n, "/usr/bin/as", &built, "/build/make");
	check_exited(n, "/usr/bin/vim", &typed, "/session/root");
	/* what is remembered of a parent outlives it */
	(void)kill_all(NULL);
	check_exited(n, "/usr/bin/as", &built, "/build/make");
	check_exited(n, "/usr/bin/vim", &typed, "/session/root");
	/* another process with that pid says nothing */
	built.start_time--;
	check_exited(n, "/usr/bin/as", &built, "/process/as");
}

static int name_afresh(void *arg)
{
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	char name[128];
	int r = process_namer_new(&n, NULL);

	return r == 0 ? name_once(n, *(pid_t *)arg, name) : r;
}

static void survives_every_failed_allocation(void **state)
{
	const char *const argv[] = {"./nightly.sh", NULL};
	pid_t pid;

	(void)state;
	write_file("nightly.sh", "#!/bin/bash\nsleep 100006\nexit\n");
	(void)start(argv, -1);
	pid = wait_for_process("sleep|100006");
	check_oom(name_afresh, &pid);
}

#define WITH_TEAR_DOWN(f) cmocka_unit_test_teardown(f, kill_all)

static int run_inside(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TEAR_DOWN(a_python_program_is_called_as_its_script),
		WITH_TEAR_DOWN(two_programs_of_a_common_name_are_two_applications),
		WITH_TEAR_DOWN(a_loader_is_called_as_its_program),
		WITH_TEAR_DOWN(what_make_runs_is_one_build),
		WITH_TEAR_DOWN(a_shell_script_and_its_commands_are_one),
		WITH_TEAR_DOWN(a_session_is_its_users_and_a_daemon_is_not),
		WITH_TEAR_DOWN(rules_override_everything),
		WITH_TEAR_DOWN(a_process_that_has_exited_is_named_by_its_parents),
		WITH_TEAR_DOWN(survives_every_failed_allocation),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}

/* Init of the namespace: reaps orphans. */
static void be_init(void)
{
	int status;
	pid_t test, ended;

	/* over /proc, because sanitizers read it, too */
	if (mount("proc", "/proc", "proc", 0, NULL) < 0) {
		perror("/proc");
		_exit(EXIT_FAILURE);
	}
	test = fork();
	if (test == 0) {
		is_inside = true;
		exit(run_inside() == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	do
		ended = waitpid(-1, &status, 0);
	while (ended >= 0 ? ended != test : errno == EINTR);
	_exit(ended == test && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

int main(void)
{
	int status;
	pid_t init;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		perror("a PID namespace of its own");
		return EXIT_FAILURE;
	}
	init = fork();
	if (init == 0)
		be_init();
	/* not exit: LSan would make a thread in the namespace, which has ended */
	_exit(init > 0 && waitpid(init, &status, 0) == init && WIFEXITED(status)
		      ? WEXITSTATUS(status)
		      : EXIT_FAILURE);
}
