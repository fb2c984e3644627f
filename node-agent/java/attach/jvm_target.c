#include "node-agent/java/attach/jvm_target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "common/system/fs.h"
#include "node-agent/files/file_finder.h"
#include "node-agent/procfs/process_status.h"
#include "node-agent/procfs/procfs.h"

#define STATUS_MAX_BYTES 65536u /* grows with the number of groups */

int jvm_failure_set(struct jvm_failure *why, enum java_state state, int code, const char *fmt, ...)
{
	va_list args;

	why->state = state;
	va_start(args, fmt);
	vsnprintf(why->err.msg, sizeof(why->err.msg), fmt, args);
	va_end(args);
	return code;
}

int jvm_target_fail(struct jvm_failure *why, int error, const char *what)
{
	enum java_state state = JAVA_STATE_FAILED;

	if (error == -EACCES || error == -EPERM)
		state = JAVA_STATE_NO_PERMISSION;
	return jvm_failure_set(why, state, error, "%s: %s", what,
			       error == -ESRCH ? "it has ended" : strerror(-error));
}

int jvm_target_read_status(const struct jvm_target *t, struct process_status *ret)
{
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, STATUS_MAX_BYTES);
	r = fs_read_at(t->proc_fd, "status", &text);
	return r < 0 ? r : process_status_parse(text.data, text.len, ret);
}

/* Whether the directory is still that of a live process which started then. */
static int check_identity(int proc_fd, uint64_t start_time)
{
	struct proc_stat stat;
	int r = procfs_read_stat(proc_fd, &stat);

	if (r == -ENOENT)
		return -ESRCH;
	if (r < 0)
		return r;
	return stat.start_time != start_time || stat.exiting ? -ESRCH : 0;
}

static int open_all(struct jvm_target *t, int proc_root_fd)
{
	t->proc_fd = procfs_open_process(proc_root_fd, t->pid);
	if (t->proc_fd < 0)
		return t->proc_fd == -ENOENT ? -ESRCH : t->proc_fd;
	t->pid_fd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pid_fd < 0)
		return -errno;
	t->root_fd = openat(t->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->root_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	t->cwd_fd = openat(t->proc_fd, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->cwd_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* last: the pid belonged to that process all the time */
	return check_identity(t->proc_fd, t->start_time);
}

int jvm_target_open(struct jvm_target *ret, int proc_root_fd, pid_t pid, uint64_t start_time,
		    struct jvm_failure *why)
{
	CLEANUP(jvm_target_close)
	struct jvm_target t = {
		.pid = pid,
		.start_time = start_time,
		.pid_fd = -1,
		.proc_fd = -1,
		.root_fd = -1,
		.cwd_fd = -1,
	};
	struct process_status status;
	int r = open_all(&t, proc_root_fd);

	if (r == 0)
		r = jvm_target_read_status(&t, &status);
	if (r == -EACCES || r == -EPERM)
		return jvm_failure_set(why, JAVA_STATE_NO_PERMISSION, r,
				       "cannot open the process: CAP_SYS_PTRACE is missing");
	if (r < 0)
		return jvm_target_fail(why, r, "cannot open the process");
	t.uid = status.uid;
	t.gid = status.gid;
	t.nspid = status.nspid;
	*ret = t;
	t = (struct jvm_target){.pid_fd = -1, .proc_fd = -1, .root_fd = -1, .cwd_fd = -1};
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void jvm_target_close(struct jvm_target *t)
{
	close_fd(&t->pid_fd);
	close_fd(&t->proc_fd);
	close_fd(&t->root_fd);
	close_fd(&t->cwd_fd);
}

bool jvm_target_is_alive(const struct jvm_target *t)
{
	struct pollfd p = {.fd = t->pid_fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0 && check_identity(t->proc_fd, t->start_time) == 0;
}

int jvm_target_open_dir(const struct jvm_target *t, const char *path)
{
	int fd;

	if (strcmp(path, ".") != 0)
		return root_dir_open(t->root_fd, path);
	fd = fcntl(t->cwd_fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}
