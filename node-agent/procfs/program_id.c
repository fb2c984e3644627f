#include "node-agent/procfs/program_id.h"

#include <errno.h>

#include "node-agent/procfs/procfs.h"

int program_id_read(int root_fd, pid_t pid, struct program_id *ret)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	struct proc_stat st;
	int e;

	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	e = procfs_read_stat(fd, &st);
	if (e < 0)
		return e;
	*ret = (struct program_id){.pid = pid, .start_time = st.start_time};
	return st.kernel_thread || st.exiting ? -ENOENT : procfs_read_exe_id(fd, &ret->exe);
}
