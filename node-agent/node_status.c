#include "node-agent/node_status.h"

#include <errno.h>

#include "node-agent/process/process_table.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/sample/exclusions.h"
#include "node-agent/sample/sampler.h"

#define PREFIX "coroot_node_agent"

enum status_metric {
	TICKS,
	TICKS_IDLE,
	SAMPLES,
	EXCLUDED_KERNEL,
	EXCLUDED_AGENT,
	EXCLUDED_CGROUPS,
	EXCLUDED_PROCESSES,
	EXCLUDED_OVERFLOW,
	LOST_RING_FULL,
	LOST_NO_TASK,
	LOST_BAD_RECORD,
	LOST_STACKS_FULL,
	LOST_BYTES_FULL,
	LOST_NO_MEMORY,
	LOST_WORKER_BUSY,
	EVENTS_LOST,
	BPF_RUN_TIME,
	BPF_RUNS,
	BPF_MAP_BYTES,
	CPUS,
	PROCESSES,
	PROCESSES_GONE,
	PROCESSES_LOCKED,
	PROCESSES_RESTORED,
	SNAPSHOTS,
	MAPS_CUT,
	FILES_OPEN,
	FILES_UNOPENED,
	FILES_OVER_LIMIT,
	FILES_HUNG,
	STATUS_METRIC_MAX,
};

/* The reasons of enum cycle_lost, in its order. */
static const enum status_metric lost_metrics[CYCLE_LOST_MAX] = {
	[CYCLE_LOST_RING_FULL] = LOST_RING_FULL,     [CYCLE_LOST_NO_TASK] = LOST_NO_TASK,
	[CYCLE_LOST_BAD_RECORD] = LOST_BAD_RECORD,   [CYCLE_LOST_STACKS_FULL] = LOST_STACKS_FULL,
	[CYCLE_LOST_BYTES_FULL] = LOST_BYTES_FULL,   [CYCLE_LOST_NO_MEMORY] = LOST_NO_MEMORY,
	[CYCLE_LOST_WORKER_BUSY] = LOST_WORKER_BUSY,
};

#define LOST(reason)                                           \
	PREFIX "_samples_lost_total", "reason=\"" reason "\"", \
		"Samples lost before they reached a profile, by reason"

#define EXCLUDED(by)                                       \
	PREFIX "_samples_excluded_total", "by=\"" by "\"", \
		"Samples of excluded workloads, not taken in the kernel or dropped by the agent"

