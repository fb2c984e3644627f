/* What we need of the text of /proc/<pid>/status. Pure. */
#ifndef NODE_AGENT_PROCFS_PROCESS_STATUS_H
#define NODE_AGENT_PROCFS_PROCESS_STATUS_H

#include <sys/types.h>

#include "common/base.h"

struct process_status {
	char state; /* of the main thread, as proc(5) has it: 'S', 'T', … */
	uid_t uid;  /* effective ids; 65534 if our user namespace has no number for them */
	gid_t gid;
	pid_t nspid;      /* its pid in its own PID namespace, the innermost */
	uint64_t pending; /* signals of the whole process, bits from 0: process_status_has() */
	uint64_t ignored;
	uint64_t caught;
};

/* Returns 0, or -EBADMSG if something is missing. */
int process_status_parse(const char *text, size_t len, struct process_status *ret) MUST_CHECK;

static inline bool process_status_has(uint64_t set, int signal)
{
	return set & (UINT64_C(1) << (signal - 1));
}

#endif /* NODE_AGENT_PROCFS_PROCESS_STATUS_H */
