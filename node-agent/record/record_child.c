/*
 * The child asks to be traced before it executes, so the kernel stops it with SIGTRAP when its new
 * program is in place and nothing of it has run. That it was traced is over before the first
 * instruction, so debuggers and programs that look for one see nothing. Where ptrace(2) is not
 * allowed, the child just runs, and its first samples come before the table.
 *
 * execve(2) of a set-user-id program does not change the user of a process that is traced by
 * somebody without CAP_SYS_PTRACE. So without that capability there is no trace.
 */
#include "node-agent/record/record_child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/privilege/capabilities.h"

#define STATUS_NOT_FOUND 127
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_SIGNAL 128

static bool may_trace(void)
{
	return capabilities_held() & CAPABILITY(CAP_SYS_PTRACE);
}

/* In the child, which may only do what is safe in a signal handler. Exits with errno. */
static _Noreturn void be_child(char **command, const sigset_t *signals, const int go[2], bool trace)
{
	char byte;

	/* else it would never see that the recorder has closed its end */
	(void)close(go[1]);
	if (trace)
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	if (read(go[0], &byte, 1) != 1)
		_exit(0); /* the recorder is gone */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, signals, NULL);
	(void)execvp(command[0], command);
	_exit(errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

int record_child_start(struct record_child *c, char **command, const sigset_t *signals,
		       struct err *err)
{
	bool trace = may_trace();
	int go[2];

	*c = (struct record_child){.go_fd = -1};
	if (pipe2(go, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %m");
	c->pid = fork();
	if (c->pid == 0)
		be_child(command, signals, go, trace);
	close(go[0]);
	c->go_fd = go[1];
	c->held = trace;
	if (c->pid > 0)
		return 0;
	c->pid = 0;
	return err_set(err, -errno, "cannot start a process: %m");
}

static void note_end(struct record_child *c, int status)
{
	c->ended = true;
	c->held = false;
	c->status = WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Waits until it is stopped by execve(2), or ends. Other signals are passed on. */
static void wait_for_program(struct record_child *c)
{
	int status, r;

	while (!c->ended) {
		r = waitpid(c->pid, &status, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return;
		if (!WIFSTOPPED(status))
			note_end(c, status);
		else if (WSTOPSIG(status) == SIGTRAP)
			return;
		else
			(void)ptrace(PTRACE_CONT, c->pid, NULL, (long)WSTOPSIG(status));
	}
}

int record_child_execute(struct record_child *c, char **command, struct err *err)
{
	ssize_t n = write(c->go_fd, "", 1);

	close(c->go_fd);
	c->go_fd = -1;
	if (n == 1 && c->held)
		wait_for_program(c);
	if (!c->ended || (c->status != STATUS_NOT_FOUND && c->status != STATUS_NOT_EXECUTABLE))
		return 0;
	return err_set(err, -ENOEXEC, "%s: %s", command[0],
		       c->status == STATUS_NOT_FOUND ? "command not found" : "cannot be executed");
}

void record_child_release(struct record_child *c)
{
	if (c->held)
		(void)ptrace(PTRACE_DETACH, c->pid, NULL, NULL);
	c->held = false;
}

bool record_child_has_ended(struct record_child *c, bool wait)
{
	int status, r;

	while (c->pid > 0 && !c->ended) {
		r = waitpid(c->pid, &status, wait ? 0 : WNOHANG);
		if (r == c->pid && (WIFEXITED(status) || WIFSIGNALED(status)))
			note_end(c, status);
		else if (r == c->pid) /* a signal reached it while it was traced */
			(void)ptrace(PTRACE_CONT, c->pid, NULL, (long)WSTOPSIG(status));
		else if (r == 0 || (r < 0 && errno != EINTR))
			break;
	}
	return c->pid == 0 || c->ended;
}

void record_child_fini(struct record_child *c)
{
	if (c->pid == 0 || c->ended)
		return;
	if (c->go_fd >= 0) {
		close(c->go_fd);
		(void)record_child_has_ended(c, true);
	}
	record_child_release(c);
}
