/*
 * The sampler sees the whole machine. What is not wanted is left out in two steps: a sample of such
 * a process is dropped here, and the kernel is told not to send more of them until the process
 * executes another program. So others cost one sample each. Names of processes change without an
 * event, so with --comm the kernel is told to send all again every second.
 *
 * A command is made when the sampler already runs, so that its fork event says when exactly it
 * started, which is how the walk in the kernel knows a process. Processes that run already say so
 * with their first sample; /proc has the time in hundredths of a second only. They are read before
 * that nevertheless, for the tables of their files, and read again at that sample.
 */
#include "node-agent/record/record_session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/log.h"
#include "node-agent/interpreter/process/interpreter_files.h"
#include "node-agent/interpreter/process/interpreter_names.h"
#include "node-agent/process/process_table.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/profile/profile_worker.h"
#include "node-agent/record/record_targets.h"
#include "node-agent/sample/cycle.h"
#include "node-agent/sample/event_processes.h"
#include "node-agent/sample/exclusions.h"
#include "node-agent/sample/sampler.h"
#include "node-agent/unwind/unwind_memory.h"
#include "node-agent/unwind/unwinder.h"
#include "node-agent/workload/cgroup_hierarchy.h"
#include "node-agent/workload/profile_filter.h"

#define CYCLE_MAX_STACKS 1000000u
#define CYCLE_MAX_BYTES (256 * MIB)
#define UNWIND_TABLE_BYTES (256 * MIB)
#define NAMES_MAX 1000000u
#define NAMES_MAX_BYTES (64 * MIB)
#define FIRST_SAMPLE_NS (300 * NS_PER_MS) /* a process that runs is sampled within */
#define PREPARE_MAX_NS (5 * NS_PER_S)
#define PREPARE_ALL_NS (3 * NS_PER_S) /* with all processes: tables are built as walks need them */
#define PREPARE_TICK_NS (5 * NS_PER_MS)
#define PROGRESS_NS (200 * NS_PER_MS)
#define SECOND_NS NS_PER_S
/* the daemon has lines a cycle later: here is none, so they are waited for up to 20 s */
#define LINE_PATIENCE 20u
#define LINE_PATIENCE_ALL 2u /* with all processes */
/* Of a debug file. */
#define DEBUGINFOD_FILE_MAX_BYTES (512 * MIB)
#define LEFT_OUT_MAX ((size_t)SAMPLER_EXCLUDE_MAX)

struct record_session {
	struct record_session_config cfg;
	const struct record_options *o;
	sigset_t signals; /* before */
	enum record_phase phase;
	struct loop *loop;
	struct cgroup_hierarchy *hierarchy;
	struct profile_filter *filter;
	struct process_table *processes;
	struct sampler *sampler;
	struct exclusions *exclusions; /* NULL: nothing is excluded */
	struct unwind_maps *unwind_maps;
	struct unwinder *unwinder;
	struct interpreter_names *names;
	struct profile_worker *worker;
	/* NULL: no server is asked; the worker's, and valid until that is freed */
	struct debuginfod_client *debuginfod;
	struct record_targets *targets;
	struct cycle *cycle;
	struct loop_source *ring, *tick, *second, *end;
	uint64_t command_start_ns; /* of the command's process, as its fork event has it; or 0 */
	struct sampler_process left_out[SAMPLER_EXCLUDE_MAX];
	size_t n_left_out;
	unsigned n_signals;
	int proc_fd;
	uint64_t prepare_ns;  /* when it began to, monotonic, as the next */
	uint64_t recorded_ns; /* when it began to record */
	uint64_t start_ns;    /* the same since the Unix epoch */
	struct sampler_stats before;
	struct record_result *result;
	char debuginfod_problem[sizeof(((struct record_result *)NULL)->debuginfod_problem)];
	int error;
	struct err *err;
};

/* ---- samples ---- */

static bool is_explicit(const struct record_options *o)
{
	return o->n_pids > 0 || o->command || o->include_excluded;
}

/* The kernel is not to send samples of this process. If it has no room, each is dropped here. */
static void leave_out(struct record_session *s, const struct event_header *h)
{
	const struct sampler_process p = {.tgid = h->tgid,
					  .start_boottime_ns = h->start_boottime_ns};

	if (sampler_exclude_process(s->sampler, &p) == 0 && s->n_left_out < LEFT_OUT_MAX)
		s->left_out[s->n_left_out++] = p;
}

