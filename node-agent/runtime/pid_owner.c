/*
 * Reading a process takes eight system calls, and nearly all processes are those of the
 * previous scan. A pid alone does not prove that: it may have been reused. The folder
 * /proc/<pid> does: the kernel makes a new inode with a new ctime for another process. So two
 * statx() calls suffice, of the executable and of the folder, in this order: the process that
 * has the folder afterwards had it when the executable was examined.
 */
#include "node-agent/runtime/pid_owner.h"

#include <errno.h>

#include "node-agent/procfs/procfs.h"

#define NAME_BYTES 32 /* "<pid>/exe" */

/* Not fatal: stat can still be read, and shows whether the process matters. */
static bool is_denied(int error)
{
	return error == -EACCES || error == -EPERM;
}

int pid_owner_read(struct pid_owner *ret, int root_fd, pid_t pid)
{
	AUTO_CLOSE int fd = procfs_open_process(root_fd, pid);
	struct proc_stat st;
	int exe, r;

	*ret = (struct pid_owner){.id.pid = pid};
	if (fd < 0)
		return fd;
	exe = procfs_read_exe_id(fd, &ret->id.exe);
	if (exe < 0 && !is_denied(exe))
		return exe;
	r = procfs_read_stat(fd, &st);
	if (r == 0)
		r = file_version_read(fd, "", &ret->folder, NULL);
	if (r < 0)
		return r;
	if (st.kernel_thread || (exe < 0 && st.ended))
		return -ENOENT;
	ret->id.start_time = st.start_time;
	return exe;
}

bool pid_owner_executes(const struct pid_owner *o, int root_fd)
{
	char name[NAME_BYTES];
	struct file_version exe;

	(void)snprintf(name, sizeof(name), "%d/exe", (int)o->id.pid);
	return file_version_read(root_fd, name, &exe, NULL) == 0 &&
	       file_id_same_file(&exe.id, &o->id.exe);
}

bool pid_owner_is_current(const struct pid_owner *o, int root_fd)
{
	char name[NAME_BYTES];
	struct file_version folder;

	(void)snprintf(name, sizeof(name), "%d", (int)o->id.pid);
	/* in this order: see above */
	return pid_owner_executes(o, root_fd) &&
	       file_version_read(root_fd, name, &folder, NULL) == 0 &&
	       folder.id.ino == o->folder.id.ino && folder.ctime_ns == o->folder.ctime_ns;
}
