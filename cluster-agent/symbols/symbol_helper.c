/*
 * Each request is served by a child of its own, which ends with it: nothing that one file did to
 * the process outlives the request. If a child ends without having answered, by a signal or because
 * time or memory is up, its parent answers. The parent reads nothing but how the child ended.
 */
#include "cluster-agent/symbols/symbol_helper.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/privilege/helper_process.h"
#include "common/symbols/symbol_export.h"

/* Beside the heap: the program and its libraries. */
#define MAPPED_MAX_BYTES (SYMBOL_HELPER_HEAP_MAX_BYTES + (UINT64_C(512) << 20))
/* The child's own limits end it before that, unless somebody has taken it over. */
#define KILLED_AFTER_S (SYMBOL_HELPER_WALL_S + 10)

enum { FD_SYMBOLS, FD_TABLE, FD_PROGRAM, N_FDS };

/* ---- the child ---- */

static int open_source(struct byte_source *src, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	byte_source_from_fd(src, fd, (uint64_t)st.st_size);
	return 0;
}

static int write_table(int fd, const struct buf *table)
{
	for (size_t at = 0; at < table->len;) {
		ssize_t n = write(fd, table->data + at, table->len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return 0;
}

static int make_table(const struct symbol_request *q, const int fds[static N_FDS], struct err *err)
{
	CLEANUP(buf_fini) struct buf table;
	struct symbol_export made = {.n_functions = 0};
	struct byte_source symbols, program;
	int r;

	buf_init(&table, SYMBOL_FILE_MAX_BYTES);
	r = open_source(&symbols, fds[FD_SYMBOLS]);
	if (r == 0 && q->has_program)
		r = open_source(&program, fds[FD_PROGRAM]);
	if (r == 0)
		r = symbol_export_with(&symbols, q->has_program ? &program : NULL, &table, &made,
				       err);
	return r == 0 ? write_table(fds[FD_TABLE], &table) : r;
}

static _Noreturn void serve(const struct symbol_request *q, const int fds[static N_FDS])
{
	static const struct helper_limits limits = {
		.heap_bytes = SYMBOL_HELPER_HEAP_MAX_BYTES,
		.mapped_bytes = MAPPED_MAX_BYTES,
		.written_bytes = SYMBOL_FILE_MAX_BYTES,
	};
	struct symbol_reply reply = {.number = q->number};
	struct err err = {.msg = ""};

	helper_process_confine(&limits);
	helper_process_limit_time(SYMBOL_HELPER_CPU_MS, SYMBOL_HELPER_WALL_S);
	reply.result = make_table(q, fds, &err);
	snprintf(reply.why, sizeof(reply.why), "%s", err.msg);
	_exit(helper_process_send(HELPER_PROCESS_SOCKET, &reply, sizeof(reply), NULL, 0) == 0
		      ? EXIT_SUCCESS
		      : EXIT_FAILURE);
}

/* ---- its parent ---- */

/* Waits until the child has ended, and kills it if that takes too long. */
static int wait_for(pid_t pid)
{
	const struct timespec limit = {.tv_sec = KILLED_AFTER_S};
	siginfo_t info;
	sigset_t child;
	int status = 0, r;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	do {
		r = sigtimedwait(&child, &info, &limit);
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		(void)kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) < 0 ? -1 : status;
}

static int serve_one(void)
{
	int fds[N_FDS];
	struct symbol_request q = {0};
	struct symbol_reply reply = {.number = 0};
	int status, r;
	pid_t pid;

	r = helper_process_receive(HELPER_PROCESS_SOCKET, &q, sizeof(q), fds, N_FDS);
	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		serve(&q, fds);
	r = pid < 0 ? -errno : 0;
	for (size_t i = 0; i < N_FDS; i++)
		closep(&fds[i]);
	status = r == 0 ? wait_for(pid) : -1;
	if (r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return 0;
	reply.number = q.number;
	reply.result = r < 0 ? r : helper_process_error(status);
	(void)!helper_process_send(HELPER_PROCESS_SOCKET, &reply, sizeof(reply), NULL, 0);
	return 0;
}

int symbol_helper_run(struct err *err)
{
	int r = helper_process_begin("symbol-reader", err);
	sigset_t child;

	if (r < 0)
		return r;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &child, NULL);
	while (r == 0 && helper_process_has_message(HELPER_PROCESS_SOCKET, -1))
		r = serve_one();
	return 0; /* the other end is closed */
}