static void ask_again(struct record_session *s)
{
	while (s->n_left_out > 0)
		sampler_include_process(s->sampler, &s->left_out[--s->n_left_out]);
}

/* Whether the process is in another container than the one that is asked for. */
static bool is_elsewhere(const struct record_session *s, int proc_fd)
{
	struct workload_cgroup cgroup;

	return s->o->container && proc_fd >= 0 &&
	       workload_read_cgroup(&cgroup, proc_fd, NULL) == 0 &&
	       !record_targets_may_want_cgroup(s->targets, &cgroup.path);
}

/* Whether it need not even be read to say that it is not wanted. */
static bool is_unwanted(const struct record_session *s, const struct sample_event *e)
{
	const pid_t pid = (pid_t)e->header.tgid;
	char comm[SAMPLER_COMM_BYTES];

	memcpy(comm, e->comm, sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	if (!record_targets_may_want(s->targets, pid, comm))
		return true;
	if (s->o->container) {
		AUTO_CLOSE int fd = procfs_open_process(s->proc_fd, pid);

		return is_elsewhere(s, fd);
	}
	return false;
}

/* Returns the process of the sample if that is wanted, or NULL. */
static struct process_snapshot *find_wanted(struct record_session *s, const struct sample_event *e)
{
	struct process_snapshot *snapshot = NULL;

	if (is_unwanted(s, e)) {
		leave_out(s, &e->header);
		return NULL;
	}
	if (event_processes_get(s->processes, e, &snapshot) < 0) {
		cycle_add_lost(s->cycle, CYCLE_LOST_NO_MEMORY, 1);
		return NULL;
	}
	if (!record_targets_want_workload(s->targets, snapshot->workload)) {
		leave_out(s, &e->header);
		return NULL;
	}
	return s->exclusions && exclusions_drop(s->exclusions, e) ? NULL : snapshot;
}

/* Whether the walk had no table for the process, or for a file that it came to. */
static bool is_early(const struct sample_event *e)
{
	if (e->n_user == 0)
		return false;
	return !(e->flags & SAMPLE_BY_TABLES) || e->end == WALK_END_NO_TABLE ||
	       e->end == WALK_END_NO_MAPPING;
}

/* Its functions will be missed. */
static void note_unknown(struct record_result *result, const struct process_snapshot *p)
{
	const struct mapped_file *m = interpreter_files_unknown(p);
	enum interpreter_language language = m ? m->unknown_interpreter : INTERPRETER_NONE;
	const struct interpreter_ops *ops = interpreter_ops_of(language);

	if (!ops)
		return;
	result->unknown_language = ops->name;
	snprintf(result->unknown_file, sizeof(result->unknown_file), "%s", m->path);
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	struct record_session *s = ctx;
	struct process_snapshot *snapshot;

	/* while it prepares, what was sampled in between is not wanted any more */
	if (s->phase > RECORD_RECORDING)
		return;
	snapshot = find_wanted(s, e);
	if (!snapshot)
		return;
	unwinder_see(s->unwinder, e);
	s->result->target_seen = true;
	if (s->phase == RECORD_PREPARING || e->header.ktime_ns < s->recorded_ns)
		s->result->n_prepared++;
	else if (cycle_add_sample(s->cycle, snapshot, e) == 0) { /* counts what it drops */
		s->result->n_early += is_early(e);
		if (!s->result->unknown_language)
			note_unknown(s->result, snapshot);
		interpreter_names_see(s->names, snapshot, sample_event_chain(e), e->n_chain,
				      e->chain_state);
	}
}

static void on_fork(void *ctx, const struct fork_event *e)
{
	struct record_session *s = ctx;

	event_processes_fork(s->processes, e);
	if ((pid_t)e->header.tgid == s->cfg.child->pid)
		s->command_start_ns = e->header.start_boottime_ns;
	if (record_targets_fork(s->targets, (pid_t)e->parent_tgid, (pid_t)e->header.tgid) < 0 &&
	    s->cycle)
		cycle_add_lost(s->cycle, CYCLE_LOST_NO_MEMORY, 1);
}

static void on_exec(void *ctx, const struct exec_event *e)
{
	const struct record_session *s = ctx;

	event_processes_exec(s->processes, e);
}

static void on_map(void *ctx, const struct map_event *e)
{
	const struct record_session *s = ctx;

	event_processes_map(s->processes, e);
}

static void on_code(void *ctx, const struct code_event *e)
{
	const struct record_session *s = ctx;

	interpreter_names_keep(s->names, e);
}

static void end_recording(struct record_session *s);

static void on_exited(void *ctx, const struct event_header *e)
{
	struct record_session *s = ctx;

	event_processes_exit(s->processes, e);
	record_targets_exit(s->targets, (pid_t)e->tgid);
}

static void drain(struct record_session *s)
{
	const struct sampler_handlers handlers = {on_sample, on_fork, on_exec, on_exited,
						  on_map,    on_code, s};
	int r;

	do
		r = sampler_drain(s->sampler, &handlers);
	while (r >= 100000 && s->phase == RECORD_NAMING);
}

static void on_ring(void *ctx, uint32_t events)
{
	(void)events;
	drain(ctx);
}

/* ---- processes that run already ---- */

/* Reads a process, for the tables of its files. Returns 0, -ESRCH or -ENOMEM. */
static int read_process(struct record_session *s, pid_t pid)
{
	AUTO_CLOSE int fd = procfs_open_process(s->proc_fd, pid);
	const uint64_t ns_per_tick = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	bool is_command = pid == s->cfg.child->pid && s->command_start_ns > 0;
	struct process_snapshot *snapshot;
	struct process_seen seen = {.pid = pid};
	struct proc_stat st;
	int r = fd < 0 ? -ESRCH : procfs_read_stat(fd, &st);

	if (r < 0 || st.ended)
		return r == -ENOMEM ? r : -ESRCH;
	if (pid != getpid() &&
	    (!record_targets_may_want(s->targets, pid, st.comm) || is_elsewhere(s, fd)))
		return 0;
	seen.comm = st.comm;
	seen.kernel_thread = st.kernel_thread;
	seen.start_boottime_ns = is_command ? s->command_start_ns : st.start_time * ns_per_tick;
	r = process_table_get(s->processes, &seen, clock_monotonic_ns(), &snapshot);
	if (r < 0)
		return r;
	if (pid != getpid() && record_targets_want_workload(s->targets, snapshot->workload))
		s->result->target_seen = true;
	if (!is_command)
		process_table_reread(s->processes, pid);
	return 0;
}

static int read_any(void *ctx, pid_t pid)
{
	return read_process(ctx, pid) == -ENOMEM ? -ENOMEM : 0;
}

static int read_processes(struct record_session *s)
{
	int r;

	for (size_t i = 0; i < s->o->n_pids; i++) {
		r = read_process(s, s->o->pids[i]);
		if (r < 0)
			return err_set(s->err, r, "there is no process %d", (int)s->o->pids[i]);
	}
	if (s->o->n_pids > 0 || s->o->command)
		return 0;
	return procfs_each_pid(s->proc_fd, read_any, s);
}

/* ---- phases ---- */

static void fail(struct record_session *s, int error)
{
	s->error = error;
	loop_stop(s->loop);
}

static void report(struct record_session *s)
{
	struct record_progress p = {.phase = s->phase,
				    .n_samples = s->cycle ? cycle_n_samples(s->cycle) : 0};

	if (s->debuginfod)
		p.n_received = debuginfod_client_counts(s->debuginfod).n_bytes;
	if (s->phase >= RECORD_RECORDING)
		p.elapsed_ns = clock_monotonic_ns() - s->recorded_ns;
	if (s->cfg.on_progress)
		s->cfg.on_progress(s->cfg.ctx, &p);
}

static void begin_recording(struct record_session *s)
{
	int r = sampler_read_stats(s->sampler, &s->before);

	if (r < 0) {
		fail(s, err_set(s->err, r, "cannot read the sampler's counters: %s", strerror(-r)));
		return;
	}
	s->result->tables_late = !unwinder_is_idle(s->unwinder);
	s->phase = RECORD_RECORDING;
	s->start_ns = clock_realtime_ns();
	s->recorded_ns = clock_monotonic_ns();
	record_child_release(s->cfg.child);
	loop_set_timer(s->end, s->o->duration_ns);
	loop_set_timer(s->tick, PROGRESS_NS);
}

static bool is_prepared(const struct record_session *s)
{
	uint64_t ns = clock_monotonic_ns() - s->prepare_ns;

	if (ns >= (record_options_is_whole_machine(s->o) ? PREPARE_ALL_NS : PREPARE_MAX_NS))
		return true;
	if (!unwinder_is_idle(s->unwinder))
		return false;
	/* that sample says when exactly the process started: now it is walked by tables */
	return s->o->command || ns >= FIRST_SAMPLE_NS ||
	       (s->o->n_pids == 1 && s->result->n_prepared > 0);
}

/* Whether there is nothing left that could be sampled. */
static bool is_over(struct record_session *s)
{
	if (s->o->command)
		return record_child_has_ended(s->cfg.child, false);
	return s->o->n_pids > 0 && record_targets_count(s->targets) == 0;
}

static void on_tick(void *ctx)
{
	struct record_session *s = ctx;

	if (s->phase >= RECORD_NAMING) {
		report(s);
		loop_set_timer(s->tick, PROGRESS_NS);
		return;
	}
	drain(s);
	if (s->phase == RECORD_PREPARING && is_prepared(s))
		begin_recording(s);
	report(s);
	if (s->phase == RECORD_RECORDING && is_over(s))
		end_recording(s);
	loop_set_timer(s->tick, s->phase == RECORD_PREPARING ? PREPARE_TICK_NS : PROGRESS_NS);
}

/* Exit events can be lost. */
static void forget_exited(struct record_session *s)
{
	for (size_t i = 0; i < s->o->n_pids; i++) {
		if (kill(s->o->pids[i], 0) < 0 && errno == ESRCH)
			record_targets_exit(s->targets, s->o->pids[i]);
	}
}

static void on_second(void *ctx)
{
	struct record_session *s = ctx;
	struct err err = {""};

	if (sampler_update_cpus(s->sampler, &err) < 0)
		log_warn_limited("cannot follow CPUs", "error=\"%s\"", err.msg);
	process_table_sweep(s->processes, clock_monotonic_ns());
	if (s->exclusions)
		exclusions_update(s->exclusions);
	if (s->o->comm)
		ask_again(s);
	forget_exited(s);
	loop_set_timer(s->second, SECOND_NS);
}

static void add_losses(struct record_session *s)
{
	struct sampler_stats now;

	if (sampler_read_stats(s->sampler, &now) < 0)
		return;
	cycle_add_lost(s->cycle, CYCLE_LOST_RING_FULL,
		       now.kernel.lost_ring_full - s->before.kernel.lost_ring_full);
	cycle_add_lost(s->cycle, CYCLE_LOST_NO_TASK,
		       now.kernel.lost_no_task - s->before.kernel.lost_no_task);
	for (enum cycle_lost why = 0; why < CYCLE_LOST_MAX; why++)
		s->result->n_lost += cycle_lost(s->cycle, why);
}

static void end_recording(struct record_session *s)
{
	int64_t duration_ns = (int64_t)(clock_monotonic_ns() - s->recorded_ns);
	int r;

	drain(s);
	s->phase = RECORD_NAMING;
	add_losses(s);
	s->result->n_samples = cycle_n_samples(s->cycle);
	s->result->duration_ns = (uint64_t)duration_ns;
	s->result->end_ns = s->start_ns + (uint64_t)duration_ns;
	report(s);
	r = profile_worker_adopt(s->worker, s->cycle, (int64_t)s->result->end_ns, duration_ns);
	if (r < 0)
		fail(s, r);
	else
		s->cycle = NULL;
}

static void on_end(void *ctx)
{
	struct record_session *s = ctx;

	if (s->phase == RECORD_RECORDING)
		end_recording(s);
}

/* A second signal ends it at once, and no debug file is waited for after the first. */
static void on_signal(void *ctx)
{
	struct record_session *s = ctx;

	s->result->interrupted = true;
	if (s->debuginfod && s->phase == RECORD_NAMING)
		debuginfod_client_stop(s->debuginfod);
	if (s->phase == RECORD_RECORDING)
		end_recording(s);
	else if (s->phase == RECORD_PREPARING || s->n_signals > 0)
		fail(s, err_set(s->err, -EINTR, "interrupted before there was a sample"));
	s->n_signals++;
}

/* Unlike Ctrl-C, which a terminal gives to both, it reaches only us; the command ends as well. */
static void on_terminate(void *ctx)
{
	const struct record_session *s = ctx;

	if (s->o->command && s->cfg.child->pid > 0 && !record_child_has_ended(s->cfg.child, false))
		(void)kill(s->cfg.child->pid, SIGTERM);
	on_signal(ctx);
}

static void on_child(void *ctx)
{
	struct record_session *s = ctx;

	if (s->o->command && record_child_has_ended(s->cfg.child, false))
		on_end(s);
}

static void on_profile(void *ctx, const struct workload_profile *p)
{
	const struct record_session *s = ctx;

	s->result->pprof = *p->pprof;
	buf_init(p->pprof, 0);
}

static void note_debuginfod(struct record_session *s)
{
	const char *problem = debuginfod_client_problem(s->debuginfod);

	s->result->debuginfod = debuginfod_client_counts(s->debuginfod);
	if (problem)
		snprintf(s->result->debuginfod_problem, sizeof(s->result->debuginfod_problem), "%s",
			 problem);
}

static void on_cycle_done(void *ctx)
{
	struct record_session *s = ctx;

	s->phase = RECORD_DONE;
	if (s->debuginfod)
		note_debuginfod(s);
	loop_stop(s->loop);
}

/* ---- the stages ---- */

static int make_loop(struct record_session *s)
{
	int r = loop_new(&s->loop);

	sigprocmask(SIG_BLOCK, NULL, &s->signals);
	if (r == 0)
		r = loop_add_signal(s->loop, SIGINT, on_signal, s);
	if (r == 0)
		r = loop_add_signal(s->loop, SIGTERM, on_terminate, s);
	if (r == 0)
		r = loop_add_signal(s->loop, SIGCHLD, on_child, s);
	if (r == 0)
		r = loop_add_timer(s->loop, on_tick, s, &s->tick);
	if (r == 0)
		r = loop_add_timer(s->loop, on_second, s, &s->second);
	return r == 0 ? loop_add_timer(s->loop, on_end, s, &s->end) : r;
}

static int make_targets(struct record_session *s)
{
	const struct record_targets_config cfg = {
		.comm = s->o->comm,
		.container = s->o->container,
		.by_id = s->o->n_pids > 0 || s->o->command,
	};
	int r = record_targets_new(&s->targets, &cfg);

	for (size_t i = 0; r == 0 && i < s->o->n_pids; i++)
		r = record_targets_add(s->targets, s->o->pids[i]);
	return r;
}

static int make_sampler(struct record_session *s, struct err *err)
{
	const struct sampler_config cfg = {
		.hz = s->o->hz,
		.kernel_stacks = true,
		.cgroups = sampler_cgroups_of(s->hierarchy),
	};
	int r = sampler_new(&s->sampler, &cfg, err);

	return r == 0 ? loop_add_fd(s->loop, sampler_fd(s->sampler), EPOLLIN, on_ring, s, &s->ring)
		      : r;
}

static int make_exclusions(struct record_session *s, struct err *err)
{
	const struct profile_filter_config filter = {0};
	struct exclusions_config cfg = {
		.hierarchy = s->hierarchy,
		.sampler = s->sampler,
		.processes = s->processes,
	};
	int r;

	if (is_explicit(s->o))
		return 0;
	r = profile_filter_new(&s->filter, &filter, err);
	cfg.filter = s->filter;
	return r == 0 ? exclusions_new(&s->exclusions, &cfg) : r;
}

static int make_unwinder(struct record_session *s)
{
	const struct unwind_map_fds fds = SAMPLER_UNWIND_MAPS(s->sampler);
	struct unwinder_config cfg = {
		.max_bytes = UNWIND_TABLE_BYTES,
		.hz = s->o->hz,
		.python_tasks = s->o->python_async_callers,
		.eager = !record_options_is_whole_machine(s->o),
	};
	int r = unwind_maps_new(&s->unwind_maps, &fds);

	if (r < 0)
		return r;
	cfg.memory = unwind_maps_memory(s->unwind_maps);
	r = unwinder_new(&s->unwinder, &cfg);
	if (r == 0)
		process_table_subscribe(s->processes, unwinder_listener(s->unwinder));
	return r;
}

/* What other programs understand in this variable must not keep us from recording. */
static int make_debuginfod(struct record_session *s)
{
	const struct debuginfod_client_config cfg = {
		.urls = getenv("DEBUGINFOD_URLS"),
		.user_agent = "coroot-node-agent",
		.max_file_bytes = DEBUGINFOD_FILE_MAX_BYTES,
		.time_ns = s->o->debuginfod_ns,
	};
	struct err err = {.msg = ""};
	int r = cfg.time_ns > 0 ? debuginfod_client_new(&s->debuginfod, &cfg, &err) : 0;

	if (r == -EINVAL)
		snprintf(s->debuginfod_problem, sizeof(s->debuginfod_problem),
			 "DEBUGINFOD_URLS: %s", err.msg);
	return r == -EINVAL ? 0 : r;
}

static int make_worker(struct record_session *s)
{
	const struct profile_worker_config cfg = {
		.debuginfod = s->debuginfod,
		.hz = s->o->hz,
		.addresses = true,
		.whole = true,
		.line_numbers = true,
		.line_patience =
			record_options_is_whole_machine(s->o) ? LINE_PATIENCE_ALL : LINE_PATIENCE,
		.on_profile = on_profile,
		.on_cycle_done = on_cycle_done,
		.names = s->names,
		.ctx = s,
	};

	return profile_worker_new(&s->worker, s->loop, &cfg);
}

static int make_processes(struct record_session *s, struct err *err)
{
	struct process_table_config cfg = {0};
	int r = process_table_check_namespace("/proc", err);

	s->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r == 0 && s->proc_fd < 0)
		r = err_set(err, -errno, "open /proc: %m");
	if (r < 0)
		return r;
	/* before any thread is started: they inherit it */
	if (!s->o->command)
		cgroup_hierarchy_join_host(s->proc_fd);
	r = cgroup_hierarchy_new(&s->hierarchy, s->proc_fd);
	cfg.hierarchy = s->hierarchy;
	return r == 0 ? process_table_new(&s->processes, &cfg, err) : r;
}