static const struct metric_def metric_defs[STATUS_METRIC_MAX] = {
	[TICKS] = {PREFIX "_ticks_total", NULL, "Sampling ticks of all CPUs"},
	[TICKS_IDLE] = {PREFIX "_ticks_idle_total", NULL,
			"Sampling ticks at which the CPU was idle"},
	[SAMPLES] = {PREFIX "_samples_total", NULL,
		     "Samples that the BPF program sent to the agent"},
	[EXCLUDED_KERNEL] = {EXCLUDED("kernel")},
	[EXCLUDED_AGENT] = {EXCLUDED("agent")},
	[EXCLUDED_CGROUPS] = {PREFIX "_excluded_cgroups", NULL,
			      "Cgroups whose samples are not taken in the kernel", METRIC_GAUGE},
	[EXCLUDED_PROCESSES] = {PREFIX "_excluded_processes", NULL,
				"Processes whose samples are not taken in the kernel",
				METRIC_GAUGE},
	[EXCLUDED_OVERFLOW] = {PREFIX "_exclusions_overflow_total", NULL,
			       "Excluded processes whose samples are taken, and then dropped: "
			       "the kernel's tables are full"},
	[LOST_RING_FULL] = {LOST("ring_full")},
	[LOST_NO_TASK] = {LOST("no_task")},
	[LOST_BAD_RECORD] = {LOST("bad_record")},
	[LOST_STACKS_FULL] = {LOST("stacks_full")},
	[LOST_BYTES_FULL] = {LOST("bytes_full")},
	[LOST_NO_MEMORY] = {LOST("no_memory")},
	[LOST_WORKER_BUSY] = {LOST("worker_busy")},
	[EVENTS_LOST] =
		{PREFIX "_process_events_lost_total", NULL,
		 "Fork, exec and exit events, and code objects of interpreters, lost because the "
		 "ring buffer was full"},
	[BPF_RUN_TIME] =
		{PREFIX "_bpf_run_seconds_total", NULL,
		 "Run time of the BPF program; counted while kernel.bpf_stats_enabled is 1",
		 .scale = 1e-9},
	[BPF_RUNS] = {PREFIX "_bpf_runs_total", NULL,
		      "Runs of the BPF program; counted while kernel.bpf_stats_enabled is 1"},
	[BPF_MAP_BYTES] = {PREFIX "_bpf_map_bytes", NULL, "Kernel memory of all BPF maps",
			   METRIC_GAUGE},
	[CPUS] = {PREFIX "_cpus_sampled", NULL, "CPUs being sampled", METRIC_GAUGE},
	[PROCESSES] = {PREFIX "_processes", NULL, "Processes in the process table", METRIC_GAUGE},
	[PROCESSES_GONE] =
		{PREFIX "_processes_gone_total", NULL,
		 "Sampled processes that exited before they could be read, and whose frames "
		 "have no names"},
	[PROCESSES_LOCKED] =
		{PREFIX "_processes_locked_total", NULL,
		 "Those of _processes_gone_total that had not exited: something that hangs keeps "
		 "their memory locked"},
	[PROCESSES_RESTORED] = {PREFIX "_processes_restored_total", NULL,
				"Sampled processes that exited before they could be read, but have "
				"names by events and relatives"},
	[SNAPSHOTS] = {PREFIX "_process_snapshots_total", NULL,
		       "Times the mappings of a process were read"},
	[MAPS_CUT] = {PREFIX "_process_maps_cut_total", NULL,
		      "Times a process had more mappings than are read"},
	[FILES_OPEN] = {PREFIX "_mapped_files_open", NULL, "Executable files held open",
			METRIC_GAUGE},
	[FILES_UNOPENED] = {PREFIX "_mapped_files_unopened_total", "reason=\"failed\"",
			    "Executable files that could not be opened, by reason: their frames "
			    "have no names"},
	[FILES_HUNG] = {PREFIX "_mapped_files_unopened_total", "reason=\"hung\"",
			"Executable files that could not be opened, by reason: their frames have "
			"no names"},
	[FILES_OVER_LIMIT] = {PREFIX "_mapped_files_unopened_total", "reason=\"limit\"",
			      "Executable files that could not be opened, by reason: their frames "
			      "have no names"},
};
METRIC_TABLE(metric_table, metric_defs);

struct node_status {
	struct metric metrics[STATUS_METRIC_MAX];
};

int node_status_new(struct node_status **ret, struct metrics *ms)
{
	CLEANUP(node_status_freep) struct node_status *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	r = metrics_register(ms, &metric_table, s->metrics, NULL);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void node_status_free(struct node_status *s)
{
	free(s);
}

void node_status_update(struct node_status *s, const struct sampler_stats *sampler,
			const struct process_table_stats *processes,
			const struct exclusions_stats *exclusions)
{
	const struct {
		enum status_metric metric;
		uint64_t value;
	} values[] = {
		{TICKS, sampler->kernel.ticks},
		{TICKS_IDLE, sampler->kernel.idle},
		{SAMPLES, sampler->kernel.sent},
		{EXCLUDED_KERNEL, sampler->kernel.excluded},
		{EXCLUDED_AGENT, exclusions->dropped},
		{EXCLUDED_CGROUPS, exclusions->cgroups},
		{EXCLUDED_PROCESSES, exclusions->processes},
		{EXCLUDED_OVERFLOW, exclusions->overflow},
		{EVENTS_LOST, sampler->kernel.events_lost},
		{BPF_RUN_TIME, sampler->run_time_ns},
		{BPF_RUNS, sampler->run_count},
		{BPF_MAP_BYTES, sampler->map_bytes},
		{CPUS, sampler->n_cpus},
		{PROCESSES, processes->n_processes},
		{PROCESSES_GONE, processes->unreadable},
		{PROCESSES_LOCKED, processes->locked},
		{PROCESSES_RESTORED, processes->restored},
		{SNAPSHOTS, processes->snapshots},
		{MAPS_CUT, processes->maps_cut},
		{FILES_OPEN, processes->n_open_files},
		{FILES_UNOPENED, processes->files_unopened},
		{FILES_OVER_LIMIT, processes->files_over_limit},
		{FILES_HUNG, processes->files_hung},
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		metric_set(&s->metrics[values[i].metric], values[i].value);
}

void node_status_add_losses(struct node_status *s, const struct cycle_losses *losses)
{
	for (enum cycle_lost why = 0; why < CYCLE_LOST_MAX; why++)
		metric_add(&s->metrics[lost_metrics[why]], losses->n[why]);
}
