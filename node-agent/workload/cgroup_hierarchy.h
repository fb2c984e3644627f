/*
 * The cgroup hierarchy that tells containers apart, and the number that the kernel knows a
 * process's cgroup in it by.
 *
 * With cgroup v2 there is one hierarchy. With v1 there is one per controller, and v2 may be
 * mounted beside them with all processes in its root; then it is that of the memory controller,
 * or else the CPU controller's: container runtimes and systemd make a cgroup for each container
 * and service there.
 */
#ifndef NODE_AGENT_WORKLOAD_CGROUP_HIERARCHY_H
#define NODE_AGENT_WORKLOAD_CGROUP_HIERARCHY_H

#include "common/base.h"
#include "common/err.h"

#define CGROUP_HIERARCHY_PATH_BYTES 4096

enum cgroup_hierarchy_kind {
	CGROUP_HIERARCHY_V2,
	CGROUP_HIERARCHY_V1_MEMORY,
	CGROUP_HIERARCHY_V1_CPU,
};

struct cgroup_hierarchy;

/* ---- pure ---- */

/* Which one, by the text of the /proc/<pid>/cgroup of any process. */
enum cgroup_hierarchy_kind cgroup_hierarchy_choose(const char *text, size_t len);

/*
 * The path of a process in that hierarchy, by the text of its /proc/<pid>/cgroup. Returns 0,
 * -ENOENT if it has none, or -ENAMETOOLONG.
 */
int cgroup_hierarchy_parse(enum cgroup_hierarchy_kind kind, const char *text, size_t len,
			   char ret[static CGROUP_HIERARCHY_PATH_BYTES]) MUST_CHECK;

/*
 * Where that hierarchy is mounted as a whole, by the text of mountinfo. Returns 0, -ENOENT if it
 * is not, or -ENAMETOOLONG.
 */
int cgroup_hierarchy_find_mount(enum cgroup_hierarchy_kind kind, const char *text, size_t len,
				char ret[static CGROUP_HIERARCHY_PATH_BYTES]) MUST_CHECK;

/* ---- on the running system ---- */

/*
 * Moves the calling thread, and those it starts later, into the cgroup namespace of the first
 * process, so that /proc/<pid>/cgroup shows whole paths. Without the right to do so (which is
 * CAP_SYS_ADMIN) nothing changes: paths are relative to the agent's own cgroup then.
 */
void cgroup_hierarchy_join_host(int proc_root_fd);

/*
 * Finds the hierarchy and its mount, in the mount namespace of the first process or else our own.
 * Succeeds without a mount: then no cgroup has an id. -ENOMEM is the only failure.
 */
int cgroup_hierarchy_new(struct cgroup_hierarchy **ret, int proc_root_fd) MUST_CHECK;
void cgroup_hierarchy_free(struct cgroup_hierarchy *h);
DEFINE_CLEANUP(struct cgroup_hierarchy *, cgroup_hierarchy_free);

enum cgroup_hierarchy_kind cgroup_hierarchy_kind(const struct cgroup_hierarchy *h);

/*
 * The number of the cgroup at a path of this hierarchy: the inode number of its directory. 0 if
 * there is no such cgroup, or if it cannot be found.
 */
uint64_t cgroup_hierarchy_id(const struct cgroup_hierarchy *h, const char *path);

#endif /* NODE_AGENT_WORKLOAD_CGROUP_HIERARCHY_H */
