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
#include "node-agent/go/target/go_target.h"
#include "node-agent/go_profile/go_process.h"

struct go_processes;

/* Whether the executable, or the library of id, is Go's: 1, 0, or -errno when that cannot be told now. */
typedef int go_detect_fn(void *ctx, const struct program_id *id);

/* Other files that a process has mapped executable: their number, at most max, or -errno. */
typedef int go_libraries_fn(void *ctx, const struct program_id *id, struct file_id *keys,
			    size_t max);

#define GO_PROCESSES_LOOK_MAX_NS UINT64_C(600000000000)

struct go_processes_config {
	int root_fd; /* of /proc; borrowed */
	uint64_t interval_ns;
	go_detect_fn *detect;
	void *ctx;
	go_libraries_fn *libraries; /* NULL: only executables are looked at */
	/* which process is next; NULL is allowed. What it executes may be on a file system that does not answer. */
	void (*at)(void *ctx, pid_t pid);
	/* about whom nothing is asked but whether it is them: by pid and start time; borrowed */
	const struct program_id *left_out;
	size_t n_left_out;
	uint64_t seen_ticks; /* go_processes_seen_ticks() of who looked before; 0: nobody did */
};

int go_processes_new(struct go_processes **ret, const struct go_processes_config *cfg) MUST_CHECK;
void go_processes_free(struct go_processes *p);
DEFINE_CLEANUP(struct go_processes *, go_processes_free);

/* Looks through /proc. 0, -ENOMEM, or -errno when it cannot be listed. */
int go_processes_scan(struct go_processes *p, uint64_t now_ns) MUST_CHECK;

/*
 * The Go process with the next thing to do; NULL: there is none. Borrowed until the next scan or removal. Until the next call its
 * times and what it remembers may be changed, of others they may not.
 */
struct go_process *go_processes_next(struct go_processes *p);

/* It has ended, or executed something else, which is then found by the next scan. */
void go_processes_remove(struct go_processes *p, struct go_process *g);
/* It was read, or that failed: when it is due again. */
void go_processes_done(struct go_processes *p, struct go_process *g, uint64_t now_ns, bool failed);

/* All of Go, one after the other: NULL gives the first, the last gives NULL. */
struct go_process *go_processes_each(struct go_processes *p, struct go_process *g);

/*
 * Since when processes have begun that no scan has seen, in ticks since boot; 0: that is not known.
 */
uint64_t go_processes_seen_ticks(const struct go_processes *p);

/* Of Go. */
size_t go_processes_count(const struct go_processes *p);

/* Processes of which the last scan was not allowed to see what they execute. */
size_t go_processes_denied(const struct go_processes *p);

/* Memory for what is remembered of records. */
size_t go_processes_bytes(const struct go_processes *p);

#endif /* NODE_AGENT_GO_GO_PROCESSES_H */
