/*
 * The thread does two things: it writes the mappings of processes, which takes microseconds and
 * should happen soon after a process's first sample, and it builds tables, which takes up to a
 * second for the largest files. So between two pages of a table it looks for processes. Its
 * priority is that of other threads: the work is bounded, and where a node is busy, a thread of
 * lower priority would come to each process only after it has exited. (Measured at a load of 70 on
 * four cores: with a nice value of 5, it waited 116 s for 2 s of CPU time.)
 *
 * What the loop thread passes on is a reference to a snapshot. If the queue is full, the process is
 * walked by frame pointers until its mappings change.
 */
#include "node-agent/unwind/unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#include "common/system/clock.h"
#include "common/thread/queue.h"
#include "common/thread/worker_thread.h"
#include "node-agent/interpreter/process/interpreter_files.h"
#include "node-agent/interpreter/process/process_memory.h"
#include "node-agent/sample/event_parse.h"
#include "node-agent/unwind/file_tables.h"
#include "node-agent/unwind/process_mappings.h"
#include "node-agent/unwind/unwind_cache.h"
#include "node-agent/unwind/unwind_slabs.h"

#define QUEUE_JOBS 8192u
#define SEEN_ADDRESSES 64u /* of a sample, from its leaf */
#define READ_TIMEOUT_NS NS_PER_S
#define HUNG_PAUSE_NS (60 * NS_PER_S)
#define TICK_NS NS_PER_S
#define END_TIMEOUT_NS (10 * NS_PER_S) /* a thread that waits for a CPU has that long */
#define SWEEP_NS (30 * NS_PER_S)       /* exit events can be lost */
#define OPEN_FUNCTIONS 16384u          /* whose table takes 20 ms and more */
#define SEE_NS (5 * NS_PER_MS)         /* between samples that tell no more than what is used */
#define GRACE_MIN_NS NS_PER_S          /* a virtual CPU may be stopped in the middle of a walk */

enum unwinder_metric {
	TABLES,
	ROWS,
	TABLE_BYTES,
	PROCESS_BYTES,
	WAITING_BYTES,
	SLAB_BYTES,
	PROCESSES,
	CHAINS,
	WAITING_TABLES,
	BUILT,
	DEFERRED,
	BUILT_PARTS,
	EVICTED,
	DROPPED_BYTES,
	POSTPONED,
	CACHE_HITS,
	CACHE_MISSES,
	CACHE_DAMAGED,
	CACHE_FAILED,
	CACHE_BYTES,
	BUILD_NS,
	LOST_QUEUE_FULL,
	LOST_PROCESSES,
	LOST_MAPPINGS,
	LOST_BUDGET,
	LOST_TOO_LARGE,
	LOST_INDEXES,
	LOST_UNREADABLE,
	LOST_SEGMENTS,
	UNKNOWN_PYTHON,
	UNKNOWN_PHP,
	UNKNOWN_RUBY,
	UNKNOWN_PERL,
	UNKNOWN_LUA,
	UNKNOWN_JAVA,
	UNKNOWN_V8,
	UNKNOWN_LUAJIT,
	UNKNOWN_ERLANG,
	UNKNOWN_DOTNET,
	METRICS,
};

_Static_assert(INTERPRETER_MAX <= PROCESS_MAPPINGS_LANGUAGES, "each is counted");
_Static_assert(METRICS - UNKNOWN_PYTHON == INTERPRETER_MAX - INTERPRETER_PYTHON,
	       "in the order of enum interpreter_language");

#define LOST(reason)                                                                              \
	{                                                                                         \
		.name = "coroot_node_agent_unwind_lost_total", .labels = "reason=\"" reason "\"", \
		.help = "Processes, mappings and files that were left without unwinding "         \
			"tables, by reason; their code is unwound by frame pointers",             \
		.kind = METRIC_COUNTER                                                            \
	}
#define UNKNOWN(language)                                                         \
	{                                                                         \
		.name = "coroot_node_agent_interpreter_processes_unknown",        \
		.labels = "language=\"" language "\"",                            \
		.help = "Processes with an interpreter of a release that is not " \
			"known: their functions are not shown",                   \
		.kind = METRIC_GAUGE                                              \
	}
