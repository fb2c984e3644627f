/*
 * A turn opens the program once and does everything that is due with it, because opening is a
 * large part of the cost: files, mappings and identity are checked. What fails in a turn does
 * not keep the rest of it from being done, unless the process has exited.
 *
 * A program may execute its own file again: same pid, same start time, same file, but nothing
 * that was remembered is true any more. So each turn compares the number of the image
 * (runtime_open.image) with the one of the turn before, and makes the session begin anew if it
 * changed.
 */
#include "node-agent/runtime/turn_runner.h"

#include <errno.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/runtime/access_denial.h"
#include "node-agent/runtime/runtime_states.h"

void runtime_result_free(struct runtime_result *r)
{
	if (!r)
		return;
	buf_fini(&r->pprof);
	workload_unref(r->workload);
	free(r);
}

/* ---- what turns call ---- */

static int read_workload(const struct runtime_turn *t, struct workload **ret)
{
	const struct workload_facts facts = {.comm = t->open.comm, .namer = t->runner->namer};

	return workload_read(ret, t->open.proc_fd, &facts);
}

/* Returns what runtime_take_fn does, or -ECANCELED. */
static int hand_over(struct turn_runner *tr, struct runtime_result *result)
{
	int r;

	if (!worker_thread_enter(tr->thread))
		return -ECANCELED;
	r = tr->take(tr->take_ctx, result);
	worker_thread_leave(tr->thread);
	return r;
}

int runtime_turn_emit(struct runtime_turn *t, unsigned profile, struct buf *pprof)
{
	CLEANUP(runtime_result_freep) struct runtime_result *result = calloc(1, sizeof(*result));
	int r;

	if (!result)
		return -ENOMEM;
	result->pprof = *pprof;
	buf_init(pprof, LIMIT_UPLOAD_BYTES);
	result->profile = profile;
	r = read_workload(t, &result->workload);
	if (r < 0)
		return r;
	r = hand_over(t->runner, result);
	if (r < 0)
		return r;
	(void)TAKE_PTR(result);
	return 0;
}

void runtime_turn_count_failure(struct runtime_turn *t, int error)
{
	runtime_shared_count_failure(t->runner->shared, error);
}

bool runtime_turn_must_end(const struct runtime_turn *t)
{
	return worker_thread_must_end(t->runner->thread);
}

void runtime_turn_repeat_at(struct runtime_turn *t, uint64_t due_ns)
{
	t->process->due_ns = due_ns;
}

/* Returns 0 if the program has a share, 1 if it gets none, or -errno. */
static int require_share(struct runtime_turn *t)
{
	CLEANUP(workload_unrefp) struct workload *workload = NULL;
	struct runtime_process *p = t->process;
	struct container_labels labels;
	int r;

	if (p->share)
		return 0;
	r = read_workload(t, &workload);
	if (r < 0)
		return r;
	labels = container_labels_of(workload);
	r = container_share_new(&p->share, t->runner->shared->containers, &labels,
				p->baseline == RUNTIME_BASELINE_ZERO);
	return r == -ENOSPC ? 1 : r;
}

int runtime_turn_report(struct runtime_turn *t, const struct container_values *values)
{
	int r = values->known != 0 ? require_share(t) : 0;

	if (r == 0 && t->process->share)
		container_share_report(t->process->share, values);
	return r < 0 ? r : 0;
}

int runtime_turn_series(struct runtime_turn *t, uint32_t families,
			const struct container_series *series, size_t n)
{
	int r = n > 0 ? require_share(t) : 0;

	if (r == 0 && t->process->share)
		r = container_share_series(t->process->share, families, series, n);
	if (r == -E2BIG)
		metric_add(&t->runner->shared->metrics[RUNTIME_METRIC_CONTAINERS_OVERFLOW], 1);
	return r < 0 && r != -E2BIG ? r : 0;
}

int runtime_turn_add(struct runtime_turn *t, const struct container_values *increments)
{
	int r = increments->known != 0 ? require_share(t) : 0;

	if (r == 0 && increments->known != 0)
		container_share_add(t->process->share, increments);
	return r < 0 ? r : 0;
}

/* Between worker_thread_enter() and _leave(): what an abandoned thread adds would stay. */
static int add_state(struct runtime_turn *t, struct workload *w, const char *state)
{
	int r;

	if (!worker_thread_enter(t->runner->thread))
		return -ECANCELED;
	r = runtime_state_new(&t->process->state, t->runner->states, t->runner->ops->name, w,
			      state);
	worker_thread_leave(t->runner->thread);
	return r;
}

int runtime_turn_set_state(struct runtime_turn *t, const char *state)
{
	CLEANUP(workload_unrefp) struct workload *workload = NULL;
	int r;

	if (!state || !t->runner->states) {
		runtime_state_free(TAKE_PTR(t->process->state));
		return 0;
	}
	if (t->process->state) {
		runtime_state_set(t->process->state, state);
		return 0;
	}
	r = t->handle ? read_workload(t, &workload) : -EBADF;
	return r < 0 ? r : add_state(t, workload, state);
}

