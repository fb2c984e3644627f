/*
 * The /proc folder of a process → a snapshot. What cannot be read is left out, never guessed.
 * Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_PROCESS_READER_H
#define NODE_AGENT_PROCESS_PROCESS_READER_H

#include "common/base.h"
#include "node-agent/process/mapping_reader.h"
#include "node-agent/process/process_snapshot.h"
#include "node-agent/workload/workload.h"

struct file_registry;
struct process_namer;
struct process_image;

/* What processes are read with; borrowed. */
struct process_reader {
	int root_fd; /* of /proc */
	struct file_registry *files;
	struct process_namer *namer;
	const struct cgroup_hierarchy *hierarchy; /* NULL: the ids of cgroups are not read */
};

/* The process to read, as the sample describes it. */
struct process_identity {
	pid_t pid;
	pid_t tid;           /* a thread to read it through if the leader has exited; 0: none */
	uint64_t start_time; /* clock ticks since boot */
	uint64_t start_boottime_ns; /* the same, as the kernel's events have it; 0: unknown */
	char comm[PROCESS_COMM_BYTES];
	bool kernel_thread;
	const struct process_image *image; /* what it executes; NULL: unknown */
	struct known_mappings known;
};

struct process_reading {
	struct process_snapshot *snapshot; /* one reference */
	struct mappings_reading mappings;
	bool has_cgroup; /* else the snapshot's workload is a guess */
	struct workload_cgroup cgroup;
	bool is_locked; /* its mappings cannot be read for now (memory_lock.h) */
	bool changed;   /* does not execute what id says: it has executed another program since */
};

/*
 * Returns 0 and a snapshot, which is marked as unreadable if the process has exited or
 * executes another program, or -ENOMEM.
 */
int process_read(const struct process_reader *reader, const struct process_identity *id,
		 struct process_reading *ret) MUST_CHECK;

/* Whether names, mappings and files are the same. */
bool process_snapshots_equal(const struct process_snapshot *a, const struct process_snapshot *b);

#endif /* NODE_AGENT_PROCESS_PROCESS_READER_H */
