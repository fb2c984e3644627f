/*
 * Stage 1: the processes of the node, by (pid, start time).
 *
 * Knows of a process by a scan at start, an exec event or a sample, and reads
 * about it (/proc, untrusted) only when it was sampled. A process that cannot
 * be read any more still gets a snapshot, with its name alone, and is counted.
 *
 * All functions are called from the loop thread; only snapshots travel.
 */
#ifndef NODE_AGENT_PROCESS_PROCESS_TABLE_H
#define NODE_AGENT_PROCESS_PROCESS_TABLE_H

#include "common/base.h"
#include "common/err.h"
#include "node-agent/process/process_snapshot.h"

struct process_table;

struct process_table_config {
	const char *proc_root; /* NULL: "/proc" */
	size_t max_open_files; /* of executables; 0: half of what the process may open */
};

/* What a sample says about its process. */
struct process_seen {
	pid_t pid;
	pid_t tid; /* a thread that lives; 0: the leader */
	uint64_t start_boottime_ns;
	const char *comm; /* NUL-terminated, at most PROCESS_COMM_BYTES */
	bool kernel_thread;
	const uint64_t *addrs; /* user addresses: one outside all mappings makes us look again */
	size_t n_addrs;
};

struct process_table_stats {
	uint64_t n_processes; /* known now */
	uint64_t n_files;     /* known now */
	uint64_t n_open_files;
	uint64_t gone;             /* total: processes that ended before they could be read */
	uint64_t snapshots;        /* total: readings of a process */
	uint64_t maps_cut;         /* total: readings that met a limit */
	uint64_t files_unopened;   /* total: executables that could not be opened */
	uint64_t files_over_limit; /* total: executables not opened for max_open_files */
	uint64_t files_hung;       /* total: executables whose file system did not answer */
};

/* -ENOMEM; -errno with err set when proc_root cannot be opened. */
int process_table_new(struct process_table **ret, const struct process_table_config *cfg,
		      struct err *err) MUST_CHECK;
void process_table_free(struct process_table *t);
DEFINE_CLEANUP(struct process_table *, process_table_free);

/* All processes there are now; cheap. Number of them, or -errno. */
int process_table_scan(struct process_table *t) MUST_CHECK;

/*
 * The snapshot a sample belongs to; made or renewed when needed. Borrowed:
 * valid until the next call with t, unless you take a reference. -ENOMEM.
 */
int process_table_get(struct process_table *t, const struct process_seen *seen, uint64_t now_ns,
		      struct process_snapshot **ret) MUST_CHECK;

/* The process has a new image: the next sample makes a new snapshot. */
void process_table_exec(struct process_table *t, pid_t pid, uint64_t start_boottime_ns);

/* The process has ended. It is kept for the samples of its last moments until a sweep. */
void process_table_exit(struct process_table *t, pid_t pid, uint64_t start_boottime_ns,
			uint64_t now_ns);

/* Every few seconds: forgets what ended a while ago, closes files that nobody uses. */
void process_table_sweep(struct process_table *t, uint64_t now_ns);

void process_table_read_stats(const struct process_table *t, struct process_table_stats *ret);

/* 0; -EPERM when proc_root's own process is not in the initial PID namespace; err says so. */
int process_table_check_namespace(const char *proc_root, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_PROCESS_TABLE_H */
