/*
 * Where a JVM may be given a library: a mount from which code may be mapped, and a directory in
 * which its user may create files. Both are found out by asking the mount and by doing it as that
 * user, not by reading modes, which say little with ACLs, quotas or user namespaces.
 */
#include "node-agent/java/attach/place_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>

#include "common/system/fs.h"
#include "node-agent/files/file_finder.h"
#include "node-agent/java/attach/place_files.h"
#include "node-agent/procfs/procfs.h"

#define DIR_MODE 0700
#define PERMISSIONS 0777

static const struct {
	const char *path;
	const char *name; /* in sentences */
} places[JVM_PLACES] = {
	[JVM_PLACE_TMP] = {"/tmp", "/tmp"},
	[JVM_PLACE_SHM] = {"/dev/shm", "/dev/shm"},
	[JVM_PLACE_CWD] = {".", "its working directory"},
};

const char *place_dir_kind_name(enum jvm_place_kind kind)
{
	return places[kind].name;
}

void place_dir_init(struct jvm_place *p, const struct jvm_target *t, enum jvm_place_kind kind)
{
	*p = (struct jvm_place){
		.kind = kind,
		.parent_fd = -1,
		.dir_fd = -1,
		.lock_fd = -1,
		.uid = t->uid,
		.gid = t->gid,
	};
	snprintf(p->name, sizeof(p->name), JVM_PLACE_PREFIX "%d-%llu", (int)t->pid,
		 (unsigned long long)t->start_time);
}

bool place_dir_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- the parent directory ---- */

/* async-profiler's options give '%' and ',' a meaning; quotes and blanks are not worth a try. */
static bool is_plain(const char *path)
{
	return path[0] == '/' &&
	       strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
			    "/._-+@~:") == strlen(path);
}

/*
 * The path of the JVM's working directory as the JVM sees it. The kernel's is relative to the root
 * of its mounts, which is another in a chroot(2).
 */
static int find_cwd(const struct jvm_target *t, int parent_fd, char **ret)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;
	struct stat named, opened;
	int r = procfs_read_link(t->proc_fd, "cwd", &path);

	if (r < 0)
		return r;
	if (!is_plain(path))
		return -EINVAL;
	fd = jvm_target_open_dir(t, path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &named) < 0 || fstat(parent_fd, &opened) < 0)
		return -errno;
	if (!place_dir_is_same(&named, &opened))
		return -ENOENT;
	*ret = TAKE_PTR(path);
	return 0;
}

const char *place_dir_mount_problem(int fd)
{
	struct statvfs v;

	if (local_fs_kind(fd) == FS_OTHER)
		return "on a network or in user space";
	if (fstatvfs(fd, &v) < 0)
		return strerror(errno);
	if (v.f_flag & ST_RDONLY)
		return "read-only";
	if (v.f_flag & ST_NOEXEC)
		return "noexec";
	/* no blocks: without a limit */
	if (v.f_blocks > 0 && (uint64_t)v.f_bavail * v.f_frsize < JVM_PLACE_MIN_FREE_BYTES)
		return "nearly full";
	return NULL;
}

int place_dir_open_parent(struct jvm_place *p, const struct jvm_target *t, const char *cwd,
			  const char **ret_problem)
{
	const char *path = p->kind == JVM_PLACE_CWD ? cwd : places[p->kind].path;

	p->parent_fd = jvm_target_open_dir(t, places[p->kind].path);
	if (p->parent_fd < 0) {
		*ret_problem = strerror(-p->parent_fd);
		return p->parent_fd;
	}
	if (!path) {
		*ret_problem = "its path cannot be used";
		return -EINVAL;
	}
	if ((size_t)snprintf(p->dir, sizeof(p->dir), "%s/%s", strcmp(path, "/") == 0 ? "" : path,
			     p->name) >= sizeof(p->dir)) {
		*ret_problem = "its path is too long";
		return -ENAMETOOLONG;
	}
	return 0;
}

char *place_dir_cwd(const struct jvm_target *t)
{
	char *path = NULL;

	return find_cwd(t, t->cwd_fd, &path) == 0 ? path : NULL;
}

/* ---- the directory ---- */

bool place_dir_is_right(const struct stat *st, uid_t uid)
{
	return S_ISDIR(st->st_mode) && st->st_uid == uid && (st->st_mode & PERMISSIONS) == DIR_MODE;
}

int place_dir_open(struct jvm_place *p)
{
	struct stat st;

	p->dir_fd = openat(p->parent_fd, p->name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->dir_fd < 0)
		return errno == ENOENT ? -ENOENT : -EEXIST;
	if (fstat(p->dir_fd, &st) < 0)
		return -errno;
	return place_dir_is_right(&st, p->uid) ? 0 : -EEXIST;
}

/*
 * One agent at a time works in it. The lock is the process's, so that another thread of this agent
 * gets it, too.
 */
int place_dir_lock(struct jvm_place *p)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat st;
	int r;

	p->lock_fd = openat(p->dir_fd, PLACE_FILES_LOCK,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (p->lock_fd >= 0)
		r = fstat(p->lock_fd, &st) < 0 ? -errno : 0;
	else if (errno == EEXIST)
		r = p->lock_fd = fs_open_regular(p->dir_fd, PLACE_FILES_LOCK, O_RDWR, &st);
	else
		r = -errno;
	if (r < 0)
		return r == -EBADMSG ? -EEXIST : r;
	if (!place_files_is_own(&st, p->uid))
		return -EEXIST;
	if (fcntl(p->lock_fd, F_SETLK, &lock) < 0)
		return errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	return 0;
}

int place_dir_make(struct jvm_place *p)
{
	int r;

	if (mkdirat(p->parent_fd, p->name, DIR_MODE) == 0)
		p->made = true;
	else if (errno != EEXIST)
		return -errno;
	r = place_dir_open(p);
	return r < 0 ? r : place_dir_lock(p);
}
