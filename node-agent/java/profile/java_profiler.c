/*
 * The table of functions by which runtime/ knows JVMs, and what is done in each of their turns.
 *
 * A JVM that cannot be profiled is no program that cannot be read: its state is reported, and its
 * plan says when it is tried again (java_plan.h). So turns only fail if the JVM has exited, or if
 * its counters cannot be reported.
 *
 * JVMs are attached to one after the other, with a pause in between, as hundreds may start at once
 * when a node does, and each first attempt costs its JVM some 100 ms of CPU time.
 */
#include "node-agent/java/profile/java_profiler.h"

#include <errno.h>
#include <fcntl.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/files/loaded_library.h"
#include "node-agent/java/profile/java_check.h"
#include "node-agent/java/profile/java_jvm_port.h"
#include "node-agent/java/profile/java_metrics.h"
#include "node-agent/java/profile/java_session.h"
#include "node-agent/java/vm/jvm_counters.h"
#include "node-agent/java/vm/jvm_reader.h"
#include "node-agent/procfs/procfs.h"

#define ATTEMPTS_APART_NS (500 * NS_PER_MS)
#define LISTEN_NS (1 * NS_PER_S) /* in one turn; the next ones continue to wait */
#define ANSWER_NS (10 * NS_PER_S)

enum java_series {
	SERIES_STATUS = JVM_COUNTERS,
	SERIES_ALLOC_BYTES,
	SERIES_ALLOC_OBJECTS,
	SERIES_LOCK_CONTENTIONS,
	SERIES_LOCK_TIME,
	SERIES,
};

static const struct metric_table no_values = {NULL, 0, __FILE__};

METRIC_TABLE(metric_table, java_metrics_runtime);
METRIC_TABLE(profile_table, java_metrics_profiles);

static const struct metric_def series_defs[SERIES] = {
	JVM_COUNTERS_DEFS,
	[SERIES_STATUS] = {"container_jvm_profiling_status", JVM_COUNTERS_LABELS ", reason",
			   "Whether the JVM has Java profiles (1) or not (0), and why",
			   METRIC_GAUGE},
	[SERIES_ALLOC_BYTES] = {"container_jvm_alloc_bytes_total", JVM_COUNTERS_LABELS,
				"Bytes allocated on the heap of the JVM, estimated from samples, "
				"while it was profiled"},
	[SERIES_ALLOC_OBJECTS] = {"container_jvm_alloc_objects_total", JVM_COUNTERS_LABELS,
				  "Objects allocated on the heap of the JVM, estimated likewise"},
	[SERIES_LOCK_CONTENTIONS] = {"container_jvm_lock_contentions_total", JVM_COUNTERS_LABELS,
				     "Waits for contended locks of the JVM, estimated likewise"},
	[SERIES_LOCK_TIME] = {"container_jvm_lock_time_seconds_total", JVM_COUNTERS_LABELS,
			      "Time spent waiting for contended locks of the JVM, estimated "
			      "likewise",
			      .scale = 1e-9},
};
METRIC_TABLE(series_table, series_defs);

struct java_shared {
	struct java_profiler_config cfg;
	struct jvm_library library;
	bool has_library;
	pid_t agent_pid;
	uint64_t agent_start_time;
	struct metric metrics[JAVA_METRICS];
};

struct java_thread {
	struct java_shared *shared; /* borrowed */
	struct jvm_reader *reader;
	uint64_t next_attempt_ns; /* of any JVM */
	uint64_t left_in_vain_ns; /* java_plan_leave_ns() */
};

/* ---- shared and per thread ---- */

static void load_library(struct java_shared *s, const char *path)
{
	struct err err = {"it is not installed"};

	if (!s->cfg.plan.enabled)
		return;
	s->has_library = path[0] != 0 && jvm_library_load(&s->library, path, &err) == 0;
	if (!s->has_library)
		log_error("cannot profile JVMs: the library async-profiler cannot be used",
			  "path=%s error=%s", LOG_QUOTED(path), LOG_QUOTED(err.msg));
}