int record_session_new(struct record_session **ret, const struct record_session_config *cfg,
		       struct err *err)
{
	const struct cycle_config cycle = {CYCLE_MAX_STACKS, CYCLE_MAX_BYTES};
	const struct interpreter_names_config names = {NULL, NAMES_MAX, NAMES_MAX_BYTES};
	CLEANUP(record_session_freep) struct record_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->cfg = *cfg;
	s->o = cfg->options;
	s->proc_fd = -1;
	r = make_loop(s);
	if (r == 0)
		r = make_targets(s);
	if (r == 0)
		r = cycle_new(&s->cycle, &cycle);
	if (r == 0)
		r = make_processes(s, err);
	if (r == 0)
		r = process_table_scan(s->processes) < 0 ? -EIO : 0;
	if (r == 0)
		r = make_sampler(s, err);
	if (r == 0)
		r = make_exclusions(s, err);
	if (r == 0)
		r = make_unwinder(s);
	if (r == 0)
		r = interpreter_names_new(&s->names, &names);
	if (r == 0)
		r = make_debuginfod(s);
	if (r == 0)
		r = make_worker(s);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void record_session_free(struct record_session *s)
{
	if (!s)
		return;
	if (s->worker && s->debuginfod)
		debuginfod_client_stop(s->debuginfod);
	profile_worker_free(s->worker);
	interpreter_names_free(s->names);
	loop_remove(s->ring);
	exclusions_free(s->exclusions);
	sampler_free(s->sampler);
	cycle_free(s->cycle);
	process_table_free(s->processes);
	if (unwinder_end(s->unwinder))
		unwind_maps_free(s->unwind_maps);
	record_targets_free(s->targets);
	profile_filter_free(s->filter);
	cgroup_hierarchy_free(s->hierarchy);
	loop_free(s->loop);
	if (s->proc_fd >= 0)
		close(s->proc_fd);
	sigprocmask(SIG_SETMASK, &s->signals, NULL);
	free(s);
}

/* Makes the command's process; its fork and exec events are in the ring when this returns. */
static int start_command(struct record_session *s)
{
	struct record_child *c = s->cfg.child;
	int r = record_child_start(c, s->o->command, &s->signals, s->err);

	if (r == 0)
		r = record_targets_add(s->targets, c->pid);
	if (r == 0)
		r = record_child_execute(c, s->o->command, s->err);
	if (r < 0 || c->ended)
		return r;
	drain(s);
	r = read_process(s, c->pid);
	/* the libraries that it will load most likely are ours as well */
	if (r == 0)
		r = read_process(s, getpid());
	return r == -ESRCH ? 0 : r;
}

int record_session_run(struct record_session *s, struct record_result *ret, struct err *err)
{
	int r;

	s->result = ret;
	s->err = err;
	memcpy(ret->debuginfod_problem, s->debuginfod_problem, sizeof(ret->debuginfod_problem));
	s->prepare_ns = clock_monotonic_ns();
	r = s->o->command ? start_command(s) : read_processes(s);
	if (r < 0)
		return r;
	loop_set_timer(s->tick, 0);
	loop_set_timer(s->second, SECOND_NS);
	r = loop_run(s->loop);
	return r < 0 ? r : s->error;
}
