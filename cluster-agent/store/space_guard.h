/*
 * Keeps the disks of the store from running full: drops the oldest days of profiles when a
 * disk is used beyond a limit.
 *
 * It looks once a minute, on a thread of its own, at all local disks that have parts of our
 * tables, on all servers of a cluster. space_plan.h decides. What is dropped is counted and
 * logged. Disks in object storage have no limit.
 */
#ifndef CLUSTER_AGENT_STORE_SPACE_GUARD_H
#define CLUSTER_AGENT_STORE_SPACE_GUARD_H

#include "common/base.h"
#include "common/err.h"

struct metrics;
struct space_guard;
struct store;

struct space_guard_config {
	struct store *store; /* borrowed; must outlive the guard */
	unsigned max_usage_percent;
	uint64_t interval_ns; /* 0: a minute */
};

/* Starts no thread yet. Returns 0 or -ENOMEM. */
int space_guard_new(struct space_guard **ret, const struct space_guard_config *cfg) MUST_CHECK;
/* coroot_cluster_agent_space_…; before the thread starts. The guard must outlive ms. */
int space_guard_register(struct space_guard *g, struct metrics *ms) MUST_CHECK;
/* Returns 0, -EAGAIN or -ENOMEM. */
int space_guard_start(struct space_guard *g) MUST_CHECK;
/* Waits for a statement that is under way. May be repeated; NULL is allowed. */
void space_guard_stop(struct space_guard *g);
/* Stops it first. NULL is allowed. */
void space_guard_free(struct space_guard *g);
DEFINE_CLEANUP(struct space_guard *, space_guard_free);

/*
 * One look, as the thread does it. Returns the number of days that were dropped, or -errno of
 * store_maintain() with a sentence in err.
 */
int space_guard_check(struct space_guard *g, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_STORE_SPACE_GUARD_H */
