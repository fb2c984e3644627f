#include "node-agent/go_profile/go_metrics.h"

#include <errno.h>

#define PREFIX "coroot_node_agent_go"

#define WITHOUT_STACK(reason)                                              \
	PREFIX "_goroutines_without_stack_total", "reason=\"" reason "\"", \
		"Goroutines counted without their stack, by reason"
#define INCOMPLETE(reason)                                                    \
	PREFIX "_goroutines_incomplete_stack_total", "reason=\"" reason "\"", \
		"Goroutines of whose stack only the calls next to the leaf were read, by reason"
#define FAILED(reason)                                            \
	PREFIX "_readings_failed_total", "reason=\"" reason "\"", \
		"Readings of a Go process that failed, by reason"

static const struct metric_def metric_defs[GO_METRIC_MAX] = {
	[GO_METRIC_PROCESSES] = {PREFIX "_processes", NULL, "Go processes being read",
				 METRIC_GAUGE},
	[GO_METRIC_LOOKS_FAILED] =
		{PREFIX "_library_looks_failed_total", NULL,
		 "Searches of a process for Go libraries that failed or were incomplete"},
	[GO_METRIC_PROCESSES_DENIED] =
		{PREFIX "_processes_denied", NULL,
		 "Processes that the agent is not permitted to examine for Go", METRIC_GAUGE},
	[GO_METRIC_HEAP_PROFILES] = {PREFIX "_profiles_total", "profile=\"heap\"",
				     "Profiles made of Go processes, by kind"},
	[GO_METRIC_BUCKETS] = {PREFIX "_heap_records_total", NULL,
			       "Records of Go's memory profiler read"},
	[GO_METRIC_TORN] =
		{PREFIX "_heap_records_torn_total", NULL,
		 "Records of Go's memory profiler ignored: their counters contradict each other"},
	[GO_METRIC_BACKWARDS] =
		{PREFIX "_heap_records_backwards_total", NULL,
		 "Records of Go's memory profiler that decreased: counted as unchanged"},
	[GO_METRIC_OFF] = {PREFIX "_heap_off_total", NULL,
			   "Readings of Go processes whose memory profiler is off"},
	[GO_METRIC_FORCED] = {PREFIX "_heap_forced_total", NULL,
			      "Go processes whose memory profiler the agent switched on"},
	[GO_METRIC_RESTORED] =
		{PREFIX "_heap_restored_total", NULL,
		 "Go processes whose memory profiler the agent switched off again on exit"},
	[GO_METRIC_GOROUTINE_PROFILES] = {PREFIX "_profiles_total", "profile=\"goroutine\"",
					  "Profiles made of Go processes, by kind"},
	[GO_METRIC_MUTEX_PROFILES] = {PREFIX "_profiles_total", "profile=\"mutex\"",
				      "Profiles made of Go processes, by kind"},
	[GO_METRIC_BLOCK_PROFILES] = {PREFIX "_profiles_total", "profile=\"block\"",
				      "Profiles made of Go processes, by kind"},
	[GO_METRIC_GOROUTINES] = {PREFIX "_goroutines_read_total", NULL, "Goroutines read"},
	[GO_METRIC_GOROUTINES_RUNNING] = {WITHOUT_STACK("running")},
	[GO_METRIC_GOROUTINES_MOVED] = {WITHOUT_STACK("moved")},
	[GO_METRIC_GOROUTINES_LIMITED] = {WITHOUT_STACK("limit_bytes")},
	[GO_METRIC_GOROUTINES_UNREADABLE] = {WITHOUT_STACK("unreadable")},
	[GO_METRIC_GOROUTINES_BROKEN] = {INCOMPLETE("broken")},
	[GO_METRIC_GOROUTINES_CUT] = {INCOMPLETE("limit_depth")},
	[GO_METRIC_GOROUTINES_BAD] = {PREFIX "_goroutines_bad_total", NULL,
				      "Entries of goroutine lists that are not goroutines"},
	[GO_METRIC_CPU_NS] = {PREFIX "_cpu_seconds_total", NULL, "CPU time spent on Go processes",
			      .scale = 1e-9},
	[GO_METRIC_LEFT_OUT] = {PREFIX "_processes_left_out_total", NULL,
				"Processes ignored because reading their memory hung"},
	[GO_METRIC_STUCK] = {PREFIX "_stuck_threads", NULL,
			     "Threads of the agent that hang reading the memory of a process",
			     METRIC_GAUGE},
	[GO_METRIC_GONE] = {FAILED("gone")},
	[GO_METRIC_COPY] = {FAILED("copy_of_parent")},
	[GO_METRIC_DENIED] = {FAILED("denied")},
	[GO_METRIC_UNKNOWN] = {FAILED("unknown_layout")},
	[GO_METRIC_CORRUPT] = {FAILED("corrupt_list")},
	[GO_METRIC_LIMIT_BUCKETS] = {FAILED("limit_records")},
	[GO_METRIC_LIMIT_BYTES] = {FAILED("limit_bytes")},
	[GO_METRIC_LIMIT_TIME] = {FAILED("limit_time")},
	[GO_METRIC_LIMIT_PROFILE] = {FAILED("limit_profile")},
	[GO_METRIC_HUNG] = {FAILED("hung")},
	[GO_METRIC_NO_MEMORY] = {FAILED("no_memory")},
	[GO_METRIC_QUEUE_FULL] = {FAILED("queue_full")},
	[GO_METRIC_UNREADABLE] = {FAILED("unreadable")},
};
METRIC_TABLE(metric_table, metric_defs);

