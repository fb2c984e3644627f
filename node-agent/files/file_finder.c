/*
 * Getting from a line of /proc/<pid>/maps to the file.
 *
 * /proc/<pid>/map_files/<range> is a link to the very file that is mapped, even if it was
 * deleted or replaced, but it needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. Without these,
 * the path is looked up below the root of the process, with symbolic links resolved inside it
 * (openat2, RESOLVE_IN_ROOT), as an absolute link would otherwise lead to a file of the host.
 * The result must have the device and inode of the mapping, because the process chooses
 * the path and may have replaced the file.
 *
 * The file system may be served by another machine or by a user's program (FUSE) and never
 * answer, and a thread that waits for it cannot be cancelled. So everything that could reach a
 * file system runs in a job on another thread, with a deadline (deadline_call.h), and jobs own
 * copies of what they use, because they may outlive the call. Only the attributes of a
 * map_files link are read directly: the kernel has them.
 */
#include "node-agent/files/file_finder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "common/system/clock.h"
#include "common/thread/deadline_call.h"

#define PATH_BYTES 4096
#define OPEN_TIMEOUT_NS (200 * NS_PER_MS) /* sampling waits; the ring holds two seconds */
#define HUNG_PAUSE_NS (60 * NS_PER_S)

struct file_finder {
	struct deadline_caller *caller;
	struct deadline_caller *own; /* NULL if the caller is borrowed */
};

/* A lookup below the root of a process, or an open: may wait for a file system. */
struct file_job {
	struct deadline_job job; /* first */
	int at_fd;               /* owned; path is relative to it */
	int result;
	int fd; /* the resulting descriptor */
	struct file_version version;
	bool regular;
	enum fs_kind fs;
	char path[PATH_BYTES];
};

int file_finder_new(struct file_finder **ret)
{
	CLEANUP(file_finder_freep) struct file_finder *f = calloc(1, sizeof(*f));

	if (!f || deadline_caller_new(&f->own, OPEN_TIMEOUT_NS, HUNG_PAUSE_NS) < 0)
		return -ENOMEM;
	f->caller = f->own;
	*ret = TAKE_PTR(f);
	return 0;
}

int file_finder_new_with(struct file_finder **ret, struct deadline_caller *caller)
{
	struct file_finder *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->caller = caller;
	*ret = f;
	return 0;
}

void file_finder_free(struct file_finder *f)
{
	if (!f)
		return;
	deadline_caller_free(f->own);
	free(f);
}

struct deadline_caller *file_finder_caller(struct file_finder *f)
{
	return f->caller;
}

static void job_free(struct deadline_job *j)
{
	struct file_job *job = (struct file_job *)j;

	closep(&job->at_fd);
	closep(&job->fd);
	free(job);
}

static struct file_job *job_new(void (*run)(struct deadline_job *j), int at_fd, uint64_t key)
{
	struct file_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->job = (struct deadline_job){.run = run, .free = job_free, .key = key};
	job->fd = -1;
	/* its own descriptor: the caller may close this one, and its number may be reused */
	job->at_fd = fcntl(at_fd, F_DUPFD_CLOEXEC, 0);
	return job;
}

/* ---- find ---- */

static void find_in_root(struct deadline_job *j)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	struct file_job *job = (struct file_job *)j;

	job->fd = (int)syscall(SYS_openat2, job->at_fd, job->path, &how, sizeof(how));
	job->result =
		job->fd < 0 ? -errno : file_version_read(job->fd, "", &job->version, &job->regular);
}

/* On success ret->id is that of the file that the path leads to, and the caller must compare it. */
static int find_below_root(struct file_finder *f, int proc_fd, const char *path, size_t path_len,
			   uint64_t dev, struct found_file *ret)
{
	AUTO_CLOSE int root_fd = -1;
	struct file_job *job;
	int r;

	if (path_len >= PATH_BYTES)
		return -ENOENT;
	root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	job = job_new(find_in_root, root_fd, dev);
	if (!job)
		return -ENOMEM;
	memcpy(job->path, path, path_len);
	r = deadline_call(f->caller, &job->job);
	if (r < 0)
		return r;
	r = job->result;
	if (r == 0) {
		ret->id = job->version.id;
		ret->regular = job->regular;
		ret->path_fd = TAKE_FD(job->fd);
		ret->ctime_ns = job->version.ctime_ns;
	}
	job_free(&job->job);
	return r;
}

static int find_mapped(struct file_finder *f, int proc_fd, const struct proc_map *m,
		       struct found_file *ret)
{
	uint64_t dev = makedev(m->dev_major, m->dev_minor);
	int r;

