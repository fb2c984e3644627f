#include "node-agent/lines/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/system/clock.h"
#include "node-agent/lines/line_helper.h"

#define REPLY_TIMEOUT_NS (3 * NS_PER_S)

struct line_reader {
	pid_t pid;
	int socket;
	uint32_t n_requests;
	uint64_t left_ns; /* of the cycle */
	bool ended;
	uint8_t message[sizeof(struct line_reply) + LINE_ANSWER_MESSAGE_MAX_BYTES];
};

static pid_t start_helper(int socket)
{
	pid_t pid = fork();

	if (pid == 0)
		line_helper_run(socket);
	return pid;
}

int line_reader_new(struct line_reader **ret)
{
	CLEANUP(line_reader_freep) struct line_reader *r = calloc(1, sizeof(*r));
	AUTO_CLOSE int other = -1;
	int ends[2];

	if (!r)
		return -ENOMEM;
	r->socket = -1;
	r->left_ns = LINE_READER_CYCLE_NS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	r->socket = ends[0];
	other = ends[1];
	r->pid = start_helper(other);
	if (r->pid < 0)
		return -errno;
	*ret = TAKE_PTR(r);
	return 0;
}

void line_reader_free(struct line_reader *r)
{
	if (!r)
		return;
	closep(&r->socket);
	/* it may be at work on a request; that is limited, but nobody waits for the answer */
	if (r->pid > 0) {
		(void)kill(r->pid, SIGKILL);
		(void)waitpid(r->pid, NULL, 0);
	}
	free(r);
}

static int send_request(struct line_reader *r, const struct line_request *q, int fd)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {
			     .cmsg_len = CMSG_LEN(sizeof(fd)),
			     .cmsg_level = SOL_SOCKET,
			     .cmsg_type = SCM_RIGHTS,
		     }};
	struct line_request copy = *q;
	struct iovec data = {&copy, sizeof(copy)};
	const struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	return sendmsg(r->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Receives one message. Returns its length, 0 if the process has ended, or -EAGAIN. */
static ssize_t receive(struct line_reader *r, uint64_t until_ns)
{
	struct pollfd p = {.fd = r->socket, .events = POLLIN};
	uint64_t now_ns = clock_monotonic_ns();
	int ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return -EAGAIN;
	n = recv(r->socket, r->message, sizeof(r->message), MSG_DONTWAIT);
	return n < 0 ? -EAGAIN : n;
}

/* Waits for the reply to the last request; earlier ones that came too late are dropped. */
static int wait_for_reply(struct line_reader *r, struct line_answer *ret)
{
	uint64_t until_ns = clock_monotonic_ns() + REPLY_TIMEOUT_NS;
	struct line_reply reply;
	ssize_t n;

	do {
		n = receive(r, until_ns);
		if (n < 0)
			return -EAGAIN;
		if (n < (ssize_t)sizeof(reply))
			return -EPIPE;
		memcpy(&reply, r->message, sizeof(reply));
	} while (reply.number != r->n_requests);
	if (reply.result < 0)
		return reply.result == -ENOENT ? -ENOENT : -EIO;
	return line_answer_parse(ret, r->message + sizeof(reply), (size_t)n - sizeof(reply)) < 0
		       ? -EIO
		       : 0;
}

int line_reader_find(struct line_reader *r, uint32_t file, int fd, uint64_t size_bytes,
		     uint64_t vaddr, struct line_answer *ret)
{
	struct line_request q = {.file = file, .vaddr = vaddr};
	uint64_t begin_ns = clock_monotonic_ns(), spent_ns;
	int result;

	if (r->ended)
		return -EPIPE;
	if (size_bytes > LINE_READER_FILE_MAX_BYTES)
		return -EFBIG;
	if (r->left_ns == 0)
		return -EAGAIN;
	q.number = ++r->n_requests;
	if (q.number == 0) /* means none */
		q.number = r->n_requests = 1;
	result = send_request(r, &q, fd);
	if (result == 0)
		result = wait_for_reply(r, ret);
	r->ended = result == -EPIPE || result == -ECONNRESET;
	spent_ns = clock_monotonic_ns() - begin_ns;
	r->left_ns -= spent_ns < r->left_ns ? spent_ns : r->left_ns;
	/* an answer that did not come in time is for a later cycle */
	if (result == -EAGAIN)
		r->left_ns = 0;
	return result;
}

void line_reader_end_cycle(struct line_reader *r)
{
	r->left_ns = LINE_READER_CYCLE_NS;
}