/* ---- open ---- */

static int check_image(struct runtime_process *p, uint64_t image)
{
	bool is_new = p->image != 0 && p->image != image;
	int r = is_new ? p->ops->session_reset(p->session, RUNTIME_BASELINE_ZERO) : 0;

	/* until the session is reset, the next turn has to see that the image is new */
	if (r < 0)
		return r;
	if (is_new && p->share)
		container_share_restart(p->share);
	p->image = image;
	return 0;
}

static void close_turn(struct runtime_turn *t)
{
	if (t->handle)
		t->runner->ops->close(t->handle);
	t->handle = NULL;
}

static int open_turn(struct runtime_turn *t)
{
	struct runtime_process *p = t->process;
	int r = p->ops->open(t->runner->reader, &p->id, p->image == 0, &t->open);

	if (r < 0)
		return r;
	t->handle = t->open.handle;
	r = check_image(p, t->open.image);
	if (r < 0)
		close_turn(t);
	return r;
}

static struct runtime_turn turn_of(struct turn_runner *tr, struct runtime_process *p)
{
	return (struct runtime_turn){
		.id = &p->id,
		.session = p->session,
		.now_ns = clock_monotonic_ns(),
		.runner = tr,
		.process = p,
	};
}

/* ---- run ---- */

/* Many programs with many records each may be too much together. */
static int check_bytes(struct turn_runner *tr, struct runtime_process *p)
{
	if (runtime_processes_bytes(tr->processes) <= tr->history_max_bytes)
		return 0;
	return p->ops->session_reset(p->session, RUNTIME_BASELINE_NOW) < 0 ? -ENOMEM : -E2BIG;
}

/* Returns the first error. */
static int run_regular(struct turn_runner *tr, struct runtime_turn *t)
{
	int first = 0;
	int r = open_turn(t);

	if (r < 0) {
		runtime_turn_count_failure(t, r);
		return r;
	}
	for (size_t i = 0; i < tr->ops->n_turns && !worker_thread_must_end(tr->thread); i++) {
		const struct runtime_turn_def *turn = &tr->ops->turns[i];
		int over;

		if (turn->due_ns)
			continue;
		r = turn->run(tr->reader, t);
		over = check_bytes(tr, t->process);
		r = r < 0 ? r : over;
		if (r < 0)
			runtime_turn_count_failure(t, r);
		if (first == 0)
			first = r;
		if (r == -ESRCH)
			break;
	}
	close_turn(t);
	return r == -ESRCH ? r : first;
}

static int run_own(struct turn_runner *tr, struct runtime_turn *t,
		   const struct runtime_turn_def *turn)
{
	int r;

	t->open_error = open_turn(t);
	if (t->open_error < 0)
		runtime_turn_count_failure(t, t->open_error);
	r = turn->run(tr->reader, t);
	close_turn(t);
	return t->open_error < 0 ? t->open_error : r;
}

/* The first failure of several in a row. */
static void log_failure(const struct turn_runner *tr, const struct runtime_process *p, int error)
{
	struct access_denial why;

	if (error != -EACCES && error != -EPERM) {
		log_debug("cannot read a process", "runtime=%s pid=%d error=\"%s\"", tr->ops->name,
			  (int)p->id.pid, strerror(-error));
		return;
	}
	access_denial_explain(&why, tr->root_fd, p->id.pid, ACCESS_READ);
	log_warn_limited("no permission to read a process, so it is not profiled",
			 "runtime=%s pid=%d name=%s reason=\"%s\"", tr->ops->name, (int)why.pid,
			 LOG_QUOTED(why.name), why.reason);
}

void turn_runner_run(struct turn_runner *tr, struct runtime_process *p)
{
	struct runtime_turn t = turn_of(tr, p);
	uint64_t own_ns;
	const struct runtime_turn_def *own = runtime_process_own_turn(p, &own_ns);
	int r = own ? run_own(tr, &t, own) : run_regular(tr, &t);

	if (r == -ESRCH) {
		runtime_processes_remove(tr->processes, p);
		return;
	}
	if (own)
		return;
	if (r < 0 && p->n_failures == 0)
		log_failure(tr, p, r);
	if (r < 0 || p->due_ns <= t.now_ns) /* else it asked for another turn soon */
		runtime_processes_done(tr->processes, p, t.now_ns, r < 0);
}

int turn_runner_restore(struct turn_runner *tr, struct runtime_process *p)
{
	struct runtime_turn t = turn_of(tr, p);
	int r;

	if (!tr->ops->must_restore(tr->reader, p->session))
		return 0;
	r = tr->ops->open(tr->reader, &p->id, false, &t.open);
	if (r < 0)
		return r;
	t.handle = t.open.handle;
	r = tr->ops->restore(tr->reader, &t);
	close_turn(&t);
	return r;
}
