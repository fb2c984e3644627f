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
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/privilege/capabilities.h"
#include "node-agent/lines/line_server.h"

#define NICE 10

static int error_of_end(int status)
{
	bool late =
		WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);

	return late ? -ETIMEDOUT : -EIO;
}

static void answer_for_the_dead(int socket, struct line_serving *serving, int status)
{
	const struct line_reply reply = {.number = serving->number, .result = error_of_end(status)};

	if (serving->number != 0)
		(void)!send(socket, &reply, sizeof(reply), MSG_NOSIGNAL);
	serving->number = 0;
}

/* Where memory runs out, this process ends and not the agent. */
static void offer_to_oom_killer(void)
{
	AUTO_CLOSE int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)!write(fd, "1000", 4);
}

static int give_up_rights(void)
{
	offer_to_oom_killer();
	process_harden();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "line-reader");
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	/* the agent decides when to end, and closes the socket */
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	return capabilities_keep(0);
}

static bool is_closed(int socket)
{
	char c;

	return recv(socket, &c, sizeof(c), MSG_PEEK | MSG_DONTWAIT) == 0;
}

static bool is_our_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

int line_helper_run(struct err *err)
{
	const int socket = LINE_HELPER_SOCKET, flags = MAP_SHARED | MAP_ANONYMOUS;
	struct line_serving *serving;
	int r;

	if (!is_our_socket(socket))
		return err_set(err, -ENOTSOCK, "the node agent starts this command by itself");
	r = give_up_rights();
	if (r < 0)
		return err_set(err, r, "cannot give up capabilities: %s", strerror(-r));
	/* cppcheck-suppress invalidFunctionArg */
	serving = mmap(NULL, sizeof(*serving), PROT_READ | PROT_WRITE, flags, -1, 0);
	if (serving == MAP_FAILED)
		return -errno;
	while (line_server_has_request(socket, -1) && !is_closed(socket)) {
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
