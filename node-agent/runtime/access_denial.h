/* Why the agent may not examine a process, or write to it, in words for the operator. */
#ifndef NODE_AGENT_RUNTIME_ACCESS_DENIAL_H
#define NODE_AGENT_RUNTIME_ACCESS_DENIAL_H

#include <sys/types.h>

#include "common/base.h"
#include "node-agent/procfs/procfs.h"

struct access_denial {
	pid_t pid;
	char name[PROCESS_COMM_BYTES]; /* "" if it cannot be read either */
	const char *reason;            /* static text */
};

enum access_wish {
	ACCESS_SEE,   /* what it executes */
	ACCESS_READ,  /* its memory, when it is known what it executes */
	ACCESS_WRITE, /* to its memory, which can be read */
};

/* What the reason depends on. */
struct access_facts {
	enum access_wish wish;
	/* the agent has CAP_SYS_PTRACE, and so on, in its own user namespace */
	bool has_ptrace;
	bool has_read_search;
	bool has_override;
	bool other_user_ns; /* the process is in another user namespace */
	bool is_hidden;     /* not even its folder in /proc can be opened */
};

/* Pure. */
const char *access_denial_reason(const struct access_facts *facts);

/* root_fd: of /proc. Call it soon after the denial, while the process exists. */
void access_denial_explain(struct access_denial *ret, int root_fd, pid_t pid,
			   enum access_wish wish);

#endif /* NODE_AGENT_RUNTIME_ACCESS_DENIAL_H */
