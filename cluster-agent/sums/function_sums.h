/*
 * Keeps the sums of each day by function (table profiling_functions), by which a function is
 * searched in all applications: its own and total values by service, version and type.
 *
 * A thread sums the present day every quarter of an hour, or as often as 5 percent of a core allow,
 * and the day before until six hours after its end; then once more, and never again. Days without
 * sums follow, back to the oldest profiles. The table itself says what is done: a service whose
 * sums are older than wanted is summed again, and its rows replace the earlier ones. So an agent
 * that was killed continues, several agents on one database share the work, in an order of their
 * own, and none of that adds anything twice.
 *
 * Only the SUM_QUERY_FUNCTIONS functions with the largest totals are kept of a service, version,
 * type and day, and a row with the total of all of them.
 */
#ifndef CLUSTER_AGENT_SUMS_FUNCTION_SUMS_H
#define CLUSTER_AGENT_SUMS_FUNCTION_SUMS_H

#include "common/base.h"
#include "common/err.h"

struct function_sums;
struct metrics;
struct store;

struct function_sums_config {
	struct store *store; /* borrowed; must outlive it */
	uint64_t ttl_ns;     /* days that are older are not summed: the smaller time to live */
};

/* Starts no thread yet. Returns 0 or -ENOMEM. */
int function_sums_new(struct function_sums **ret,
		      const struct function_sums_config *cfg) MUST_CHECK;
/* coroot_cluster_agent_function_sums_…; before the thread starts. s must outlive ms. */
int function_sums_register(struct function_sums *s, struct metrics *ms) MUST_CHECK;
/* Returns 0, -EAGAIN or -ENOMEM. */
int function_sums_start(struct function_sums *s) MUST_CHECK;
/* Waits for a statement that is under way. May be repeated; NULL is allowed. */
void function_sums_stop(struct function_sums *s);
/* Stops it first. NULL is allowed. */
void function_sums_free(struct function_sums *s);
DEFINE_CLEANUP(struct function_sums *, function_sums_free);

/*
 * One pass, as the thread makes it: sums the days that lack it at now_ns (since the epoch). Returns
 * 0, -EPIPE if it was stopped, or an error of the store with a sentence in err; the next call
 * continues.
 */
int function_sums_pass(struct function_sums *s, int64_t now_ns, struct err *err) MUST_CHECK;

#endif /* CLUSTER_AGENT_SUMS_FUNCTION_SUMS_H */
