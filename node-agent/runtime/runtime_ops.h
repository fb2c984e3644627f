/*
 * What a language runtime implements so that its processes are found, read in turns, and
 * profiled.
 *
 * runtime/ knows processes, files, schedules, threads and metrics; it knows no language. A
 * language fills in one `struct runtime_ops` (see go/profile/go_profiler.c) and passes it to
 * runtime_worker_new(). Adding a language changes nothing in this folder.
 *
 * Objects, each opaque to this folder:
 *
 *   shared   one per agent: configuration and counters. Used by several threads at once, because an
 *            abandoned thread keeps using it. Freed after the last thread has ended.
 *   reader   one per thread: caches, descriptors. An abandoned thread keeps its reader; the thread
 *            that replaces it makes another one.
 *   session  one per program (struct program_id) of a thread: what is remembered from turn to turn.
 *   handle   a program opened for reading, within one turn. At most one is open per reader.
 *
 * Threads: each worker has one thread, so a runtime has a thread of its own and one that
 * blocks delays no other. All functions are called on that thread unless their comment says
 * otherwise. They may block for a while, but what they read may belong to a file system that
 * never answers: after runtime_worker_config.hang_ns without progress the thread is abandoned,
 * together with its reader and sessions, and its process is ignored from then on. Nothing has
 * to be done for that, except that `shared` must be safe to use from several threads.
 *
 * Errors: functions return 0 (or what their comment says) or -errno. Failed turns are counted
 * by reason (runtime_metrics.h); these values have a meaning of their own:
 *
 *   -ESRCH     the process has exited or executed something else: its session is freed
 *   -ECHILD    it is a copy of its parent which has not executed anything since fork(2)
 *   -ENOTSUP, -ENOENT, -ENOEXEC   the program's version or layout is unknown
 *   -EBADMSG, -ELOOP, -ESTALE     its memory makes no sense
 *   -E2BIG, -EFBIG, -ETIME, -ENOBUFS   more records, bytes, time or stacks than the limit
 *   -ETIMEDOUT, -EBUSY   its file system does not answer
 *   -EAGAIN    finished profiles are not taken fast enough
 *   -ECANCELED  the agent is stopping; not counted
 *
 * Any other value is counted as "unreadable". A process whose turn fails is tried less and
 * less often.
 */
#ifndef NODE_AGENT_RUNTIME_RUNTIME_OPS_H
#define NODE_AGENT_RUNTIME_RUNTIME_OPS_H

#include "common/base.h"
#include "common/data/buf.h"
#include "common/telemetry/metrics.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/runtime/runtime_containers.h"
#include "node-agent/runtime/runtime_metrics.h"

#define RUNTIME_LIBRARIES_MAX 1024u /* files of one process that are examined */

/* Whether to report what a program counted before its first turn. */
enum runtime_baseline {
	RUNTIME_BASELINE_ZERO, /* yes: it has just started */
	RUNTIME_BASELINE_NOW,  /* no: it ran before the agent, or its age is unknown */
};

/* A program that open() has opened. */
struct runtime_open {
	void *handle;
	int proc_fd;      /* of its /proc/<pid>; as comm, valid until close() */
	const char *comm; /* its name in /proc/<pid>/stat */
	uint64_t image;   /* not 0; another number after each execve(2), of the same file too */
};

/* One turn of one process, as its functions see it. */
struct runtime_turn {
	const struct program_id *id;
	void *session;
	void *handle;    /* NULL if it could not be opened: see runtime_turn_def.run */
	int open_error;  /* why, or 0 */
	uint64_t now_ns; /* on clock_monotonic_ns(), when the turn began */

	/* private to runtime/ */
	struct turn_runner *runner;
	struct runtime_process *process;
	struct runtime_open open;
};

/* One thing to do with a process in its turn, such as reading its heap profile. */
struct runtime_turn_def {
	const char *name;
	/*
	 * NULL: done once per interval, in the order of the table; one that fails does not keep the
	 * others from being done. Otherwise it has a schedule of its own: returns when this program
	 * needs it, 0 if not. It is then done alone, between the others.
	 */
	uint64_t (*due_ns)(const void *session);
	/*
	 * Returns 0 or -errno as above. With a schedule of its own it is called even if the
	 * program could not be opened (t->handle is NULL), and must change its due_ns in any
	 * case; it counts its failures itself.
	 */
	int (*run)(void *reader, struct runtime_turn *t);
};

struct runtime_ops {
	const char *name;        /* "go": in log lines */
	const char *thread_name; /* at most 15 characters */

	const struct metric_table *metrics;  /* RUNTIME_METRIC_DEFS() */
	const struct metric_table *profiles; /* a RUNTIME_PROFILE_DEF() for each kind of profile */
	/* Shown per container, with the values of its processes added up. */
	const struct metric_table *values;
	/* Likewise, with labels besides the container's: at most 32 families. NULL: none. */
	const struct metric_table *series;

