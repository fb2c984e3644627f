#include "node-agent/workload/cgroup_cache.h"
#include "test/lib/unit.h"

#define ID 77

static const struct cgroup_path service = {.kind = CGROUP_SYSTEMD,
					   .id = "/system.slice/containerd.service"};
static const struct cgroup_path container = {.kind = CGROUP_KUBEPODS, .id = "b"};
static const struct cgroup_path other = {.kind = CGROUP_KUBEPODS, .id = "c"};

static struct cgroup_cache *new_cache(void)
{
	struct cgroup_cache *c = NULL;

	assert_int_equal(cgroup_cache_new(&c), 0);
	return c;
}

static void learn(struct cgroup_cache *c, const struct cgroup_path *path, pid_t pid)
{
	assert_int_equal(cgroup_cache_learn(c, ID, path, pid, 1), 0);
}

static void check(struct cgroup_cache *c, const char *id, pid_t pid)
{
	pid_t found_pid = 0;
	const struct cgroup_path *p = cgroup_cache_find(c, ID, 1, &found_pid);

	assert_non_null(p);
	assert_string_equal(p->id, id);
	assert_int_equal(found_pid, pid);
}

TEST(one_reading_that_disagrees_changes_nothing)
{
	CLEANUP(cgroup_cache_freep) struct cgroup_cache *c = new_cache();

	assert_null(cgroup_cache_find(c, ID, 1, NULL));
	for (unsigned i = 0; i < 100; i++)
		learn(c, &service, 5);
	learn(c, &container, 6);
	check(c, service.id, 5);
	learn(c, &other, 7);
	check(c, service.id, 5);
	learn(c, &service, 8);
	check(c, service.id, 8);
	learn(c, &other, 9); /* the doubt of before is forgotten */
	check(c, service.id, 8);
}

TEST(two_readings_in_a_row_change_the_path)
{
	CLEANUP(cgroup_cache_freep) struct cgroup_cache *c = new_cache();

	learn(c, &container, 6); /* a process that was moved into it after its sample */
	learn(c, &service, 5);
	learn(c, &service, 5);
	check(c, service.id, 5);
}

TEST(an_id_of_many_cgroups_is_not_believed)
{
	CLEANUP(cgroup_cache_freep) struct cgroup_cache *c = new_cache();

	for (unsigned i = 0; i < 10; i++) {
		learn(c, &container, 6);
		learn(c, &other, 7);
	}
	assert_null(cgroup_cache_find(c, ID, 1, NULL));
}
