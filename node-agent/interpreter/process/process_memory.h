/*
 * The memory of processes, by /proc/<pid>/mem. Some of them are kept open: names are read in small
 * pieces, of the same processes again and again.
 *
 * Used by one thread.
 */
#ifndef NODE_AGENT_INTERPRETER_PROCESS_PROCESS_MEMORY_H
#define NODE_AGENT_INTERPRETER_PROCESS_PROCESS_MEMORY_H

#include "common/base.h"
#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/process/process_snapshot.h"

struct process_memory;

/* proc_root: "/proc". Returns 0, -ENOMEM, or another -errno if it cannot be opened. */
int process_memory_new(struct process_memory **ret, const char *proc_root) MUST_CHECK;
void process_memory_free(struct process_memory *m);
DEFINE_CLEANUP(struct process_memory *, process_memory_free);

/*
 * Sets *ret to the memory of this process, valid until the next call. Returns 0; -ESRCH if it has
 * exited, or executes another program; or why it cannot be opened.
 */
int process_memory_get(struct process_memory *m, const struct process_snapshot *s,
		       struct interpreter_memory *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_PROCESS_PROCESS_MEMORY_H */
