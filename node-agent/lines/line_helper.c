/*
 * Two processes. The first one is the agent's binary, executed anew when the agent starts: it gives
 * up all rights, and waits. When there is a request, it forks the second one (line_server.h), which
 * serves it and those that follow, and exits when none has come for a while, or when its files have
 * used much memory: nothing of what libdw has allocated remains. If it ends in another way, by a
 * signal or because memory or time is up, the first one answers the request that did it.
 *
 * The first one reads nothing but how the second one ended, so no file can make it crash.
 */
#include "node-agent/lines/line_helper.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/privilege/helper_process.h"
#include "node-agent/lines/line_server.h"

static void answer_for_the_dead(int socket, struct line_serving *serving, int status)
{
	const struct line_reply reply = {.number = serving->number,
					 .result = helper_process_error(status)};

	if (serving->number != 0)
		(void)!send(socket, &reply, sizeof(reply), MSG_NOSIGNAL);
	serving->number = 0;
}

int line_helper_run(struct err *err)
{
	const int socket = HELPER_PROCESS_SOCKET, flags = MAP_SHARED | MAP_ANONYMOUS;
	struct line_serving *serving;
	int r;

	r = helper_process_begin("line-reader", err);
	if (r < 0)
		return r;
	/* cppcheck-suppress invalidFunctionArg */
	serving = mmap(NULL, sizeof(*serving), PROT_READ | PROT_WRITE, flags, -1, 0);
	if (serving == MAP_FAILED)
		return -errno;
	while (helper_process_has_message(socket, -1) && !helper_process_is_closed(socket)) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			line_server_run(socket, serving);
		if (pid < 0 || waitpid(pid, &status, 0) < 0)
			return -errno;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS)
			answer_for_the_dead(socket, serving, status);
	}
	return 0;
}