#define CACHE(result)                                                                              \
	{                                                                                          \
		.name = "coroot_node_agent_unwind_cache_total", .labels = "result=\"" result "\"", \
		.help = "Unwinding tables that were found on disk, that were not, that were "      \
			"damaged there, and that could not be written",                            \
		.kind = METRIC_COUNTER                                                             \
	}
#define BYTES(use)                                                                     \
	{                                                                              \
		.name = "coroot_node_agent_unwind_bytes", .labels = "use=\"" use "\"", \
		.help = "Memory for unwinding tables: rows and rules of files, "       \
			"mappings of processes, what was freed lately, and all that "  \
			"was allocated",                                               \
		.kind = METRIC_GAUGE                                                   \
	}

static const struct metric_def metric_defs[METRICS] = {
	[TABLES] = {.name = "coroot_node_agent_unwind_tables",
		    .help = "Executables and libraries with an unwinding table",
		    .kind = METRIC_GAUGE},
	[ROWS] = {.name = "coroot_node_agent_unwind_rows",
		  .help = "Rows in these tables",
		  .kind = METRIC_GAUGE},
	[TABLE_BYTES] = BYTES("tables"),
	[PROCESS_BYTES] = BYTES("processes"),
	[WAITING_BYTES] = BYTES("freed"),
	[SLAB_BYTES] = BYTES("allocated"),
	[PROCESSES] = {.name = "coroot_node_agent_unwind_processes",
		       .help = "Processes that are unwound by tables",
		       .kind = METRIC_GAUGE},
	[CHAINS] = {.name = "coroot_node_agent_interpreter_processes",
		    .help = "Processes whose stacks have frames of an interpreter",
		    .kind = METRIC_GAUGE},
	[WAITING_TABLES] = {.name = "coroot_node_agent_unwind_tables_waiting",
			    .help = "Files whose table is yet to be built",
			    .kind = METRIC_GAUGE},
	[BUILT] = {.name = "coroot_node_agent_unwind_tables_built_total",
		   .help = "Unwinding tables that were built",
		   .kind = METRIC_COUNTER},
	[DEFERRED] =
		{.name = "coroot_node_agent_unwind_tables_deferred",
		 .help = "Unwinding tables of which parts are yet to be built, those first that "
			 "samples come to",
		 .kind = METRIC_GAUGE},
	[BUILT_PARTS] = {.name = "coroot_node_agent_unwind_parts_built_total",
			 .help = "Parts of such tables that were built",
			 .kind = METRIC_COUNTER},
	[DROPPED_BYTES] = {.name = "coroot_node_agent_unwind_parts_evicted_bytes_total",
			   .help = "Memory of parts of unwinding tables that made room for others, "
				   "as no sample had needed them for a while",
			   .kind = METRIC_COUNTER},
	[EVICTED] = {.name = "coroot_node_agent_unwind_tables_evicted_total",
		     .help = "Unwinding tables that made room for others",
		     .kind = METRIC_COUNTER},
	[POSTPONED] =
		{.name = "coroot_node_agent_unwind_tables_postponed_total",
		 .help = "Unwinding tables that waited because building them would have taken "
			 "too much CPU time, in all or for their container",
		 .kind = METRIC_COUNTER},
	[CACHE_HITS] = CACHE("hit"),
	[CACHE_MISSES] = CACHE("miss"),
	[CACHE_DAMAGED] = CACHE("damaged"),
	[CACHE_FAILED] = CACHE("failed"),
	[CACHE_BYTES] = {.name = "coroot_node_agent_unwind_cache_bytes",
			 .help = "Size of the unwinding tables on disk",
			 .kind = METRIC_GAUGE},
	[BUILD_NS] = {.name = "coroot_node_agent_unwind_build_seconds_total",
		      .help = "CPU time for building unwinding tables",
		      .kind = METRIC_COUNTER,
		      .scale = 1e-9},
	[LOST_QUEUE_FULL] = LOST("queue_full"),
	[LOST_PROCESSES] = LOST("processes_full"),
	[LOST_MAPPINGS] = LOST("mappings"),
	[LOST_BUDGET] = LOST("budget"),
	[LOST_TOO_LARGE] = LOST("too_large"),
	[LOST_INDEXES] = LOST("tables_full"),
	[LOST_UNREADABLE] = LOST("unreadable"),
	[LOST_SEGMENTS] = LOST("segments"),
	[UNKNOWN_PYTHON] = UNKNOWN("python"),
	[UNKNOWN_PHP] = UNKNOWN("php"),
	[UNKNOWN_RUBY] = UNKNOWN("ruby"),
	[UNKNOWN_PERL] = UNKNOWN("perl"),
	[UNKNOWN_LUA] = UNKNOWN("lua"),
	[UNKNOWN_JAVA] = UNKNOWN("java"),
	[UNKNOWN_V8] = UNKNOWN("v8"),
	[UNKNOWN_LUAJIT] = UNKNOWN("luajit"),
	[UNKNOWN_ERLANG] = UNKNOWN("erlang"),
	[UNKNOWN_DOTNET] = UNKNOWN("dotnet"),
};
METRIC_TABLE(metric_table, metric_defs);

