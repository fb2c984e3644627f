#include "node-agent/lines/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "node-agent/lines/line_helper.h"

#define OWN_PROGRAM "/proc/self/exe"
#define LIBRARY_PATH "LD_LIBRARY_PATH="

struct line_reader {
	pid_t pid;
	int socket;
	uint32_t number; /* of the last question */
	uint64_t asked_ns;
	uint64_t cpu_ns; /* of the last answer */
	bool waiting;    /* for its answer */
	bool ended;
	uint8_t message[sizeof(struct line_reply) + LINE_ANSWER_MESSAGE_MAX_BYTES];
};

/* Leaves the program the socket, and nothing else that is the agent's. Returns an errno. */
static int set_files(posix_spawn_file_actions_t *a, int socket)
{
	int r = posix_spawn_file_actions_adddup2(a, socket, LINE_HELPER_SOCKET);

	for (int fd = 0; r == 0 && fd < LINE_HELPER_SOCKET; fd++)
		r = posix_spawn_file_actions_addopen(a, fd, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(a, LINE_HELPER_SOCKET + 1);
	return r;
}

/* The agent blocks signals that it waits for otherwise, and ignores some. */
static int set_signals(posix_spawnattr_t *a)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawnattr_setsigmask(a, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(a, &all);
	if (r == 0)
		r = posix_spawnattr_setflags(a, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return r;
}

/* Of the environment, which may have keys, only where libraries are. */
static char *library_path(void)
{
	for (char **e = environ; *e; e++) {
		if (strncmp(*e, LIBRARY_PATH, sizeof(LIBRARY_PATH) - 1) == 0)
			return *e;
	}
	return NULL;
}

static int spawn(pid_t *ret, const char *program, int socket)
{
	char name[] = "coroot-node-agent", command[] = LINE_HELPER_COMMAND;
	char *const args[] = {name, command, NULL}, *const env[] = {library_path(), NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t signals;
	int r;

	r = posix_spawn_file_actions_init(&files);
	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&signals);
	if (r == 0) {
		r = set_files(&files, socket);
		if (r == 0)
			r = set_signals(&signals);
		if (r == 0)
			r = posix_spawn(ret, program, &files, &signals, args, env);
		posix_spawnattr_destroy(&signals);
	}
	posix_spawn_file_actions_destroy(&files);
	return -r;
}

int line_reader_new(struct line_reader **ret, const char *program)
{
	CLEANUP(line_reader_freep) struct line_reader *r = calloc(1, sizeof(*r));
	AUTO_CLOSE int other = -1;
	int ends[2], result;

	if (!r)
		return -ENOMEM;
	r->socket = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	r->socket = ends[0];
	other = ends[1];
	result = spawn(&r->pid, program ?: OWN_PROGRAM, other);
	if (result < 0) {
		r->pid = 0;
		return result;
	}
	*ret = TAKE_PTR(r);
	return 0;
}

void line_reader_free(struct line_reader *r)
{
	if (!r)
		return;
	closep(&r->socket);
	/* it may be at work on a question; that is limited, but nobody waits for the answer */
	if (r->pid > 0) {
		(void)kill(r->pid, SIGKILL);
		(void)waitpid(r->pid, NULL, 0);
	}
	free(r);
}

static int send_request(struct line_reader *r, struct line_request *q, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {
			     .cmsg_len = CMSG_LEN(sizeof(fd)),
			     .cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
		     }};
	struct iovec data = {q, sizeof(*q)};
	const struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(r->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int line_reader_ask(struct line_reader *r, const struct line_question *q)
{
	struct line_request request = {.file = q->file, .vaddr = q->vaddr, .cpu_ms = q->cpu_ms};
	int result;

	if (r->ended)
		return -EPIPE;
	if (q->size_bytes > LINE_READER_FILE_MAX_BYTES)
		return -EFBIG;
	if (r->waiting)
		return -EBUSY;
	if (++r->number == 0) /* means none */
		r->number = 1;
	request.number = r->number;
	result = send_request(r, &request, q->fd);
	r->asked_ns = clock_monotonic_ns();
	r->ended = result == -EPIPE || result == -ECONNRESET;
	r->waiting = result == 0;
	return r->ended ? -EPIPE : result;
}

/* Receives one message. Returns its length, 0 if the program has ended, or -EAGAIN. */
static ssize_t receive(struct line_reader *r, uint64_t until_ns)
{
	struct pollfd p = {.fd = r->socket, .events = POLLIN};
	uint64_t now_ns = clock_monotonic_ns();
	int ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return -EAGAIN;
	n = recv(r->socket, r->message, sizeof(r->message), MSG_DONTWAIT);
	if (n < 0)
		return errno == ECONNRESET ? 0 : -EAGAIN;
	return n;
}

static int parse_reply(const struct line_reader *r, const struct line_reply *reply, size_t len,
		       struct line_answer *ret)
{
	const uint8_t *frames = r->message + sizeof(*reply);

	if (reply->result < 0)
		return reply->result == -ENOENT || reply->result == -ETIMEDOUT ? reply->result
									       : -EIO;
	return line_answer_parse(ret, frames, len - sizeof(*reply)) < 0 ? -EIO : 0;
}

int line_reader_wait(struct line_reader *r, uint64_t timeout_ns, struct line_answer *ret)
{
	uint64_t until_ns = clock_monotonic_ns() + timeout_ns;
	struct line_reply reply = {0};
	ssize_t n;

	if (r->ended)
		return -EPIPE;
	do {
		n = receive(r, until_ns);
		if (n < 0)
			return -EAGAIN;
		if (n < (ssize_t)sizeof(reply)) {
			r->ended = true;
			return -EPIPE;
		}
		memcpy(&reply, r->message, sizeof(reply));
	} while (reply.number != r->number);
	r->waiting = false;
	r->cpu_ns = clock_monotonic_ns() - r->asked_ns;
	if (reply.cpu_ns > 0 && reply.cpu_ns < r->cpu_ns)
		r->cpu_ns = reply.cpu_ns;
	return parse_reply(r, &reply, (size_t)n, ret);
}

uint64_t line_reader_cpu_ns(const struct line_reader *r)
{
	return r->cpu_ns;
}