static int read_self(struct java_shared *s)
{
	AUTO_CLOSE int fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc_stat st;
	int r = fd < 0 ? -errno : procfs_read_stat(fd, &st);

	if (r < 0)
		return r;
	s->agent_pid = getpid();
	s->agent_start_time = st.start_time;
	return 0;
}

static void shared_free(void *shared)
{
	struct java_shared *s = shared;

	if (s->has_library)
		jvm_library_fini(&s->library);
	free(s);
}

static int shared_new(void **ret, const void *config, struct metrics *ms)
{
	struct java_shared *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->cfg = *(const struct java_profiler_config *)config;
	r = read_self(s);
	if (r == 0)
		r = java_metrics_register(ms, s->metrics);
	if (r < 0) {
		shared_free(s);
		return r;
	}
	load_library(s, s->cfg.library);
	s->cfg.library = NULL;
	*ret = s;
	return 0;
}

static int thread_new(void **ret, void *shared, const char *proc_root)
{
	struct java_thread *j = calloc(1, sizeof(*j));
	int r;

	if (!j)
		return -ENOMEM;
	j->shared = shared;
	r = jvm_reader_new(&j->reader, proc_root);
	if (r < 0) {
		free(j);
		return r;
	}
	*ret = j;
	return 0;
}

static void thread_free(void *reader)
{
	struct java_thread *j = reader;

	jvm_reader_free(j->reader);
	free(j);
}

/* ---- find and open ---- */

static int detect(void *reader, const struct program_id *id)
{
	const struct java_thread *j = reader;
	int r = jvm_reader_detect(j->reader, id);

	return r < 0 ? r : r != JVM_NONE;
}

static int libraries(void *reader, const struct program_id *id, struct file_id *files, size_t max)
{
	const struct java_thread *j = reader;

	return jvm_reader_libraries(j->reader, id, files, max);
}

static int session_new(void **ret, enum runtime_baseline baseline, uint64_t now_ns)
{
	struct java_session *s = calloc(1, sizeof(*s));

	(void)baseline;
	(void)now_ns;
	if (!s)
		return -ENOMEM;
	java_session_init(s);
	*ret = s;
	return 0;
}

static void session_free(void *session)
{
	java_session_fini(session);
	free(session);
}

static size_t session_bytes(const void *session)
{
	(void)session;
	return 0;
}

static int session_reset(void *session, enum runtime_baseline baseline)
{
	struct java_session *s = session;

	if (baseline == RUNTIME_BASELINE_NOW)
		return 0;
	java_session_fini(s);
	java_session_init(s);
	return 0;
}

/* A copy of a JVM that has not executed anything is no JVM. */
static int open_program(void *reader, const struct program_id *id, bool is_first,
			struct runtime_open *ret)
{
	CLEANUP(jvm_opened_closep) struct jvm_opened *o = NULL;
	const struct java_thread *j = reader;
	int r = jvm_reader_open(j->reader, id, &o);

	if (r < 0)
		return r;
	if (is_first && program_target_is_copy(&o->target, jvm_reader_root(j->reader)))
		return -ECHILD;
	*ret = (struct runtime_open){
		.proc_fd = o->target.proc_fd,
		.comm = o->target.stat.comm,
		.image = o->target.image,
	};
	ret->handle = TAKE_PTR(o);
	return 0;
}

static void close_program(void *handle)
{
	jvm_opened_close(handle);
}

/* ---- steps ---- */

static int emit(void *ctx, enum java_profile kind, struct java_pprof *p)
{
	struct runtime_turn *t = ctx;
	int r = runtime_turn_emit(t, kind, &p->pprof);

	for (size_t i = 0; r == 0 && i < p->more.n; i++)
		r = runtime_turn_emit(t, kind, &p->more.bufs[i]);
	return r;
}

static bool must_end(void *ctx)
{
	return runtime_turn_must_end(ctx);
}

typedef int step_fn(struct java_session *s, const struct java_step *step);

