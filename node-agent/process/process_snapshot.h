/*
 * A process at one moment: its identity and what it has mapped executable. Made on the loop
 * thread, read on the worker's.
 *
 * Immutable except for the reference count, which any thread may change. A process that
 * executes another program or maps more code gets a new snapshot; the old one lives as long as
 * a cycle holds it.
 */
#ifndef NODE_AGENT_PROCESS_PROCESS_SNAPSHOT_H
#define NODE_AGENT_PROCESS_PROCESS_SNAPSHOT_H

#include <stdatomic.h>
#include <sys/types.h>

#include "common/base.h"
#include "node-agent/files/jit_files.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/workload/workload.h"

enum process_mapping_kind {
	PROCESS_MAPPING_FILE,
	PROCESS_MAPPING_VDSO,
	PROCESS_MAPPING_ANONYMOUS, /* JIT code; also in a memfd or other memory that has a name */
};

struct process_mapping {
	uint64_t start;
	uint64_t end; /* exclusive */
	uint64_t file_offset;
	enum process_mapping_kind kind;
	struct mapped_file *file; /* NULL unless PROCESS_MAPPING_FILE */
	/*
	 * Its device (as makedev(3) encodes it) and inode as maps shows them. They are the inode's
	 * in the kernel, which can differ from file->id; see file_id.h. 0: unknown, or the text was
	 * moved (moved_text.h).
	 */
	uint64_t map_dev;
	uint64_t map_ino;
};

struct process_snapshot {
	atomic_uint refs;
	pid_t pid; /* in the initial PID namespace */
	bool kernel_thread;
	bool unreadable; /* exited before it was read, and nothing else says what it had mapped */
	uint64_t start_time;        /* clock ticks since boot, as in /proc/<pid>/stat */
	uint64_t start_boottime_ns; /* the same, as the kernel's events have it; 0: unknown */
	uint64_t
		start_stack; /* as in struct proc_stat, before the mappings were read; 0: unknown */
	char comm[PROCESS_COMM_BYTES];    /* of the thread-group leader */
	char *exe;                        /* path in the process's mount namespace; "" if unknown */
	struct workload *workload;        /* a reference; never NULL */
	struct process_mapping *mappings; /* executable ones, ascending, disjoint */
	size_t n_mappings;
	size_t n_maps; /* mappings of any kind, when all were read last; 0: they were not */
	struct jit_files *jit_files; /* a reference; NULL: no generated code, or they are unknown */
	struct process_snapshot *mappings_of; /* a reference: the owner of mappings; NULL: this */
};

/* Returns s. */
struct process_snapshot *process_snapshot_ref(struct process_snapshot *s);

/* Frees s and releases its files with the last reference. NULL is allowed. */
void process_snapshot_unref(struct process_snapshot *s);
DEFINE_CLEANUP(struct process_snapshot *, process_snapshot_unref);

/* For a snapshot that is being made, with mappings of its own. */
void process_snapshot_drop_mappings(struct process_snapshot *s);

/* Whether there is memory for code that is in no file. */
bool process_snapshot_has_jit(const struct process_snapshot *s);

/* Returns the mapping that contains addr, borrowed from s, or NULL. */
const struct process_mapping *process_snapshot_find(const struct process_snapshot *s,
						    uint64_t addr);

#endif /* NODE_AGENT_PROCESS_PROCESS_SNAPSHOT_H */
