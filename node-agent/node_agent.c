/*
 * The node agent's loop thread: from samples to cycles, from cycles to uploads.
 *
 * Everything that is cheap and must not be late happens here: draining the ring buffer, the
 * process table, timers, uploads. Everything that may take long (naming addresses, encoding
 * profiles, reading the memory of Go processes) happens on threads of its own, which get a whole
 * cycle or process and return whole profiles. A worker that falls behind costs intervals, which
 * are counted, but never delays the ring buffer, in which samples would be lost without a trace
 * of whose they were.
 *
 * Losses travel with the data: those of a cycle, and of cycles dropped before it, are reported in
 * the profiles of the next cycle that gets through, and on /metrics.
 */
#include "node-agent/node_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>

#include "common/agent/agent.h"
#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/open_files.h"
#include "common/telemetry/log.h"
#include "node-agent/container_cost.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/host_identity.h"
#include "node-agent/interpreter/process/interpreter_names.h"
#include "node-agent/java/profile/java_profiler.h"
#include "node-agent/named_uploads.h"
#include "node-agent/naming.h"
#include "node-agent/node_options.h"
#include "node-agent/node_privileges.h"
#include "node-agent/node_status.h"
#include "node-agent/process/process_table.h"
#include "node-agent/profile/profile_worker.h"
#include "node-agent/runtime/runtime_states.h"
#include "node-agent/runtime/runtime_worker.h"
#include "node-agent/sample/cycle_turns.h"
#include "node-agent/sample/event_processes.h"
#include "node-agent/sample/exclusions.h"
#include "node-agent/sample/sampler.h"
#include "node-agent/unwind/unwind_cache.h"
#include "node-agent/unwind/unwind_memory.h"
#include "node-agent/unwind/unwinder.h"
#include "node-agent/workload/cgroup_hierarchy.h"
#include "node-agent/workload/name_rules.h"
#include "node-agent/workload/profile_filter.h"
#include "version.h"

#define HOUSEKEEPING_EVERY_NS (5 * NS_PER_S)
#define FIRST_CYCLE_NS (10 * NS_PER_S) /* shorter, so that a new node shows profiles soon */

#define CYCLE_MAX_STACKS 200000u
#define CYCLE_MAX_BYTES (64 * MIB)
#define UNWIND_CACHE_BYTES (256 * MIB)
#define UPLOAD_QUEUE_ITEMS 10000
#define UPLOAD_QUEUE_BYTES (32 * MIB)
#define UPLOADS_AT_ONCE 16
#define UPLOAD_TIMEOUT_NS (30 * NS_PER_S)
#define UPLOAD_RETRY_MIN_NS (500 * NS_PER_MS)

struct node_agent {
	const struct node_options *o; /* borrowed */
	struct host_identity host;
	struct access *access;
	struct agent base;
	struct node_status *status;
	struct name_rules *name_rules;
	struct process_table *processes;
	struct process_listener process_log;
	struct naming *naming;
	struct profile_filter *filter;
	struct cgroup_hierarchy *hierarchy;
	struct exclusions *exclusions;
	uint64_t n_excluded_late; /* samples in profiles that were dropped for their name */
	struct container_cost *cost;
	struct sampler *sampler;
	struct interpreter_names *names;
	struct unwind_maps *unwind_maps;
	struct unwinder *unwinder; /* NULL: frame pointers only */
	struct profile_worker *worker;
	struct runtime_states *runtime_states;
	struct runtime_worker *go; /* NULL: disabled */
	struct runtime_worker *java;

	struct cycle_turns cycles;
	struct sampler_stats before; /* at the start of the cycle */

	struct loop_source *ring;
	struct loop_source *cycle_timer;
	struct loop_source *housekeeping_timer;
};

static void log_snapshot(void *ctx, struct process_snapshot *s)
{
	(void)ctx;
	log_debug("read a process", "pid=%d comm=%s service=%s mappings=%zu unreadable=%d",
		  (int)s->pid, LOG_QUOTED(s->comm), LOG_QUOTED(s->workload->service), s->n_mappings,
		  s->unreadable);
}

static void log_exit(void *ctx, const struct process_snapshot *last)
{
	(void)ctx;
	log_debug("a sampled process exited", "pid=%d comm=%s", (int)last->pid,
		  LOG_QUOTED(last->comm));
}

