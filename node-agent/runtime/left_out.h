/*
 * Processes that are not read any more, because a thread hangs in one of their files or in
 * their memory. Bounded: the oldest one is dropped, and may be read again. One thread.
 */
#ifndef NODE_AGENT_RUNTIME_LEFT_OUT_H
#define NODE_AGENT_RUNTIME_LEFT_OUT_H

#include "common/base.h"
#include "node-agent/procfs/program_id.h"

#define LEFT_OUT_MAX 64u

/* All zero: empty. May be copied. */
struct left_out {
	struct left_out_process {
		pid_t pid;
		uint64_t start_time;
	} of[LEFT_OUT_MAX]; /* a ring */
	size_t n;
	size_t next;
};

void left_out_add(struct left_out *l, const struct program_id *id);

/* Whether the process that has this pid is one of them. Opens nothing unless the pid is. */
bool left_out_contains(const struct left_out *l, int root_fd, pid_t pid);

#endif /* NODE_AGENT_RUNTIME_LEFT_OUT_H */
