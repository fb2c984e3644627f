/*
 * The recordings in the JVM's private directory are the only state that survives an agent. So each
 * attempt first looks what is there: recordings of an agent that lives belong to that one; others
 * are ended, read to their end, and removed, before a new one is started.
 *
 * A command that was not answered may be executed later. So nothing is concluded from it: the
 * recording counts as running, and the next interval sees what became of it. A recording is
 * known to have ended by its end: while it runs, an unfinished chunk follows the last complete one.
 */
#include "node-agent/java/profile/java_session.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/system/clock.h"
#include "common/telemetry/log.h"
#include "node-agent/java/profile/java_control.h"
#include "node-agent/java/profile/java_metrics.h"
#include "node-agent/java/profile/java_read.h"

#define STARTING_NS (15 * NS_PER_S) /* a JVM that is starting is looked at again */
#define LISTENING_NS (2 * NS_PER_S) /* the same for one that was asked to listen */
#define LEFT_MAX 16u                /* recordings of earlier agents that are read */
#define LEAVE_TRIES 10
#define LEAVE_PAUSE_US 20000

void java_session_init(struct java_session *s)
{
	*s = (struct java_session){.is_fresh = true};
}

void java_session_fini(struct java_session *s)
{
	jvm_attach_forget(&s->attach);
}

static void count(const struct java_step *step, unsigned metric, uint64_t n)
{
	metric_add(&step->metrics[metric], n);
}

/* ---- failures ---- */

static void log_failure(const struct java_session *s, const struct java_step *step)
{
	log_warn_limited("a JVM has no Java profiles", "pid=%d reason=%s retry=%s error=%s",
			 (int)step->pid, java_state_name(s->plan.state),
			 s->plan.attempt_ns > 0 ? "yes" : "no", LOG_QUOTED(s->err.msg));
}

static int fail(struct java_session *s, const struct java_step *step, const struct jvm_failure *why)
{
	s->err = why->err;
	if (why->state >= JAVA_STATE_FAILURES)
		count(step, JAVA_METRIC_FAILED_BY(why->state), 1);
	if (java_plan_failed(&s->plan, why->state, step->now_ns))
		log_failure(s, step);
	return 0;
}

/* Acts on an error that ended an attempt. */
static int end_attempt(struct java_session *s, const struct java_step *step, int error,
		       struct jvm_failure *why)
{
	switch (error) {
	case 0:
	case -ESRCH:
	case -ENOMEM:
	case -ECANCELED:
		return error;
	case -EAGAIN: /* with words: stopped, or frozen, maybe for days */
		java_plan_wait(&s->plan,
			       why->err.msg[0] ? JAVA_STATE_UNRESPONSIVE : JAVA_STATE_WAITING,
			       step->now_ns + STARTING_NS);
		return 0;
	case -EINPROGRESS:
		java_plan_wait(&s->plan, JAVA_STATE_UNRESPONSIVE, step->now_ns + LISTENING_NS);
		return 0;
	default:
		if (why->err.msg[0] == 0)
			(void)err_set(&why->err, error, "%s", strerror(-error));
		return fail(s, step, why);
	}
}

/* ---- commands ---- */

static int count_answer(const struct java_step *step, int r)
{
	count(step, JAVA_METRIC_UNANSWERED, r == -ETIMEDOUT);
	return r;
}

/* As java_control_send(). */
static int command(const struct java_step *step, const char *options, int *ret_code,
		   struct jvm_failure *why)
{
	return count_answer(step, java_control_send(step->port, options, ret_code, why));
}

/* ---- read ---- */

/*
 * Reads what was not uploaded yet of an open recording and emits it. Returns 0, -ENOMEM, or an
 * error of emit(); what is wrong with the recording is counted.
 */
static int read_on(struct java_session *s, const struct java_step *step, int fd,
		   struct java_recording *rec, struct java_chunks *chunks)
{
	struct java_reading reading = {.settings = &s->settings, .n_uploaded = rec->n_uploaded};
	uint64_t cpu_ns = clock_thread_cpu_ns();
	int r = java_read(fd, &reading, step->emit, step->emit_ctx);

	count(step, JAVA_METRIC_READS, 1);
	count(step, JAVA_METRIC_BYTES, reading.chunks.to - reading.chunks.from);
	count(step, JAVA_METRIC_EVENTS, reading.result.n_events);
	count(step, JAVA_METRIC_BROKEN, reading.is_broken);
	for (unsigned i = 0; i < JFR_LOSS_MAX; i++)
		count(step, JAVA_METRIC_LOST + i, reading.result.lost[i]);
	count(step, JAVA_METRIC_LOST_PROFILE_FULL, reading.n_lost);
	count(step, JAVA_METRIC_READ_SECONDS, clock_thread_cpu_ns() - cpu_ns);
	s->totals.alloc_bytes += reading.totals.alloc_bytes;
	s->totals.alloc_objects += reading.totals.alloc_objects;
	s->totals.lock_contentions += reading.totals.lock_contentions;
	s->totals.lock_ns += reading.totals.lock_ns;
	rec->n_uploaded = reading.chunks.n;
	*chunks = reading.chunks;
	return r;
}

