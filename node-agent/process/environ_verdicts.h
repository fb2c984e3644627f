/*
 * Which processes ask by their environment not to be profiled, including those that exit before
 * it is read. Such a process has the verdict of the program that it executed before, or else of
 * its nearest ancestor whose environment is known: environments are inherited, with few
 * exceptions. Loop thread only.
 */
#ifndef NODE_AGENT_PROCESS_ENVIRON_VERDICTS_H
#define NODE_AGENT_PROCESS_ENVIRON_VERDICTS_H

#include "common/base.h"
#include "node-agent/process/process_table.h"

struct environ_verdicts;

enum environ_verdict {
	ENVIRON_UNKNOWN,
	ENVIRON_PROFILED,
	ENVIRON_EXCLUDED,
};

/* root_fd is that of /proc; both are borrowed. Returns 0 or -ENOMEM. */
int environ_verdicts_new(struct environ_verdicts **ret, int root_fd,
			 const struct process_table *processes) MUST_CHECK;
void environ_verdicts_free(struct environ_verdicts *v);
DEFINE_CLEANUP(struct environ_verdicts *, environ_verdicts_free);

/*
 * The verdict of the process's own environment, which is read: at most a fifth of a second.
 * ENVIRON_UNKNOWN if that fails. start_time as in /proc/<pid>/stat.
 */
enum environ_verdict environ_verdicts_read(struct environ_verdicts *v, pid_t pid,
					   uint64_t start_time);

/* What to assume about a process whose environment cannot be read. */
enum environ_verdict environ_verdicts_inherit(struct environ_verdicts *v, pid_t pid,
					      uint64_t start_time);

/* The process executes another program, so its environment may be another one. */
void environ_verdicts_exec(struct environ_verdicts *v, pid_t pid);

#endif /* NODE_AGENT_PROCESS_ENVIRON_VERDICTS_H */
