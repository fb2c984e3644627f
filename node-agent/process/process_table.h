/*
 * Stage 1: the processes of the node, identified by pid and start time.
 *
 * The table learns of a process from a scan, a fork or exec event or a sample, and reads its /proc
 * folder (untrusted) only once it was sampled. The result is a snapshot: immutable,
 * with a reference count. A process that exits before it is read still gets one, with what its
 * events and relatives say (exited_process.h), and is counted.
 *
 * A stage that keeps something per process, such as unwinding tables, subscribes: see struct
 * process_listener.
 *
 * All functions are called on the loop thread; only snapshots travel to others.
 */
#ifndef NODE_AGENT_PROCESS_PROCESS_TABLE_H
#define NODE_AGENT_PROCESS_PROCESS_TABLE_H

#include "common/base.h"
#include "common/err.h"
#include "node-agent/process/process_image.h"
#include "node-agent/process/process_snapshot.h"

struct name_rules;
struct process_table;

struct process_table_config {
	const char *proc_root;         /* NULL: "/proc" */
	size_t max_open_files;         /* of executables; 0: half of RLIMIT_NOFILE, at most 16384 */
	struct name_rules *name_rules; /* for bare processes; borrowed; NULL: none */
	const struct cgroup_hierarchy *hierarchy; /* of the ids in samples; borrowed, may be NULL */
};

/* What a sample says about its process. */
struct process_seen {
	pid_t pid;
	pid_t tid; /* a thread that is alive; 0: the leader */
	uint64_t start_boottime_ns;
	uint64_t cgroup_id; /* 0: unknown */
	const char *comm;   /* NUL-terminated, at most PROCESS_COMM_BYTES */
	bool kernel_thread;
	const uint64_t
		*addrs; /* user addresses; one outside all mappings makes us read them again */
	size_t n_addrs;
};

/* A process was made. Until it executes a program it has the mappings of its parent. */
struct process_fork {
	pid_t pid;
	pid_t parent;
	uint64_t start_boottime_ns;
	uint64_t parent_start_boottime_ns;
	uint64_t cgroup_id; /* of the parent; 0: unknown */
};

struct process_table_stats {
	uint64_t n_processes; /* in the table */
	uint64_t n_files;     /* in use */
	uint64_t n_open_files;
	uint64_t unreadable;     /* total: sampled processes of which nothing is known but a name */
	uint64_t locked;         /* total: of these, because something keeps their memory locked */
	uint64_t restored;       /* total: likewise, but their events say what they had mapped */
	uint64_t snapshots;      /* total: readings of a process */
	uint64_t asked;          /* of these: that asked about what was known of it before */
	uint64_t maps_cut;       /* total: readings that hit a limit */
	uint64_t files_unopened; /* total: executables that could not be opened */
	uint64_t files_over_limit; /* total: executables not opened because of max_open_files */
	uint64_t files_hung;       /* total: executables whose file system did not answer */
};

enum process_change {
	PROCESS_STARTED,  /* after the first scan, and the table has just learned of it */
	PROCESS_EXECUTED, /* another program */
	PROCESS_CHANGED,  /* perhaps: events can be lost, also of an exec, or of exit and start */
	PROCESS_EXITED,
};

/*
 * How another stage follows processes. Each callback may be NULL. They run on the loop
 * thread, while the sample of the process waits: copy what is needed (process_snapshot_ref()
 * costs one atomic increment) and leave work to a thread. They must not call the table, except
 * for process_table_parent() and process_table_reread().
 *
 * Example: a builder of unwinding tables takes a reference in on_snapshot, and its thread
 * makes one table per distinct mapping file (mapping.file->id identifies it, mapping.file->fd
 * is open for pread(2), or -1) and writes the mappings of the process into the BPF maps that
 * sampler_map_fd() returns; in on_exited it removes them. Samples that arrive before the
 * tables are unwound by frame pointers.
 */
