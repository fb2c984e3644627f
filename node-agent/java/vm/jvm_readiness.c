/*
 * What a process does with a signal is in /proc/<pid>/status: what it catches is common to all
 * threads, what it blocks is the thread's own. HotSpot blocks SIGQUIT in all of its threads but
 * the VM's, so that this one gets it; the thread that created the VM does not block it either.
 */
#include "node-agent/java/vm/jvm_readiness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "common/data/buf.h"
#include "common/system/fs.h"
#include "common/text/parse.h"

/* A process may be in 65,536 groups, which are listed. */
#define STATUS_MAX_BYTES ((size_t)1024 * 1024)
/* The name of a thread is cut to 15 bytes by the kernel. */
#define DISPATCHER "Signal Dispatch"
#define BIT_OF(signal) (UINT64_C(1) << ((signal)-1))

struct task_status {
	char state; /* 'S', 'T' … */
	bool is_dispatcher;
	uint64_t caught, blocked; /* a bit for each signal, from 1 on */
};

/* The value of a line that begins with this name, up to the end of the text; or NULL. */
static const char *find_line(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	while (line && line != text && line[-1] != '\n')
		line = strstr(line + 1, name);
	return line ? line + strlen(name) : NULL;
}

static int parse_mask(const char *text, const char *name, uint64_t *ret)
{
	const char *value = find_line(text, name);
	char *end;

	if (!value)
		return -EBADMSG;
	*ret = strtoull(value, &end, 16);
	return *end == '\n' && end != value ? 0 : -EBADMSG;
}

/* Names of threads have no newline in this file: the kernel escapes it. */
static int parse_status(const char *text, struct task_status *ret)
{
	const char *name = find_line(text, "Name:\t"), *state = find_line(text, "State:\t");
	int r;

	if (!name || !state)
		return -EBADMSG;
	ret->state = *state;
	ret->is_dispatcher = strncmp(name, DISPATCHER "\n", sizeof(DISPATCHER)) == 0;
	r = parse_mask(text, "SigCgt:\t", &ret->caught);
	return r == 0 ? parse_mask(text, "SigBlk:\t", &ret->blocked) : r;
}

static int read_status(int dir_fd, const char *path, struct task_status *ret)
{
	struct buf b;
	int r;

	buf_init(&b, STATUS_MAX_BYTES);
	r = fs_read_at(dir_fd, path, &b);
	if (r == 0)
		r = buf_add(&b, "", 1);
	if (r == 0)
		r = parse_status(b.data, ret);
	buf_fini(&b);
	return r == -ENOENT ? -ESRCH : r;
}

/* What the threads are like. */
struct threads {
	int tasks_fd;
	size_t n_seen;
	bool has_dispatcher;
	bool has_receiver; /* one that does not block SIGQUIT */
};

/* Returns 1 if no more threads are to be read. */
static int see_thread(void *ctx, const char *tid)
{
	struct threads *found = ctx;
	struct task_status status = {0};
	char path[sizeof("4294967295/status")];
	int r;

	(void)snprintf(path, sizeof(path), "%.10s/status", tid);
	r = read_status(found->tasks_fd, path, &status);
	if (r < 0 && r != -ESRCH)
		return r;
	if (r == 0) { /* otherwise it has exited */
		found->has_dispatcher |= status.is_dispatcher;
		found->has_receiver |= !(status.blocked & BIT_OF(SIGQUIT));
	}
	return ++found->n_seen == JVM_READINESS_TASKS_MAX ||
	       (found->has_dispatcher && found->has_receiver);
}

static int read_threads(int proc_fd, struct threads *found)
{
	AUTO_CLOSE int fd = openat(proc_fd, "task", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	found->tasks_fd = fd;
	r = fs_each_name(fd, see_thread, found);
	if (r == -ENOENT)
		return -ESRCH;
	return r < 0 ? r : 0;
}

int jvm_readiness_check(int proc_fd, bool is_initialized)
{
	struct threads found = {.has_dispatcher = is_initialized};
	struct task_status status = {0};
	int r;

	r = read_status(proc_fd, "status", &status);
	if (r < 0)
		return r;
	if (status.state == 'Z' || status.state == 'X')
		return JVM_EXITING;
	if (!(status.caught & BIT_OF(SIGQUIT)))
		return JVM_STARTING;
	if (status.state == 'T' || status.state == 't')
		return JVM_STOPPED;
	r = read_threads(proc_fd, &found);
	if (r < 0)
		return r;
	if (!found.has_dispatcher)
		return JVM_STARTING;
	return found.has_receiver ? JVM_READY : JVM_SIGNAL_BLOCKED;
}

const char *jvm_readiness_name(enum jvm_readiness r)
{
	static const char *const names[JVM_READINESS_MAX] = {
		[JVM_READY] = "ready",
		[JVM_STARTING] = "starting",
		[JVM_SIGNAL_BLOCKED] = "signal blocked",
		[JVM_STOPPED] = "stopped",
		[JVM_EXITING] = "exiting",
	};

	return names[r];
}
