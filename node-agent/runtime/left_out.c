#include "node-agent/runtime/left_out.h"

#include "node-agent/procfs/procfs.h"

void left_out_add(struct left_out *l, const struct program_id *id)
{
	l->of[l->next] = (struct left_out_process){id->pid, id->start_time};
	l->next = (l->next + 1) % LEFT_OUT_MAX;
	if (l->n < LEFT_OUT_MAX)
		l->n++;
}

bool left_out_contains(const struct left_out *l, int root_fd, pid_t pid)
{
	for (size_t i = 0; i < l->n; i++) {
		AUTO_CLOSE int fd = -1;
		struct proc_stat st;

		if (l->of[i].pid != pid)
			continue;
		fd = procfs_open_process(root_fd, pid);
		if (fd >= 0 && procfs_read_stat(fd, &st) == 0 &&
		    st.start_time == l->of[i].start_time)
			return true;
	}
	return false;
}
