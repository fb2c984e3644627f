/*
 * The processes of the node, as far as it matters here: which are Go's, what their profilers
 * counted, and when each is due. A process that executes something else is a new one. One thread.
 *
 * Where the executable is not Go's, libraries may be: what the process has mapped is looked at when it is found, at the next
 * scan, then an interval later and after twice the time each time, up to GO_PROCESSES_LOOK_MAX_NS. Each Go
 * runtime found so is an entry of its own. Libraries of Go executables are not looked at: plugins
 * belong to the executable's runtime.
 */
#ifndef NODE_AGENT_GO_GO_PROCESSES_H
#define NODE_AGENT_GO_GO_PROCESSES_H

#include "common/base.h"
#include "node-agent/go/bucket_history.h"
#include "node-agent/go/go_target.h"
#include "node-agent/go_profile/go_containers.h"
#include "node-agent/lock/lock_reader.h"

struct go_processes;

/* Whether the executable, or the library of id, is Go's: 1, 0, or -errno when that cannot be told now. */
typedef int go_detect_fn(void *ctx, const struct go_process_id *id);

/* Other files that a process has mapped executable: their number, at most max, or -errno. */
typedef int go_libraries_fn(void *ctx, const struct go_process_id *id, struct go_file_key *keys,
			    size_t max);

#define GO_PROCESSES_LOOK_MAX_NS UINT64_C(600000000000)

struct go_processes_config {
	int root_fd; /* of /proc; borrowed */
	uint64_t interval_ns;
	go_detect_fn *detect;
	void *ctx;
	go_libraries_fn *libraries; /* NULL: only executables are looked at */
};

/* A Go runtime of a process. */
struct go_process {
	struct go_process_id id;
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

int go_processes_new(struct go_processes **ret, const struct go_processes_config *cfg) MUST_CHECK;
void go_processes_free(struct go_processes *p);
DEFINE_CLEANUP(struct go_processes *, go_processes_free);

/* Looks through /proc. 0, -ENOMEM, or -errno when it cannot be listed. */
int go_processes_scan(struct go_processes *p, uint64_t now_ns) MUST_CHECK;

/* The Go process with the next thing to do; NULL: there is none. Borrowed until the next scan or removal. */
struct go_process *go_processes_next(struct go_processes *p);

/* It has ended, or executed something else, which is then found by the next scan. */
void go_processes_remove(struct go_processes *p, struct go_process *g);
/* It was read, or that failed: when it is due again. */
void go_processes_done(struct go_processes *p, struct go_process *g, uint64_t now_ns, bool failed);

/* What its profilers have counted is forgotten. FROM_ZERO: it executes another program now. -ENOMEM. */
int go_processes_renew(struct go_process *g, enum bucket_history_start start) MUST_CHECK;

/*
 * Its profiler has just been switched on: due again at due_ns, to begin with what is counted then.
 * -ENOMEM.
 */
int go_processes_restart(struct go_process *g, uint64_t due_ns) MUST_CHECK;

/* All of Go, one after the other: NULL gives the first, the last gives NULL. */
struct go_process *go_processes_each(struct go_processes *p, struct go_process *g);

/* Of Go. */
size_t go_processes_count(const struct go_processes *p);

/* Processes of which the last scan was not allowed to see what they execute. */
size_t go_processes_denied(const struct go_processes *p);

/* Memory for what is remembered of records. */
size_t go_processes_bytes(const struct go_processes *p);

#endif /* NODE_AGENT_GO_GO_PROCESSES_H */