static void add_sample(struct node_agent *a, struct process_snapshot *snapshot,
		       const struct sample_event *e)
{
	/* it counts what it drops */
	if (cycle_add_sample(cycle_turns_at(&a->cycles, e->header.ktime_ns), snapshot, e) == 0)
		interpreter_names_see(a->names, snapshot, sample_event_chain(e), e->n_chain,
				      e->chain_state);
}

static void on_sample(void *ctx, const struct sample_event *e)
{
	struct node_agent *a = ctx;
	struct process_snapshot *snapshot;

	if (a->unwinder)
		unwinder_see(a->unwinder, e);
	if (event_processes_get(a->processes, e, &snapshot) < 0)
		cycle_add_lost(cycle_turns_at(&a->cycles, e->header.ktime_ns), CYCLE_LOST_NO_MEMORY,
			       1);
	else if (!exclusions_drop(a->exclusions, e))
		add_sample(a, snapshot, e);
}

static void on_process_fork(void *ctx, const struct fork_event *e)
{
	const struct node_agent *a = ctx;

	event_processes_fork(a->processes, e);
}

static void on_process_exec(void *ctx, const struct exec_event *e)
{
	const struct node_agent *a = ctx;

	event_processes_exec(a->processes, e);
}

static void on_process_map(void *ctx, const struct map_event *e)
{
	const struct node_agent *a = ctx;

	event_processes_map(a->processes, e);
}

static void on_process_exit(void *ctx, const struct event_header *e)
{
	const struct node_agent *a = ctx;

	event_processes_exit(a->processes, e);
}

static void on_code(void *ctx, const struct code_event *e)
{
	const struct node_agent *a = ctx;

	interpreter_names_keep(a->names, e);
}

static void drain(struct node_agent *a)
{
	const struct sampler_handlers handlers = {on_sample,
						  on_process_fork,
						  on_process_exec,
						  on_process_exit,
						  on_process_map,
						  on_code,
						  a};
	int r = sampler_drain(a->sampler, &handlers);

	if (r < 0)
		log_warn_limited("cannot read the ring buffer", "error=\"%s\"", strerror(-r));
}

static void on_ring(void *ctx, uint32_t events)
{
	(void)events;
	drain(ctx);
}

static void update_status(struct node_agent *a, struct sampler_stats *stats)
{
	struct process_table_stats processes;
	struct exclusions_stats exclusions;
	int r = sampler_read_stats(a->sampler, stats);

	if (r < 0) {
		log_warn_limited("cannot read the sampler's counters", "error=\"%s\"",
				 strerror(-r));
		*stats = a->before;
		return;
	}
	process_table_read_stats(a->processes, &processes);
	exclusions_read_stats(a->exclusions, &exclusions);
	exclusions.dropped += a->n_excluded_late;
	node_status_update(a->status, stats, &processes, &exclusions);
}

static void on_beat(void *ctx)
{
	struct node_agent *a = ctx;
	struct sampler_stats stats;

	drain(a);
	update_status(a, &stats);
	naming_beat(a->naming);
}

static int start_cycle(struct cycle_turn *ret)
{
	return cycle_turn_begin(ret, &(struct cycle_config){CYCLE_MAX_STACKS, CYCLE_MAX_BYTES});
}

/* Adds the samples that BPF dropped during this cycle. */
static void add_kernel_losses(struct node_agent *a, const struct sampler_stats *now)
{
	const struct sampler_stats *before = &a->before;
	struct cycle *c = a->cycles.current.cycle;

	cycle_add_lost(c, CYCLE_LOST_RING_FULL,
		       now->kernel.lost_ring_full - before->kernel.lost_ring_full);
	cycle_add_lost(c, CYCLE_LOST_NO_TASK,
		       now->kernel.lost_no_task - before->kernel.lost_no_task);
	cycle_add_lost(c, CYCLE_LOST_BAD_RECORD, now->bad_records - before->bad_records);
	a->before = *now;
}

/*
 * Passes the cycle to the worker. If there is no memory for a new cycle, the current one continues;
 * if the worker does not take it, the next cycle's profiles report what was lost.
 */
static void end_cycle(struct node_agent *a)
{
	struct cycle_losses losses;
	struct cycle_turn done;
	struct sampler_stats stats;
	int64_t duration_ns;
	int r = start_cycle(&a->cycles.next);

	drain(a);
	update_status(a, &stats);
	add_kernel_losses(a, &stats);
	if (r < 0) {
		log_warn_limited("no memory for a new cycle; extending the interval",
				 "error=\"%s\"", strerror(-r));
		return;
	}
	done = cycle_turns_end(&a->cycles, &duration_ns);
	losses = *cycle_losses(done.cycle);
	r = profile_worker_adopt(a->worker, done.cycle, (int64_t)done.start_ns + duration_ns,
				 duration_ns);
	if (r == 0) {
		node_status_add_losses(a->status, &losses);
	} else {
		cycle_add_dropped(a->cycles.current.cycle, done.cycle);
		log_warn_limited("dropped one interval: building profiles takes longer than "
				 "--profile-interval",
				 "samples=%llu", (unsigned long long)cycle_n_samples(done.cycle));
		cycle_free(done.cycle);
	}
}