struct process_listener {
	/*
	 * The process has a new snapshot, because it was sampled for the first time, executed
	 * another program, or mapped other code. It replaces the previous one of the same pid and
	 * start_time. Kernel threads and unreadable processes are reported too: without mappings.
	 */
	void (*on_snapshot)(void *ctx, struct process_snapshot *s);
	/*
	 * The process has exited and its last samples have been handled. `last` is the
	 * snapshot that was reported last. Not called for processes that were never sampled,
	 * nor by process_table_free(). A sample that is later still is of a new, unreadable
	 * process.
	 */
	void (*on_exited)(void *ctx, const struct process_snapshot *last);
	/* Of every process, sampled or not. */
	void (*on_changed)(void *ctx, pid_t pid, enum process_change change);
	void *ctx;
	struct process_listener *next; /* for the table's use */
};

/*
 * Returns 0, -ENOMEM, or another -errno with err set if proc_root cannot be opened. Raises the soft
 * RLIMIT_NOFILE to the hard one.
 */
int process_table_new(struct process_table **ret, const struct process_table_config *cfg,
		      struct err *err) MUST_CHECK;
void process_table_free(struct process_table *t);
DEFINE_CLEANUP(struct process_table *, process_table_free);

/*
 * Calls l from now on; existing snapshots are not reported, so subscribe before the first
 * sample. Listeners are called in the order of their subscription. l is borrowed until
 * process_table_unsubscribe() or process_table_free().
 */
void process_table_subscribe(struct process_table *t, struct process_listener *l);
void process_table_unsubscribe(struct process_table *t, const struct process_listener *l);

/* Calls fn with the pid of each process in the table, unless it has exited. */
void process_table_each(const struct process_table *t, void (*fn)(void *ctx, pid_t pid), void *ctx);

/*
 * Adds all running processes without reading more than their start time, drops those that exited
 * unnoticed, and reports all to on_changed. Begin with it once events arrive; the sweep then
 * repeats it, as events can be lost. Returns the number of processes or -errno.
 */
int process_table_scan(struct process_table *t) MUST_CHECK;

/*
 * The snapshot a sample belongs to; made or renewed if necessary. Borrowed: valid until the
 * next call with t unless the caller takes a reference. Returns 0 or -ENOMEM.
 */
int process_table_get(struct process_table *t, const struct process_seen *seen, uint64_t now_ns,
		      struct process_snapshot **ret) MUST_CHECK;

/*
 * The process has executed another program: its next sample makes a new snapshot. Returns 0, or
 * -ENOMEM if less is known about it than exec says.
 */
int process_table_exec(struct process_table *t, const struct process_exec *exec);

/* Returns 0 or -ENOMEM, likewise. */
int process_table_fork(struct process_table *t, const struct process_fork *fork);

/*
 * A mapping of the process, known to the kernel when it was sampled. Only used if the process exits
 * before it is read. Returns 0 or -ENOMEM.
 */
int process_table_map(struct process_table *t, const struct process_map *map);

/* The process has exited. It stays in the table for the samples of its last moments. */
void process_table_exit(struct process_table *t, pid_t pid, uint64_t start_boottime_ns,
			uint64_t now_ns);

/* The process may be another program or elsewhere: its next sample makes a new snapshot. */
void process_table_reread(struct process_table *t, pid_t pid);

/*
 * Who made the process, as fork events say: *start_time is that of the process, then of its
 * parent. Either may have exited. Returns 0 if that is unknown.
 */
pid_t process_table_parent(const struct process_table *t, pid_t pid, uint64_t *start_time);

/*
 * Call it every few seconds: drops processes that exited a while ago, closes unused files, and
 * repeats the scan every minute.
 */
void process_table_sweep(struct process_table *t, uint64_t now_ns);

void process_table_read_stats(const struct process_table *t, struct process_table_stats *ret);

/*
 * Returns 0, -EPERM with err set if proc_root is not of the initial PID namespace, or another
 * -errno.
 */
int process_table_check_namespace(const char *proc_root, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_PROCESS_PROCESS_TABLE_H */
