#include "node-agent/runtime/runtime_filter.h"

#include <errno.h>

#include "node-agent/procfs/procfs.h"

int runtime_subject_read(struct runtime_subject *ret, int root_fd, const struct program_id *id,
			 struct process_namer *namer)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, id->pid);
	struct workload_facts facts = {.namer = namer};
	struct proc_stat st;
	int r;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	r = procfs_read_stat(fd, &st);
	if (r == 0 && st.start_time != id->start_time)
		r = -ESRCH;
	if (r < 0)
		return r;
	facts.comm = st.comm;
	r = workload_read(&ret->raw, fd, &facts);
	if (r < 0)
		return r;
	r = profile_filter_read_environ(fd);
	if (r == -ENOMEM || r == -ESRCH || r == -EAGAIN) {
		runtime_subject_fini(ret);
		return r;
	}
	ret->by_environ = r > 0;
	return 0;
}

void runtime_subject_fini(struct runtime_subject *s)
{
	workload_unref(s->raw);
	*s = (struct runtime_subject){0};
}

enum runtime_verdict runtime_filter_decide(const struct runtime_filter *f,
					   const struct runtime_subject *s, bool may_wait)
{
	CLEANUP(workload_unrefp) struct workload *named = NULL;
	bool is_named;

	if (s->by_environ)
		return RUNTIME_EXCLUDED;
	is_named = container_directory_name(f->directory, s->raw, &named) == 0;
	if (!is_named && may_wait)
		return RUNTIME_UNDECIDED;
	return profile_filter_excludes(f->filter, is_named ? named : s->raw) ? RUNTIME_EXCLUDED
									     : RUNTIME_PROFILED;
}
