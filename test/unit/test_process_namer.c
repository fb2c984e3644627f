/* Real processes. */
#include "node-agent/workload/process_namer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/name_rules.h"
#include "test/lib/unit.h"

#define SLEEPS "import time\ntime.sleep(100000)\n"
#define CHILDREN_MAX 8

static const char *folder;
static int root_fd = -1;
static pid_t children[CHILDREN_MAX];
static size_t n_children;

static int enter_folder(void **state)
{
	(void)state;
	folder = temp_dir();
	root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0 || chdir(folder) < 0 ? -1 : 0;
}

static int leave_folder(void **state)
{
	(void)state;
	closep(&root_fd);
	return chdir("/");
}

static int kill_children(void **state)
{
	(void)state;
	while (n_children > 0) {
		(void)kill(-children[--n_children], SIGKILL); /* and what it has started */
		(void)waitpid(children[n_children], NULL, 0);
	}
	return 0;
}

#define PROCESS_TEST(name) TEST_FIXTURE(name, NULL, kill_children)
GROUP_FIXTURE(enter_folder, leave_folder)

static void write_file(const char *name, const char *text)
{
	AUTO_CLOSE int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static pid_t start(const char *const *argv)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)setpgid(0, 0);
		(void)setenv("PATH", "/usr/bin:/bin", 1);
		(void)execvp(argv[0], (char **)(uintptr_t)argv);
		_exit(127);
	}
	assert_true(n_children < CHILDREN_MAX);
	children[n_children++] = pid;
	return pid;
}

static int name_once(struct process_namer *n, pid_t pid, char ret[static 128])
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	AUTO_FREE char *exe = NULL;
	struct proc_stat st;
	struct process_to_name p = {.proc_fd = fd, .comm = st.comm};
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
	char name[128] = "";

	eventually(name_once(n, pid, name) == 0 && strcmp(name, want) == 0);
}

static void start_in(const char *dir, const char *const *argv, const char *name)
{
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;

	assert_int_equal(process_namer_new(&n, NULL), 0);
	assert_int_equal(chdir(dir), 0);
	wait_for_name(n, start(argv), name);
	assert_int_equal(chdir(folder), 0);
}

PROCESS_TEST(a_python_program_is_called_as_its_script)
{
	const char *const argv[] = {"python3", "-u", "etl.py", "--password=x", NULL};
	char name[128];

	write_file("etl.py", SLEEPS);
	snprintf(name, sizeof(name), "/process%s/etl.py", strrchr(folder, '/'));
	start_in(folder, argv, name);
}

PROCESS_TEST(two_programs_of_a_common_name_are_two_applications)
{
	const char *const relative[] = {"python3", "main.py", NULL};
	const char *const module[] = {"python3", "-m", "main", NULL};
	char path[128], name[128];
	const char *const absolute[] = {"python3", path, NULL};

	assert_int_equal(mkdir("shop", 0755), 0);
	assert_int_equal(mkdir("blog", 0755), 0);
	write_file("shop/main.py", SLEEPS);
	write_file("blog/main.py", SLEEPS);
	snprintf(path, sizeof(path), "%s/blog/main.py", folder);
	snprintf(name, sizeof(name), "/process%s/shop/main.py", strrchr(folder, '/'));
	start_in("shop", relative, name);
	snprintf(name, sizeof(name), "/process%s/blog/main.py", strrchr(folder, '/'));
	start_in("blog", relative, name);
	start_in("shop", absolute, name);
	snprintf(name, sizeof(name), "/process%s/shop/main", strrchr(folder, '/'));
	start_in("shop", module, name);
}

PROCESS_TEST(what_started_a_program_does_not_name_it)
{
	const char *const script[] = {"./nightly.sh", NULL}, *const built[] = {"make", "-s", NULL};
	const char *const shell[] = {"sh", "-c", "sleep 100001; true", NULL};

	write_file("nightly.sh", "#!/bin/bash\nsleep 100001\nexit\n");
	write_file("Makefile", "all:\n\tsleep 100001; true\n");
	start_in(folder, script, "/process/nightly.sh");
	start_in(folder, built, "/process/make");
	start_in(folder, shell, "/process/dash");
}

PROCESS_TEST(rules_override_everything)
{
	const char *const python[] = {"python3", "app.py", NULL};
	const char *const sleeper[] = {"sleep", "100005", NULL};
	CLEANUP(name_rules_unrefp) struct name_rules *rules = NULL;
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	struct err err = {""};

	assert_int_equal(name_rules_new(&rules,
					"/python3[.0-9]* (app)\\.py$=/shop/\\1\n"
					"/sleep$=sleeper",
					&err),
			 0);
	assert_int_equal(process_namer_new(&n, rules), 0);
	write_file("app.py", SLEEPS);
	wait_for_name(n, start(python), "/shop/app");
	wait_for_name(n, start(sleeper), "/process/sleeper");
}

TEST(a_process_that_has_exited_is_called_as_its_executable)
{
	const struct process_to_name as = {-1, "/usr/bin/as", "x"}, unknown = {-1, "", "x"};
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	char name[128];

	assert_int_equal(process_namer_new(&n, NULL), 0);
	assert_int_equal(process_namer_name(n, &as, name, sizeof(name)), 0);
	assert_string_equal(name, "/process/as");
	assert_int_equal(process_namer_name(n, &unknown, name, sizeof(name)), 0);
	assert_string_equal(name, "/process/x");
	assert_int_equal(process_namer_name(n, &as, name, 12), 0);
	assert_string_equal(name, "/process/as");
	assert_int_equal(process_namer_name(n, &as, name, 11), 0);
	assert_string_equal(name, "/process/a");
}

static int name_afresh(void *arg)
{
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	char name[128];
	int r = process_namer_new(&n, NULL);

	return r == 0 ? name_once(n, *(pid_t *)arg, name) : r;
}

PROCESS_TEST(survives_every_failed_allocation)
{
	const char *const argv[] = {"python3", "etl.py", NULL};
	CLEANUP(process_namer_freep) struct process_namer *n = NULL;
	char name[128];
	pid_t pid;

	write_file("etl.py", SLEEPS);
	assert_int_equal(process_namer_new(&n, NULL), 0);
	pid = start(argv);
	snprintf(name, sizeof(name), "/process%s/etl.py", strrchr(folder, '/'));
	wait_for_name(n, pid, name);
	check_oom(name_afresh, &pid);
}
