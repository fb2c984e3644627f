/* Cgroups made for a test, in the hierarchy that the agent uses (cgroup_hierarchy.h). Root only. */
#ifndef TEST_LIB_TEST_CGROUP_H
#define TEST_LIB_TEST_CGROUP_H

#include <limits.h>
#include <sys/types.h>

#include "node-agent/workload/cgroup_hierarchy.h"

struct test_cgroup {
	char path[512]; /* in the hierarchy */
	char dir[PATH_MAX];
	uint64_t id; /* the inode number of dir */
};

/* Makes the cgroup with this path, and its parents. */
void test_cgroup_make(struct test_cgroup *c, const struct cgroup_hierarchy *h, const char *path);
/* Moves the calling process into it; exits if that fails. */
void test_cgroup_enter(const struct test_cgroup *c);
/* Waits until its processes have ended. Parents are removed too if nothing is left in them. */
void test_cgroup_remove(struct test_cgroup *c);

#endif /* TEST_LIB_TEST_CGROUP_H */
