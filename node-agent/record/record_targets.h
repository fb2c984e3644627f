/*
 * Whose samples a recording takes: processes by id, and the processes that they make; or those
 * with a name or in a container. Pure.
 *
 * The sampler sees all processes, so this is asked about every sample; the session has the kernel
 * leave out processes that are not wanted.
 */
#ifndef NODE_AGENT_RECORD_RECORD_TARGETS_H
#define NODE_AGENT_RECORD_RECORD_TARGETS_H

#include "common/base.h"
#include "node-agent/workload/workload.h"

struct record_targets;

/* Neither: all processes. At most one of the two is not NULL; borrowed. */
struct record_targets_config {
	const char *comm;
	const char *container;
	bool by_id; /* only processes that are added, and their children */
};

/* Returns 0 or -ENOMEM. */
int record_targets_new(struct record_targets **ret,
		       const struct record_targets_config *cfg) MUST_CHECK;
void record_targets_free(struct record_targets *t);
DEFINE_CLEANUP(struct record_targets *, record_targets_free);

/* Adds a process. Returns 0 or -ENOMEM. */
int record_targets_add(struct record_targets *t, pid_t pid) MUST_CHECK;

/* A process was made: it is a target if its parent is one. Returns 0 or -ENOMEM. */
int record_targets_fork(struct record_targets *t, pid_t parent, pid_t child) MUST_CHECK;

/* A process has exited. */
void record_targets_exit(struct record_targets *t, pid_t pid);

/* Those added, and their children, that have not exited. */
size_t record_targets_count(const struct record_targets *t);

/* Whether its container is not needed to say that this process is not wanted. */
bool record_targets_may_want(const struct record_targets *t, pid_t pid, const char *comm);
/* Likewise of its cgroup: true unless that is of another container, or none. */
bool record_targets_may_want_cgroup(const struct record_targets *t, const struct cgroup_path *c);
/* Whether processes of this workload are wanted: always true unless a container is asked for. */
bool record_targets_want_workload(const struct record_targets *t, const struct workload *w);

#endif /* NODE_AGENT_RECORD_RECORD_TARGETS_H */
