#include "node-agent/sample/event_processes.h"

#include "common/system/clock.h"

int event_processes_get(struct process_table *t, const struct sample_event *e,
			struct process_snapshot **ret)
{
	char comm[SAMPLER_COMM_BYTES];
	const struct process_seen seen = {
		.pid = (pid_t)e->header.tgid,
		.tid = (pid_t)e->header.tid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.cgroup_id = e->cgroup_id,
		.comm = comm,
		.kernel_thread = e->flags & SAMPLE_KERNEL_THREAD,
		.addrs = sample_event_addrs(e) + e->n_kernel,
		.n_addrs = e->n_user,
	};

	memcpy(comm, e->comm, sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	return process_table_get(t, &seen, clock_monotonic_ns(), ret);
}

void event_processes_fork(struct process_table *t, const struct fork_event *e)
{
	const struct process_fork fork = {
		.pid = (pid_t)e->header.tgid,
		.parent = (pid_t)e->parent_tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.parent_start_boottime_ns = e->parent_start_boottime_ns,
		.cgroup_id = e->cgroup_id,
	};

	(void)process_table_fork(t, &fork);
}

void event_processes_exec(struct process_table *t, const struct exec_event *e)
{
	struct process_exec exec = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.cgroup_id = e->cgroup_id,
		.end_code = e->end_code,
		.vdso = e->vdso,
		.path = e->path,
	};

	event_file_version(&e->file, &exec.file);
	(void)process_table_exec(t, &exec);
}

void event_processes_map(struct process_table *t, const struct map_event *e)
{
	struct process_map map = {
		.pid = (pid_t)e->header.tgid,
		.start_boottime_ns = e->header.start_boottime_ns,
		.start = e->start,
		.end = e->end,
		.file_offset = e->page_offset * (uint64_t)sysconf(_SC_PAGESIZE),
	};
	struct file_version file;

	event_file_version(&e->file, &file);
	map.file = file.id;
	(void)process_table_map(t, &map);
}

void event_processes_exit(struct process_table *t, const struct event_header *e)
{
	process_table_exit(t, (pid_t)e->tgid, e->start_boottime_ns, clock_monotonic_ns());
}
