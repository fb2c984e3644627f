#include "node-agent/lines/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/privilege/helper_process.h"
#include "common/system/clock.h"
#include "node-agent/lines/line_helper.h"

struct line_reader {
	struct helper_process process;
	uint32_t number; /* of the last question */
	uint64_t asked_ns;
	uint64_t cpu_ns; /* of the last answer */
	bool waiting;    /* for its answer */
	bool ended;
	uint8_t message[sizeof(struct line_reply) + LINE_ANSWER_MESSAGE_MAX_BYTES];
};

int line_reader_new(struct line_reader **ret, const char *program)
{
	CLEANUP(line_reader_freep) struct line_reader *r = calloc(1, sizeof(*r));
	int result;

	if (!r)
		return -ENOMEM;
	result = helper_process_start(&r->process, program, "coroot-node-agent",
				      LINE_HELPER_COMMAND);
	if (result < 0)
		return result;
	*ret = TAKE_PTR(r);
	return 0;
}

void line_reader_free(struct line_reader *r)
{
	if (!r)
		return;
	helper_process_end(&r->process);
	free(r);
}

int line_reader_ask(struct line_reader *r, const struct line_question *q)
{
	struct line_request request = {.file = q->file, .vaddr = q->vaddr, .cpu_ms = q->cpu_ms};
	const int fds[LINE_REQUEST_FDS] = {q->fd, q->package_fd};
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
	result = helper_process_send(r->process.socket, &request, sizeof(request), fds,
				     q->package_fd > 0 ? 2 : 1);
	r->asked_ns = clock_monotonic_ns();
	r->ended = result == -EPIPE || result == -ECONNRESET;
	r->waiting = result == 0;
	return r->ended ? -EPIPE : result;
}

/* Receives one message. Returns its length, 0 if the program has ended, or -EAGAIN. */
static ssize_t receive(struct line_reader *r, uint64_t until_ns)
{
	struct pollfd p = {.fd = r->process.socket, .events = POLLIN};
	uint64_t now_ns = clock_monotonic_ns();
	int ms = now_ns < until_ns ? (int)((until_ns - now_ns) / NS_PER_MS) + 1 : 0;
	ssize_t n;

	if (poll(&p, 1, ms) <= 0)
		return -EAGAIN;
	n = recv(r->process.socket, r->message, sizeof(r->message), MSG_DONTWAIT);
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
		if (n == HELPER_PROCESS_RESTART_BYTES) {
			r->waiting = false;
			r->cpu_ns = 0;
			return -ECONNRESET;
		}
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
