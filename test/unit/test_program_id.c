#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "node-agent/procfs/procfs.h"
#include "test/lib/unit.h"

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

/* Its parent has not waited for it yet, or has. */
TEST(test_a_process_that_has_ended_executes_nothing)
{
	AUTO_CLOSE int root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct program_id id, own;
	pid_t pid = start_child();
	siginfo_t info;

	assert_int_equal(program_id_read(root_fd, pid, &id), 0);
	assert_int_equal(program_id_read(root_fd, getpid(), &own), 0);
	assert_int_equal(id.pid, pid);
	assert_true(file_id_same_file(&id.exe, &own.exe));
	assert_int_equal(id.library.ino, 0);
	assert_true(id.start_time >= own.start_time);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(program_id_read(root_fd, pid, &id), -ENOENT);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(program_id_read(root_fd, pid, &id), -ESRCH);
}

TEST(test_kernel_threads_execute_nothing)
{
	AUTO_CLOSE int root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct program_id id;

	if (program_id_read(root_fd, 2, &id) == -ESRCH)
		skip(); /* the container's processes only */
	assert_int_equal(program_id_read(root_fd, 2, &id), -ENOENT);
}
