/*
 * The processes of the node: which programs have the runtime, and when each is due. The caller
 * reports pids of processes that start, execute a program or exit (see struct process_listener),
 * and a scan reads those. A process that executes something else is a new one. One thread.
 *
 * If a process's executable does not have the runtime, one of its libraries may. They are
 * examined when the process is found, at the next scan, then an interval later and after twice
 * the time each time, up to RUNTIME_PROCESSES_LIBRARIES_MAX_NS; where the size of the process says
 * that it has mapped none since, only if the last time is as long ago. Each runtime found so is a
 * program of its own. Libraries of executables that have the runtime are not examined: they
 * share the executable's.
 *
 * A process that is excluded is not examined: none of its files is opened. So the filter is not
 * asked about one whose files are all known to have no runtime. An excluded process stays in the
 * table, and is examined when it is excluded no longer; then it reports what it counts from there
 * on.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_PROCESSES_H
#define NODE_AGENT_RUNTIME_RUNTIME_PROCESSES_H

#include "common/base.h"
#include "node-agent/process/process_table.h"
#include "node-agent/runtime/access_denial.h"
#include "node-agent/runtime/runtime_filter.h"
#include "node-agent/runtime/runtime_process.h"

#define RUNTIME_PROCESSES_LIBRARIES_MAX_NS UINT64_C(600000000000)

struct runtime_processes;

struct runtime_processes_config {
	int root_fd; /* of /proc; borrowed */
	uint64_t interval_ns;
	const struct runtime_ops *ops;
	/* ops->detect of the reader, with ctx */
	int (*detect)(void *ctx, const struct program_id *id);
	/* ops->libraries of the reader, likewise; may be NULL */
	int (*libraries)(void *ctx, const struct program_id *id, struct file_id *files, size_t max);
	/*
	 * Whether a process is profiled: subject() reads what decide() needs, which is asked again
	 * at each scan; leave() is called for a program that no longer is, and again at each scan
	 * until it returns 0 or -ESRCH. Then the program is forgotten. All NULL: every process is
	 * profiled.
	 */
	int (*subject)(void *ctx, const struct program_id *id, struct runtime_subject *ret);
	enum runtime_verdict (*decide)(void *ctx, const struct runtime_subject *s, bool may_wait);
	int (*leave)(void *ctx, struct runtime_process *p);
	/*
	 * Programs that ran before may have been changed by a predecessor: those that are excluded
	 * are examined all the same, and left.
	 */
	bool leave_unknown;
	/* The same for those of which this says so. NULL: none. */
	bool (*has_leftovers)(void *ctx, const struct program_id *id);
	/* Called before a process is examined, which may hang. NULL is allowed. */
	void (*at)(void *ctx, pid_t pid);
	void *ctx;
	const struct left_out *left_out; /* these are never examined; borrowed; NULL: none */
	/* runtime_processes_seen_ticks() of the previous scanner; 0 if there was none */
	uint64_t seen_ticks;
	unsigned max_verdicts; /* remembered about files; 0: FILE_VERDICTS_MAX */
};

int runtime_processes_new(struct runtime_processes **ret,
			  const struct runtime_processes_config *cfg) MUST_CHECK;
void runtime_processes_free(struct runtime_processes *ps);
DEFINE_CLEANUP(struct runtime_processes *, runtime_processes_free);

/*
 * Another process may have this pid, or execute something else: the next scan reads it, and each
 * scan after that until it is visible in /proc or has exited. Returns 0 or -ENOMEM.
 */
int runtime_processes_change(struct runtime_processes *ps, pid_t pid,
			     enum process_change change) MUST_CHECK;

/* Reports all known processes as changed: some changes were missed. */
void runtime_processes_change_all(struct runtime_processes *ps);

/*
 * Reads processes that have changed, and does what is due with the others. Returns 0, or -ENOMEM:
 * the next scan continues.
 */
int runtime_processes_scan(struct runtime_processes *ps, uint64_t now_ns) MUST_CHECK;

/*
 * The program with the next thing to do, or NULL if there is none. Borrowed until the next
 * scan or removal. Its times and its session may change until the next call; those of others
 * must not.
 */
struct runtime_process *runtime_processes_next(struct runtime_processes *ps);

/* It has exited, or executes something else, which the next scan finds. */
void runtime_processes_remove(struct runtime_processes *ps, struct runtime_process *p);
/*
 * Its turn is over: decides when it is due again. A program whose turns fail is tried less
 * often.
 */
void runtime_processes_done(struct runtime_processes *ps, struct runtime_process *p,
			    uint64_t now_ns, bool failed);

/* Iterates over all programs: NULL gives the first, the last gives NULL. */
struct runtime_process *runtime_processes_each(struct runtime_processes *ps,
					       struct runtime_process *p);

/* Every process that started before this has been seen by a scan: ticks since boot; 0: unknown. */
uint64_t runtime_processes_seen_ticks(const struct runtime_processes *ps);

size_t runtime_processes_count(const struct runtime_processes *ps);
/* As of the last scan: processes that are not profiled, and those that wait for the decision. */
size_t runtime_processes_excluded(const struct runtime_processes *ps);
size_t runtime_processes_undecided(const struct runtime_processes *ps);

/*
 * How many processes the last scan could not examine for lack of rights, and one of them, with
 * the reason. ret_one is set if the number is not 0.
 */
size_t runtime_processes_denied(const struct runtime_processes *ps, struct access_denial *ret_one);

/* Memory that all sessions use. */
size_t runtime_processes_bytes(const struct runtime_processes *ps);

#endif /* NODE_AGENT_RUNTIME_RUNTIME_PROCESSES_H */
