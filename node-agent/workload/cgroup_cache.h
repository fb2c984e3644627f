/*
 * What the kernel's ids of cgroups stand for, learned from processes that could be read, so that a
 * process that exited is attributed to its container. Loop thread only.
 */
#ifndef NODE_AGENT_WORKLOAD_CGROUP_CACHE_H
#define NODE_AGENT_WORKLOAD_CGROUP_CACHE_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/workload/cgroup_path.h"

#define CGROUP_CACHE_MAX 8192 /* cgroups; one takes some 700 bytes */

struct cgroup_cache;

int cgroup_cache_new(struct cgroup_cache **ret) MUST_CHECK;
void cgroup_cache_free(struct cgroup_cache *c);
DEFINE_CLEANUP(struct cgroup_cache *, cgroup_cache_free);

/* A process of the cgroup with this id was read. Returns 0 or -ENOMEM. */
int cgroup_cache_learn(struct cgroup_cache *c, uint64_t id, const struct cgroup_path *path,
		       pid_t pid, uint64_t now_ns) MUST_CHECK;

/*
 * Returns what was learned, borrowed until the next call with c, or NULL. *ret_pid (NULL: not
 * wanted) is the process that was read last.
 */
const struct cgroup_path *cgroup_cache_find(struct cgroup_cache *c, uint64_t id, uint64_t now_ns,
					    pid_t *ret_pid);

/* Call it every few seconds: forgets cgroups that no process was sampled in for a while. */
void cgroup_cache_sweep(struct cgroup_cache *c, uint64_t now_ns);

#endif /* NODE_AGENT_WORKLOAD_CGROUP_CACHE_H */
