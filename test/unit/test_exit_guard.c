#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/agent/exit_guard.h"
#include "common/system/clock.h"
#include "test/lib/unit.h"

TEST(a_stop_that_does_not_end_is_ended)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct exit_guard g = {0};

		exit_guard_start(&g, clock_monotonic_ns() + 10 * NS_PER_MS);
		for (;;)
			pause();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_SUCCESS);
}

TEST(a_stop_that_ends_is_left_alone)
{
	struct exit_guard g = {0};

	exit_guard_stop(&g);
	exit_guard_start(&g, clock_monotonic_ns() + 3600 * NS_PER_S);
	exit_guard_stop(&g);
	exit_guard_stop(&g);
}
