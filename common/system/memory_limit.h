/* How much memory this process may use before the kernel kills it. */
#ifndef COMMON_SYSTEM_MEMORY_LIMIT_H
#define COMMON_SYSTEM_MEMORY_LIMIT_H

#include <limits.h>

#include "common/base.h"
#include "common/system/cgroup_text.h"

/*
 * Returns the least of the machine's memory and of the limits of the process's cgroup and of all
 * above it that it can see; both versions of cgroups are looked at. In bytes.
 */
uint64_t memory_limit_read(void);

/* ---- pure parts ---- */

struct cgroup_dir {
	char path[PATH_MAX];
	size_t mount_len; /* of the mount point, where the visible part of the hierarchy ends */
};

/*
 * The directory of a process's cgroup, by the texts of its /proc/<pid>/cgroup and mountinfo. A
 * container may see only its own cgroup mounted, while its path is still that of the host. Returns
 * 0, -ENOENT if the hierarchy is absent or not mounted, or -ENAMETOOLONG.
 */
int cgroup_dir_find(struct cgroup_dir *ret, const char *controller, struct cgroup_span cgroup,
		    struct cgroup_span mountinfo) MUST_CHECK;

/* A limit as the kernel writes it; UINT64_MAX for "max" and for what is not a number. */
uint64_t memory_limit_parse(const char *text, size_t len);

#endif /* COMMON_SYSTEM_MEMORY_LIMIT_H */
