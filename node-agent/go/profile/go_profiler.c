/*
 * The table of functions by which runtime/ reads Go programs, and what is done in each of
 * their turns.
 *
 * A profiler of the program that cannot be read must not make the whole program one that
 * cannot be read, as that is then tried less and less often: a list of goroutines that this
 * release of the agent does not understand is no reason to miss heap profiles. So such
 * failures are counted and not returned. Every error passes program_target_reason() first: most of
 * them only mean that the process has exited meanwhile.
 */
#include "node-agent/go/profile/go_profiler.h"

#include <errno.h>
#include <stdatomic.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/profile/go_counters.h"
#include "node-agent/go/profile/go_metrics.h"
#include "node-agent/profile/stack_profile.h"
#include "node-agent/runtime/access_denial.h"

#define FORCED_WAIT_NS (1 * NS_PER_S) /* each processor counts one sample too much at the switch */

METRIC_TABLE(metric_table, go_metrics_runtime);
METRIC_TABLE(profile_table, go_metrics_profiles);
METRIC_TABLE(value_table, go_counters_values);

struct go_shared {
	struct go_profiler_config cfg;
	struct metric metrics[GO_METRICS];
	struct metric locks[GO_LOCKS_METRICS];
	struct metric unread[GO_COUNTERS_UNREAD_MAX];
	atomic_bool has_warned; /* that it may not write to some process */
};

struct go_thread {
	struct go_shared *shared; /* borrowed */
	struct go_reader *reader;
	struct go_locks locks;
};

/* ---- shared and per thread ---- */

