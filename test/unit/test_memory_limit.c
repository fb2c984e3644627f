#include <errno.h>

#include "common/system/memory_limit.h"
#include "test/lib/unit.h"

#define SPAN(s) ((struct cgroup_span){s, sizeof(s) - 1})

static const char *find(const char *controller, const char *cgroup, const char *mountinfo,
			struct cgroup_dir *ret)
{
	int r = cgroup_dir_find(ret, controller, (struct cgroup_span){cgroup, strlen(cgroup)},
				(struct cgroup_span){mountinfo, strlen(mountinfo)});

	return r < 0 ? strerror(-r) : ret->path;
}

TEST(a_cgroup_is_found_below_its_mount)
{
	static const char v2[] = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 c rw\n";
	static const char v1[] =
		"36 24 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
	struct cgroup_dir dir;

	assert_string_equal(find(NULL, "0::/kubepods/pod1/c1\n", v2, &dir),
			    "/sys/fs/cgroup/kubepods/pod1/c1");
	assert_int_equal(dir.mount_len, strlen("/sys/fs/cgroup"));
	assert_string_equal(find(NULL, "0::/\n", v2, &dir), "/sys/fs/cgroup");
	assert_string_equal(find("memory", "9:cpu:/a\n4:memory:/b\n0::/\n", v1, &dir),
			    "/sys/fs/cgroup/memory/b");
	assert_string_equal(find("memory", "0::/\n", v1, &dir), strerror(ENOENT));
	assert_string_equal(find(NULL, "0::/a\n", v1, &dir), strerror(ENOENT));
	assert_string_equal(find(NULL, "", "", &dir), strerror(ENOENT));
}

/* Docker with cgroup v1: the path is the host's, the mount is the container's own cgroup. */
TEST(a_container_sees_only_its_own_cgroup)
{
	static const char mine[] =
		"1 2 0:31 /docker/c1 /sys/fs/cgroup/memory ro - cgroup c memory\n";
	struct cgroup_dir dir;

	assert_string_equal(find("memory", "4:memory:/docker/c1\n", mine, &dir),
			    "/sys/fs/cgroup/memory");
	assert_string_equal(find("memory", "4:memory:/docker/c1/sub\n", mine, &dir),
			    "/sys/fs/cgroup/memory/sub");
	/* another one whose name begins alike, and a namespace's root */
	assert_string_equal(find("memory", "4:memory:/docker/c12\n", mine, &dir),
			    "/sys/fs/cgroup/memory");
	assert_string_equal(find("memory", "4:memory:/\n", mine, &dir), "/sys/fs/cgroup/memory");
}

TEST(a_path_that_is_too_long_is_refused)
{
	static const char v2[] = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n";
	char cgroup[PATH_MAX + 10] = "0::/";
	struct cgroup_dir dir;

	memset(cgroup + 4, 'x', PATH_MAX);
	assert_string_equal(find(NULL, cgroup, v2, &dir), strerror(ENAMETOOLONG));
}

TEST(limits_are_numbers_or_none)
{
	assert_int_equal(memory_limit_parse("805306368\n", 10), 805306368);
	assert_true(memory_limit_parse("max\n", 4) == UINT64_MAX);
	assert_true(memory_limit_parse("", 0) == UINT64_MAX);
	assert_true(memory_limit_parse("-1\n", 3) == UINT64_MAX);
	assert_true(memory_limit_parse("18446744073709551616", 20) == UINT64_MAX);
}

TEST(this_process_has_a_limit)
{
	uint64_t limit = memory_limit_read();

	assert_true(limit > 1024 * 1024);
	assert_true(limit < UINT64_MAX);
}
