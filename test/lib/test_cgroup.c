#include "test/lib/test_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common/data/buf.h"
#include "common/system/fs.h"
#include "test/lib/unit.h"

static void find_mount(const struct cgroup_hierarchy *h,
		       char ret[static CGROUP_HIERARCHY_PATH_BYTES])
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, (size_t)1024 * 1024);
	assert_int_equal(fs_read_at(AT_FDCWD, "/proc/self/mountinfo", &text), 0);
	assert_int_equal(
		cgroup_hierarchy_find_mount(cgroup_hierarchy_kind(h), text.data, text.len, ret), 0);
}

void test_cgroup_make(struct test_cgroup *c, const struct cgroup_hierarchy *h, const char *path)
{
	char mount[CGROUP_HIERARCHY_PATH_BYTES];
	size_t from;
	struct stat st;

	find_mount(h, mount);
	from = strlen(mount);
	assert_true(snprintf(c->path, sizeof(c->path), "%s", path) < (int)sizeof(c->path));
	assert_true(snprintf(c->dir, sizeof(c->dir), "%s%s", mount, path) < (int)sizeof(c->dir));
	for (char *slash = strchr(c->dir + from + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		assert_true(mkdir(c->dir, 0755) == 0 || errno == EEXIST);
		if (!slash)
			break;
		*slash = '/';
	}
	assert_int_equal(stat(c->dir, &st), 0);
	c->id = st.st_ino;
}

void test_cgroup_enter(const struct test_cgroup *c)
{
	char file[PATH_MAX + 16], pid[16];
	int len = snprintf(pid, sizeof(pid), "%d", (int)getpid());
	int fd;

	snprintf(file, sizeof(file), "%s/cgroup.procs", c->dir);
	fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, pid, (size_t)len) != len)
		_exit(1);
	close(fd);
}

void test_cgroup_remove(struct test_cgroup *c)
{
	int r = -1;

	for (int i = 0; i < 3000 && r < 0; i++) {
		r = rmdir(c->dir);
		if (r < 0 && errno != EBUSY)
			break;
		if (r < 0)
			usleep(10000);
	}
	for (char *slash = strrchr(c->path + 1, '/'); r == 0 && slash;
	     slash = strrchr(c->path + 1, '/')) {
		c->dir[strlen(c->dir) - strlen(slash)] = '\0';
		*slash = '\0';
		r = rmdir(c->dir);
	}
}
