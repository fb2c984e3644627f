/*
 * The command that is recorded. It is held twice: before it executes, until the sampler runs; and
 * at its first instruction, while the unwinding table of its executable is built.
 */
#ifndef NODE_AGENT_RECORD_RECORD_CHILD_H
#define NODE_AGENT_RECORD_RECORD_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "common/base.h"
#include "common/err.h"

struct record_child {
	pid_t pid; /* 0: none */
	int go_fd; /* the end of a pipe for which it waits; -1: it has begun */
	bool held; /* by ptrace(2), at its first instruction */
	bool ended;
	int status; /* for the shell, once it has ended: its own, or 128 and the signal */
};

/*
 * Makes the process, which waits for record_child_execute(). It gets the signal mask `signals`, the
 * one that this process had before it blocked any. Returns 0 or -errno with a sentence in err.
 */
int record_child_start(struct record_child *c, char **command, const sigset_t *signals,
		       struct err *err) MUST_CHECK;

/*
 * Lets it execute the command, and returns when it has: it is held at its first instruction then,
 * if the kernel allows that. Returns 0, or -errno with a sentence in err and c->status as a shell
 * has it (127: not found, 126: not executable).
 */
int record_child_execute(struct record_child *c, char **command, struct err *err) MUST_CHECK;

/* Lets it run. */
void record_child_release(struct record_child *c);

/* Whether it has ended; does not wait, unless `wait`. */
bool record_child_has_ended(struct record_child *c, bool wait);

/* Ends it if it has not executed its command yet. */
void record_child_fini(struct record_child *c);

#endif /* NODE_AGENT_RECORD_RECORD_CHILD_H */
