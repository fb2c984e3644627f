/*
 * libdw maps files and trusts them, so this process is expected to crash. It has limits of memory
 * and time, and a filter that leaves it little more than mapping what it was given, and answering.
 */
#include "node-agent/lines/line_server.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "node-agent/lines/dwarf_lines.h"
#include "node-agent/lines/line_helper.h"

#define FILES_MAX 4u
/* Above this, all files are closed before the next request. */
#define HEAP_KEPT_BYTES ((size_t)32 * 1024 * 1024)
#define CPU_MAX_MS 60000u

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIMITS_MEMORY false /* sanitizers reserve terabytes of addresses */
#else
#define LIMITS_MEMORY true
#endif

struct open_file {
	uint32_t number;
	int fd;
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
	*f = (struct open_file){.fd = -1};
}

/* Takes over fd. */
static struct open_file *get_file(struct server *s, uint32_t number, int fd)
{
	struct open_file *f = &s->files[0];

	for (size_t i = 0; i < FILES_MAX; i++) {
		if (s->files[i].used && s->files[i].number == number) {
			close(fd);
			return &s->files[i];
		}
		if (s->files[i].used < f->used)
			f = &s->files[i];
	}
	close_file(f);
	*f = (struct open_file){.number = number, .fd = fd};
	if (dwarf_lines_new(&f->lines, fd) < 0)
		f->lines = NULL;
	return f;
}

static void limit_memory_kept(struct server *s)
{
	struct mallinfo2 m = mallinfo2();

	for (size_t i = 0; m.uordblks + m.hblkhd > HEAP_KEPT_BYTES && i < FILES_MAX; i++)
		close_file(&s->files[i]);
}

/* SIGPROF or SIGALRM ends the process if it takes longer. 0: without limit. */
static void limit_time(uint32_t cpu_ms, unsigned wall_s)
{
	const struct itimerval cpu = {
		.it_value = {.tv_sec = cpu_ms / 1000, .tv_usec = cpu_ms % 1000 * 1000}};
	const struct itimerval wall = {.it_value.tv_sec = wall_s};

	(void)setitimer(ITIMER_PROF, &cpu, NULL);
	(void)setitimer(ITIMER_REAL, &wall, NULL);
}

static uint64_t cpu_ns(void)
{
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void serve(struct server *s, const struct line_request *q, int fd)
{
	struct line_reply reply = {.number = q->number};
	size_t len = sizeof(reply);
	uint64_t begin_ns = cpu_ns();
	struct open_file *f;

	s->serving->number = q->number;
	limit_time(q->cpu_ms > 0 && q->cpu_ms < CPU_MAX_MS ? q->cpu_ms : CPU_MAX_MS,
		   LINE_HELPER_WALL_S);
	f = get_file(s, q->file, fd);
	f->used = ++s->uses;
	reply.result = f->lines ? dwarf_lines_find(f->lines, q->vaddr, &s->answer) : -ENOENT;
	if (reply.result == 0)
		len += line_answer_encode(&s->answer, s->message + sizeof(reply));
	limit_time(0, 0);
	reply.cpu_ns = cpu_ns() - begin_ns;
	memcpy(s->message, &reply, sizeof(reply));
	s->serving->number = 0;
	(void)!send(s->socket, s->message, len, MSG_NOSIGNAL);
	limit_memory_kept(s);
}

/* Returns a descriptor, or -1 if the other end is closed or what came is no request. */
static int receive(int socket, struct line_request *ret)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {ret, sizeof(*ret)};
	struct msghdr m = {
		.msg_iov = &data,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	const struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*ret))
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

bool line_server_has_request(int socket, int timeout_ms)
{
	struct pollfd p = {.fd = socket, .events = POLLIN};

	return poll(&p, 1, timeout_ms) > 0;
}

static void set_limit(int which, uint64_t max)
{
	const struct rlimit limit = {max, max};

	if (setrlimit((__rlimit_resource_t)which, &limit) < 0)
		_exit(EXIT_FAILURE);
}

/*
 * What is not in the list fails with EPERM; libdw looks for further files and does without. If the
 * kernel has no seccomp, no DWARF is read: a process of root can open root's files even without
 * capabilities.
 */
static void install_filter(void)
{
	static const int calls[] = {
		SCMP_SYS(read),
		SCMP_SYS(pread64),
		SCMP_SYS(lseek),
		SCMP_SYS(fstat),
		SCMP_SYS(newfstatat),
		SCMP_SYS(mmap),
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(mprotect),
		SCMP_SYS(madvise),
		SCMP_SYS(brk),
		SCMP_SYS(recvmsg),
		SCMP_SYS(sendto),
		SCMP_SYS(sendmsg),
		SCMP_SYS(poll),
		SCMP_SYS(ppoll),
		SCMP_SYS(close),
		SCMP_SYS(exit),
		SCMP_SYS(exit_group),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(setitimer),
		SCMP_SYS(futex),
		SCMP_SYS(getrandom),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(restart_syscall),
		SCMP_SYS(fcntl),
	};
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));

	for (size_t i = 0; f && i < ARRAY_SIZE(calls); i++)
		(void)seccomp_rule_add(f, SCMP_ACT_ALLOW, calls[i], 0);
	if (!f || seccomp_load(f) < 0)
		_exit(EXIT_FAILURE);
	seccomp_release(f);
}

_Noreturn void line_server_run(int socket, struct line_serving *serving)
{
	static struct server s;
	struct line_request q;
	int fd;

	s.socket = socket;
	s.serving = serving;
	for (size_t i = 0; i < FILES_MAX; i++)
		s.files[i].fd = -1;
	(void)signal(SIGPROF, SIG_DFL);
	(void)signal(SIGALRM, SIG_DFL);
	set_limit(RLIMIT_FSIZE, 0);
	if (LIMITS_MEMORY) {
		set_limit(RLIMIT_DATA, LINE_HELPER_HEAP_MAX_BYTES);
		set_limit(RLIMIT_AS, LINE_HELPER_MAPPED_MAX_BYTES);
	}
	install_filter();
	while (line_server_has_request(socket, LINE_HELPER_IDLE_MS)) {
		fd = receive(socket, &q);
		if (fd < 0)
			break;
		serve(&s, &q, fd);
	}
	_exit(EXIT_SUCCESS);
}