/* Opens, reads and renames it. Returns 0, -ENOENT if it is not there, or as above. */
static int read_recording(struct java_session *s, const struct java_step *step,
			  struct java_recording *rec, struct java_chunks *chunks)
{
	char from[JAVA_RECORDING_NAME_BYTES], to[JAVA_RECORDING_NAME_BYTES];
	AUTO_CLOSE int fd = -1;
	int r;

	java_recording_name(rec, from);
	fd = step->port->ops->open_file(step->port->ctx, from);
	if (fd < 0)
		return fd;
	r = read_on(s, step, fd, rec, chunks);
	java_recording_name(rec, to);
	if (strcmp(from, to) == 0)
		return r;
	if (step->port->ops->rename_file(step->port->ctx, from, to) < 0)
		return -ENOENT;
	return r;
}

static void unlink_recording(const struct java_step *step, const struct java_recording *rec)
{
	char name[JAVA_RECORDING_NAME_BYTES];

	java_recording_name(rec, name);
	(void)step->port->ops->unlink_file(step->port->ctx, name);
}

/* ---- what is there ---- */

struct left {
	struct java_recording of[LEFT_MAX];
	size_t n;
	const struct java_step *step;
	bool is_others; /* an agent that lives, and is not this one, has a recording there */
};

static int note_file(void *ctx, const char *name, uint64_t size)
{
	struct left *left = ctx;
	const struct java_step *step = left->step;
	struct java_recording rec;

	(void)size;
	if (!java_recording_parse(name, &rec))
		return 0;
	if ((rec.agent_pid != step->agent_pid || rec.agent_start_time != step->agent_start_time) &&
	    step->port->ops->is_alive(step->port->ctx, rec.agent_pid, rec.agent_start_time))
		left->is_others = true;
	if (left->n < LEFT_MAX)
		left->of[left->n++] = rec;
	return 0;
}

/* Ends and reads the recordings of an earlier agent. The directory is open. */
static int take_over(struct java_session *s, const struct java_step *step, struct left *left,
		     struct jvm_failure *why)
{
	int code, r = command(step, JAVA_COMMAND_STOP, &code, why);

	if (r < 0)
		return r;
	for (size_t i = 0; i < left->n; i++) {
		struct java_chunks chunks;

		s->settings = (struct jfr_settings){0};
		r = read_recording(s, step, &left->of[i], &chunks);
		if (r < 0 && r != -ENOENT)
			return r;
		unlink_recording(step, &left->of[i]);
		count(step, JAVA_METRIC_TAKEN_OVER, 1);
	}
	return 0;
}

/* Returns 0 if there is nothing left of an earlier agent. */
static int clear_up(struct java_session *s, const struct java_step *step, struct jvm_failure *why)
{
	struct left left = {.step = step};
	int r = step->port->ops->find(step->port->ctx, why);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = step->port->ops->each_file(step->port->ctx, note_file, &left);
	if (r == 0 && left.is_others)
		r = jvm_failure_set(why, JAVA_STATE_OTHER_AGENT, -EBUSY,
				    "another node agent profiles it");
	if (r == 0 && left.n > 0)
		r = take_over(s, step, &left, why);
	step->port->ops->close(step->port->ctx);
	return r;
}

/* ---- start ---- */

/* without: JAVA_REFUSED_*. Returns 0 with the code of async-profiler's answer, or -errno. */
static int try_start(struct java_session *s, const struct java_step *step, const char *file,
		     unsigned without, int *ret_code, struct jvm_failure *why)
{
	bool has_timers = (without & JAVA_REFUSED_TIMERS) == 0;
	struct java_start start = {
		.timer = has_timers ? JAVA_CPU_TIMER_THREAD : JAVA_CPU_TIMER_PROCESS,
		.dir = step->port->ops->dir(step->port->ctx),
		.file = file,
		.settings = *step->settings,
		.life_s = java_plan_life_s(step->plan),
	};

	if (without & JAVA_REFUSED_ALLOC)
		start.settings.alloc_interval_bytes = 0;
	s->settings = start.settings;
	return count_answer(step, java_control_start(step->port, &start, ret_code, why));
}

/*
 * Leaves out what async-profiler refuses. What it says about allocations holds as long as the JVM
 * runs; timers may be had for the next recording. If it does not say what it refuses, as when the
 * disk is full, all of it is left out, of this recording only.
 */