static void on_cycle_timer(void *ctx)
{
	struct node_agent *a = ctx;

	end_cycle(a);
	loop_set_timer(a->cycle_timer, a->o->profile_interval_ns);
}

static void on_housekeeping(void *ctx)
{
	struct node_agent *a = ctx;
	struct err err = {""};

	if (sampler_update_cpus(a->sampler, &err) < 0)
		log_warn_limited("cannot follow CPUs", "error=\"%s\"", err.msg);
	process_table_sweep(a->processes, clock_monotonic_ns());
	exclusions_update(a->exclusions);
	container_cost_expire(a->cost, clock_monotonic_ns());
	loop_set_timer(a->housekeeping_timer, HOUSEKEEPING_EVERY_NS);
}

static void on_profile(void *ctx, const struct workload_profile *p)
{
	const struct node_agent *a = ctx;

	const struct finished_profile f = {
		.raw = p->workload,
		.pprof = p->pprof,
		.n_samples = p->n_samples,
		.cost_ns = p->cost_ns,
	};

	naming_upload(a->naming, &f);
}

static void on_go_profile(void *ctx, const struct runtime_upload *u)
{
	const struct node_agent *a = ctx;

	const struct finished_profile f = {
		.raw = u->workload,
		.pprof = u->pprof,
		.is_found_by_pod = !go_profile_is_heap(u->profile),
	};

	naming_upload(a->naming, &f);
}

static void on_java_profile(void *ctx, const struct runtime_upload *u)
{
	const struct node_agent *a = ctx;
	const struct finished_profile f = {.raw = u->workload, .pprof = u->pprof};

	naming_upload(a->naming, &f);
}

static void on_cycle_done(void *ctx)
{
	struct node_agent *a = ctx;

	agent_stop_if_done(&a->base);
}

static bool is_done(void *ctx)
{
	const struct node_agent *a = ctx;

	return profile_worker_pending(a->worker) == 0 && naming_is_done(a->naming);
}

static void stop(void *ctx)
{
	struct node_agent *a = ctx;

	loop_set_timer(a->cycle_timer, UINT64_MAX);
	runtime_worker_stop(a->go);
	runtime_worker_stop(a->java);
	naming_hurry(a->naming);
	end_cycle(a);
	log_info("profiling the last interval", "samples=%llu lost=%llu",
		 (unsigned long long)a->before.kernel.sent,
		 (unsigned long long)a->before.kernel.lost_ring_full);
}

static int start_base(struct node_agent *a)
{
	const struct agent_config cfg = {
		.program = "coroot-node-agent",
		.metrics_prefix = "coroot_node_agent",
		.version = VERSION,
		.ctx = a,
		.beat = on_beat,
		.stop = stop,
		.is_done = is_done,
	};
	int r = agent_init(&a->base, &cfg);

	if (r == 0)
		r = loop_add_timer(a->base.loop, on_cycle_timer, a, &a->cycle_timer);
	if (r == 0)
		r = loop_add_timer(a->base.loop, on_housekeeping, a, &a->housekeeping_timer);
	return r == 0 ? node_status_new(&a->status, a->base.metrics) : r;
}

static int start_uploads(struct node_agent *a, struct err *err)
{
	const struct agent_upload_config cfg = {
		.endpoint = a->o->profiles_endpoint,
		.collector = a->o->collector_endpoint,
		.otlp_endpoint = a->o->otlp_endpoint,
		.otlp_headers = a->o->otlp_headers,
		.api_key = a->o->api_key,
		.api_key_file = a->o->api_key_file,
		.ca_file = a->o->ca_file,
		.insecure_skip_verify = a->o->insecure_skip_verify,
		.max_items = UPLOAD_QUEUE_ITEMS,
		.max_bytes = UPLOAD_QUEUE_BYTES,
		.max_sending = UPLOADS_AT_ONCE,
		.timeout_ns = UPLOAD_TIMEOUT_NS,
		.retry_min_ns = UPLOAD_RETRY_MIN_NS,
		.spool_dir = a->o->wal_dir,
		.spool_max_bytes = a->o->max_spool_bytes,
	};

	return agent_start_uploads(&a->base, &cfg, err);
}

