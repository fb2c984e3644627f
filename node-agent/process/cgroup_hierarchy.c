/*
 * A path in /proc/<pid>/cgroup is text; the kernel identifies a cgroup by a number, which is also
 * the inode number of its directory. So the way from one to the other is fstatat() below the
 * hierarchy's mount. An agent in a container has no useful mount of its own, and its paths are
 * relative to its own cgroup; both are those of the host for the first process of the system, so
 * its mounts are used (/proc/1/root) and its cgroup namespace is joined. Without the right to do
 * so, the agent's own mounts must do.
 */
#include "node-agent/process/cgroup_hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "common/system/fs.h"

#define MAX_TEXT_BYTES ((size_t)4 * 1024 * 1024)
#define MOUNT_FIELDS 5 /* of a line of mountinfo: id, parent, device, root, mount point */

struct text {
	const char *p;
	size_t len;
};

struct cgroup_hierarchy {
	enum cgroup_hierarchy_kind kind;
	int mount_fd; /* negative: not mounted, or out of reach */
};

/* ---- parse ---- */

static bool is(struct text t, const char *s)
{
	return t.len == strlen(s) && memcmp(t.p, s, t.len) == 0;
}

/* Removes everything up to the next separator from the front of rest, and returns it. */
static struct text cut(struct text *rest, char separator)
{
	const char *end = rest->len > 0 ? memchr(rest->p, separator, rest->len) : NULL;
	struct text first = {rest->p, end ? (size_t)(end - rest->p) : rest->len};
	size_t used = first.len + (end != NULL);

	*rest = (struct text){rest->p + used, rest->len - used};
	return first;
}

static bool has_word(struct text list, const char *word)
{
	while (list.len > 0) {
		if (is(cut(&list, ','), word))
			return true;
	}
	return false;
}

static const char *controller_of(enum cgroup_hierarchy_kind kind)
{
	return kind == CGROUP_HIERARCHY_V1_MEMORY ? "memory" : "cpu";
}

static int copy(struct text t, char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	if (t.len >= CGROUP_HIERARCHY_PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(ret, t.p, t.len);
	ret[t.len] = '\0';
	return 0;
}

/* A line is "4:cpu,cpuacct:/path", or "0::/path" for v2. */
static bool find_line(enum cgroup_hierarchy_kind kind, struct text text, struct text *ret)
{
	while (text.len > 0) {
		struct text path = cut(&text, '\n');
		struct text number = cut(&path, ':'), controllers = cut(&path, ':');

		if (path.len == 0 || path.p[0] != '/')
			continue;
		if (kind == CGROUP_HIERARCHY_V2 ? is(number, "0") && controllers.len == 0
						: has_word(controllers, controller_of(kind))) {
			*ret = path;
			return true;
		}
	}
	return false;
}

enum cgroup_hierarchy_kind cgroup_hierarchy_choose(const char *text, size_t len)
{
	const struct text all = {text, len};
	struct text path;

	if (find_line(CGROUP_HIERARCHY_V1_MEMORY, all, &path))
		return CGROUP_HIERARCHY_V1_MEMORY;
	if (find_line(CGROUP_HIERARCHY_V1_CPU, all, &path))
		return CGROUP_HIERARCHY_V1_CPU;
	return CGROUP_HIERARCHY_V2;
}

int cgroup_hierarchy_parse(enum cgroup_hierarchy_kind kind, const char *text, size_t len,
			   char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	struct text path;

	return find_line(kind, (struct text){text, len}, &path) ? copy(path, ret) : -ENOENT;
}

/* "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu" */
static bool parse_mount(enum cgroup_hierarchy_kind kind, struct text line, struct text *ret)
{
	struct text fields[MOUNT_FIELDS], type;

	for (size_t i = 0; i < MOUNT_FIELDS; i++)
		fields[i] = cut(&line, ' ');
	/* a part of the hierarchy is not enough, and a path with escapes is not worth decoding */
	if (!is(fields[3], "/") || fields[4].len == 0 || fields[4].p[0] != '/' ||
	    memchr(fields[4].p, '\\', fields[4].len))
		return false;
	while (line.len > 0 && !is(cut(&line, ' '), "-"))
		;
	type = cut(&line, ' ');
	(void)cut(&line, ' ');
	*ret = fields[4];
	return kind == CGROUP_HIERARCHY_V2
		       ? is(type, "cgroup2")
		       : is(type, "cgroup") && has_word(line, controller_of(kind));
}

int cgroup_hierarchy_find_mount(enum cgroup_hierarchy_kind kind, const char *text, size_t len,
				char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	struct text rest = {text, len}, path;

	while (rest.len > 0) {
		if (parse_mount(kind, cut(&rest, '\n'), &path))
			return copy(path, ret);
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