	if (m->deleted)
		return -ENOENT;
	r = find_below_root(f, proc_fd, m->path, m->path_len, dev, ret);
	if (r < 0)
		return r;
	if (ret->id.ino == m->ino && ret->id.dev == dev)
		return 0;
	closep(&ret->path_fd);
	return -ENOENT;
}

int file_finder_find_path(struct file_finder *f, int proc_fd, const char *path,
			  const struct file_version *want, struct found_file *ret)
{
	struct file_id other_dev = want->id;
	int r;

	ret->path_fd = -1;
	ret->map_name[0] = '\0';
	r = find_below_root(f, proc_fd, path, strlen(path), want->id.dev, ret);
	if (r < 0)
		return r;
	other_dev.dev = ret->id.dev;
	if (file_id_equal(&ret->id, &want->id) ||
	    (file_id_equal(&ret->id, &other_dev) && ret->ctime_ns == want->ctime_ns))
		return 0;
	closep(&ret->path_fd);
	return -ENOENT;
}

int file_finder_find(struct file_finder *f, int proc_fd, const struct proc_map *m,
		     struct found_file *ret)
{
	struct file_version version;

	ret->path_fd = -1;
	snprintf(ret->map_name, sizeof(ret->map_name), "map_files/%llx-%llx",
		 (unsigned long long)m->start, (unsigned long long)m->end);
	if (file_version_read(proc_fd, ret->map_name, &version, &ret->regular) < 0)
		return find_mapped(f, proc_fd, m, ret);
	ret->id = version.id;
	ret->ctime_ns = version.ctime_ns;
	return 0;
}

/* ---- open ---- */

static void open_file(struct deadline_job *j)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct file_job *job = (struct file_job *)j;

	job->fd = openat(job->at_fd, job->path, flags);
	job->result = job->fd < 0 ? -errno : file_version_read(job->fd, "", &job->version, NULL);
	if (job->result == 0)
		job->fs = local_fs_kind(job->fd);
}

int file_finder_open(struct file_finder *f, int proc_fd, const struct found_file *found,
		     struct opened_file *ret)
{
	struct file_job *job = job_new(open_file, proc_fd, found->id.dev);
	int r;

	if (!job)
		return -ENOMEM;
	if (found->path_fd >= 0) {
		closep(&job->at_fd);
		job->at_fd = fcntl(found->path_fd, F_DUPFD_CLOEXEC, 0);
		snprintf(job->path, sizeof(job->path), "/proc/self/fd/%d", job->at_fd);
	} else {
		snprintf(job->path, sizeof(job->path), "%s", found->map_name);
	}
	r = deadline_call(f->caller, &job->job);
	if (r < 0)
		return r;
	r = job->result;
	if (r == 0 && !file_id_same_file(&job->version.id, &found->id))
		r = -ESTALE;
	if (r == 0) {
		ret->fd = TAKE_FD(job->fd);
		ret->may_hang = job->fs != FS_LOCAL;
		ret->layered = job->fs == FS_LAYERED;
	}
	job_free(&job->job);
	return r;
}

/* ---- file systems that answer ---- */

#define ZFS_MAGIC 0x2fc12fc1 /* not in linux/magic.h */

enum fs_kind local_fs_kind(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return FS_OTHER;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC: /* and ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case ZFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case SQUASHFS_MAGIC:
	case ISOFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
		return FS_LOCAL;
	case OVERLAYFS_SUPER_MAGIC:
		return FS_LAYERED;
	default:
		return FS_OTHER;
	}
}

/* ---- roots ---- */

#define RENAMES_MAX 16u /* a lookup is repeated so often if somebody renames directories */

/* Without openat2(2), name by name: then no component may be a link. */
static int walk(int root_fd, const char *path)
{
	AUTO_CLOSE int fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);

	while (fd >= 0 && *path) {
		size_t len = strcspn(path, "/");
		char name[NAME_MAX + 1];
		int next;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, len);
		name[len] = '\0';
		path += len + (path[len] == '/');
		if (len == 0)
			continue;
		if (strcmp(name, "..") == 0)
			return -ELOOP;
		next = openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			return -errno;
		close(fd);
		fd = next;
	}
	return fd < 0 ? -errno : TAKE_FD(fd);
}

int root_dir_open(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = -EAGAIN;

	for (unsigned i = 0; fd == -EAGAIN && i < RENAMES_MAX; i++) {
		fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd < 0)
			fd = -errno;
	}
	/* refused by systemd's RestrictSUIDSGID=, or by filters that are older than it */
	if (fd == -ENOSYS || fd == -EPERM)
		return walk(root_fd, path);
	return (int)fd;
}