static int shared_new(void **ret, const void *config, struct metrics *ms)
{
	struct go_shared *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->cfg = *(const struct go_profiler_config *)config;
	r = go_locks_register_metrics(ms, s->locks);
	if (r == 0)
		r = go_metrics_register(ms, s->metrics);
	if (r == 0)
		r = go_counters_register_metrics(ms, s->unread);
	if (r < 0) {
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void shared_free(void *shared)
{
	free(shared);
}

static int thread_new(void **ret, void *shared, const char *proc_root)
{
	struct go_thread *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->shared = shared;
	go_locks_init(&g->locks, g->shared->locks, &g->shared->cfg.locks);
	r = go_reader_new(&g->reader, proc_root);
	if (r < 0) {
		free(g);
		return r;
	}
	*ret = g;
	return 0;
}

static void thread_free(void *reader)
{
	struct go_thread *g = reader;

	go_reader_free(g->reader);
	free(g);
}

static void count(const struct go_thread *g, enum go_metric which, uint64_t n)
{
	metric_add(&g->shared->metrics[which], n);
}

/* ---- find and open ---- */

static int detect(void *reader, const struct program_id *id)
{
	const struct go_thread *g = reader;

	return go_reader_detect(g->reader, id);
}

static int libraries(void *reader, const struct program_id *id, struct file_id *files, size_t max)
{
	const struct go_thread *g = reader;

	return go_reader_libraries(g->reader, id, files, max);
}

static int session_new(void **ret, enum runtime_baseline baseline, uint64_t now_ns)
{
	struct go_session *s = NULL;
	int r = go_session_new(&s, baseline, now_ns);

	*ret = s;
	return r;
}

static void session_free(void *session)
{
	go_session_free(session);
}

static size_t session_bytes(const void *session)
{
	return go_session_bytes(session);
}

static int session_reset(void *session, enum runtime_baseline baseline)
{
	return go_session_reset(session, baseline);
}

/* A copy of its parent that has not executed anything has counted nothing itself. */
static int open_program(void *reader, const struct program_id *id, bool is_first,
			struct runtime_open *ret)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	const struct go_thread *g = reader;
	int r = go_reader_open(g->reader, id, &o);

	if (r < 0)
		return r;
	if (is_first && program_target_is_copy(&o->target, go_reader_root(g->reader)))
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
	go_opened_close(handle);
}

static int reason(const struct runtime_turn *t, int error)
{
	const struct go_opened *o = t->handle;

	return error < 0 ? program_target_reason(&o->target, t->id, error) : error;
}

/* ---- turns ---- */

/* Once, with the first process that is read only. */
static void warn_of_read_only(const struct go_thread *g, const struct runtime_turn *t)
{
	const struct go_session *s = t->session;
	struct access_denial why;

	if (!s->read_only || atomic_exchange(&g->shared->has_warned, true))
		return;
	access_denial_explain(&why, go_reader_root(g->reader), t->id->pid, ACCESS_WRITE);
	log_warn("cannot switch on the profilers of some Go processes; those that are on are read",
		 "pid=%d name=%s reason=\"%s\"", (int)why.pid, LOG_QUOTED(why.name), why.reason);
}

/* What read has made: the first pprof, and those after it if one was not enough. */
struct made {
	struct buf pprof;
	struct stack_profile_parts more;
};

static struct made *made_new(void)
{
	struct made *m = calloc(1, sizeof(*m));

	if (m)
		buf_init(&m->pprof, LIMIT_UPLOAD_BYTES);
	return m;
}

static void made_free(struct made *m)
{
	buf_fini(&m->pprof);
	stack_profile_parts_fini(&m->more);
	free(m);
}
DEFINE_CLEANUP(struct made *, made_free);

static int emit(struct runtime_turn *t, enum go_profile profile, struct made *m)
{
	int r = runtime_turn_emit(t, profile, &m->pprof);

	for (size_t i = 0; r == 0 && i < m->more.n; i++)
		r = runtime_turn_emit(t, profile, &m->more.bufs[i]);
	return r;
}

static int emit_heap(const struct go_thread *g, struct runtime_turn *t,
		     const struct heap_reading *reading, struct made *made)
{
	struct container_values increments;
	struct go_session *s = t->session;
	int r;

	if (reading->forced) {
		count(g, GO_METRIC_HEAP_FORCED, 1);
		r = go_session_restart_heap(s);
		if (r == 0)
			runtime_turn_repeat_at(t, t->now_ns + FORCED_WAIT_NS);
		return r;
	}
	increments = go_counters_of_heap(t->handle, reading);
	r = runtime_turn_add(t, &increments);
	if (r < 0 || reading->n_samples == 0)
		return r;
	return emit(t, GO_PROFILE_HEAP, made);
}

static int read_heap(void *reader, struct runtime_turn *t)
{
	const struct go_thread *g = reader;
	struct go_session *s = t->session;
	const struct go_opened *o = t->handle;
	const struct heap_subject subject = {t->id, s->heap,
					     (int64_t)(t->now_ns - s->heap_reported_ns)};
	CLEANUP(made_freep) struct made *made = NULL;
	struct heap_reader_config cfg = g->shared->cfg.heap_reader;
	struct heap_reading reading;
	int r;

	if (!g->shared->cfg.heap)
		return 0;
	made = made_new();
	if (!made)
		return -ENOMEM;
	cfg.more = &made->more;
	cfg.force = cfg.force && !s->read_only;
	r = heap_reader_read(o->runtime, &subject, &cfg, &made->pprof, &reading);
	count(g, GO_METRIC_HEAP_RECORDS, reading.round.n_buckets);
	count(g, GO_METRIC_HEAP_TORN, reading.round.n_torn);
	count(g, GO_METRIC_HEAP_BACKWARDS, reading.n_backwards);
	count(g, GO_METRIC_HEAP_OFF, reading.off);
	s->read_only |= reading.write_refused;
	warn_of_read_only(g, t);
	if (r < 0)
		return reason(t, r);
	s->heap_reported_ns = t->now_ns;
	s->is_heap_ours = reading.is_ours;
	return reason(t, emit_heap(g, t, &reading, made));
}

static void count_goroutines(const struct go_thread *g, const struct goroutine_reading *reading)
{
	count(g, GO_METRIC_GOROUTINES, reading->n_goroutines);
	count(g, GO_METRIC_GOROUTINES_RUNNING, reading->n_running);
	count(g, GO_METRIC_GOROUTINES_MOVED, reading->n_moved);
	count(g, GO_METRIC_GOROUTINES_LIMITED, reading->n_limited);
	count(g, GO_METRIC_GOROUTINES_UNREADABLE, reading->n_unreadable);
	count(g, GO_METRIC_GOROUTINES_BROKEN, reading->n_broken);
	count(g, GO_METRIC_GOROUTINES_CUT, reading->n_cut);
	count(g, GO_METRIC_GOROUTINES_BAD, reading->n_bad);
}

/* These are found out quickly, and will be the same in the next turn. */
static bool is_unknown(int error)
{
	return error == -ENOTSUP || error == -ENOENT || error == -EBADMSG || error == -E2BIG;
}

static int read_goroutines(void *reader, struct runtime_turn *t)
{
	const struct go_thread *g = reader;
	const struct go_opened *o = t->handle;
	CLEANUP(made_freep) struct made *made = NULL;
	struct goroutine_reader_config cfg = g->shared->cfg.goroutine_reader;
	struct goroutine_reading reading;
	int r;

	if (!g->shared->cfg.goroutines)
		return 0;
	made = made_new();
	if (!made)
		return -ENOMEM;
	cfg.more = &made->more;
	r = goroutine_reader_read(o->runtime, &cfg, &made->pprof, &reading);
	if (r < 0) {
		r = reason(t, r);
		if (!is_unknown(r))
			return r;
		runtime_turn_count_failure(t, r);
		return 0;
	}
	count_goroutines(g, &reading);
	if (reading.n_samples == 0)
		return 0;
	return reason(t, emit(t, GO_PROFILE_GOROUTINE, made));
}

static int read_lock(struct go_thread *g, struct runtime_turn *t, enum lock_kind kind)
{
	enum go_profile profile = kind == LOCK_MUTEX ? GO_PROFILE_MUTEX : GO_PROFILE_BLOCK;
	CLEANUP(made_freep) struct made *made = made_new();
	int r;

	if (!made)
		return -ENOMEM;
	r = reason(t, go_locks_read(&g->locks, kind, t, &made->pprof, &made->more));
	warn_of_read_only(g, t);
	if (r == -ESRCH)
		return r;
	if (r < 0)
		runtime_turn_count_failure(t, r);
	return made->pprof.len == 0 ? 0 : emit(t, profile, made);
}

static int read_mutex(void *reader, struct runtime_turn *t)
{
	return reason(t, read_lock(reader, t, LOCK_MUTEX));
}

static int read_block(void *reader, struct runtime_turn *t)
{
	return reason(t, read_lock(reader, t, LOCK_BLOCK));
}

static int read_counters(void *reader, struct runtime_turn *t)
{
	const struct go_thread *g = reader;
	struct container_values values;
	int r = go_counters_read(t->handle, g->shared->unread, &values);

	return reason(t, r == 0 ? runtime_turn_report(t, &values) : r);
}

static uint64_t burst_end_ns(const void *session)
{
	const struct go_session *s = session;

	return s->burst_end_ns;
}

/* A burst that cannot be ended now is tried again in the next regular turn. */
static int end_burst(void *reader, struct runtime_turn *t)
{
	struct go_session *s = t->session;
	int r = t->open_error;

	if (t->handle && s->burst_end_ns != 0)
		r = read_lock(reader, t, LOCK_BLOCK);
	s->burst_end_ns = 0;
	if (s->locks[LOCK_BLOCK].is_ours && r != -ESRCH)
		log_warn_limited("cannot switch a block profiler off again", "pid=%d error=\"%s\"",
				 (int)t->id->pid, strerror(-r));
	return r;
}

static const struct runtime_turn_def turns[] = {
	{"heap", NULL, read_heap},         {"goroutine", NULL, read_goroutines},
	{"mutex", NULL, read_mutex},       {"block", NULL, read_block},
	{"counters", NULL, read_counters}, {"block burst end", burst_end_ns, end_burst},
};

/* ---- restore ---- */

static bool must_restore_heap(const struct go_thread *g, const struct go_session *s)
{
	return g->shared->cfg.heap_restore && s->is_heap_ours;
}

static bool must_restore(void *reader, const void *session)
{
	return must_restore_heap(reader, session) || go_locks_any_ours(session);
}

/* Harmless if it is not true: only our own values are replaced. */
static void claim(void *reader, void *session)
{
	const struct go_thread *g = reader;
	struct go_session *s = session;

	s->is_heap_ours = true;
	go_locks_claim(&g->locks, s);
}

static int restore(void *reader, struct runtime_turn *t)
{
	struct go_thread *g = reader;
	const struct go_opened *o = t->handle;
	int heap = 0, locks;

	if (must_restore_heap(g, t->session))
		heap = heap_force(o->runtime, t->id, HEAP_FORCE_OFF);
	count(g, GO_METRIC_HEAP_RESTORED, heap > 0);
	locks = go_locks_restore(&g->locks, t);
	return reason(t, heap < 0 ? heap : locks);
}

bool go_profile_is_heap(unsigned profile)
{
	return profile == GO_PROFILE_HEAP;
}

const struct runtime_ops go_runtime_ops = {
	.name = "go",
	.thread_name = "go-profile",
	.metrics = &metric_table,
	.profiles = &profile_table,
	.values = &value_table,
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
};
