/*
 * check_heap read PID FILE: the heap profile of a process, by the node agent's reader.
 * check_heap force PID DONE: whether a profiler that is off can be switched on, shows what test/go-matrix/unprofiled
 * says it allocates until the file DONE is there, within three standard deviations, and goes off again.
 * check_heap worker PROC PID: the same by the agent's own thread, with PROC for /proc, which has only that process.
 * check_heap same OURS THEIRS: whether two profiles have the same stacks, function by function and line
 * by line, with the same four values each.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/limits.h"
#include "common/loop.h"
#include "common/metrics.h"
#include "common/parse.h"
#include "common/pprof_decode.h"
#include "node-agent/heap/heap_reader.h"
#include "node-agent/heap/heap_worker.h"
#include "node-agent/process/procfs.h"

#define N_VALUES 4u
#define MAX_SHOWN 6u

/* ---- read ---- */

static int find_process(struct heap_reader *r, const char *pid, struct go_process_id *ret)
{
	AUTO_CLOSE int fd = -1;
	struct proc_stat st;
	uint64_t n;
	int e;

	e = parse_u64(pid, strlen(pid), 1, INT32_MAX, &n);
	if (e < 0)
		return e;
	ret->pid = (pid_t)n;
	fd = procfs_open_process(heap_reader_root(r), ret->pid);
	if (fd < 0)
		return fd;
	e = procfs_read_stat(fd, &st);
	ret->start_time = st.start_time;
	return e < 0 ? e : go_target_read_key(fd, &ret->exe);
}

static int read_heap(const char *pid, struct buf *out, size_t *ret_buckets)
{
	const struct heap_history_config cfg = {HEAP_HISTORY_FROM_ZERO, HEAP_READER_MAX_BUCKETS};
	CLEANUP(heap_history_freep) struct heap_history *history = NULL;
	CLEANUP(heap_reader_freep) struct heap_reader *reader = NULL;
	struct go_process_id id;
	struct heap_reading reading;
	int r;

	r = heap_reader_new(&reader, &(struct heap_reader_config){0});
	if (r == 0)
		r = heap_history_new(&history, &cfg);
	if (r == 0)
		r = find_process(reader, pid, &id);
	if (r == 0 && heap_reader_detect(reader, &id) != 1)
		r = -ENOEXEC;
	if (r == 0)
		r = heap_reader_read(reader, &id, history, 1, out, &reading);
	if (r == 0)
		*ret_buckets = reading.round.n_buckets;
	return r;
}

static int do_read(const char *pid, const char *file)
{
	CLEANUP(buf_fini) struct buf out;
	size_t n_buckets = 0;
	FILE *f;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = read_heap(pid, &out, &n_buckets);
	if (r < 0) {
		fprintf(stderr, "cannot read the heap of %s: %s\n", pid, strerror(-r));
		return 1;
	}
	f = fopen(file, "we");
	if (!f || fwrite(out.data, 1, out.len, f) != out.len || fclose(f) != 0) {
		perror(file);
		return 1;
	}
	printf("%zu buckets", n_buckets);
	return 0;
}

/* ---- force ---- */

#define SMALL_BYTES (20000.0 * 8192)
#define LARGE_BYTES (4000.0 * 65536)
#define RATE 524288.0
#define POLLS 600
#define POLL_US 50000

struct forcing {
	struct heap_reader *reader;
	struct heap_history *history;
	struct go_process_id id;
	struct heap_reading reading;
};

static int64_t sum_of(const struct profile *p, const char *function)
{
	int64_t bytes = 0;

	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *s = &p->samples[i];
		const struct profile_location *l = &p->locations[s->locations[0]];

		if (strcmp(p->functions[l->lines[0].function].name.data, function) == 0)
			bytes += s->values[1];
	}
	return bytes;
}

static bool is_near(const struct profile *p, const char *function, double want)
{
	double got = (double)sum_of(p, function), sigma = sqrt(RATE / want);

	printf(", %s %.3f of what it made", function, got / want);
	return fabs(got / want - 1) <= 3 * sigma;
}

static int round_of(struct forcing *f, struct buf *out)
{
	return heap_reader_read(f->reader, &f->id, f->history, 1, out, &f->reading);
}

/* What was allocated between two rounds. */
static int measure(struct forcing *f, const char *done, struct buf *out)
{
	int r = round_of(f, out);

	out->len = 0;
	if (r == 0 && kill(f->id.pid, SIGUSR1) < 0)
		r = -errno;
	for (int i = 0; r == 0 && access(done, F_OK) < 0; i++) {
		usleep(POLL_US);
		if (i == POLLS)
			r = -ETIME;
	}
	return r == 0 ? round_of(f, out) : r;
}