enum job_kind {
	JOB_SNAPSHOT,
	JOB_EXITED,
	JOB_WANTED,
	JOB_SAMPLE,
};

struct job {
	enum job_kind kind;
	struct process_snapshot *snapshot; /* a reference; only of JOB_SNAPSHOT */
	pid_t pid;                         /* that exited */
	uint64_t start_time;
};

struct unwinder {
	struct process_listener listener;
	struct queue *jobs;
	atomic_bool wanted; /* JOB_WANTED is in the queue */
	atomic_int wish;    /* enum file_tables_wish */
	uint64_t see_ns;    /* the loop thread's: when samples are passed on that are whole */
	atomic_bool sees;   /* JOB_SAMPLE is in the queue, and this is the thread's: */
	struct {
		pid_t pid;
		uint64_t start_boottime_ns;
		uint64_t addresses[SEEN_ADDRESSES];
		uint16_t n;
	} seen;
	atomic_uint n_submitted,
		n_idle; /* jobs; as many as there were when all tables were built */
	struct worker_thread *thread;
	struct metric metrics[METRICS];
	/* the thread's, while it runs */
	struct deadline_caller *caller;
	struct unwind_cache *cache;
	struct unwind_slabs *slabs;
	struct file_tables *tables;
	struct process_mappings *processes;
	struct interpreter_files *interpreters;
	struct process_memory *memory; /* likewise */
	int proc_fd;
	struct worker_thread *self;
	uint64_t sweep_ns; /* when to do so next */
	unsigned n_run;    /* jobs */
};

/* ---- on the thread ---- */

static void free_job(struct job *j)
{
	process_snapshot_unref(j->snapshot);
	free(j);
}

static void run_job(struct unwinder *u, struct job *j)
{
	uint64_t now_ns = clock_monotonic_ns();

	u->n_run++;
	switch (j->kind) {
	case JOB_SNAPSHOT:
		process_mappings_put(u->processes, j->snapshot, now_ns);
		break;
	case JOB_EXITED:
		process_mappings_remove(u->processes, j->pid, j->start_time, now_ns);
		break;
	case JOB_WANTED:
		atomic_store(&u->wanted, false);
		file_tables_find_wanted(u->tables);
		break;
	case JOB_SAMPLE:
		process_mappings_note_sample(u->processes, u->seen.pid, u->seen.start_boottime_ns,
					     u->seen.addresses, u->seen.n);
		atomic_store(&u->sees, false);
		break;
	}
	free_job(j);
}

/* Between two pages of a table. */
static int pause_build(void *ctx)
{
	struct unwinder *u = ctx;
	struct job *j;

	while ((j = queue_pop_timeout(u->jobs, 0)))
		run_job(u, j);
	return worker_thread_must_end(u->self);
}

static struct mapped_file *find_file(void *ctx, uint32_t table)
{
	const struct unwinder *u = ctx;

	return process_mappings_find_file(u->processes, table);
}

static const struct process_snapshot *find_process(void *ctx, uint32_t table)
{
	const struct unwinder *u = ctx;

	return process_mappings_find_process(u->processes, table);
}

static int find_chain(void *ctx, const struct process_snapshot *s, struct chain_layout *ret)
{
	const struct unwinder *u = ctx;

	return interpreter_files_layout(u->interpreters, s, ret);
}

