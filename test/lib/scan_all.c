#include "test/lib/scan_all.h"

#include <errno.h>

#include "node-agent/procfs/procfs.h"

#define PIDS_MAX 4096u

struct pids {
	pid_t all[PIDS_MAX];
	size_t n;
};

static int add_pid(void *ctx, pid_t pid)
{
	struct pids *p = ctx;

	if (p->n == PIDS_MAX)
		return -E2BIG;
	p->all[p->n++] = pid;
	return 0;
}

static int report(struct runtime_processes *ps, const struct pids *p, enum process_change change)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++)
		r = runtime_processes_change(ps, p->all[i], change);
	return r;
}

int scan_all(struct runtime_processes *ps, int root_fd, uint64_t now_ns)
{
	static struct pids last;
	/* 0: ps is new, or its last scan failed */
	int r = runtime_processes_seen_ticks(ps) > 0 ? report(ps, &last, PROCESS_EXITED) : 0;

	last.n = 0;
	if (r == 0)
		r = procfs_each_pid(root_fd, add_pid, &last);
	if (r == 0)
		r = report(ps, &last, PROCESS_CHANGED);
	return r == 0 ? runtime_processes_scan(ps, now_ns) : r;
}
