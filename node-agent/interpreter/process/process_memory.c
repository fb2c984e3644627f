#include "node-agent/interpreter/process/process_memory.h"

#include <errno.h>
#include <fcntl.h>

#define OPEN_MAX 32u

struct opened {
	pid_t pid; /* 0: none */
	uint64_t start_time;
	uint64_t start_stack;
	int fd;
	uint64_t used;
};

struct process_memory {
	int proc_fd;
	struct opened opened[OPEN_MAX];
	uint64_t clock;
};

int process_memory_new(struct process_memory **ret, const char *proc_root)
{
	CLEANUP(process_memory_freep) struct process_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->proc_fd = open(proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->proc_fd < 0)
		return -errno;
	*ret = TAKE_PTR(m);
	return 0;
}

static void close_one(struct opened *o)
{
	if (o->pid)
		close(o->fd);
	*o = (struct opened){0};
}

void process_memory_free(struct process_memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < OPEN_MAX; i++)
		close_one(&m->opened[i]);
	closep(&m->proc_fd);
	free(m);
}

/* After the process has exited or executed something, nothing is read any more. */
static int read_memory(void *ctx, uint64_t at, void *to, size_t n)
{
	const struct opened *o = ctx;
	ssize_t got;

	if (at > INT64_MAX - n)
		return -EFAULT;
	got = pread(o->fd, to, n, (off_t)at);
	if (got == (ssize_t)n)
		return 0;
	if (got == 0)
		return -ESRCH;
	return got < 0 && errno != EIO ? -errno : -EFAULT;
}

static int open_memory(const struct process_memory *m, const struct process_snapshot *s)
{
	AUTO_CLOSE int proc_fd = procfs_open_process(m->proc_fd, s->pid);
	struct proc_stat st;
	int fd, r = proc_fd < 0 ? proc_fd : procfs_read_stat(proc_fd, &st);

	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	if (st.start_time != s->start_time || st.ended)
		return -ESRCH;
	fd = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* after it is open: it stays that of the program that ran then */
	r = procfs_read_stat(proc_fd, &st);
	if (r == 0 && s->start_stack != 0 && st.start_stack != 0 &&
	    st.start_stack != s->start_stack)
		r = -ESRCH;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static struct opened *find(struct process_memory *m, const struct process_snapshot *s)
{
	for (size_t i = 0; i < OPEN_MAX; i++) {
		struct opened *o = &m->opened[i];

		if (o->pid == s->pid && o->start_time == s->start_time &&
		    o->start_stack == s->start_stack)
			return o;
	}
	return NULL;
}

static struct opened *take_oldest(struct process_memory *m)
{
	struct opened *oldest = &m->opened[0];

	for (size_t i = 1; i < OPEN_MAX; i++) {
		if (m->opened[i].used < oldest->used)
			oldest = &m->opened[i];
	}
	close_one(oldest);
	return oldest;
}

int process_memory_get(struct process_memory *m, const struct process_snapshot *s,
		       struct interpreter_memory *ret)
{
	struct opened *o = find(m, s);
	int fd;

	if (!o) {
		fd = open_memory(m, s);
		if (fd < 0)
			return fd;
		o = take_oldest(m);
		*o = (struct opened){s->pid, s->start_time, s->start_stack, fd, 0};
	}
	o->used = ++m->clock;
	*ret = (struct interpreter_memory){read_memory, o};
	return 0;
}