static void set_cache_metrics(struct unwinder *u)
{
	struct unwind_cache_stats stats;

	if (!u->cache)
		return;
	unwind_cache_read_stats(u->cache, &stats);
	metric_set(&u->metrics[CACHE_HITS], stats.hits);
	metric_set(&u->metrics[CACHE_MISSES], stats.misses);
	metric_set(&u->metrics[CACHE_DAMAGED], stats.damaged);
	metric_set(&u->metrics[CACHE_FAILED], stats.failed);
	metric_set(&u->metrics[CACHE_BYTES], stats.bytes);
}

static void set_metrics(struct unwinder *u)
{
	struct process_mappings_stats processes;
	struct unwind_slabs_stats slabs;
	struct file_tables_stats tables;

	process_mappings_read_stats(u->processes, &processes);
	unwind_slabs_read_stats(u->slabs, &slabs);
	file_tables_read_stats(u->tables, &tables);
	metric_set(&u->metrics[TABLES], tables.n_tables);
	metric_set(&u->metrics[ROWS], tables.n_rows);
	metric_set(&u->metrics[TABLE_BYTES], tables.bytes);
	metric_set(&u->metrics[PROCESS_BYTES], processes.bytes);
	metric_set(&u->metrics[WAITING_BYTES], slabs.waiting_bytes);
	metric_set(&u->metrics[SLAB_BYTES], slabs.n_slabs * UNWIND_SLAB_BYTES);
	metric_set(&u->metrics[PROCESSES], processes.n_processes);
	metric_set(&u->metrics[CHAINS], processes.n_chains);
	metric_set(&u->metrics[WAITING_TABLES], tables.n_waiting);
	metric_set(&u->metrics[BUILT], tables.built);
	metric_set(&u->metrics[DEFERRED], tables.n_deferred);
	metric_set(&u->metrics[BUILT_PARTS], tables.built_parts);
	atomic_store(&u->wish, (int)file_tables_wants_samples(u->tables));
	metric_set(&u->metrics[EVICTED], tables.evicted);
	metric_set(&u->metrics[DROPPED_BYTES], tables.dropped_bytes);
	metric_set(&u->metrics[POSTPONED], tables.postponed);
	metric_set(&u->metrics[BUILD_NS], tables.build_ns);
	metric_set(&u->metrics[LOST_PROCESSES], processes.lost_processes);
	metric_set(&u->metrics[LOST_MAPPINGS], processes.lost_mappings);
	metric_set(&u->metrics[LOST_BUDGET], processes.lost_budget + tables.lost_budget);
	metric_set(&u->metrics[LOST_TOO_LARGE], tables.lost_too_large);
	metric_set(&u->metrics[LOST_INDEXES], tables.lost_indexes);
	metric_set(&u->metrics[LOST_UNREADABLE], tables.lost_unreadable);
	metric_set(&u->metrics[LOST_SEGMENTS], tables.lost_segments);
	for (size_t i = UNKNOWN_PYTHON; i < METRICS; i++)
		metric_set(&u->metrics[i],
			   processes.n_unknown[i - UNKNOWN_PYTHON + INTERPRETER_PYTHON]);
}

static void tick(struct unwinder *u, uint64_t now_ns)
{
	unwind_slabs_tick(u->slabs, now_ns);
	file_tables_tick(u->tables, now_ns);
	if (now_ns >= u->sweep_ns) {
		process_mappings_sweep(u->processes, now_ns);
		u->sweep_ns = now_ns + SWEEP_NS;
	}
	unwind_slabs_unmap_idle(u->slabs);
	set_metrics(u);
	set_cache_metrics(u);
}

/* Returns false if there is no table to build. */
static bool build_next(struct unwinder *u)
{
	if (!file_tables_build_next(u->tables, clock_monotonic_ns()))
		return false;
	atomic_store(&u->wish, (int)file_tables_wants_samples(u->tables));
	/* after the start, tables are built faster than a tick would unmap what they filled */
	unwind_slabs_unmap_idle(u->slabs);
	return true;
}

