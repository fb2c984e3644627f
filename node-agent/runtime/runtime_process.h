/* A program that has the runtime: what is remembered of it, and when it is due. One thread. */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_PROCESS_H
#define NODE_AGENT_RUNTIME_RUNTIME_PROCESS_H

#include "common/base.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/runtime_ops.h"

struct runtime_process {
	struct program_id id;
	const struct runtime_ops *ops;
	void *session; /* of ops->session_new() */
	enum runtime_baseline baseline;
	struct container_share *share; /* NULL: none yet */
	struct runtime_state *state;   /* NULL: none */
	uint64_t due_ns;               /* its next turn, on clock_monotonic_ns() */
	uint64_t image;                /* runtime_open.image of its last turn; 0: none yet */
	unsigned n_failures;           /* in a row */
};

/*
 * Of a program that was just found, and is due. All zero but for its id. -ENOMEM:
 * runtime_process_fini() must be called all the same.
 */
int runtime_process_init(struct runtime_process *p, const struct runtime_ops *ops,
			 enum runtime_baseline baseline, uint64_t now_ns) MUST_CHECK;
/* Its id stays. Does nothing if it was never initialised. */
void runtime_process_fini(struct runtime_process *p);

size_t runtime_process_bytes(const struct runtime_process *p);

/*
 * The turn with a schedule of its own that is due before the program's regular turn, and when,
 * or NULL if the regular turn comes first.
 */
const struct runtime_turn_def *runtime_process_own_turn(const struct runtime_process *p,
							uint64_t *ret_ns);

/* When it needs its next turn, whichever. */
uint64_t runtime_process_next_ns(const struct runtime_process *p);

/*
 * Processes that are not read any more, because a thread hangs in one of their files or in
 * their memory. Bounded: the oldest one is dropped, and may be read again. One thread.
 */

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

#endif /* NODE_AGENT_RUNTIME_RUNTIME_PROCESS_H */
