#include <errno.h>
#include <fcntl.h>

#include "node-agent/workload/cgroup_hierarchy.h"
#include "test/lib/unit.h"

#define V2_LINE "0::/system.slice/cron.service\n"
#define HYBRID                             \
	"5:cpuset:/\n"                     \
	"4:cpu,cpuacct:/docker/cpu\n"      \
	"3:memory:/docker/memory\n"        \
	"1:name=systemd:/docker/systemd\n" \
	"0::/docker/unified\n"

static enum cgroup_hierarchy_kind choose(const char *text)
{
	return cgroup_hierarchy_choose(text, strlen(text));
}

TEST(memory_is_preferred_to_cpu_and_both_to_v2)
{
	assert_int_equal(choose(V2_LINE), CGROUP_HIERARCHY_V2);
	assert_int_equal(choose(""), CGROUP_HIERARCHY_V2);
	assert_int_equal(choose(HYBRID), CGROUP_HIERARCHY_V1_MEMORY);
	assert_int_equal(choose("4:cpuacct,cpu:/\n0::/a\n"), CGROUP_HIERARCHY_V1_CPU);
	/* not words of the list */
	assert_int_equal(choose("4:cpuset:/\n1:name=memory:/\n"), CGROUP_HIERARCHY_V2);
}

TEST(the_path_is_that_of_the_hierarchy)
{
	char path[CGROUP_HIERARCHY_PATH_BYTES];
	size_t len = strlen(HYBRID);

	assert_int_equal(cgroup_hierarchy_parse(CGROUP_HIERARCHY_V1_MEMORY, HYBRID, len, path), 0);
	assert_string_equal(path, "/docker/memory");
	assert_int_equal(cgroup_hierarchy_parse(CGROUP_HIERARCHY_V1_CPU, HYBRID, len, path), 0);
	assert_string_equal(path, "/docker/cpu");
	assert_int_equal(cgroup_hierarchy_parse(CGROUP_HIERARCHY_V2, HYBRID, len, path), 0);
	assert_string_equal(path, "/docker/unified");
	assert_int_equal(
		cgroup_hierarchy_parse(CGROUP_HIERARCHY_V1_CPU, V2_LINE, strlen(V2_LINE), path),
		-ENOENT);
}

TEST(a_path_beyond_the_limit_is_refused)
{
	static char text[CGROUP_HIERARCHY_PATH_BYTES + 16] = "0::/";
	char path[CGROUP_HIERARCHY_PATH_BYTES];

	memset(text + 4, 'a', sizeof(text) - 5);
	assert_int_equal(cgroup_hierarchy_parse(CGROUP_HIERARCHY_V2, text, strlen(text), path),
			 -ENAMETOOLONG);
}

static int find_mount(enum cgroup_hierarchy_kind kind, const char *text, char *ret)
{
	return cgroup_hierarchy_find_mount(kind, text, strlen(text), ret);
}

TEST(the_mount_is_found_by_type_and_controller)
{
	static const char text[] =
		"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup "
		"rw,cpu,cpuacct\n"
		"35 31 0:32 /docker/x /sys/fs/cgroup/part rw - cgroup cgroup rw,memory\n"
		"36 31 0:32 / /a\\040b rw - cgroup cgroup rw,memory\n"
		"37 31 0:32 / /sys/fs/cgroup/memory rw shared:1 master:2 - cgroup cgroup "
		"rw,memory\n"
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
	char path[CGROUP_HIERARCHY_PATH_BYTES];

	assert_int_equal(find_mount(CGROUP_HIERARCHY_V1_MEMORY, text, path), 0);
	assert_string_equal(path, "/sys/fs/cgroup/memory");
	assert_int_equal(find_mount(CGROUP_HIERARCHY_V1_CPU, text, path), 0);
	assert_string_equal(path, "/sys/fs/cgroup/cpu,cpuacct");
	assert_int_equal(find_mount(CGROUP_HIERARCHY_V2, text, path), 0);
	assert_string_equal(path, "/sys/fs/cgroup/unified");
	assert_int_equal(find_mount(CGROUP_HIERARCHY_V2, "1 2 3\n\n - cgroup2 x y\n", path),
			 -ENOENT);
}

/* Its id in the kernel's eyes is checked by test/bpf. */
TEST(a_cgroup_of_this_machine_has_a_number)
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(cgroup_hierarchy_freep) struct cgroup_hierarchy *h = NULL;

	assert_int_equal(cgroup_hierarchy_new(&h, root), 0);
	assert_int_equal(cgroup_hierarchy_id(h, "/there/is/no/such/cgroup"), 0);
	assert_int_equal(cgroup_hierarchy_id(h, "/"), 0);
	assert_int_equal(cgroup_hierarchy_id(h, "/../.."), 0);
	assert_int_equal(cgroup_hierarchy_id(h, ""), 0);
}