static int do_step(struct java_thread *j, struct runtime_turn *t, step_fn *fn, bool is_leaving)
{
	struct java_session *s = t->session;
	struct java_shared *shared = j->shared;
	uint64_t leave_ns = java_plan_leave_ns(j->left_in_vain_ns);
	struct java_jvm_port port = {
		.proc_root_fd = jvm_reader_root(j->reader),
		.id = t->id,
		.opened = t->handle,
		.library = shared->has_library ? &shared->library : NULL,
		.attach = &s->attach,
		.reopens_socket = &s->reopens_socket,
		/* a stopped JVM is asked to end its recording, too: it will when it continues */
		.must_run = !is_leaving,
		.listen_ns = is_leaving ? leave_ns : LISTEN_NS,
		.answer_ns = is_leaving ? leave_ns : ANSWER_NS,
		.must_end = is_leaving ? NULL : must_end,
		.must_end_ctx = t,
	};
	const struct java_port p = {&java_jvm_port_ops, &port};
	const struct java_step step = {
		.port = &p,
		.plan = &shared->cfg.plan,
		.settings = &shared->cfg.settings,
		.agent_pid = shared->agent_pid,
		.agent_start_time = shared->agent_start_time,
		.now_ns = t->now_ns,
		.pid = t->id->pid,
		.metrics = shared->metrics,
		.emit = emit,
		.emit_ctx = t,
	};
	int r = fn(s, &step);

	java_jvm_port_fini(&port);
	return r;
}

/* ---- turns ---- */

static uint64_t age_ns(const struct jvm_opened *o)
{
	uint64_t tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t now_ns = clock_boottime_ns(), start_ns = o->target.stat.start_time * tick_ns;

	return now_ns > start_ns ? now_ns - start_ns : 0;
}

static void refresh(const struct java_thread *j, struct java_session *s,
		    const struct runtime_turn *t)
{
	const struct jvm_opened *o = t->handle;

	if (!s->is_fresh)
		return;
	s->is_fresh = false;
	java_plan_init(&s->plan, &j->shared->cfg.plan, t->now_ns, age_ns(o));
	if (o->kind == JVM_OPENJ9)
		(void)java_plan_failed(&s->plan, JAVA_STATE_OPENJ9, t->now_ns);
}

static int run_collect(void *reader, struct runtime_turn *t)
{
	struct java_thread *j = reader;

	refresh(j, t->session, t);
	return do_step(j, t, java_session_collect, false);
}

static void add_total(struct container_series *series, size_t *n, unsigned family,
		      const char *labels, uint64_t value)
{
	series[(*n)++] =
		(struct container_series){.family = family, .labels = labels, .value = value};
}

/* The counters of hsperfdata, the state, and what was profiled in total. */
static int run_report(void *reader, struct runtime_turn *t)
{
	const struct java_session *s = t->session;
	struct jvm_opened *o = t->handle;
	char labels[JVM_COUNTERS_LABEL_BYTES], status[JVM_COUNTERS_LABEL_BYTES + 64];
	struct container_series series[SERIES];
	struct hsperfdata perf = {.n_collectors = 0};
	uint32_t families = 0;
	size_t n = 0;
	int r = 0;

	(void)reader;
	if (o->kind == JVM_HOTSPOT && jvm_opened_perf(o, &perf) == 0)
		r = jvm_counters_report(t, &perf, o->target.stat.comm);
	if (r < 0)
		return r;
	jvm_counters_label(labels, &perf, o->target.stat.comm);
	(void)snprintf(status, sizeof(status), "%s,reason=\"%s\"", labels,
		       java_state_name(s->plan.state));
	series[n++] = (struct container_series){
		.family = SERIES_STATUS,
		.is_flag = true,
		.labels = status,
		.value = s->plan.state == JAVA_STATE_PROFILED,
	};
	if (s->may_be_ours) {
		add_total(series, &n, SERIES_ALLOC_BYTES, labels, s->totals.alloc_bytes);
		add_total(series, &n, SERIES_ALLOC_OBJECTS, labels, s->totals.alloc_objects);
		add_total(series, &n, SERIES_LOCK_CONTENTIONS, labels, s->totals.lock_contentions);
		add_total(series, &n, SERIES_LOCK_TIME, labels, s->totals.lock_ns);
	}
	for (unsigned f = SERIES_STATUS; f < SERIES; f++)
		families |= UINT32_C(1) << f;
	r = runtime_turn_series(t, families, series, n);
	return r == 0 ? runtime_turn_set_state(t, java_state_name(s->plan.state)) : r;
}