static int make_filter(struct node_agent *a, struct err *err)
{
	AUTO_CLOSE int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct profile_filter_config cfg = {
		.allowlist = a->o->container_allowlist,
		.denylist = a->o->container_denylist,
		.no_unmanaged = !node_options_profile_unmanaged(a->o),
	};

	if (proc_fd < 0)
		return err_set(err, -errno, "open /proc: %m");
	/* before any thread is started: they inherit it */
	cgroup_hierarchy_join_host(proc_fd);
	return profile_filter_new(&a->filter, &cfg, err)
		       ?: cgroup_hierarchy_new(&a->hierarchy, proc_fd);
}

static int make_exclusions(struct node_agent *a)
{
	const struct exclusions_config cfg = {
		.filter = a->filter,
		.hierarchy = a->hierarchy,
		.sampler = a->sampler,
		.directory = naming_directory(a->naming),
		.processes = a->processes,
	};

	return exclusions_new(&a->exclusions, &cfg);
}

/* Its samples may have been taken before the name of the workload was known. */
static bool admit(void *ctx, const struct workload *w, const struct finished_profile *p)
{
	struct node_agent *a = ctx;

	if (profile_filter_excludes(a->filter, w)) {
		a->n_excluded_late += p->n_samples;
		return false;
	}
	if (p->n_samples > 0)
		container_cost_add(a->cost, w, p->n_samples, p->cost_ns);
	return true;
}

static int make_naming(struct node_agent *a, struct err *err)
{
	const struct naming_config cfg = {&a->host, admit, a};
	int r = container_cost_new(&a->cost, a->base.metrics);

	return r == 0 ? naming_new(&a->naming, &a->base, a->o, &cfg, err) : r;
}

static int make_processes(struct node_agent *a, struct err *err)
{
	struct process_table_config cfg = {0};
	int r = name_rules_new(&a->name_rules, a->o->name_rules, err);

	cfg.name_rules = a->name_rules;
	cfg.hierarchy = a->hierarchy;
	return r == 0 ? process_table_new(&a->processes, &cfg, err) : r;
}

/* Without it, tables are built again after each restart. */
static struct unwind_cache *open_unwind_cache(const struct node_agent *a)
{
	struct unwind_cache *cache = NULL;
	char dir[PATH_MAX];
	int r = node_options_cache_dir(a->o, dir, sizeof(dir));

	if (r == -ENOENT)
		return NULL;
	if (r == 0)
		r = unwind_cache_open(&cache, dir, UNWIND_CACHE_BYTES);
	if (r < 0)
		log_warn("cannot keep unwinding tables on disk; building them after each start",
			 "dir=%s error=\"%s\"", r == -ENAMETOOLONG ? "" : LOG_QUOTED(dir),
			 strerror(-r));
	return cache;
}

static int make_unwinder(struct node_agent *a)
{
	struct unwinder_config cfg = {
		.max_bytes = a->o->unwind_table_bytes,
		.hz = (unsigned)a->o->profile_frequency_hz,
		.python_tasks = a->o->python_async_callers,
	};
	int r;

	if (a->o->unwinding == UNWINDING_FRAME_POINTERS)
		return 0;
	r = unwind_maps_new(&a->unwind_maps,
			    &(struct unwind_map_fds)SAMPLER_UNWIND_MAPS(a->sampler));
	if (r < 0)
		return r;
	cfg.memory = unwind_maps_memory(a->unwind_maps);
	cfg.cache = open_unwind_cache(a);
	r = unwinder_new(&a->unwinder, &cfg);
	if (r < 0) {
		unwind_cache_free(cfg.cache);
		return r;
	}
	process_table_subscribe(a->processes, unwinder_listener(a->unwinder));
	return unwinder_register_metrics(a->unwinder, a->base.metrics);
}

