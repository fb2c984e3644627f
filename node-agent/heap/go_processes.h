/*
 * The processes of the node, as far as it matters here: which are Go's, what their profilers
 * counted, and when each is due. A process that executes something else is a new one. One thread.
 */
#ifndef NODE_AGENT_HEAP_GO_PROCESSES_H
#define NODE_AGENT_HEAP_GO_PROCESSES_H

#include "common/base.h"
#include "node-agent/heap/go_target.h"
#include "node-agent/heap/heap_history.h"

struct go_processes;

/* Whether an executable is Go's: 1, 0, or -errno when that cannot be told now. */
typedef int go_detect_fn(void *ctx, const struct go_process_id *id);

struct go_processes_config {
	int root_fd; /* of /proc; borrowed */
	uint64_t interval_ns;
	size_t max_buckets; /* of one process */
	go_detect_fn *detect;
	void *ctx;
};

struct go_process {
	struct go_process_id id;
	struct heap_history *history;
	uint64_t due_ns;     /* on clock_monotonic_ns() */
	uint64_t told_ns;    /* up to when its last profile went */
	unsigned n_failures; /* in a row */
	bool is_ours;        /* its profiler is on because we have switched it on */
};

int go_processes_new(struct go_processes **ret, const struct go_processes_config *cfg) MUST_CHECK;
void go_processes_free(struct go_processes *p);
DEFINE_CLEANUP(struct go_processes *, go_processes_free);

/* Looks through /proc. 0, -ENOMEM, or -errno when it cannot be listed. */
int go_processes_scan(struct go_processes *p, uint64_t now_ns) MUST_CHECK;

/* The Go process that is due next; NULL: there is none. Borrowed until the next scan or removal. */
struct go_process *go_processes_next(struct go_processes *p);

/* It has ended. */
void go_processes_remove(struct go_processes *p, struct go_process *g);
/* It was read, or that failed: when it is due again. */
void go_processes_done(struct go_processes *p, struct go_process *g, uint64_t now_ns, bool failed);

/*
 * Its profiler has just been switched on: due again at due_ns, to begin with what is counted then.
 * -ENOMEM.
 */
int go_processes_restart(struct go_processes *p, struct go_process *g, uint64_t due_ns) MUST_CHECK;

/* All of Go, one after the other: NULL gives the first, the last gives NULL. */
struct go_process *go_processes_each(struct go_processes *p, struct go_process *g);

/* Of Go. */
size_t go_processes_count(const struct go_processes *p);

#endif /* NODE_AGENT_HEAP_GO_PROCESSES_H */
