/*
 * A path in /proc/<pid>/cgroup is text; the kernel identifies a cgroup by a number, which is also
 * the inode number of its directory. So the way from one to the other is fstatat() below the
 * hierarchy's mount. An agent in a container has no useful mount of its own, and its paths are
 * relative to its own cgroup; both are those of the host for the first process of the system, so
 * its mounts are used (/proc/1/root) and its cgroup namespace is joined. Without the right to do
 * so, the agent's own mounts must do.
 */
#include "node-agent/workload/cgroup_hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "common/system/cgroup_text.h"
#include "common/system/fs.h"

#define MAX_TEXT_BYTES ((size_t)4 * 1024 * 1024)

struct cgroup_hierarchy {
	enum cgroup_hierarchy_kind kind;
	int mount_fd; /* negative: not mounted, or out of reach */
};

/* ---- parse ---- */

/* As cgroup_text.h names it. */
static const char *controller_of(enum cgroup_hierarchy_kind kind)
{
	static const char *const names[] = {
		[CGROUP_HIERARCHY_V2] = NULL,
		[CGROUP_HIERARCHY_V1_MEMORY] = "memory",
		[CGROUP_HIERARCHY_V1_CPU] = "cpu",
	};

	return names[kind];
}

static int copy(struct cgroup_span t, char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	if (t.len >= CGROUP_HIERARCHY_PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(ret, t.p, t.len);
	ret[t.len] = '\0';
	return 0;
}

enum cgroup_hierarchy_kind cgroup_hierarchy_choose(const char *text, size_t len)
{
	const struct cgroup_span all = {text, len};
	struct cgroup_span path;

	if (cgroup_text_path("memory", all, &path))
		return CGROUP_HIERARCHY_V1_MEMORY;
	if (cgroup_text_path("cpu", all, &path))
		return CGROUP_HIERARCHY_V1_CPU;
	return CGROUP_HIERARCHY_V2;
}

int cgroup_hierarchy_parse(enum cgroup_hierarchy_kind kind, const char *text, size_t len,
			   char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	const struct cgroup_span all = {text, len};
	struct cgroup_span path;

	return cgroup_text_path(controller_of(kind), all, &path) ? copy(path, ret) : -ENOENT;
}

int cgroup_hierarchy_find_mount(enum cgroup_hierarchy_kind kind, const char *text, size_t len,
				char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	struct cgroup_span rest = {text, len};
	struct cgroup_mount mount;

	while (cgroup_text_next_mount(controller_of(kind), &rest, &mount)) {
		/* a part of the hierarchy is not enough */
		if (mount.root.len == 1)
			return copy(mount.point, ret);
	}
	return -ENOENT;
}

/* ---- the running system ---- */

void cgroup_hierarchy_join_host(int proc_root_fd)
{
	AUTO_CLOSE int fd = openat(proc_root_fd, "1/ns/cgroup", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)setns(fd, CLONE_NEWCGROUP);
}

static int read_text(int dir_fd, const char *path, struct buf *ret)
{
	int r;

	buf_init(ret, MAX_TEXT_BYTES);
	r = fs_read_at(dir_fd, path, ret);
	return r == -ENOMEM ? r : 0; /* what cannot be read is empty */
}

/* In the mount namespace of that process. Returns a descriptor, -ENOENT, or -ENOMEM. */
static int open_mount(enum cgroup_hierarchy_kind kind, int proc_root_fd, const char *pid)
{
	char path[CGROUP_HIERARCHY_PATH_BYTES], in_root[CGROUP_HIERARCHY_PATH_BYTES + 16];
	CLEANUP(buf_fini) struct buf mounts;
	int r, fd;

	snprintf(path, sizeof(path), "%s/mountinfo", pid);
	r = read_text(proc_root_fd, path, &mounts);
	if (r == 0)
		r = cgroup_hierarchy_find_mount(kind, mounts.data ? mounts.data : "", mounts.len,
						path);
	if (r < 0)
		return r;
	snprintf(in_root, sizeof(in_root), "%s/root%s", pid, path);
	fd = openat(proc_root_fd, in_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -ENOENT : fd;
}

int cgroup_hierarchy_new(struct cgroup_hierarchy **ret, int proc_root_fd)
{
	CLEANUP(cgroup_hierarchy_freep) struct cgroup_hierarchy *h = calloc(1, sizeof(*h));
	CLEANUP(buf_fini) struct buf cgroup;
	int r;

	buf_init(&cgroup, MAX_TEXT_BYTES);
	if (!h)
		return -ENOMEM;
	h->mount_fd = -1;
	r = read_text(proc_root_fd, "self/cgroup", &cgroup);
	if (r < 0)
		return r;
	h->kind = cgroup_hierarchy_choose(cgroup.data ? cgroup.data : "", cgroup.len);
	h->mount_fd = open_mount(h->kind, proc_root_fd, "1");
	if (h->mount_fd < 0 && h->mount_fd != -ENOMEM)
		h->mount_fd = open_mount(h->kind, proc_root_fd, "self");
	if (h->mount_fd == -ENOMEM)
		return -ENOMEM;
	*ret = TAKE_PTR(h);
	return 0;
}

void cgroup_hierarchy_free(struct cgroup_hierarchy *h)
{
	if (!h)
		return;
	if (h->mount_fd >= 0)
		close(h->mount_fd);
	free(h);
}

enum cgroup_hierarchy_kind cgroup_hierarchy_kind(const struct cgroup_hierarchy *h)
{
	return h->kind;
}

uint64_t cgroup_hierarchy_id(const struct cgroup_hierarchy *h, const char *path)
{
	struct stat st;

	/* "/.." leads out of the cgroup namespace, to somewhere else than the path says */
	if (h->mount_fd < 0 || path[0] != '/' || !path[1] || strstr(path, "/.."))
		return 0;
	return fstatat(h->mount_fd, path + 1, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino : 0;
}
