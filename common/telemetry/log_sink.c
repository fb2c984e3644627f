/*
 * Writes log lines without ever waiting for whoever reads them.
 *
 * stderr is usually a pipe or a socket to a log collector. When the collector stalls, a write
 * blocks, and an agent that logs on its loop thread would stop sampling because of its log.
 * Setting O_NONBLOCK on descriptor 2 is no way out: the flag belongs to the open file
 * description, which other processes share (a shell loses its terminal's blocking mode). So a
 * pipe or terminal is opened again by way of /proc, which makes a description of our own with the
 * flag; a socket, which cannot be opened again, is written with MSG_DONTWAIT; regular files do
 * not block on readers.
 *
 * If a pipe cannot be opened again (it belongs to another user, or /proc is missing), poll(2) is
 * asked first. A pipe that polls writable takes PIPE_BUF bytes, so a line fits, unless another
 * process fills the pipe between the two calls; that small risk is left.
 *
 * A writer thread with a queue would do without all this, but would lose the last lines of a
 * process that crashes, and those are the ones that matter.
 */
#include "common/telemetry/log_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

_Static_assert(LOG_SINK_LINE_BYTES <= PIPE_BUF, "a line is written to a pipe whole or not at all");

static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void log_sink_open(struct log_sink *s, int fd)
{
	struct stat st;
	int own = -1;

	if (s->is_own)
		close(s->fd);
	s->fd = fd;
	s->is_own = s->is_socket = s->needs_poll = false;
	s->rest_len = 0;
	if (fstat(fd, &st) < 0 || S_ISREG(st.st_mode))
		return;
	s->is_socket = S_ISSOCK(st.st_mode);
	if (s->is_socket)
		return;
	own = open_again(fd);
	s->is_own = own >= 0;
	s->needs_poll = own < 0;
	if (own >= 0)
		s->fd = own;
}

static bool is_writable(const struct log_sink *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLOUT};

	return !s->needs_poll || (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT));
}

/* Returns how many bytes the descriptor took, which may be 0. */
static size_t write_some(const struct log_sink *s, const char *text, size_t len)
{
	ssize_t n;

	if (!is_writable(s))
		return 0;
	do
		n = s->is_socket ? send(s->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL)
				 : write(s->fd, text, len);
	while (n < 0 && errno == EINTR);
	return n > 0 ? (size_t)n : 0;
}

static bool write_rest(struct log_sink *s)
{
	size_t n;

	if (s->rest_len == 0)
		return true;
	n = write_some(s, s->rest, s->rest_len);
	s->rest_len -= n;
	memmove(s->rest, s->rest + n, s->rest_len);
	return s->rest_len == 0;
}

bool log_sink_put(struct log_sink *s, const char *line, size_t len)
{
	size_t n;

	if (len > sizeof(s->rest) || !write_rest(s))
		return false;
	n = write_some(s, line, len);
	if (n == 0)
		return false;
	s->rest_len = len - n;
	memcpy(s->rest, line + n, s->rest_len);
	return true;
}