/* The parts that need privileges, which may be missing. */
static int make_sampling(struct node_agent *a, struct err *err)
{
	const struct sampler_config cfg = {
		.hz = (unsigned)a->o->profile_frequency_hz,
		.kernel_stacks = true,
		.allow_known_bad_kernel = a->o->allow_known_bad_kernel,
		.cgroups = sampler_cgroups_of(a->hierarchy),
	};
	int r;

	r = process_table_check_namespace("/proc", err);
	if (r == 0)
		r = make_processes(a, err);
	if (r < 0)
		return r;
	a->process_log =
		(struct process_listener){.on_snapshot = log_snapshot, .on_exited = log_exit};
	process_table_subscribe(a->processes, &a->process_log);
	process_table_subscribe(a->processes, naming_listener(a->naming));
	r = start_cycle(&a->cycles.current); /* what follows takes a while */
	if (r == 0)
		r = sampler_new(&a->sampler, &cfg, err);
	if (r < 0)
		return r;
	r = process_table_scan(a->processes); /* events tell of all that start from now on */
	if (r < 0)
		return err_set(err, r, "list processes: %s", strerror(-r));
	r = make_exclusions(a);
	if (r == 0)
		r = make_unwinder(a);
	if (r == 0)
		r = loop_add_fd(a->base.loop, sampler_fd(a->sampler), EPOLLIN, on_ring, a,
				&a->ring);
	return r;
}

/* "runtime:java:off=2": how many programs of the workload are in that state. */
static void add_comments(void *ctx, const struct workload *w, struct cpu_profile_comments *ret)
{
	const struct node_agent *a = ctx;
	struct runtime_state_count counts[RUNTIME_STATE_COUNTS_MAX];

	_Static_assert(RUNTIME_STATE_COUNTS_MAX <= CPU_PROFILE_COMMENTS_MAX, "all have a place");
	ret->n = runtime_states_count(a->runtime_states, w, counts);
	for (size_t i = 0; i < ret->n; i++)
		snprintf(ret->texts[i], sizeof(ret->texts[i]), "runtime:%s:%s=%u",
			 counts[i].runtime, counts[i].state, counts[i].n);
}

/* Without the option, JVMs are found all the same, and their counters and states reported. */
static int make_java(struct node_agent *a, struct err *err)
{
	char library[PATH_MAX];
	const struct java_profiler_config profiler = {
		.plan = {.enabled = a->o->java_async_profiler,
			 .delay_ns = a->o->java_async_profiler_delay_ns,
			 .interval_ns = a->o->java_interval_ns},
		.settings = {.cpu_interval_ns = a->o->java_cpu_interval_ns,
			     .wall_interval_ns = a->o->java_wall ? JAVA_PROFILER_WALL_NS : 0,
			     .alloc_interval_bytes = a->o->java_alloc_interval_bytes,
			     .lock_interval_ns = a->o->java_lock_interval_ns},
		.library = library,
	};
	const struct runtime_worker_config java = {
		.ops = &java_runtime_ops,
		.config = &profiler,
		.interval_ns = a->o->java_interval_ns,
		.filter = {a->filter, naming_directory(a->naming)},
		.name_rules = a->name_rules,
		.states = a->runtime_states,
		.processes = a->processes,
		.on_profile = on_java_profile,
		.ctx = a,
	};

	if (node_options_java_library(a->o, library, sizeof(library)) < 0)
		library[0] = 0;
	return runtime_worker_new(&a->java, a->base.loop, a->base.metrics, &java, err);
}

static int make_workers(struct node_agent *a, struct err *err)
{
	const struct profile_worker_config worker = {
		.hz = (unsigned)a->o->profile_frequency_hz,
		.addresses = a->o->profile_addresses,
		.line_numbers = a->o->line_numbers,
		.on_profile = on_profile,
		.on_cycle_done = on_cycle_done,
		.comments = add_comments,
		.names = a->names,
		.ctx = a,
	};
	bool force = a->o->go_heap_profiler == GO_HEAP_FORCE;
	const struct go_locks_config locks = {
		.mutex = a->o->go_mutex_profiler == GO_MUTEX_ON,
		.block = a->o->go_block_profiler == GO_BLOCK_BURST,
		.burst_ns = a->o->go_block_burst_ns,
	};
	const struct go_profiler_config profiler = {
		.heap = a->o->go_heap_profiler != GO_HEAP_DISABLED,
		.heap_reader = {.raw = a->o->go_heap_raw, .force = force},
		.heap_restore = force && a->o->go_heap_restore,
		.goroutines = a->o->go_goroutine_profiler != GO_GOROUTINE_DISABLED,
		.goroutine_reader = {a->o->go_goroutine_profiler == GO_GOROUTINE_REASONS,
				     (int64_t)a->o->go_heap_interval_ns},
		.locks = locks,
	};
	const struct runtime_worker_config go = {
		.ops = &go_runtime_ops,
		.config = &profiler,
		.interval_ns = a->o->go_heap_interval_ns,
		.filter = {a->filter, naming_directory(a->naming)},
		.name_rules = a->name_rules,
		.states = a->runtime_states,
		.processes = a->processes,
		.on_profile = on_go_profile,
		.ctx = a,
	};
	int r;

	r = profile_worker_new(&a->worker, a->base.loop, &worker);
	if (r == 0)
		r = profile_worker_register_metrics(a->worker, a->base.metrics);
	if (r == 0 && (profiler.heap || profiler.goroutines || locks.mutex || locks.block))
		r = runtime_worker_new(&a->go, a->base.loop, a->base.metrics, &go, err);
	return r;
}

