/*
 * Lets the BPF stack walk unwind code without frame pointers: follows processes, builds an unwind
 * table for each executable and library that they map, on a thread of its own, and writes mappings
 * and tables to the memory that the walk reads (bpf/unwind_table.h). Until then, stacks are unwound
 * by frame pointers.
 */
#ifndef NODE_AGENT_UNWIND_UNWINDER_H
#define NODE_AGENT_UNWIND_UNWINDER_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/process/process_table.h"
#include "node-agent/unwind/unwind_memory.h"

#include "bpf/sample_event.h"

struct unwinder;
struct unwind_cache;

struct unwinder_config {
	const struct unwind_memory *memory; /* borrowed */
	uint64_t max_bytes;                 /* of all tables */
	unsigned hz;                        /* samples per second of each CPU */
	struct unwind_cache *cache;         /* owned on success; NULL: none */
	const char *proc_root;              /* NULL: "/proc"; borrowed, outlives it */
	bool python_tasks;                  /* with frames of tasks that await the one that runs */
	bool eager; /* tables of all that a process has mapped, not only of what is walked */
};

/* Starts the thread. Returns 0, -ENOMEM, or another -errno. */
int unwinder_new(struct unwinder **ret, const struct unwinder_config *cfg) MUST_CHECK;
/*
 * After process_table_free(). NULL is allowed. The thread has some seconds to end. If it does not,
 * because a file system does not answer, it is left alone, with the memory that it uses: then
 * unwinder_end() returns false, and cfg->memory must stay until the program ends.
 */
bool unwinder_end(struct unwinder *u);
/* The same, for tests and failures at the start. */
void unwinder_free(struct unwinder *u);
DEFINE_CLEANUP(struct unwinder *, unwinder_free);

/* For process_table_subscribe(). */
struct process_listener *unwinder_listener(struct unwinder *u);

/*
 * Reports a sample: its walk may have ended at code without a table, or have gone by guesses
 * through code that is analysed once samples come to it. Loop thread.
 */
void unwinder_see(struct unwinder *u, const struct sample_event *e);

/*
 * Whether everything that was reported so far has its table, or can have none. Loop thread.
 */
bool unwinder_is_idle(const struct unwinder *u);

/* As metrics_register(). */
int unwinder_register_metrics(struct unwinder *u, struct metrics *ms) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_UNWINDER_H */