static void run(void *ctx, struct worker_thread *t)
{
	struct unwinder *u = ctx;
	uint64_t now_ns = clock_monotonic_ns(), tick_ns = now_ns + TICK_NS;
	bool builds = false;
	struct job *j;

	u->self = t;
	while (!worker_thread_must_end(t)) {
		j = queue_pop_timeout(u->jobs, builds ? 0 : tick_ns - now_ns);
		if (j)
			run_job(u, j);
		builds = j || build_next(u);
		if (!builds)
			atomic_store(&u->n_idle, u->n_run);
		now_ns = clock_monotonic_ns();
		if (now_ns >= tick_ns) {
			tick(u, now_ns);
			tick_ns = now_ns + TICK_NS;
		}
	}
}

/* ---- on the loop thread ---- */

/* Takes over what the job has. Returns whether the thread will see it. */
static bool submit(struct unwinder *u, const struct job *job)
{
	struct job *j = malloc(sizeof(*j));

	if (j) {
		*j = *job;
		atomic_fetch_add(&u->n_submitted, 1);
		if (queue_push(u->jobs, j) == 0)
			return true;
		atomic_fetch_sub(&u->n_submitted, 1);
		free(j);
	}
	process_snapshot_unref(job->snapshot);
	return false;
}

static void on_snapshot(void *ctx, struct process_snapshot *s)
{
	struct job job = {.kind = JOB_SNAPSHOT};
	struct unwinder *u = ctx;

	if (s->kernel_thread || s->unreadable || s->n_mappings == 0)
		return;
	job.snapshot = process_snapshot_ref(s);
	if (!submit(u, &job))
		metric_add(&u->metrics[LOST_QUEUE_FULL], 1);
}

/* If the queue is full, the next sweep finds that it has exited. */
static void on_exited(void *ctx, const struct process_snapshot *last)
{
	const struct job job = {
		.kind = JOB_EXITED, .pid = last->pid, .start_time = last->start_time};

	if (!last->kernel_thread && !last->unreadable)
		(void)submit(ctx, &job);
}

static void want(struct unwinder *u)
{
	const struct job job = {.kind = JOB_WANTED};

	if (!atomic_exchange(&u->wanted, true) && !submit(u, &job))
		atomic_store(&u->wanted, false);
}

/* While one is not looked at yet, others are not kept: what is hot comes again. */
static void see_addresses(struct unwinder *u, const struct sample_event *e)
{
	const struct job job = {.kind = JOB_SAMPLE};

	if (atomic_exchange(&u->sees, true))
		return;
	u->seen.pid = (pid_t)e->header.tgid;
	u->seen.start_boottime_ns = e->header.start_boottime_ns;
	u->seen.n = e->n_user < SEEN_ADDRESSES ? e->n_user : SEEN_ADDRESSES;
	memcpy(u->seen.addresses, sample_event_addrs(e) + e->n_kernel,
	       u->seen.n * sizeof(u->seen.addresses[0]));
	if (!submit(u, &job))
		atomic_store(&u->sees, false);
}

void unwinder_see(struct unwinder *u, const struct sample_event *e)
{
	int wish = atomic_load(&u->wish);

	if (e->end == WALK_END_NO_TABLE)
		want(u);
	if (wish == FILE_TABLES_NO_SAMPLES)
		return;
	if (e->flags & SAMPLE_GUESSED || e->end == WALK_END_NO_TABLE ||
	    e->end == WALK_END_NO_UNWIND_INFO) {
		see_addresses(u, e);
	} else if (wish == FILE_TABLES_ANY_SAMPLES && e->header.ktime_ns >= u->see_ns) {
		u->see_ns = e->header.ktime_ns + SEE_NS;
		see_addresses(u, e);
	}
}

/* ---- create and destroy ---- */

