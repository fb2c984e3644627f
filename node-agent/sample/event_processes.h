/* Records of the sampler → the process table. On the loop thread. */
#ifndef NODE_AGENT_SAMPLE_EVENT_PROCESSES_H
#define NODE_AGENT_SAMPLE_EVENT_PROCESSES_H

#include "common/base.h"
#include "node-agent/process/process_table.h"
#include "node-agent/sample/event_parse.h"

/* The snapshot that a sample belongs to. As process_table_get(). */
int event_processes_get(struct process_table *t, const struct sample_event *e,
			struct process_snapshot **ret) MUST_CHECK;

/* Without memory, names of processes that exit soon may be missing. */
void event_processes_fork(struct process_table *t, const struct fork_event *e);
void event_processes_exec(struct process_table *t, const struct exec_event *e);
void event_processes_map(struct process_table *t, const struct map_event *e);
void event_processes_exit(struct process_table *t, const struct event_header *e);

#endif /* NODE_AGENT_SAMPLE_EVENT_PROCESSES_H */