int go_metrics_new(struct go_metrics **ret, struct metrics *ms)
{
	CLEANUP(go_metrics_unrefp) struct go_metrics *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	atomic_init(&m->n_refs, 1);
	r = go_locks_register_metrics(ms, m->locks);
	if (r == 0)
		r = metrics_register(ms, &metric_table, m->of, NULL);
	if (r == 0)
		r = go_counters_new(&m->counters, ms);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(m);
	return 0;
}

struct go_metrics *go_metrics_ref(struct go_metrics *m)
{
	atomic_fetch_add(&m->n_refs, 1);
	return m;
}

void go_metrics_unref(struct go_metrics *m)
{
	if (!m || atomic_fetch_sub(&m->n_refs, 1) > 1)
		return;
	go_counters_free(m->counters);
	free(m);
}

static const struct {
	int error;
	enum go_metric metric;
} reasons[] = {
	{-ESRCH, GO_METRIC_GONE},          {-ECHILD, GO_METRIC_COPY}, /* go_target_is_copy() */
	{-EACCES, GO_METRIC_DENIED},       {-EPERM, GO_METRIC_DENIED},
	{-ENOENT, GO_METRIC_UNKNOWN},      {-ENOTSUP, GO_METRIC_UNKNOWN},
	{-ENOEXEC, GO_METRIC_UNKNOWN},     {-EBADMSG, GO_METRIC_CORRUPT},
	{-ELOOP, GO_METRIC_CORRUPT},       {-ESTALE, GO_METRIC_CORRUPT},
	{-E2BIG, GO_METRIC_LIMIT_BUCKETS}, {-EFBIG, GO_METRIC_LIMIT_BYTES},
	{-ETIME, GO_METRIC_LIMIT_TIME},    {-ENOBUFS, GO_METRIC_LIMIT_PROFILE},
	{-ETIMEDOUT, GO_METRIC_HUNG},      {-EBUSY, GO_METRIC_HUNG},
	{-ENOMEM, GO_METRIC_NO_MEMORY},    {-EAGAIN, GO_METRIC_QUEUE_FULL},
};

enum go_metric go_metrics_reason(int error)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == error)
			return reasons[i].metric;
	}
	return GO_METRIC_UNREADABLE;
}
