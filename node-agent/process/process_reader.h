/*
 * One process's /proc folder → a snapshot. Whatever cannot be read is left
 * out, never guessed. Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_PROCESS_READER_H
#define NODE_AGENT_PROCESS_PROCESS_READER_H

#include "common/base.h"
#include "node-agent/process/process_snapshot.h"

struct file_registry;

#define PROCESS_MAX_MAPPINGS 16384 /* executable ones; JIT compilers make a few thousand */
#define PROCESS_MAX_MAPS_BYTES ((size_t)64 * 1024 * 1024) /* some 700,000 lines: half a second */

/* Which process a snapshot is wanted of. */
struct process_identity {
	pid_t pid;
	pid_t tid;           /* a thread to read by when the leader has ended; 0: none */
	uint64_t start_time; /* clock ticks since boot */
	char comm[PROCESS_COMM_BYTES];
	bool kernel_thread;
};

struct process_reading {
	struct process_snapshot *snapshot; /* one reference */
	bool cut;                          /* mappings beyond a limit are missing */
	bool changed; /* another name than in id: it has executed something else meanwhile */
};

/*
 * 0: ret->snapshot is set, with gone when the process was not there or not the
 * same any more. -ENOMEM.
 */
int process_read(int root_fd, struct file_registry *files, const struct process_identity *id,
		 struct process_reading *ret) MUST_CHECK;

/* The same names and the same mappings of the same files. */
bool process_snapshots_equal(const struct process_snapshot *a, const struct process_snapshot *b);

#endif /* NODE_AGENT_PROCESS_PROCESS_READER_H */
