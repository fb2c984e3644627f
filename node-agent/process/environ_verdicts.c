/*
 * Ancestors are mostly shells and build tools, which are read once and asked about for each of
 * their many children. So verdicts are kept in a table with one slot for several pids; what
 * another process overwrites is read again, if it still can be.
 */
#include "node-agent/process/environ_verdicts.h"

#include <errno.h>

#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/environ_check.h"

#define SLOTS 2048u /* a power of two */
#define ANCESTORS_MAX 8

struct slot {
	pid_t pid;
	bool is_old; /* of the program that the process executed before */
	enum environ_verdict verdict;
	uint64_t start_time;
};

struct environ_verdicts {
	int root_fd;
	const struct process_table *processes;
	struct environ_check *check;
	struct slot slots[SLOTS];
};

int environ_verdicts_new(struct environ_verdicts **ret, int root_fd,
			 const struct process_table *processes)
{
	CLEANUP(environ_verdicts_freep) struct environ_verdicts *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return -ENOMEM;
	v->root_fd = root_fd;
	v->processes = processes;
	r = environ_check_new(&v->check);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(v);
	return 0;
}

void environ_verdicts_free(struct environ_verdicts *v)
{
	if (!v)
		return;
	environ_check_free(v->check);
	free(v);
}

static struct slot *slot_of(struct environ_verdicts *v, pid_t pid)
{
	return &v->slots[(unsigned)pid & (SLOTS - 1)];
}

static const struct slot *find(struct environ_verdicts *v, pid_t pid, uint64_t start_time)
{
	const struct slot *s = slot_of(v, pid);

	return s->pid == pid && s->start_time == start_time ? s : NULL;
}

enum environ_verdict environ_verdicts_read(struct environ_verdicts *v, pid_t pid,
					   uint64_t start_time)
{
	AUTO_CLOSE int fd = procfs_open_process(v->root_fd, pid);
	enum environ_verdict verdict;
	struct proc_stat st;
	int r;

	if (fd < 0 || procfs_read_stat(fd, &st) < 0 || st.start_time != start_time)
		return ENVIRON_UNKNOWN;
	r = environ_check_excludes(v->check, fd, pid);
	if (r < 0)
		return ENVIRON_UNKNOWN;
	verdict = r > 0 ? ENVIRON_EXCLUDED : ENVIRON_PROFILED;
	*slot_of(v, pid) = (struct slot){.pid = pid, .verdict = verdict, .start_time = start_time};
	return verdict;
}

static enum environ_verdict verdict_of_ancestor(struct environ_verdicts *v, pid_t pid,
						uint64_t start_time)
{
	const struct slot *s = find(v, pid, start_time);
	enum environ_verdict verdict;

	if (s && !s->is_old)
		return s->verdict;
	verdict = environ_verdicts_read(v, pid, start_time);
	return verdict == ENVIRON_UNKNOWN && s ? s->verdict : verdict;
}

enum environ_verdict environ_verdicts_inherit(struct environ_verdicts *v, pid_t pid,
					      uint64_t start_time)
{
	const struct slot *s = find(v, pid, start_time);
	enum environ_verdict verdict = s ? s->verdict : ENVIRON_UNKNOWN;

	for (unsigned i = 0; verdict == ENVIRON_UNKNOWN && i < ANCESTORS_MAX; i++) {
		pid = process_table_parent(v->processes, pid, &start_time);
		if (pid == 0)
			break;
		verdict = verdict_of_ancestor(v, pid, start_time);
	}
	return verdict;
}

void environ_verdicts_exec(struct environ_verdicts *v, pid_t pid)
{
	struct slot *s = slot_of(v, pid);

	if (s->pid == pid)
		s->is_old = true;
}
