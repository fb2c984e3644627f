/*
 * Keeps excluded workloads from being sampled: tells the BPF program their cgroups, or processes.
 *
 * Each sample that arrives is asked about (exclusions_drop()). The first one of an excluded
 * workload is dropped, and makes that there are no more: by the id of its cgroup if that is the
 * workload's alone, or else by process. What the kernel cannot be told, because its maps are
 * full, is dropped here.
 *
 * A process is excluded until it executes another program, and checked every half minute: it may
 * have been moved to another cgroup. One whose environment cannot be read, because it has exited,
 * is treated as its parent (environ_verdicts.h).
 *
 * The name of a container may become known after it was sampled, and its pod's annotation may
 * change. Then it is decided again. Samples that are in a cycle already are left there, so
 * profiles must be checked by profile_filter.h before they are uploaded.
 *
 * All functions are called on the loop thread.
 */
#ifndef NODE_AGENT_SAMPLE_EXCLUSIONS_H
#define NODE_AGENT_SAMPLE_EXCLUSIONS_H

#include "common/base.h"
#include "node-agent/container/container_directory.h"
#include "node-agent/process/process_table.h"
#include "node-agent/sample/sampler.h"
#include "node-agent/workload/cgroup_hierarchy.h"
#include "node-agent/workload/profile_filter.h"

struct exclusions;

/* All borrowed. */
struct exclusions_config {
	const char *proc_root; /* NULL: "/proc" */
	const struct profile_filter *filter;
	const struct cgroup_hierarchy *hierarchy; /* that of the sampler's cgroup ids */
	struct sampler *sampler;
	struct container_directory *directory; /* NULL: raw names are final */
	struct process_table *processes;       /* subscribed to; samples come after that */
	uint64_t recheck_ns; /* how long a process stays excluded unchecked; 0: 30 s */
};

struct exclusions_stats {
	uint64_t dropped;   /* total: samples that exclusions_drop() refused */
	uint64_t overflow;  /* total: times that the kernel could not be told */
	uint64_t cgroups;   /* excluded in the kernel */
	uint64_t processes; /* likewise */
};

/* Returns 0, -ENOMEM, or -errno if proc_root cannot be opened. */
int exclusions_new(struct exclusions **ret, const struct exclusions_config *cfg) MUST_CHECK;
/* Before the sampler; nothing calls the table and the directory any more. NULL is allowed. */
void exclusions_free(struct exclusions *x);
DEFINE_CLEANUP(struct exclusions *, exclusions_free);

/* Whether this sample must not be used; counts it. To be called after process_table_get(). */
bool exclusions_drop(struct exclusions *x, const struct sample_event *e);

/* Call it every few seconds: decides again, and forgets what no longer exists. */
void exclusions_update(struct exclusions *x);

void exclusions_read_stats(const struct exclusions *x, struct exclusions_stats *ret);

#endif /* NODE_AGENT_SAMPLE_EXCLUSIONS_H */
