/* A Go runtime of a process: what its profilers counted, and when it is due. One thread. */
#ifndef NODE_AGENT_GO_PROFILE_GO_PROCESS_H
#define NODE_AGENT_GO_PROFILE_GO_PROCESS_H

#include "common/base.h"
#include "node-agent/go/lock/lock_reader.h"
#include "node-agent/go/record/bucket_history.h"
#include "node-agent/go/target/go_target.h"
#include "node-agent/go_profile/go_containers.h"

struct go_process {
	struct program_id id;
	struct bucket_history *heap;
	struct go_share *share;          /* NULL: none yet */
	enum bucket_history_start start; /* whether what it counted before it was found is news */
	uint64_t due_ns;                 /* on clock_monotonic_ns() */
	uint64_t told_ns;                /* up to when its last profile went */
	uint64_t image;                  /* go_target.image of its last turn; 0: none yet */
	unsigned n_failures;             /* in a row */
	bool is_ours;                    /* its profiler is on because we have switched it on */
	struct lock_session locks[LOCK_KINDS];
	uint64_t burst_end_ns; /* when its block profiler is switched off; 0: it is not on for us */
};

/* When there is something to do with it. */
static inline uint64_t go_process_next_ns(const struct go_process *g)
{
	return g->burst_end_ns != 0 && g->burst_end_ns < g->due_ns ? g->burst_end_ns : g->due_ns;
}

/* One that was found now, and is due. All zero but for its id. -ENOMEM: go_process_fini() is due all the same. */
int go_process_init(struct go_process *g, enum bucket_history_start start,
		    uint64_t now_ns) MUST_CHECK;

/* It is nobody's process any more: who it was stays. */
void go_process_fini(struct go_process *g);

/* Memory for what is remembered of records. */
size_t go_process_bytes(const struct go_process *g);

/* What its profilers have counted is forgotten. FROM_ZERO: it executes another program now. -ENOMEM. */
int go_processes_renew(struct go_process *g, enum bucket_history_start start) MUST_CHECK;

/*
 * Its profiler has just been switched on: due again at due_ns, to begin with what is counted then.
 * -ENOMEM.
 */
int go_processes_restart(struct go_process *g, uint64_t due_ns) MUST_CHECK;

#endif /* NODE_AGENT_GO_PROFILE_GO_PROCESS_H */
