#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "node-agent/runtime/pid_owner.h"
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

TEST(test_a_process_is_known_again_until_it_has_ended)
{
	AUTO_CLOSE int root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct pid_owner o, own;
	pid_t pid = start_child();

	assert_int_equal(pid_owner_read(&o, root_fd, pid), 0);
	assert_int_equal(pid_owner_read(&own, root_fd, getpid()), 0);
	assert_int_equal(o.id.pid, pid);
	assert_int_equal(o.id.exe.ino, own.id.exe.ino);
	assert_true(o.id.start_time >= own.id.start_time);
	for (int i = 0; i < 3; i++) {
		assert_true(pid_owner_executes(&o, root_fd));
		assert_true(pid_owner_is_current(&o, root_fd));
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(pid_owner_executes(&o, root_fd));
	assert_false(pid_owner_is_current(&o, root_fd));
	assert_int_equal(pid_owner_read(&o, root_fd, pid), -ENOENT);
	assert_int_equal(o.id.pid, pid);
}

TEST(test_another_process_of_the_same_program_is_not_the_same)
{
	AUTO_CLOSE int root_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct pid_owner o, other;
	pid_t pid = start_child();

	assert_int_equal(pid_owner_read(&o, root_fd, getpid()), 0);
	/* as if it had the pid of that one */
	other = o;
	other.id.pid = pid;
	assert_true(pid_owner_executes(&other, root_fd));
	assert_false(pid_owner_is_current(&other, root_fd));
	other = o;
	other.folder.ctime_ns++;
	assert_false(pid_owner_is_current(&other, root_fd));
	other = o;
	other.id.exe.ino++;
	assert_false(pid_owner_executes(&other, root_fd));
	assert_false(pid_owner_is_current(&other, root_fd));
	assert_true(pid_owner_is_current(&o, root_fd));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}