static int make_tables(struct unwinder *u, const struct unwinder_config *cfg)
{
	uint64_t grace_ns = GRACE_MIN_NS + 2 * NS_PER_S / cfg->hz;
	const struct unwind_slabs_config slabs = {
		.max_bytes = cfg->max_bytes,
		.grace_ns = grace_ns,
		.make_slab = cfg->memory->make_slab,
		.free_slab = cfg->memory->free_slab,
		.map_slab = cfg->memory->map_slab,
		.unmap_slab = cfg->memory->unmap_slab,
		.ctx = cfg->memory->ctx,
	};
	struct file_tables_config tables = {
		.memory = cfg->memory,
		.max_table_bytes = cfg->max_bytes / 2,
		.open_functions = OPEN_FUNCTIONS,
		.is_alone = cfg->eager && !cfg->cache,
		.grace_ns = grace_ns,
		.cache = cfg->cache,
		.on_pause = pause_build,
		.find_file = find_file,
		.find_process = find_process,
		.proc_root = cfg->proc_root ? cfg->proc_root : "/proc",
		.ctx = u,
	};
	struct process_mappings_config processes = {
		.memory = cfg->memory,
		.proc_fd = u->proc_fd,
		.want_all = cfg->eager,
		.find_chain = find_chain,
		.ctx = u,
	};
	int r = unwind_slabs_new(&u->slabs, &slabs);

	if (r == 0)
		r = deadline_caller_new(&u->caller, READ_TIMEOUT_NS, HUNG_PAUSE_NS);
	if (r == 0)
		r = process_memory_new(&u->memory, cfg->proc_root ?: "/proc");
	if (r == 0)
		r = interpreter_files_new(&u->interpreters, u->caller, u->memory);
	if (r < 0)
		return r;
	if (cfg->python_tasks)
		interpreter_files_add_tasks(u->interpreters);
	tables.slabs = processes.slabs = u->slabs;
	tables.caller = u->caller;
	r = file_tables_new(&u->tables, &tables);
	if (r < 0)
		return r;
	processes.tables = u->tables;
	return process_mappings_new(&u->processes, &processes);
}

/* On the owner's thread, or on ours if it was left alone. */
static void free_all(void *ctx, bool abandoned)
{
	struct unwinder *u = ctx;
	struct job *j;

	(void)abandoned;
	while (u->jobs && (j = queue_pop_timeout(u->jobs, 0)))
		free_job(j);
	queue_free(u->jobs);
	process_mappings_free(u->processes);
	file_tables_free(u->tables);
	unwind_slabs_free(u->slabs);
	interpreter_files_free(u->interpreters);
	process_memory_free(u->memory);
	deadline_caller_free(u->caller);
	unwind_cache_free(u->cache);
	closep(&u->proc_fd);
	free(u);
}

int unwinder_new(struct unwinder **ret, const struct unwinder_config *cfg)
{
	CLEANUP(unwinder_freep) struct unwinder *u = calloc(1, sizeof(*u));
	struct worker_thread_config thread = {
		.name = "unwind-tables",
		.run = run,
	};
	int r;

	if (!u)
		return -ENOMEM;
	u->listener = (struct process_listener){
		.on_snapshot = on_snapshot, .on_exited = on_exited, .ctx = u};
	u->proc_fd =
		open(cfg->proc_root ? cfg->proc_root : "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (u->proc_fd < 0)
		return -errno;
	r = queue_new(&u->jobs, QUEUE_JOBS);
	if (r == 0)
		r = make_tables(u, cfg);
	if (r < 0)
		return r;
	thread.ctx = u;
	thread.free = free_all;
	u->cache = cfg->cache;
	r = worker_thread_start(&u->thread, &thread);
	if (r < 0) {
		u->cache = NULL;
		return r;
	}
	*ret = TAKE_PTR(u);
	return 0;
}

bool unwinder_end(struct unwinder *u)
{
	struct worker_thread *t = u ? u->thread : NULL;

	if (!u)
		return true;
	if (!t) {
		free_all(u, false);
		return true;
	}
	worker_thread_stop(t);
	queue_close(u->jobs);
	return worker_thread_join(t, END_TIMEOUT_NS) == 0 || !worker_thread_abandon(t);
}

void unwinder_free(struct unwinder *u)
{
	(void)unwinder_end(u);
}

bool unwinder_is_idle(const struct unwinder *u)
{
	return atomic_load(&u->n_idle) == atomic_load(&u->n_submitted);
}

struct process_listener *unwinder_listener(struct unwinder *u)
{
	return &u->listener;
}

int unwinder_register_metrics(struct unwinder *u, struct metrics *ms)
{
	return metrics_register(ms, &metric_table, u->metrics, u);
}
