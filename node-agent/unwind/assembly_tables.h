/*
 * Tells the walk in BPF how to unwind assembly of Go programs: follows processes, reads each
 * program's table of functions once, on a thread of its own, and fills the maps of
 * bpf/go_walk.bpf.h. Samples that arrive before are unwound by frame pointers.
 */
#ifndef NODE_AGENT_UNWIND_ASSEMBLY_TABLES_H
#define NODE_AGENT_UNWIND_ASSEMBLY_TABLES_H

#include "common/base.h"
#include "common/telemetry/metrics.h"
#include "node-agent/process/process_table.h"

struct assembly_tables;

struct assembly_tables_config {
	int processes_fd;      /* of the map go_processes; duplicated */
	int tables_fd;         /* of the map go_tables; duplicated */
	const char *proc_root; /* NULL: "/proc" */
};

/* Starts the thread. Returns 0, -ENOMEM, or another -errno. */
int assembly_tables_new(struct assembly_tables **ret,
			const struct assembly_tables_config *cfg) MUST_CHECK;
/* After process_table_free(). NULL is allowed. */
void assembly_tables_free(struct assembly_tables *a);
DEFINE_CLEANUP(struct assembly_tables *, assembly_tables_free);

/* For process_table_subscribe(). */
struct process_listener *assembly_tables_listener(struct assembly_tables *a);

/* As metrics_register(). */
int assembly_tables_register_metrics(struct assembly_tables *a, struct metrics *ms) MUST_CHECK;

#endif /* NODE_AGENT_UNWIND_ASSEMBLY_TABLES_H */
