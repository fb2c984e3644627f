/*
 * libdw maps files and trusts them, so this process is expected to crash. It has limits of memory
 * and time, and a filter that leaves it little more than mapping what it was given, and answering.
 */
#include "node-agent/lines/line_server.h"

#include <errno.h>
#include <malloc.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/privilege/helper_process.h"
#include "node-agent/lines/dwarf_lines.h"
#include "node-agent/lines/line_helper.h"

#define FILES_MAX 4u
/* Above this, all files are closed before the next request. */
#define HEAP_KEPT_BYTES ((size_t)32 * 1024 * 1024)
#define CPU_MAX_MS 60000u

struct open_file {
	uint32_t number;
	int fd;
	int package_fd;            /* -1: none */
	struct dwarf_lines *lines; /* NULL: there is no DWARF */
	uint64_t used;             /* 0: the place is free */
};

struct server {
	int socket;
	struct line_serving *serving;
	struct open_file files[FILES_MAX];
	uint64_t uses;
	struct line_answer answer;
	uint8_t message[sizeof(struct line_reply) + LINE_ANSWER_MESSAGE_MAX_BYTES];
};

static void close_file(struct open_file *f)
{
	dwarf_lines_free(f->lines);
	closep(&f->fd);
	closep(&f->package_fd);
	*f = (struct open_file){.fd = -1, .package_fd = -1};
}

/* Takes over fds: of the file, and of its package or -1. */
static struct open_file *get_file(struct server *s, uint32_t number,
				  const int fds[static LINE_REQUEST_FDS])
{
	struct open_file *f = &s->files[0];

	for (size_t i = 0; i < FILES_MAX; i++) {
		if (s->files[i].used && s->files[i].number == number) {
			close(fds[0]);
			if (fds[1] >= 0)
				close(fds[1]);
			return &s->files[i];
		}
		if (s->files[i].used < f->used)
			f = &s->files[i];
	}
	close_file(f);
	*f = (struct open_file){.number = number, .fd = fds[0], .package_fd = fds[1]};
	if (dwarf_lines_new(&f->lines, f->fd, f->package_fd) < 0)
		f->lines = NULL;
	return f;
}

static void limit_memory_kept(struct server *s)
{
	struct mallinfo2 m = mallinfo2();

	for (size_t i = 0; m.uordblks + m.hblkhd > HEAP_KEPT_BYTES && i < FILES_MAX; i++)
		close_file(&s->files[i]);
}

static uint64_t cpu_ns(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void serve(struct server *s, const struct line_request *q,
		  const int fds[static LINE_REQUEST_FDS])
{
	struct line_reply reply = {.number = q->number};
	size_t len = sizeof(reply);
	uint64_t begin_ns = cpu_ns();
	struct open_file *f;

	s->serving->number = q->number;
	helper_process_limit_time(q->cpu_ms > 0 && q->cpu_ms < CPU_MAX_MS ? q->cpu_ms : CPU_MAX_MS,
				  LINE_HELPER_WALL_S);
	f = get_file(s, q->file, fds);
	f->used = ++s->uses;
	reply.result = f->lines ? dwarf_lines_find(f->lines, q->vaddr, &s->answer) : -ENOENT;
	if (reply.result == 0)
		len += line_answer_encode(&s->answer, s->message + sizeof(reply));
	helper_process_limit_time(0, 0);
	reply.cpu_ns = cpu_ns() - begin_ns;
	memcpy(s->message, &reply, sizeof(reply));
	s->serving->number = 0;
	(void)!send(s->socket, s->message, len, MSG_NOSIGNAL);
	limit_memory_kept(s);
}

_Noreturn void line_server_run(int socket, struct line_serving *serving)
{
	static const struct helper_limits limits = {
		.heap_bytes = LINE_HELPER_HEAP_MAX_BYTES,
		.mapped_bytes = LINE_HELPER_MAPPED_MAX_BYTES,
	};
	static struct server s;
	int fds[LINE_REQUEST_FDS];
	struct line_request q;

	s.socket = socket;
	s.serving = serving;
	for (size_t i = 0; i < FILES_MAX; i++)
		s.files[i].fd = s.files[i].package_fd = -1;
	helper_process_confine(&limits);
	while (helper_process_has_message(socket, LINE_HELPER_IDLE_MS)) {
		if (helper_process_receive(socket, &q, sizeof(q), fds, LINE_REQUEST_FDS) < 0 ||
		    fds[0] < 0)
			break;
		serve(&s, &q, fds);
	}
	_exit(EXIT_SUCCESS);
}