static int force_and_restore(struct forcing *f, const char *done, struct buf *out)
{
	struct buf nothing;
	int r = round_of(f, out);

	if (r < 0 || !f->reading.forced)
		return r < 0 ? r : -EALREADY;
	usleep(1000000);
	r = measure(f, done, out);
	if (r < 0)
		return r;
	if (heap_reader_restore(f->reader, &f->id) != 1)
		return -EPROTO;
	/* it is off, so it can be switched on */
	buf_init(&nothing, LIMIT_UPLOAD_BYTES);
	r = round_of(f, &nothing);
	buf_fini(&nothing);
	return r == 0 && !f->reading.forced ? -EPROTO : r;
}

static int do_force(const char *pid, const char *done)
{
	const struct heap_history_config cfg = {HEAP_HISTORY_FROM_NOW, HEAP_READER_MAX_BUCKETS};
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf out;
	struct forcing f = {0};
	struct err err = {""};
	struct profile p;
	bool good;
	int r;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = heap_reader_new(&f.reader, &(struct heap_reader_config){.force = true});
	if (r == 0)
		r = heap_history_new(&f.history, &cfg);
	if (r == 0)
		r = find_process(f.reader, pid, &f.id);
	if (r == 0)
		r = force_and_restore(&f, done, &out);
	if (r == 0)
		r = pprof_decode(&p, &arena, out.data, out.len, &err);
	heap_history_free(f.history);
	heap_reader_free(f.reader);
	if (r < 0) {
		printf("cannot be forced: %s %s\n", strerror(-r), err.msg);
		return 1;
	}
	printf("forced");
	good = is_near(&p, "main.makeSmall", SMALL_BYTES);
	good &= is_near(&p, "main.makeLarge", LARGE_BYTES);
	printf("\n");
	return !good;
}

/* ---- worker ---- */

#define ALLOCATE_AFTER_NS (3 * NS_PER_S) /* it is forced, and has begun to count a second later */
#define GIVE_UP_AFTER_NS (20 * NS_PER_S)

struct working {
	struct loop *loop;
	pid_t pid;
	bool told; /* a profile came that shows what was allocated */
};

static void on_worker_profile(void *ctx, const struct heap_upload *u)
{
	CLEANUP(arena_fini) struct arena arena;
	struct working *w = ctx;
	struct err err = {""};
	struct profile p;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	if (pprof_decode(&p, &arena, u->pprof->data, u->pprof->len, &err) < 0 ||
	    sum_of(&p, "main.makeLarge") == 0)
		return;
	printf("worker: %s", u->service);
	w->told = true;
	loop_stop(w->loop);
}

static void on_allocate(void *ctx)
{
	struct working *w = ctx;

	(void)kill(w->pid, SIGUSR1);
}

static void on_give_up(void *ctx)
{
	struct working *w = ctx;

	loop_stop(w->loop);
}

static int run_worker(struct working *w, const char *proc)
{
	const struct heap_worker_config cfg = {
		.proc_root = proc,
		.interval_ns = 1 * NS_PER_S,
		.force = true,
		.restore = true,
		.on_profile = on_worker_profile,
		.ctx = w,
	};
	struct loop_source *allocate, *give_up;
	struct heap_worker *worker = NULL;
	struct metrics *ms = NULL;
	struct err err = {""};
	int r;

	r = loop_new(&w->loop);
	if (r == 0)
		r = metrics_new(&ms);
	if (r == 0)
		r = heap_worker_new(&worker, w->loop, ms, &cfg, &err);
	if (r == 0)
		r = loop_add_timer(w->loop, on_allocate, w, &allocate);
	if (r == 0)
		r = loop_add_timer(w->loop, on_give_up, w, &give_up);
	if (r == 0) {
		loop_set_timer(allocate, ALLOCATE_AFTER_NS);
		loop_set_timer(give_up, GIVE_UP_AFTER_NS);
		r = loop_run(w->loop);
	}
	heap_worker_free(worker);
	loop_free(w->loop);
	metrics_free(ms);
	return r;
}

static int do_worker(const char *proc, const char *pid)
{
	CLEANUP(buf_fini) struct buf out;
	struct working w = {0};
	struct forcing f = {0};
	const struct heap_history_config cfg = {HEAP_HISTORY_FROM_NOW, HEAP_READER_MAX_BUCKETS};
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = heap_reader_new(&f.reader, &(struct heap_reader_config){0});
	if (r == 0)
		r = heap_history_new(&f.history, &cfg);
	if (r == 0)
		r = find_process(f.reader, pid, &f.id);
	w.pid = f.id.pid;
	if (r == 0)
		r = run_worker(&w, proc);
	if (r == 0)
		r = round_of(&f, &out);
	heap_history_free(f.history);
	heap_reader_free(f.reader);
	if (r == 0 && w.told && f.reading.off) {
		printf(", restored\n");
		return 0;
	}
	printf("worker: %s, told %d, off %d\n", strerror(-r), w.told, f.reading.off);
	return 1;
}