static uint64_t attempt_ns(const void *session)
{
	const struct java_session *s = session;

	return s->plan.attempt_ns;
}

/* Results as of runtime_turn_def.run; a turn that cannot be done now is put off. */
static int run_attempt(void *reader, struct runtime_turn *t)
{
	struct java_thread *j = reader;
	struct java_session *s = t->session;
	int r;

	if (!t->handle) {
		java_plan_wait(&s->plan, s->plan.state,
			       t->now_ns + j->shared->cfg.plan.interval_ns);
		return t->open_error;
	}
	if (t->now_ns < j->next_attempt_ns) {
		java_plan_wait(&s->plan, s->plan.state, j->next_attempt_ns);
		return 0;
	}
	j->next_attempt_ns = t->now_ns + ATTEMPTS_APART_NS;
	s->plan.attempt_ns = 0;
	r = do_step(j, t, java_session_start, false);
	if (r < 0)
		return r;
	return run_report(reader, t);
}

static uint64_t watch_ns(const void *session)
{
	const struct java_session *s = session;

	return s->plan.watch_ns;
}

static int run_watch(void *reader, struct runtime_turn *t)
{
	struct java_session *s = t->session;

	if (!t->handle) {
		java_plan_watched(&s->plan, t->now_ns);
		return t->open_error;
	}
	return do_step(reader, t, java_session_watch, false);
}

static const struct runtime_turn_def turns[] = {
	{"collect", NULL, run_collect},
	{"report", NULL, run_report},
	{"attempt", attempt_ns, run_attempt},
	{"watch", watch_ns, run_watch},
};

/* ---- restore ---- */

static bool must_restore(void *reader, const void *session)
{
	const struct java_session *s = session;

	(void)reader;
	return s->may_be_ours;
}

/* Leaving does nothing to a JVM in which there is no directory of ours. */
static void claim(void *reader, void *session)
{
	const struct java_thread *j = reader;
	struct java_session *s = session;

	s->may_be_ours = j->shared->cfg.plan.enabled;
}

static int is_our_mapping(void *ctx, const char *line, size_t len)
{
	(void)ctx;
	return java_check_is_ours(line, len);
}

/* The library stays mapped when profiling has ended; leaving such a JVM again does nothing. */
static bool has_leftovers(void *reader, const struct program_id *id)
{
	const struct java_thread *j = reader;
	AUTO_CLOSE int fd = -1;

	if (!j->shared->cfg.plan.enabled)
		return false;
	fd = procfs_open_process(jvm_reader_root(j->reader), id->pid);
	return fd >= 0 &&
	       procfs_each_map(fd, LOADED_LIBRARY_MAPS_MAX_BYTES, is_our_mapping, NULL) == 1;
}

/* At the end of the agent the JVMs that do not answer share what time there is. */
static int restore(void *reader, struct runtime_turn *t)
{
	struct java_thread *j = reader;
	uint64_t begin_ns = clock_monotonic_ns();
	int r = do_step(j, t, java_session_leave, true);

	if (r < 0 && r != -ESRCH && runtime_turn_must_end(t))
		j->left_in_vain_ns += clock_monotonic_ns() - begin_ns;
	return r;
}

const struct runtime_ops java_runtime_ops = {
	.name = "java",
	.thread_name = "java-profile",
	.metrics = &metric_table,
	.profiles = &profile_table,
	.values = &no_values,
	.series = &series_table,
	.shared_new = shared_new,
	.shared_free = shared_free,
	.reader_new = thread_new,
	.reader_free = thread_free,
	.detect = detect,
	.libraries = libraries,
	.session_new = session_new,
	.session_free = session_free,
	.session_bytes = session_bytes,
	.session_reset = session_reset,
	.open = open_program,
	.close = close_program,
	.turns = turns,
	.n_turns = ARRAY_SIZE(turns),
	.must_restore = must_restore,
	.claim = claim,
	.restore = restore,
	.has_leftovers = has_leftovers,
};
