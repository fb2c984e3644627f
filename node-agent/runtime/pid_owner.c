/*
 * Reading a process takes eight system calls, and nearly all processes are those of the previous scan.
 * A pid alone does not prove that: it may have been reused. The folder /proc/<pid> does: the kernel makes
 * a new inode with a new ctime for another process. So two statx() calls suffice, of the executable and of
 * the folder, in this order: whoever has the folder afterwards had it when the executable was examined.
 */
#include "node-agent/runtime/pid_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "common/system/clock.h"
#include "node-agent/process/procfs.h"

#define NAME_BYTES 32 /* "<pid>/exe" */

static int stat_folder(int dir_fd, const char *name, int flags, struct pid_owner *ret)
{
	struct statx st;

	if (statx(dir_fd, name, flags, STATX_INO | STATX_CTIME, &st) < 0)
		return -errno;
	ret->folder_ino = st.stx_ino;
	ret->folder_ctime_ns = (uint64_t)st.stx_ctime.tv_sec * NS_PER_S + st.stx_ctime.tv_nsec;
	return 0;
}

/* Without the right to follow links of a process, its stat still says whether it matters. */
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
		r = stat_folder(fd, "", AT_EMPTY_PATH, ret);
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
	struct statx st;

	(void)snprintf(name, sizeof(name), "%d/exe", (int)o->id.pid);
	return statx(root_fd, name, AT_STATX_DONT_SYNC, STATX_INO, &st) == 0 &&
	       makedev(st.stx_dev_major, st.stx_dev_minor) == o->id.exe.dev &&
	       st.stx_ino == o->id.exe.ino;
}

bool pid_owner_is_current(const struct pid_owner *o, int root_fd)
{
	char name[NAME_BYTES];
	struct pid_owner now = {0};

	(void)snprintf(name, sizeof(name), "%d", (int)o->id.pid);
	/* in this order: see above */
	return pid_owner_executes(o, root_fd) && stat_folder(root_fd, name, 0, &now) == 0 &&
	       now.folder_ino == o->folder_ino && now.folder_ctime_ns == o->folder_ctime_ns;
}