static int start_with_less(struct java_session *s, const struct java_step *step, const char *file,
			   int *ret_code, struct jvm_failure *why)
{
	unsigned without = s->has_no_allocs ? JAVA_REFUSED_ALLOC : 0;
	int r = try_start(s, step, file, without, ret_code, why);

	while (r == 0 && *ret_code != JAVA_COMMAND_OK && without != JAVA_REFUSED_ALL) {
		unsigned refused = java_command_refused(why->err.msg) & ~without;

		if ((refused & JAVA_REFUSED_ALLOC) && !s->has_no_allocs) {
			s->has_no_allocs = true;
			log_warn_limited("a JVM has no allocation profiles", "pid=%d error=%s",
					 (int)step->pid, LOG_QUOTED(why->err.msg));
		}
		without |= refused != 0 ? refused : JAVA_REFUSED_ALL;
		r = try_start(s, step, file, without, ret_code, why);
	}
	return r;
}

/* The directory is open. */
static int start_recording(struct java_session *s, const struct java_step *step,
			   struct jvm_failure *why)
{
	char file[JAVA_RECORDING_NAME_BYTES];
	struct java_recording rec = {
		.agent_pid = step->agent_pid,
		.agent_start_time = step->agent_start_time,
		.number = s->recording.number + 1,
	};
	int code = 0, r;

	java_recording_name(&rec, file);
	s->may_be_ours = true;
	s->recording = rec;
	r = start_with_less(s, step, file, &code, why);
	if (r < 0)
		return r;
	if (code != JAVA_COMMAND_OK) {
		why->state = JAVA_STATE_START_FAILED;
		return -EPROTO;
	}
	java_plan_started(&s->plan, step->now_ns);
	s->err.msg[0] = 0;
	count(step, JAVA_METRIC_STARTS, 1);
	return 0;
}

/* Uses the first place from which the JVM can load the library. */
static int begin(struct java_session *s, const struct java_step *step, struct jvm_failure *why)
{
	int r = -ENOENT;

	for (int tries = 0; tries < JVM_PLACES; tries++) {
		unsigned kind;

		r = step->port->ops->prepare(step->port->ctx, s->skip, why);
		if (r < 0)
			return r;
		kind = (unsigned)step->port->ops->kind(step->port->ctx);
		r = start_recording(s, step, why);
		if (r != -ENOEXEC && r != -EINVAL) {
			step->port->ops->close(step->port->ctx);
			return r;
		}
		/* the library could not be loaded from there, or the path cannot be an option */
		(void)step->port->ops->remove(step->port->ctx);
		s->skip |= 1U << kind;
	}
	return r;
}

int java_session_start(struct java_session *s, const struct java_step *step)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};
	int r = step->port->ops->check(step->port->ctx, &why);

	if (r == 0)
		r = clear_up(s, step, &why);
	if (r == 0)
		r = begin(s, step, &why);
	return end_attempt(s, step, r, &why);
}

/* ---- collect ---- */

/* Somebody has removed the directory or the recording: begins again. */
static int recover(struct java_session *s, const struct java_step *step)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};
	int code, r;

	count(step, JAVA_METRIC_MISSING, 1);
	java_plan_ended(&s->plan, step->now_ns);
	r = step->port->ops->prepare(step->port->ctx, s->skip, &why);
	if (r == 0)
		r = command(step, JAVA_COMMAND_STOP, &code, &why);
	if (r == 0)
		r = start_recording(s, step, &why);
	step->port->ops->close(step->port->ctx);
	return end_attempt(s, step, r, &why);
}

/* These end a turn; all others are about the JVM. */
static bool is_final(int error)
{
	return error == -ESRCH || error == -ENOMEM || error == -ECANCELED;
}

/* The recording continues, and the next interval sees more of it. */
static int miss(struct java_session *s, const struct java_step *step, const struct jvm_failure *why)
{
	s->err = why->err;
	if (java_plan_missed(&s->plan, step->now_ns))
		log_failure(s, step);
	return 0;
}

/* The JVM completes a chunk, or with replace, the recording. Returns 0, also without an answer. */
static int complete(struct java_session *s, const struct java_step *step, bool replace,
		    bool *ret_answered)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};
	int code;
	int r = command(step, replace ? JAVA_COMMAND_STOP : JAVA_COMMAND_DUMP, &code, &why);

	*ret_answered = r == 0;
	if (is_final(r))
		return r;
	if (r < 0)
		return miss(s, step, &why);
	java_plan_answered(&s->plan);
	return 0;
}

/* The directory is open. */
static int collect_from(struct java_session *s, const struct java_step *step, bool replace)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};
	struct java_chunks chunks = {0};
	struct java_recording done;
	bool answered;
	int code, r = complete(s, step, replace, &answered);

	if (r == 0)
		r = read_recording(s, step, &s->recording, &chunks);
	if (r < 0 || !answered || (chunks.is_growing && !replace))
		return r;
	/* it has ended, by our command or another reason, or it is broken */
	done = s->recording;
	if (!replace && command(step, JAVA_COMMAND_STOP, &code, &why) < 0)
		return end_attempt(s, step, -ETIMEDOUT, &why);
	java_plan_ended(&s->plan, step->now_ns);
	r = start_recording(s, step, &why);
	unlink_recording(step, &done);
	return end_attempt(s, step, r, &why);
}

