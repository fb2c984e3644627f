/*
 * check_heap read PID FILE [LIBRARY]: writes the heap profile of a process, made by the node
 * agent's reader, or that of a Go library which it has loaded.
 * check_heap rename PID: changes the names of the process's own functions in its memory.
 * check_heap after OTHER PID FILE: writes the heap profile of PID after that of OTHER was read with
 * the same reader.
 * check_heap force PID DONE: checks that a profiler that is off can be switched on, that the
 * profile then has what test/go-matrix/unprofiled allocates until the file DONE exists, within
 * three standard deviations, and that the profiler can be switched off again.
 * check_heap worker PROC PID: the same by the agent's own thread, with PROC for /proc, which has
 * only that process.
 * check_heap often PID DONE FILE: reads the heap of a process repeatedly from its start on, until
 * the file DONE exists, and writes the sums of what was allocated.
 * check_heap sums FILE THEIRS: checks that these sums are those of a profile, to the last byte.
 * check_heap same OURS THEIRS: checks that two profiles have the same stacks, function by
 * function and line by line, with the same four values each.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>

#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/text/parse.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/process/process_table.h"
#include "node-agent/runtime/runtime_worker.h"
#include "test/go-matrix/heap_process.h"
#include "test/go-matrix/profile_stacks.h"

#define N_VALUES 4u

static int restore(struct heap_process *s)
{
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	int r = go_reader_open(s->reader, &s->id, &o);

	return r == 0 ? heap_force(o->runtime, &s->id, HEAP_FORCE_OFF) : r;
}

/* ---- read ---- */

/* Makes the process's Go runtime the one in this library, if it has several. */
static int choose_library(struct heap_process *s, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	s->id.library = (struct file_id){.dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

static int write_profile(const char *file, const struct buf *out)
{
	FILE *f = fopen(file, "we");

	if (!f || fwrite(out->data, 1, out->len, f) != out->len || fclose(f) != 0) {
		perror(file);
		return 1;
	}
	return 0;
}

static int do_read(const char *pid, const char *file, const char *library)
{
	CLEANUP(heap_process_fini) struct heap_process s;
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = heap_process_init(&s, pid, BUCKET_HISTORY_FROM_ZERO);
	if (r == 0 && library)
		r = choose_library(&s, library);
	if (r == 0)
		r = heap_process_read(&s, &out);
	if (r < 0) {
		fprintf(stderr, "cannot read the heap of %s: %s\n", pid, strerror(-r));
		return 1;
	}
	printf("%zu buckets", s.reading.round.n_buckets);
	return write_profile(file, &out);
}

/* ---- rename ---- */

#define OLD_PREFIX "main."
#define NEW_PREFIX "evil."
#define PREFIX_BYTES 5u

/* Renames functions in this part of the memory. Returns their number, or -errno. */
static int rename_in(int fd, uint64_t start, uint64_t end)
{
	AUTO_FREE uint8_t *bytes = malloc(end - start);
	ssize_t n = bytes ? pread(fd, bytes, end - start, (off_t)start) : -1;
	int n_names = 0;

	for (ssize_t i = 1; i + (ssize_t)PREFIX_BYTES <= n; i++) {
		if (bytes[i - 1] != '\0' || memcmp(bytes + i, OLD_PREFIX, PREFIX_BYTES) != 0)
			continue;
		if (pwrite(fd, NEW_PREFIX, PREFIX_BYTES, (off_t)start + i) != PREFIX_BYTES)
			return -errno;
		n_names++;
	}
	return n_names;
}

static int do_rename(const char *pid)
{
	char path[64], line[4096], permissions[5];
	uint64_t start, end, ino;
	AUTO_CLOSE int fd = -1;
	int n = 0, r = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "re");
	if (fd < 0 || !maps) {
		perror(path);
		return 1;
	}
	while (r >= 0 && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &start, &end,
			   permissions, &ino) == 4 &&
		    ino != 0 && permissions[2] != 'x')
			r = rename_in(fd, start, end);
		n += r > 0 ? r : 0;
	}
	fclose(maps);
	printf("%d names, ", n);
	return r >= 0 && n > 0 ? 0 : 1;
}

