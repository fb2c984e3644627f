#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node-agent/record/record_child.h"
#include "test/lib/unit.h"

static char *shell[] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){"exit 7"}, NULL};

static void start(struct record_child *c)
{
	sigset_t signals;
	struct err err = {""};

	sigemptyset(&signals);
	assert_int_equal(record_child_start(c, shell, &signals, &err), 0);
}

TEST(a_command_is_executed_when_told_and_its_status_is_kept)
{
	struct record_child c;
	struct err err = {""};

	start(&c);
	assert_false(record_child_has_ended(&c, false));
	assert_int_equal(record_child_execute(&c, shell, &err), 0);
	record_child_release(&c);
	assert_true(record_child_has_ended(&c, true));
	assert_int_equal(c.status, 7);
}

TEST(one_that_was_not_executed_ends)
{
	struct record_child c;

	start(&c);
	record_child_fini(&c);
	assert_true(c.ended);
	assert_int_equal(c.status, 0);
}

/* Its parent is this process then. */
TEST(one_whose_recorder_was_killed_ends)
{
	pid_t recorder;
	int status;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	recorder = fork();
	if (recorder == 0) {
		struct record_child c;

		start(&c);
		_exit(0);
	}
	assert_int_equal(waitpid(recorder, &status, 0), recorder);
	assert_true(waitpid(-1, &status, 0) > 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
