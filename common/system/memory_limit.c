/*
 * A process is killed when any of the cgroups above it exceeds its limit, so the least of them
 * counts: Kubernetes sets one on the container and one on the pod. With v2 memory.high counts as
 * well, because beyond it the kernel slows a process down until nothing works.
 *
 * Limits above the mount point (a container's view ends at its own cgroup) are out of sight; v1
 * reports those in memory.stat, v2 does not.
 */
#include "common/system/memory_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysinfo.h>

#include "common/data/buf.h"
#include "common/system/fs.h"

#define MAX_TEXT_BYTES ((size_t)4 * 1024 * 1024)

static bool begins_with(struct cgroup_span path, struct cgroup_span root)
{
	return path.len >= root.len && memcmp(path.p, root.p, root.len) == 0 &&
	       (path.len == root.len || path.p[root.len] == '/');
}

int cgroup_dir_find(struct cgroup_dir *ret, const char *controller, struct cgroup_span cgroup,
		    struct cgroup_span mountinfo)
{
	struct cgroup_span path;
	struct cgroup_mount mount;
	int n;

	if (!cgroup_text_path(controller, cgroup, &path) ||
	    !cgroup_text_next_mount(controller, &mountinfo, &mount))
		return -ENOENT;
	if (path.len == 1)
		path.len = 0;
	if (mount.root.len == 1)
		mount.root.len = 0;
	if (begins_with(path, mount.root)) {
		path.p += mount.root.len;
		path.len -= mount.root.len;
	} else {
		/* the process is not below the mount as far as its path tells: use all there is */
		path.len = 0;
	}
	n = snprintf(ret->path, sizeof(ret->path), "%.*s%.*s", (int)mount.point.len, mount.point.p,
		     (int)path.len, path.p);
	if (n >= (int)sizeof(ret->path))
		return -ENAMETOOLONG;
	ret->mount_len = mount.point.len;
	return 0;
}

uint64_t memory_limit_parse(const char *text, size_t len)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			return UINT64_MAX;
	}
	return i > 0 && (i == len || text[i] == '\n') ? v : UINT64_MAX;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t read_limit(const char *dir, const char *name)
{
	CLEANUP(buf_fini) struct buf text;
	char path[PATH_MAX + 64];

	buf_init(&text, 64);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (fs_read_at(AT_FDCWD, path, &text) < 0 || text.len == 0)
		return UINT64_MAX;
	return memory_limit_parse(text.data, text.len);
}

/* v1: "hierarchical_memory_limit 9223372036854771712" includes cgroups that are out of sight. */
static uint64_t read_stat_limit(const char *dir)
{
	static const char name[] = "hierarchical_memory_limit ";
	CLEANUP(buf_fini) struct buf text;
	char path[PATH_MAX + 64];
	const char *line;

	buf_init(&text, MAX_TEXT_BYTES);
	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	if (fs_read_at(AT_FDCWD, path, &text) < 0 || buf_add(&text, "", 1) < 0)
		return UINT64_MAX;
	line = strstr(text.data, name);
	if (!line)
		return UINT64_MAX;
	line += sizeof(name) - 1;
	return memory_limit_parse(line, strcspn(line, "\n"));
}

/* The least limit of the cgroup and of those above it, up to the mount point. */
static uint64_t read_limits(struct cgroup_dir *dir, const char *const *names, size_t n)
{
	uint64_t limit = UINT64_MAX;

	for (;;) {
		for (size_t i = 0; i < n; i++)
			limit = least(limit, read_limit(dir->path, names[i]));
		if (strlen(dir->path) <= dir->mount_len)
			return limit;
		*strrchr(dir->path, '/') = '\0';
	}
}

static uint64_t read_machine(void)
{
	struct sysinfo info;

	return sysinfo(&info) < 0 ? UINT64_MAX : (uint64_t)info.totalram * info.mem_unit;
}

uint64_t memory_limit_read(void)
{
	static const char *const v1[] = {"memory.limit_in_bytes"}, *const v2[] = {"memory.max",
										  "memory.high"};
	CLEANUP(buf_fini) struct buf cgroup;
	CLEANUP(buf_fini) struct buf mounts;
	uint64_t limit = read_machine();
	struct cgroup_dir dir;

	buf_init(&cgroup, MAX_TEXT_BYTES);
	buf_init(&mounts, MAX_TEXT_BYTES);
	if (fs_read_at(AT_FDCWD, "/proc/self/cgroup", &cgroup) < 0 ||
	    fs_read_at(AT_FDCWD, "/proc/self/mountinfo", &mounts) < 0)
		return limit;

	struct cgroup_span c = {cgroup.data, cgroup.len}, m = {mounts.data, mounts.len};

	if (cgroup_dir_find(&dir, NULL, c, m) == 0)
		limit = least(limit, read_limits(&dir, v2, ARRAY_SIZE(v2)));
	if (cgroup_dir_find(&dir, "memory", c, m) == 0) {
		limit = least(limit, read_stat_limit(dir.path));
		limit = least(limit, read_limits(&dir, v1, ARRAY_SIZE(v1)));
	}
	return limit;
}