static int do_after(const char *other, const char *pid, const char *file)
{
	CLEANUP(heap_process_fini) struct heap_process first, s;
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	s = (struct heap_process){0};
	r = heap_process_init(&first, other, BUCKET_HISTORY_FROM_ZERO);
	if (r == 0)
		r = heap_process_read(&first, &out);
	if (r == 0) {
		out.len = 0;
		r = heap_process_init(&s, pid, BUCKET_HISTORY_FROM_ZERO);
	}
	if (r == 0) {
		/* the reader keeps what it has cached of the executable */
		go_reader_free(s.reader);
		s.reader = TAKE_PTR(first.reader);
		r = heap_process_read(&s, &out);
	}
	if (r < 0) {
		fprintf(stderr, "cannot read the heap of %s: %s\n", pid, strerror(-r));
		return 1;
	}
	return write_profile(file, &out);
}

/* ---- force ---- */

#define SMALL_BYTES (20000.0 * 8192)
#define LARGE_BYTES (4000.0 * 65536)
#define RATE 524288.0
#define POLLS 600
#define POLL_US 50000

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

/* Reads before and after the program allocates; the second profile has what it allocated. */
static int measure(struct heap_process *f, const char *done, struct buf *out)
{
	int r = heap_process_read(f, out);

	out->len = 0;
	if (r == 0 && kill(f->id.pid, SIGUSR1) < 0)
		r = -errno;
	for (int i = 0; r == 0 && access(done, F_OK) < 0; i++) {
		usleep(POLL_US);
		if (i == POLLS)
			r = -ETIME;
	}
	return r == 0 ? heap_process_read(f, out) : r;
}

static int force_and_restore(struct heap_process *f, const char *done, struct buf *out)
{
	struct buf nothing;
	int r = heap_process_read(f, out);

	if (r < 0 || !f->reading.forced)
		return r < 0 ? r : -EALREADY;
	usleep(1000000);
	r = measure(f, done, out);
	if (r < 0)
		return r;
	if (restore(f) != 1)
		return -EPROTO;
	/* if it really is off, the next reading switches it on */
	buf_init(&nothing, LIMIT_UPLOAD_BYTES);
	r = heap_process_read(f, &nothing);
	buf_fini(&nothing);
	return r == 0 && !f->reading.forced ? -EPROTO : r;
}

