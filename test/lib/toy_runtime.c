#include "test/lib/toy_runtime.h"

#include <errno.h>
#include <fcntl.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "node-agent/procfs/procfs.h"

#define BURST_NS (20 * NS_PER_MS)
#define SESSION_BYTES 100u

struct toy_reader {
	struct toy_runtime *toy;
	int root_fd;
};

struct toy_handle {
	int proc_fd;
	struct proc_stat stat;
};

static const struct metric_def metric_defs[RUNTIME_METRICS] = {
	RUNTIME_METRIC_DEFS("toy", "toy"),
};
METRIC_TABLE(metric_table, metric_defs);

static const struct metric_def profile_defs[TOY_PROFILES] = {
	[TOY_PROFILE_STEPS] = RUNTIME_PROFILE_DEF("toy", "toy", "steps"),
	[TOY_PROFILE_BURST] = RUNTIME_PROFILE_DEF("toy", "toy", "burst"),
};
METRIC_TABLE(profile_table, profile_defs);

static const struct metric_def value_defs[TOY_VALUES] = {
	[TOY_VALUE_STEPS] = {"container_toy_steps_total", "container_id, app_id", "Steps"},
	[TOY_VALUE_DEPTH] = {"container_toy_depth", "container_id, app_id", "Depth", METRIC_GAUGE},
};
METRIC_TABLE(value_table, value_defs);

static int shared_new(void **ret, const void *config, struct metrics *ms)
{
	(void)ms;
	*ret = *(struct toy_runtime *const *)config;
	return 0;
}

static void shared_free(void *shared)
{
	(void)shared;
}

static int reader_new(void **ret, void *shared, const char *proc_root)
{
	struct toy_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->toy = shared;
	r->root_fd = open(proc_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r->toy->n_readers++;
	*ret = r;
	return r->root_fd < 0 ? -errno : 0;
}

static void reader_free(void *reader)
{
	struct toy_reader *r = reader;

	r->toy->n_readers--;
	close(r->root_fd);
	free(r);
}

static int detect(void *reader, const struct program_id *id)
{
	const struct toy_reader *r = reader;

	return file_id_same_file(&id->exe, &r->toy->program);
}

static int session_new(void **ret, enum runtime_baseline baseline, uint64_t now_ns)
{
	struct toy_session *s = calloc(1, sizeof(*s));

	(void)now_ns;
	if (!s)
		return -ENOMEM;
	s->baseline = baseline;
	s->n_bytes = SESSION_BYTES;
	*ret = s;
	return 0;
}

static void session_free(void *session)
{
	free(session);
}

static size_t session_bytes(const void *session)
{
	const struct toy_session *s = session;

	return s->n_bytes;
}

static int session_reset(void *session, enum runtime_baseline baseline)
{
	struct toy_session *s = session;

	*s = (struct toy_session){.baseline = baseline, .n_bytes = SESSION_BYTES};
	return 0;
}

static int open_program(void *reader, const struct program_id *id, bool is_first,
			struct runtime_open *ret)
{
	const struct toy_reader *r = reader;
	struct toy_handle *h;

	(void)is_first;
	if (r->toy->open_error != 0)
		return r->toy->open_error;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->proc_fd = procfs_open_process(r->root_fd, id->pid);
	if (h->proc_fd < 0 || procfs_read_stat(h->proc_fd, &h->stat) < 0 || h->stat.ended ||
	    h->stat.start_time != id->start_time) {
		closep(&h->proc_fd);
		free(h);
		return -ESRCH;
	}
	r->toy->n_opened++;
	*ret = (struct runtime_open){h, h->proc_fd, h->stat.comm, 1};
	return 0;
}

static void close_program(void *handle)
{
	struct toy_handle *h = handle;

	close(h->proc_fd);
	free(h);
}

static int emit(struct runtime_turn *t, enum toy_profile profile, const char *text)
{
	CLEANUP(buf_fini) struct buf pprof;
	int r;

	buf_init(&pprof, LIMIT_UPLOAD_BYTES);
	r = buf_addf(&pprof, "%s", text);
	return r == 0 ? runtime_turn_emit(t, profile, &pprof) : r;
}

static int run_hang(void *reader, struct runtime_turn *t)
{
	const struct toy_reader *r = reader;
	struct toy_runtime *toy = r->toy;
	char byte;

	if (toy->hang_pid != t->id->pid)
		return 0;
	toy->is_hanging = true;
	(void)!read(toy->hang_fd, &byte, 1);
	return 0;
}

static int run_steps(void *reader, struct runtime_turn *t)
{
	const struct toy_reader *r = reader;
	struct toy_session *s = t->session;
	int error;

	s->n_turns++;
	s->is_changed = true;
	if (r->toy->turn_error != 0)
		return r->toy->turn_error;
	error = runtime_turn_set_state(t, s->n_turns == 1 ? "first" : "stepping");
	if (error < 0)
		return error;
	if (s->burst_ns == 0)
		s->burst_ns = t->now_ns + BURST_NS;
	return emit(t, TOY_PROFILE_STEPS, "steps");
}

static int run_values(void *reader, struct runtime_turn *t)
{
	const struct toy_session *s = t->session;
	struct container_values v = {.known = 3};

	(void)reader;
	v.v[TOY_VALUE_STEPS] = s->n_turns;
	v.v[TOY_VALUE_DEPTH] = 7;
	return runtime_turn_report(t, &v);
}

static uint64_t burst_ns(const void *session)
{
	const struct toy_session *s = session;

	return s->burst_ns;
}

static int run_burst(void *reader, struct runtime_turn *t)
{
	struct toy_session *s = t->session;

	(void)reader;
	s->burst_ns = 0;
	return t->handle ? emit(t, TOY_PROFILE_BURST, "burst") : t->open_error;
}

static const struct runtime_turn_def turns[] = {
	{"hang", NULL, run_hang},
	{"steps", NULL, run_steps},
	{"burst", burst_ns, run_burst},
	{"values", NULL, run_values},
};

static bool must_restore(void *reader, const void *session)
{
	const struct toy_session *s = session;

	(void)reader;
	return s->is_changed;
}

static void claim(void *reader, void *session)
{
	struct toy_session *s = session;

	(void)reader;
	s->is_changed = true;
}

static int restore(void *reader, struct runtime_turn *t)
{
	const struct toy_reader *r = reader;
	struct toy_session *s = t->session;

	s->is_changed = false;
	r->toy->n_restored++;
	return 0;
}

const struct runtime_ops toy_runtime_ops = {
	.name = "toy",
	.thread_name = "toy-profile",
	.metrics = &metric_table,
	.profiles = &profile_table,
	.values = &value_table,
	.shared_new = shared_new,
	.shared_free = shared_free,
	.reader_new = reader_new,
	.reader_free = reader_free,
	.detect = detect,
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
