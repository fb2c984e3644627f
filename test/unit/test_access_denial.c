/* Processes that may not be examined, as an agent sees them that has less rights than the test. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/access_denial.h"
#include "test/lib/unit.h"

TEST(test_the_reason_is_what_an_operator_can_change)
{
	assert_non_null(strstr(access_denial_reason(&(struct access_facts){0}), "CAP_SYS_PTRACE"));
	assert_non_null(
		strstr(access_denial_reason(&(struct access_facts){.is_hidden = true}), "hidepid"));
	assert_non_null(strstr(
		access_denial_reason(&(struct access_facts){.has_ptrace = true, .is_hidden = true}),
		"hidepid"));
	assert_non_null(strstr(access_denial_reason(&(struct access_facts){.has_ptrace = true,
									   .other_user_ns = true}),
			       "user namespace"));
	assert_non_null(strstr(access_denial_reason(&(struct access_facts){.has_ptrace = true}),
			       "security module"));
	/* memory belongs to the process's user, besides */
	assert_non_null(strstr(access_denial_reason(&(struct access_facts){.wish = ACCESS_READ,
									   .has_ptrace = true}),
			       "CAP_DAC_READ_SEARCH"));
	assert_non_null(
		strstr(access_denial_reason(&(struct access_facts){
			       .wish = ACCESS_READ, .has_ptrace = true, .has_read_search = true}),
		       "security module"));
	assert_non_null(
		strstr(access_denial_reason(&(struct access_facts){
			       .wish = ACCESS_WRITE, .has_ptrace = true, .has_read_search = true}),
		       "lacks CAP_DAC_OVERRIDE"));
	assert_non_null(
		strstr(access_denial_reason(&(struct access_facts){
			       .wish = ACCESS_WRITE, .has_ptrace = true, .has_override = true}),
		       "security module"));
}

/* Nobody without rights may see what it executes. */
static pid_t start_guarded(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)prctl(PR_SET_NAME, "guarded");
		(void)prctl(PR_SET_DUMPABLE, 0);
		(void)raise(SIGSTOP);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* In a process of its own, which has given up rights: 0, or the line that failed. */
static int check_denied(pid_t pid, const char *reason)
{
	AUTO_CLOSE int root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct access_denial d;
	struct program_id id;
	int r = program_id_read(root_fd, pid, &id);

	if (r != -EACCES && r != -EPERM)
		return __LINE__;
	access_denial_explain(&d, root_fd, pid, ACCESS_SEE);
	if (d.pid != pid || strcmp(d.name, "guarded") != 0)
		return __LINE__;
	return strstr(d.reason, reason) ? 0 : __LINE__;
}

static void expect_success(pid_t agent)
{
	int status;

	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(test_without_the_capability_that_is_the_reason)
{
	pid_t guarded = start_guarded(), agent = fork();

	if (agent == 0) {
		if (geteuid() == 0 &&
		    (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
			_exit(255);
		_exit(check_denied(guarded, "lacks CAP_SYS_PTRACE") & 255);
	}
	expect_success(agent);
	end_child(guarded);
}

/* It is root with all capabilities, in a namespace of its own. */
TEST(test_root_of_another_user_namespace_is_told_so)
{
	pid_t guarded = start_guarded(), agent = fork();
	int status;

	if (agent == 0) {
		if (unshare(CLONE_NEWUSER) < 0)
			_exit(254); /* not allowed here */
		_exit(check_denied(guarded, "user namespace") & 127);
	}
	assert_int_equal(waitpid(agent, &status, 0), agent);
	end_child(guarded);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 254)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Zombies and kernel threads execute nothing, so nothing is missed. */
TEST(test_what_executes_nothing_is_not_denied)
{
	pid_t zombie = fork(), agent;
	siginfo_t info;

	if (zombie == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0);
		_exit(0);
	}
	assert_int_equal(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
	agent = fork();
	if (agent == 0) {
		AUTO_CLOSE int root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct program_id id;

		if (geteuid() == 0 &&
		    (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0))
			_exit(255);
		if (program_id_read(root_fd, zombie, &id) != -ENOENT)
			_exit(1);
		/* kthreadd, unless that is somebody else in this pid namespace */
		if (access("/proc/2/cmdline", F_OK) == 0 && getpgid(2) == 0 &&
		    program_id_read(root_fd, 2, &id) != -ENOENT)
			_exit(2);
		_exit(0);
	}
	expect_success(agent);
	waitpid(zombie, NULL, 0);
}
