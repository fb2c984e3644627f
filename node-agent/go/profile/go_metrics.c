#include "node-agent/go/profile/go_metrics.h"

#define PREFIX "coroot_node_agent_go"
#define TITLE "Go"

#define WITHOUT_STACK(reason)                                              \
	PREFIX "_goroutines_without_stack_total", "reason=\"" reason "\"", \
		"Goroutines counted without their stack, by reason"
#define INCOMPLETE(reason)                                                    \
	PREFIX "_goroutines_incomplete_stack_total", "reason=\"" reason "\"", \
		"Goroutines of whose stack only the calls next to the leaf were read, by reason"

const struct metric_def go_metrics_runtime[RUNTIME_METRICS] = {
	RUNTIME_METRIC_DEFS(PREFIX, TITLE),
};

const struct metric_def go_metrics_profiles[GO_PROFILES] = {
	[GO_PROFILE_HEAP] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "heap"),
	[GO_PROFILE_GOROUTINE] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "goroutine"),
	[GO_PROFILE_MUTEX] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "mutex"),
	[GO_PROFILE_BLOCK] = RUNTIME_PROFILE_DEF(PREFIX, TITLE, "block"),
};

static const struct metric_def metric_defs[GO_METRICS] = {
	[GO_METRIC_HEAP_RECORDS] = {PREFIX "_heap_records_total", NULL,
				    "Records of Go's memory profiler read"},
	[GO_METRIC_HEAP_TORN] =
		{PREFIX "_heap_records_torn_total", NULL,
		 "Records of Go's memory profiler ignored: their counters contradict each other"},
	[GO_METRIC_HEAP_BACKWARDS] =
		{PREFIX "_heap_records_backwards_total", NULL,
		 "Records of Go's memory profiler that decreased: counted as unchanged"},
	[GO_METRIC_HEAP_OFF] = {PREFIX "_heap_off_total", NULL,
				"Readings of Go processes whose memory profiler is off"},
	[GO_METRIC_HEAP_FORCED] = {PREFIX "_heap_forced_total", NULL,
				   "Go processes whose memory profiler the agent switched on"},
	[GO_METRIC_HEAP_RESTORED] =
		{PREFIX "_heap_restored_total", NULL,
		 "Go processes whose memory profiler the agent switched off again on exit"},
	[GO_METRIC_GOROUTINES] = {PREFIX "_goroutines_read_total", NULL, "Goroutines read"},
	[GO_METRIC_GOROUTINES_RUNNING] = {WITHOUT_STACK("running")},
	[GO_METRIC_GOROUTINES_MOVED] = {WITHOUT_STACK("moved")},
	[GO_METRIC_GOROUTINES_LIMITED] = {WITHOUT_STACK("limit_bytes")},
	[GO_METRIC_GOROUTINES_UNREADABLE] = {WITHOUT_STACK("unreadable")},
	[GO_METRIC_GOROUTINES_BROKEN] = {INCOMPLETE("broken")},
	[GO_METRIC_GOROUTINES_CUT] = {INCOMPLETE("limit_depth")},
	[GO_METRIC_GOROUTINES_BAD] = {PREFIX "_goroutines_bad_total", NULL,
				      "Entries of goroutine lists that are not goroutines"},
};
METRIC_TABLE(metric_table, metric_defs);

int go_metrics_register(struct metrics *ms, struct metric metrics[GO_METRICS])
{
	return metrics_register(ms, &metric_table, metrics, NULL);
}