static int do_force(const char *pid, const char *done)
{
	CLEANUP(arena_fini) struct arena arena;
	CLEANUP(heap_process_fini) struct heap_process f;
	CLEANUP(buf_fini) struct buf out;
	struct err err = {""};
	struct profile p;
	bool good;
	int r;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = heap_process_init(&f, pid, BUCKET_HISTORY_FROM_NOW);
	f.cfg.force = true;
	if (r == 0)
		r = force_and_restore(&f, done, &out);
	if (r == 0)
		r = pprof_decode(&p, &arena, out.data, out.len, &err);
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

/* Long enough to find the process and switch its profiler on, which counts a second later. */
#define ALLOCATE_AFTER_NS (6 * NS_PER_S)
#define GIVE_UP_AFTER_NS (20 * NS_PER_S)

struct working {
	struct loop *loop;
	pid_t pid;
	bool reported; /* a profile arrived that has what was allocated */
};

static void on_worker_profile(void *ctx, const struct runtime_upload *u)
{
	CLEANUP(arena_fini) struct arena arena;
	struct working *w = ctx;
	struct err err = {""};
	struct profile p;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	if (pprof_decode(&p, &arena, u->pprof->data, u->pprof->len, &err) < 0 ||
	    sum_of(&p, "main.makeLarge") == 0)
		return;
	printf("worker: %s", u->workload->service);
	w->reported = true;
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
	const struct go_profiler_config profiler = {
		.heap = true,
		.heap_reader = {.force = true},
		.heap_restore = true,
	};
	struct runtime_worker_config cfg = {
		.ops = &go_runtime_ops,
		.config = &profiler,
		.proc_root = proc,
		.interval_ns = 1 * NS_PER_S,
		.on_profile = on_worker_profile,
		.ctx = w,
	};
	struct loop_source *allocate, *give_up;
	struct runtime_worker *worker = NULL;
	struct process_table *processes = NULL;
	struct metrics *ms = NULL;
	struct err err = {""};
	int r;

	r = loop_new(&w->loop);
	if (r == 0)
		r = metrics_new(&ms);
	if (r == 0)
		r = process_table_new(&processes, &(struct process_table_config){.proc_root = proc},
				      &err);
	if (r == 0)
		r = process_table_scan(processes) < 0 ? -EIO : 0;
	cfg.processes = processes;
	if (r == 0)
		r = runtime_worker_new(&worker, w->loop, ms, &cfg, &err);
	if (r == 0)
		r = loop_add_timer(w->loop, on_allocate, w, &allocate);
	if (r == 0)
		r = loop_add_timer(w->loop, on_give_up, w, &give_up);
	if (r == 0) {
		loop_set_timer(allocate, ALLOCATE_AFTER_NS);
		loop_set_timer(give_up, GIVE_UP_AFTER_NS);
		r = loop_run(w->loop);
	}
	runtime_worker_free(worker);
	process_table_free(processes);
	loop_free(w->loop);
	metrics_free(ms);
	return r;
}

static int do_worker(const char *proc, const char *pid)
{
	CLEANUP(heap_process_fini) struct heap_process s = {0};
	CLEANUP(buf_fini) struct buf out;
	struct working w = {0};
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	w.pid = (pid_t)strtol(pid, NULL, 10);
	r = run_worker(&w, proc);
	/* not before, because the process may have loaded Go late */
	if (r == 0)
		r = heap_process_init(&s, pid, BUCKET_HISTORY_FROM_NOW);
	if (r == 0)
		r = heap_process_read(&s, &out);
	if (r == 0 && w.reported && s.reading.off) {
		printf(", restored\n");
		return 0;
	}
	printf("worker: %s, reported %d, off %d\n", strerror(-r), w.reported, s.reading.off);
	return 1;
}

/* ---- same ---- */

static int do_same(const char *ours, const char *theirs)
{
	CLEANUP(profile_stacks_fini) struct profile_stacks a = {0};
	CLEANUP(profile_stacks_fini) struct profile_stacks b = {0};
	size_t n;

	if (profile_stacks_load(&a, ours, N_VALUES) < 0 ||
	    profile_stacks_load(&b, theirs, N_VALUES) < 0)
		return 1;
	n = profile_stacks_compare(&a, &b, NULL);
	printf(", %zu stacks, %zu differ\n", a.n, n);
	return n == 0 && a.n > 8 ? 0 : 1;
}

/* ---- often ---- */

#define OFTEN_TRIES 1000
#define OFTEN_PAUSE_US 5000
#define OFTEN_ROUNDS_MIN 5

/* Adds up what all stacks have allocated: objects and bytes. */
static int add_allocs(const struct buf *pprof, int64_t sums[2])
{
	CLEANUP(arena_fini) struct arena arena;
	struct err err = {""};
	struct profile p;
	int r;

	arena_init(&arena, LIMIT_PPROF_ARENA_BYTES);
	r = pprof_decode(&p, &arena, pprof->data, pprof->len, &err);
	for (uint32_t i = 0; r == 0 && i < p.n_samples; i++) {
		sums[0] += p.samples[i].values[0];
		sums[1] += p.samples[i].values[1];
	}
	return r;
}

/* The process may not have begun: its program may still be loading. */
static int wait_for_go(struct heap_process *s, const char *pid)
{
	int r = -EAGAIN;

	for (int i = 0; r != 0 && i < OFTEN_TRIES; i++) {
		r = heap_process_init(s, pid, BUCKET_HISTORY_FROM_ZERO);
		if (r == 0)
			return 0;
		heap_process_fini(s);
		*s = (struct heap_process){0};
		usleep(OFTEN_PAUSE_US);
	}
	return r;
}

static int do_often(const char *pid, const char *done, const char *file)
{
	CLEANUP(heap_process_fini) struct heap_process s = {0};
	int64_t sums[2] = {0, 0};
	int n_rounds = 0, r = wait_for_go(&s, pid);
	bool is_last = false;
	FILE *f;

	for (; r == 0 && !is_last; n_rounds++) {
		CLEANUP(buf_fini) struct buf out;

		buf_init(&out, LIMIT_UPLOAD_BYTES);
		is_last = access(done, F_OK) == 0;
		r = heap_process_read(&s, &out);
		/* the runtime may not have begun either */
		if (r < 0 && n_rounds == 0 && !is_last) {
			n_rounds--;
			r = 0;
		}
		if (r == 0 && s.reading.n_samples > 0 && out.len > 0)
			r = add_allocs(&out, sums);
		usleep(is_last ? 0 : OFTEN_PAUSE_US);
	}
	f = r == 0 ? fopen(file, "we") : NULL;
	if (!f || n_rounds < OFTEN_ROUNDS_MIN) {
		printf("read %d times: %s\n", n_rounds, strerror(-r));
		return 1;
	}
	fprintf(f, "%" PRId64 " %" PRId64 "\n", sums[0], sums[1]);
	printf("%d rounds", n_rounds);
	return fclose(f) == 0 ? 0 : 1;
}

static int do_sums(const char *ours, const char *theirs)
{
	CLEANUP(profile_stacks_fini) struct profile_stacks s = {0};
	int64_t have[2] = {0, 0}, want[2] = {0, 0};
	FILE *f = fopen(ours, "re");

	if (!f || fscanf(f, "%" SCNd64 " %" SCNd64, &have[0], &have[1]) != 2 || fclose(f) != 0 ||
	    profile_stacks_load(&s, theirs, N_VALUES) < 0)
		return 1;
	for (size_t i = 0; i < s.n; i++) {
		want[0] += s.stacks[i].values[0];
		want[1] += s.stacks[i].values[1];
	}
	printf(", %" PRId64 " objects of %" PRId64 ", %" PRId64 " bytes of %" PRId64 "\n", have[0],
	       want[0], have[1], want[1]);
	return have[0] == want[0] && have[1] == want[1] && want[0] > 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "read") == 0)
		return do_read(argv[2], argv[3], argv[4]);
	if (argc == 3 && strcmp(argv[1], "rename") == 0)
		return do_rename(argv[2]);
	if (argc == 5 && strcmp(argv[1], "after") == 0)
		return do_after(argv[2], argv[3], argv[4]);
	if (argc == 5 && strcmp(argv[1], "often") == 0)
		return do_often(argv[2], argv[3], argv[4]);
	if (argc == 4 && strcmp(argv[1], "sums") == 0)
		return do_sums(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "same") == 0)
		return do_same(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "force") == 0)
		return do_force(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "worker") == 0)
		return do_worker(argv[2], argv[3]);
	fprintf(stderr, "usage: check_heap read PID FILE [LIBRARY] | check_heap rename PID "
			"| check_heap after OTHER PID FILE | check_heap force PID DONE "
			"| check_heap worker PROC PID | check_heap same OURS THEIRS "
			"| check_heap often PID DONE FILE | check_heap sums FILE THEIRS\n");
	return 2;
}