static int collect(struct java_session *s, const struct java_step *step, bool replace)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};
	int r = step->port->ops->find(step->port->ctx, &why);

	if (r == 0)
		r = collect_from(s, step, replace);
	else if (r != -ENOENT && !is_final(r))
		r = miss(s, step, &why);
	step->port->ops->close(step->port->ctx);
	if (r == -ENOENT)
		return recover(s, step);
	return r;
}

/* ---- leave ---- */

/* Another agent may be looking at the directory, which takes it some milliseconds. */
static int find_for_sure(const struct java_step *step, struct jvm_failure *why)
{
	int r = step->port->ops->find(step->port->ctx, why);

	for (int i = 0; r == -EBUSY && i < LEAVE_TRIES; i++) {
		usleep(LEAVE_PAUSE_US);
		r = step->port->ops->find(step->port->ctx, why);
	}
	return r;
}

/* A JVM that does not answer records into a file without a name until its time is over. */
static int stop_and_remove(const struct java_step *step, struct jvm_failure *why)
{
	int code, r = command(step, JAVA_COMMAND_STOP, &code, why);
	int removed = step->port->ops->remove(step->port->ctx);

	return r < 0 ? r : removed;
}

int java_session_leave(struct java_session *s, const struct java_step *step)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};
	struct left left = {.step = step};
	int r = find_for_sure(step, &why);

	if (r == 0)
		r = step->port->ops->each_file(step->port->ctx, note_file, &left);
	if (r == 0 && left.is_others) {
		step->port->ops->close(step->port->ctx);
		return 0;
	}
	if (r == 0)
		r = stop_and_remove(step, &why);
	step->port->ops->close(step->port->ctx);
	if (r < 0 && r != -ENOENT)
		return r;
	count(step, JAVA_METRIC_STOPS, r == 0);
	s->may_be_ours = false;
	java_plan_ended(&s->plan, 0);
	return 0;
}

/* ---- collect and watch ---- */

/* Ends profiling, for the JVM's sake. */
static int withdraw(struct java_session *s, const struct java_step *step,
		    const struct jvm_failure *why)
{
	int r = collect(s, step, false);

	if (r == 0)
		r = java_session_leave(s, step);
	return is_final(r) ? r : fail(s, step, why);
}

int java_session_collect(struct java_session *s, const struct java_step *step)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};

	if (!s->plan.is_running)
		return 0;
	/* two that sample in the same process take each other's signals */
	if (step->port->ops->check_profilers(step->port->ctx, &why) == -EPERM)
		return withdraw(s, step, &why);
	return collect(s, step, java_plan_must_replace(&s->plan, step->plan, step->now_ns, 0));
}

/* Of a recording, and what is free on its disk. */
struct space {
	uint64_t used, free;
};

/* If that cannot be found out, there is no recording, or no limit. */
static struct space space_of(const struct java_session *s, const struct java_step *step)
{
	struct space ret = {.free = UINT64_MAX};
	char name[JAVA_RECORDING_NAME_BYTES];
	AUTO_CLOSE int fd = -1;
	struct statvfs disk;
	struct stat st;

	java_recording_name(&s->recording, name);
	fd = step->port->ops->open_file(step->port->ctx, name);
	if (fd >= 0 && fstat(fd, &st) == 0)
		ret.used = (uint64_t)st.st_size;
	if (fd >= 0 && fstatvfs(fd, &disk) == 0 && disk.f_blocks > 0)
		ret.free = (uint64_t)disk.f_bavail * disk.f_frsize;
	return ret;
}

int java_session_watch(struct java_session *s, const struct java_step *step)
{
	struct jvm_failure why = {.state = JAVA_STATE_FAILED};
	struct space space = {.free = UINT64_MAX};
	int r;

	java_plan_watched(&s->plan, step->now_ns);
	if (!s->plan.is_running)
		return 0;
	r = step->port->ops->find(step->port->ctx, &why);
	if (r == 0)
		space = space_of(s, step);
	step->port->ops->close(step->port->ctx);
	if (r == -ESRCH)
		return r;
	if (java_plan_must_leave(step->plan, space.free)) {
		jvm_failure_set(&why, JAVA_STATE_NO_PLACE, 0, "its disk is nearly full");
		return withdraw(s, step, &why);
	}
	if (java_plan_must_replace(&s->plan, step->plan, s->plan.started_ns, space.used))
		return collect(s, step, true);
	return 0;
}
