#include "cluster-agent/symbols/symbol_reader.h"

#include <errno.h>
#include <sys/socket.h>

#include "cluster-agent/symbols/symbol_helper.h"
#include "common/privilege/helper_process.h"
#include "common/text/utf8.h"

struct symbol_reader {
	struct helper_process process;
	uint32_t number; /* of the last request */
	bool waiting;    /* for its answer */
	bool ended;
};

int symbol_reader_new(struct symbol_reader **ret, const char *program)
{
	CLEANUP(symbol_reader_freep) struct symbol_reader *r = calloc(1, sizeof(*r));
	int result;

	if (!r)
		return -ENOMEM;
	result = helper_process_start(&r->process, program, "coroot-cluster-agent",
				      SYMBOL_HELPER_COMMAND);
	if (result < 0)
		return result;
	*ret = TAKE_PTR(r);
	return 0;
}

void symbol_reader_free(struct symbol_reader *r)
{
	if (!r)
		return;
	helper_process_end(&r->process);
	free(r);
}

int symbol_reader_ask(struct symbol_reader *r, const struct symbol_reader_files *f)
{
	const int fds[] = {f->symbols, f->table, f->program};
	struct symbol_request request = {.has_program = f->program >= 0};
	int result;

	if (r->ended)
		return -EPIPE;
	if (r->waiting)
		return -EBUSY;
	if (++r->number == 0) /* means none */
		r->number = 1;
	request.number = r->number;
	result = helper_process_send(r->process.socket, &request, sizeof(request), fds,
				     request.has_program ? 3 : 2);
	r->waiting = result == 0;
	r->ended = result == -EPIPE || result == -ECONNRESET;
	return r->ended ? -EPIPE : result;
}

int symbol_reader_fd(const struct symbol_reader *r)
{
	return r->process.socket;
}

int symbol_reader_take(struct symbol_reader *r, struct symbol_reader_answer *ret)
{
	struct symbol_reply reply;
	ssize_t n;

	if (r->ended)
		return -EPIPE;
	n = recv(r->process.socket, &reply, sizeof(reply), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n <= 0) {
		r->ended = true;
		return -EPIPE;
	}
	if (n == HELPER_PROCESS_RESTART_BYTES) {
		r->waiting = false;
		return -ECONNRESET;
	}
	if (n != (ssize_t)sizeof(reply) || !r->waiting || reply.number != r->number)
		return -EAGAIN;
	r->waiting = false;
	ret->result = reply.result <= 0 ? reply.result : -EIO;
	memcpy(ret->why, reply.why, sizeof(ret->why));
	ret->why[utf8_make_printable(ret->why, strnlen(ret->why, sizeof(ret->why) - 1))] = '\0';
	return 0;
}
