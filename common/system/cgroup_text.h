/*
 * What the kernel writes about cgroups: /proc/<pid>/cgroup, and the mounts of their hierarchies in
 * mountinfo. Pure.
 *
 * A hierarchy is named by one of its controllers ("memory", "cpu"; cgroup v1), or by NULL for
 * cgroup v2, which has all of its controllers in one.
 */
#ifndef COMMON_SYSTEM_CGROUP_TEXT_H
#define COMMON_SYSTEM_CGROUP_TEXT_H

#include "common/base.h"

struct cgroup_span {
	const char *p;
	size_t len;
};

/* The path of a process in the hierarchy, by the text of its /proc/<pid>/cgroup. */
bool cgroup_text_path(const char *controller, struct cgroup_span text, struct cgroup_span *ret);

/* A mount of the hierarchy: which of its cgroups is mounted ("/": all of them), and where. */
struct cgroup_mount {
	struct cgroup_span root;
	struct cgroup_span point;
};

/* The next one in the rest of a mountinfo, which advances; mounts with odd names are skipped. */
bool cgroup_text_next_mount(const char *controller, struct cgroup_span *rest,
			    struct cgroup_mount *ret);

#endif /* COMMON_SYSTEM_CGROUP_TEXT_H */
