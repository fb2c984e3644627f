/*
 * Perf maps and jitdumps of processes: finds, reads and follows /tmp/perf-<pid>.map in the file
 * system of each process that has code without a file, and the jitdump that it has mapped.
 *
 * One thread. A file is polled when the first address of its process is looked up in a cycle, and
 * only what was appended since is read.
 */
#ifndef NODE_AGENT_SYMBOL_PERF_MAP_FILES_H
#define NODE_AGENT_SYMBOL_PERF_MAP_FILES_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/symbol/perf_map_name.h"

struct deadline_caller;
struct jit_files;
struct perf_map_files;

/* A process that has code without a file. */
struct jit_process {
	pid_t pid;
	uint64_t start_time; /* clock ticks since boot */
	struct jit_files
		*files; /* that are held of it, for when it has exited; borrowed; NULL: none */
};

/*
 * proc_root and caller are borrowed. max_bytes: of memory for all maps, of which one may have half.
 * -ENOMEM is the only failure.
 */
int perf_map_files_new(struct perf_map_files **ret, const char *proc_root,
		       struct deadline_caller *caller, size_t max_bytes) MUST_CHECK;
void perf_map_files_free(struct perf_map_files *f);
DEFINE_CLEANUP(struct perf_map_files *, perf_map_files_free);

/*
 * Names the address of the process by its jitdump or its perf map. Returns 0, -ENOENT if it has no
 * name, or -ENOMEM.
 */
int perf_map_files_find(struct perf_map_files *f, const struct jit_process *of, uint64_t address,
			uint64_t now_ns, struct perf_map_name *ret) MUST_CHECK;

/* Forgets processes that have exited. The next lookups poll the files again. */
void perf_map_files_end_cycle(struct perf_map_files *f);

size_t perf_map_files_bytes(const struct perf_map_files *f);
size_t perf_map_files_count(const struct perf_map_files *f);

#endif /* NODE_AGENT_SYMBOL_PERF_MAP_FILES_H */