	/*
	 * Creates what all threads share, on the loop thread. config is
	 * runtime_worker_config.config, borrowed; ms is borrowed too and outlives nothing of
	 * this. Freed on the thread that is last.
	 */
	int (*shared_new)(void **ret, const void *config, struct metrics *ms);
	void (*shared_free)(void *shared);

	/*
	 * On the loop thread. proc_root is "/proc", but for tests. reader_free() may be on any
	 * thread.
	 */
	int (*reader_new)(void **ret, void *shared, const char *proc_root);
	void (*reader_free)(void *reader);

	/*
	 * Returns 1 if that file (id->library, or id->exe if that is none) has the runtime,
	 * else 0.
	 */
	int (*detect)(void *reader, const struct program_id *id);
	/*
	 * Lists files other than its executable in which the runtime may be, which detect() is
	 * then asked about. Returns their number, at most max. NULL if only executables can
	 * have it.
	 */
	int (*libraries)(void *reader, const struct program_id *id, struct file_id *files,
			 size_t max);

	int (*session_new)(void **ret, enum runtime_baseline baseline, uint64_t now_ns);
	void (*session_free)(void *session);
	/* Memory that it uses, without what every session uses. Must be quick. */
	size_t (*session_bytes)(const void *session);
	/*
	 * Forgets what was counted. RUNTIME_BASELINE_ZERO: the process executes another
	 * program now; RUNTIME_BASELINE_NOW: sessions use too much memory. Returns 0 or
	 * -ENOMEM.
	 */
	int (*session_reset)(void *session, enum runtime_baseline baseline);

	/* is_first: nothing was read of it yet, so copies of their parents are to be refused. */
	int (*open)(void *reader, const struct program_id *id, bool is_first,
		    struct runtime_open *ret);
	void (*close)(void *handle);

	const struct runtime_turn_def *turns;
	size_t n_turns;

	/*
	 * ---- what the agent changes in processes must be undone when it ends; all NULL if it
	 * changes nothing ----
	 */

	bool (*must_restore)(void *reader, const void *session);
	/* An earlier thread of this agent may have changed it, and left no record. */
	void (*claim)(void *reader, void *session);
	int (*restore)(void *reader, struct runtime_turn *t);
	/*
	 * Whether an agent that was killed may have changed that process, which is excluded: it is
	 * then opened, claimed and restored. May read nothing but what /proc says of every process.
	 * NULL: nothing outlasts an agent.
	 */
	bool (*has_leftovers)(void *reader, const struct program_id *id);
};

/* ---- for runtime_turn_def.run ---- */

/*
 * Hands a finished profile on. profile: index in runtime_ops.profiles, which counts it. Takes
 * the content of pprof, also on failure. Returns 0, -ENOMEM, -ESRCH, -EAGAIN, or -ECANCELED if
 * the thread is abandoned.
 */
int runtime_turn_emit(struct runtime_turn *t, unsigned profile, struct buf *pprof) MUST_CHECK;

/* Counts a failure that is not to be returned, because the rest of the turn is fine. */
void runtime_turn_count_failure(struct runtime_turn *t, int error);

/*
 * Whether the thread is to end, so that waiting is to be cut short. In restore() it says whether
 * the agent ends, or only this process is excluded.
 */
bool runtime_turn_must_end(const struct runtime_turn *t);

/* The next turn of this program comes at that time, instead of after an interval. */
void runtime_turn_repeat_at(struct runtime_turn *t, uint64_t due_ns);

/*
 * Sets the program's counters and gauges: runtime_ops.values. Returns 0, also if there are too many
 * containers, which is counted; -ENOMEM; -ESRCH.
 */
int runtime_turn_report(struct runtime_turn *t, const struct container_values *values) MUST_CHECK;

/*
 * Replaces the program's series of these families (a bit each): runtime_ops.series. Returns 0, also
 * if there are too many containers or series, which is counted; -EINVAL if one is of another
 * family; -ENOMEM; -ESRCH.
 */
int runtime_turn_series(struct runtime_turn *t, uint32_t families,
			const struct container_series *series, size_t n) MUST_CHECK;

/* Adds to counters for which only increments are known. Results as above. */
int runtime_turn_add(struct runtime_turn *t, const struct container_values *increments) MUST_CHECK;

/*
 * Sets the program's state (runtime_states.h), which lasts until it is set again, or the program
 * has exited. state is a static text of lower case letters and underscores, NULL: none. Returns 0,
 * -ENOMEM, -ESRCH, -EBADF if the program has no state yet and could not be opened, or -ECANCELED if
 * the thread is abandoned.
 */
int runtime_turn_set_state(struct runtime_turn *t, const char *state) MUST_CHECK;

#endif /* NODE_AGENT_RUNTIME_RUNTIME_OPS_H */