/* ---- same ---- */

struct line {
	char *text; /* of the whole stack */
	int64_t values[N_VALUES];
};

struct stacks {
	struct line *lines;
	size_t n;
};

static int by_text(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static void add_frames(struct buf *text, const struct profile *p, const struct profile_location *l)
{
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct profile_function *f = &p->functions[l->lines[i].function];

		if (buf_addf(text, "  %s %s:%lld\n", f->name.data, f->file.data,
			     (long long)l->lines[i].line) < 0)
			abort();
	}
}

/* Equal stacks of different sizes of objects become one. */
static void merge(struct stacks *s)
{
	size_t n = 0;

	qsort(s->lines, s->n, sizeof(*s->lines), by_text);
	for (size_t i = 0; i < s->n; i++) {
		if (n > 0 && strcmp(s->lines[n - 1].text, s->lines[i].text) == 0) {
			for (size_t v = 0; v < N_VALUES; v++)
				s->lines[n - 1].values[v] += s->lines[i].values[v];
			free(s->lines[i].text);
		} else {
			s->lines[n++] = s->lines[i];
		}
	}
	s->n = n;
}

static void collect(struct stacks *s, const struct profile *p)
{
	s->lines = calloc(p->n_samples + 1, sizeof(*s->lines));
	if (!s->lines)
		abort();
	for (uint32_t i = 0; i < p->n_samples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		struct line *line = &s->lines[s->n];
		bool any = false;
		struct buf text;
		size_t len;

		for (size_t v = 0; v < N_VALUES; v++)
			any |= sample->values[v] != 0;
		if (!any)
			continue;
		memcpy(line->values, sample->values, sizeof(line->values));
		buf_init(&text, LIMIT_UPLOAD_BYTES);
		for (uint32_t l = 0; l < sample->n_locations; l++)
			add_frames(&text, p, &p->locations[sample->locations[l]]);
		line->text = text.data ? buf_take(&text, &len) : strdup("");
		s->n++;
	}
	merge(s);
}

static int load(struct stacks *s, const char *file)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(buf_fini) struct buf body;
	struct err err = {""};
	struct profile p;
	int r;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&body, LIMIT_UPLOAD_BYTES);
	r = fs_read_at(AT_FDCWD, file, &body);
	if (r == 0)
		r = pprof_decode(&p, &arena, body.data, body.len, &err);
	if (r == 0 && p.n_types != N_VALUES)
		r = -EBADMSG;
	if (r < 0) {
		fprintf(stderr, "%s: %s %s\n", file, strerror(-r), err.msg);
		return r;
	}
	collect(s, &p);
	return 0;
}

static void show(const char *who, const struct line *l)
{
	printf("%s %lld %lld %lld %lld\n%s", who, (long long)l->values[0], (long long)l->values[1],
	       (long long)l->values[2], (long long)l->values[3], l->text);
}

/* Both are sorted. Number of differences. */
static size_t compare(const struct stacks *a, const struct stacks *b)
{
	size_t i = 0, j = 0, n = 0;

	while (i < a->n || j < b->n) {
		int order = i == a->n   ? 1
			    : j == b->n ? -1
					: strcmp(a->lines[i].text, b->lines[j].text);
		bool same = order == 0 && memcmp(a->lines[i].values, b->lines[j].values,
						 sizeof(a->lines[i].values)) == 0;

		if (!same && n++ < MAX_SHOWN) {
			if (order <= 0)
				show("\nours  ", &a->lines[i]);
			if (order >= 0)
				show("\ntheirs", &b->lines[j]);
		}
		i += order <= 0;
		j += order >= 0;
	}
	return n;
}

static int do_same(const char *ours, const char *theirs)
{
	struct stacks a = {0}, b = {0};
	size_t n;

	if (load(&a, ours) < 0 || load(&b, theirs) < 0)
		return 1;
	n = compare(&a, &b);
	printf(", %zu stacks, %zu differ\n", a.n, n);
	for (size_t i = 0; i < a.n; i++)
		free(a.lines[i].text);
	for (size_t i = 0; i < b.n; i++)
		free(b.lines[i].text);
	free(a.lines);
	free(b.lines);
	return n == 0 && a.n > 8 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "read") == 0)
		return do_read(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "same") == 0)
		return do_same(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "force") == 0)
		return do_force(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "worker") == 0)
		return do_worker(argv[2], argv[3]);
	fprintf(stderr, "usage: check_heap read PID FILE | check_heap force PID DONE | check_heap "
			"same OURS THEIRS\n");
	return 2;
}