static void serve_ready(void *ctx, struct http_exchange *x)
{
	const struct node_agent *a = ctx;
	const char *problem = uploader_problem(a->base.uploader);

	http_respond_text(x, problem ? 503 : 200, "%s", problem ? problem : "ok");
}

static int listen_on(struct node_agent *a, struct err *err)
{
	const struct http_route routes[] = {
		{"GET", "/readyz", 0, serve_ready, a, .scope = ACCESS_ANYONE, .essential = true},
		{},
	};
	const struct http_server_config cfg = {
		.listen = a->o->listen,
		.n_threads = 1,
		.max_connections = 64,
		.timeout_s = 30,
		.max_body_memory_bytes = 64 * 1024,
		.routes = routes,
		.access = a->access,
	};

	return agent_listen(&a->base, &cfg, err);
}

int node_agent_new(struct node_agent **ret, const struct node_options *o, struct err *err)
{
	CLEANUP(node_agent_freep) struct node_agent *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	r = open_files_require(err);
	if (r < 0)
		return r;
	a->o = o;
	host_identity_read(&a->host, "/", o->node_name);
	r = access_new(&a->access, &(struct access_config){.allowed_hosts = o->allowed_hosts}, err);
	if (r == 0)
		r = make_filter(a, err);
	if (r == 0)
		r = node_privileges_drop_start(err);
	if (r == 0)
		r = start_base(a);
	if (r == 0)
		r = agent_use_tls(&a->base, o->tls_cert, o->tls_key, err);
	if (r == 0)
		r = start_uploads(a, err);
	if (r == 0)
		r = make_naming(a, err);
	if (r == 0)
		r = make_sampling(a, err);
	if (r == 0)
		r = interpreter_names_new(&a->names, &(struct interpreter_names_config){0});
	if (r == 0)
		r = interpreter_names_register_metrics(a->names, a->base.metrics);
	if (r == 0)
		r = runtime_states_new(&a->runtime_states);
	if (r == 0)
		r = make_workers(a, err);
	if (r == 0)
		r = make_java(a, err);
	if (r == 0)
		r = node_privileges_filter(o, err);
	if (r == 0)
		r = listen_on(a, err);
	if (r < 0)
		return r;

	*ret = TAKE_PTR(a);
	return 0;
}

/* The server first: its thread reads metrics of the others. */
void node_agent_free(struct node_agent *a)
{
	if (!a)
		return;
	agent_close_server(&a->base);
	node_status_free(a->status);
	runtime_worker_free(a->go);
	runtime_worker_free(a->java);
	profile_worker_free(a->worker);
	interpreter_names_free(a->names);
	runtime_states_unref(a->runtime_states);
	loop_remove(a->ring);
	exclusions_free(a->exclusions);
	sampler_free(a->sampler);
	cycle_turns_fini(&a->cycles);
	process_table_free(a->processes);
	if (unwinder_end(a->unwinder))
		unwind_maps_free(a->unwind_maps);
	name_rules_unref(a->name_rules);
	naming_free(a->naming);
	container_cost_free(a->cost);
	cgroup_hierarchy_free(a->hierarchy);
	profile_filter_free(a->filter);
	agent_fini(&a->base);
	access_free(a->access);
	free(a);
}

int node_agent_run(struct node_agent *a)
{
	uint64_t first = a->o->profile_interval_ns;

	if (first > FIRST_CYCLE_NS)
		first = FIRST_CYCLE_NS;
	log_info("started", "version=%s host=%s hz=%llu interval_s=%llu listen=%s", VERSION,
		 a->host.name, (unsigned long long)a->o->profile_frequency_hz,
		 (unsigned long long)(a->o->profile_interval_ns / NS_PER_S), a->o->listen);
	loop_set_timer(a->housekeeping_timer, 0);
	loop_set_timer(a->cycle_timer, first);
	return agent_run(&a->base);
}
