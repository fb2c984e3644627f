/*
 * What reading Go processes costs the node agent, with its own code.
 *
 * go_cost floor PID reads all memory that holds records of the heap profiler once. Prints the CPU
 * time in ms and the size of that memory in KiB.
 * go_cost rounds PID N makes N heap profiles of a process. Prints a line for each: CPU time in ms;
 * by how many KiB resident memory peaked above its size before the first round, and by how many it
 * is larger afterwards; records; bytes of the profile.
 * go_cost every PID MS makes one profile after the other until standard input ends.
 * go_cost worker PROC INTERVAL_MS SECONDS runs the agent's own thread with PROC for /proc. Prints
 * CPU time in ms, the number of profiles, and resident memory in KiB, once for the first two
 * intervals and once for the time after them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "common/limits.h"
#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "common/text/parse.h"
#include "node-agent/allocator.h"
#include "node-agent/go/heap/heap_profile.h"
#include "node-agent/go/heap/heap_reader.h"
#include "node-agent/go/heap/heap_variables.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/process/process_table.h"
#include "node-agent/runtime/runtime_worker.h"
#include "test/go-matrix/heap_process.h"

static int do_round(struct heap_process *s, size_t *ret_bytes)
{
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, LIMIT_UPLOAD_BYTES);
	r = heap_process_read(s, &out);
	*ret_bytes = out.len;
	return r;
}

/* ---- rounds ---- */

static long status_kib(const char *key)
{
	CLEANUP(buf_fini) struct buf text;
	const char *line;

	buf_init(&text, 65536);
	if (fs_read_at(AT_FDCWD, "/proc/self/status", &text) < 0 || !text.data)
		return -1;
	line = strstr(text.data, key);
	return line ? strtol(line + strlen(key) + 1, NULL, 10) : -1;
}

/* The peak begins anew. */
static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "5", 1) != 1)
		perror("/proc/self/clear_refs");
	closep(&fd);
}

struct bases {
	uint64_t *at;
	size_t n, cap;
};

static int note_base(void *ctx, const struct go_bucket *b, const uint64_t *before, uint64_t *now)
{
	struct bases *bases = ctx;
	uint64_t base = b->next / MEMORY_WINDOW_BYTES * MEMORY_WINDOW_BYTES;

	(void)before;
	*now = 0;
	if (bases->n == bases->cap) {
		bases->cap = bases->cap ? bases->cap * 2 : 64;
		bases->at = realloc(bases->at, bases->cap * sizeof(*bases->at));
		if (!bases->at)
			return -ENOMEM;
	}
	bases->at[bases->n++] = base;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Each window once, with no thought of what is in it. */
static void read_bases(struct bases *bases, const struct byte_source *memory)
{
	static uint8_t data[MEMORY_WINDOW_BYTES];
	uint64_t last = 0, start_ns;
	size_t n = 0;

	qsort(bases->at, bases->n, sizeof(*bases->at), by_value);
	start_ns = clock_thread_cpu_ns();
	for (size_t i = 0; i < bases->n; i++) {
		if (bases->at[i] == last)
			continue;
		last = bases->at[i];
		n += byte_source_read(memory, last, data, sizeof(data)) == 0;
	}
	printf("%.3f %zu\n", (double)(clock_thread_cpu_ns() - start_ns) / 1e6,
	       n * sizeof(data) / 1024);
}

static int measure_floor(struct heap_process *s)
{
	CLEANUP(bucket_history_freep) struct bucket_history *h = NULL;
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	struct bucket_round_result result;
	struct bucket_round round = {0};
	struct go_bucket_format format;
	struct bases bases = {0};
	int r;

	r = go_reader_open(s->reader, &s->id, &o);
	if (r < 0)
		return r;
	format = (struct go_bucket_format){GO_BUCKET_MEMORY,
					   heap_counts_words(o->runtime->image.minor),
					   o->runtime->text, o->runtime->n_modules};
	round = (struct bucket_round){o->runtime->windows, &format, 0, UINT64_MAX};
	r = heap_variables_buckets(o->runtime, &format, &round.head_address);
	if (r == 0)
		r = heap_history_new(&h, BUCKET_HISTORY_FROM_NOW);
	if (r == 0)
		r = bucket_history_round(h, &round, note_base, &bases, &result);
	if (r == 0)
		read_bases(&bases, &o->target.memory);
	free(bases.at);
	return r;
}

static int do_floor(const char *pid)
{
	CLEANUP(heap_process_fini) struct heap_process s;
	int r = heap_process_init(&s, pid, BUCKET_HISTORY_FROM_NOW);

	return r == 0 ? measure_floor(&s) : r;
}

static int do_rounds(const char *pid, const char *times)
{
	CLEANUP(heap_process_fini) struct heap_process s;
	uint64_t n = 0;
	long floor;
	int r = parse_u64(times, strlen(times), 1, 1000000, &n);

	if (r == 0)
		r = heap_process_init(&s, pid, BUCKET_HISTORY_FROM_NOW);
	else
		s = (struct heap_process){0};
	floor = status_kib("VmRSS");
	for (uint64_t i = 0; r == 0 && i < n; i++) {
		uint64_t start_ns;
		size_t bytes = 0;

		forget_peak();
		start_ns = clock_thread_cpu_ns();
		r = do_round(&s, &bytes);
		printf("%.3f %ld %ld %zu %zu\n", (double)(clock_thread_cpu_ns() - start_ns) / 1e6,
		       status_kib("VmHWM") - floor, status_kib("VmRSS") - floor,
		       s.reading.round.n_buckets, bytes);
	}
	return r;
}

/* ---- every ---- */

static int do_every(const char *pid, const char *text)
{
	CLEANUP(heap_process_fini) struct heap_process s;
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t ms = 0;
	size_t bytes;
	int r = parse_u64(text, strlen(text), 1, 1000000, &ms);

	if (r == 0)
		r = heap_process_init(&s, pid, BUCKET_HISTORY_FROM_NOW);
	else
		s = (struct heap_process){0};
	while (r == 0) {
		r = do_round(&s, &bytes);
		if (r < 0 || poll(&in, 1, (int)ms) != 0)
			break;
	}
	return r;
}

/* ---- worker ---- */

static void on_profile(void *ctx, const struct runtime_upload *u)
{
	uint64_t *n = ctx;

	(void)u;
	(*n)++;
}

static void on_end(void *ctx)
{
	loop_stop(ctx);
}

/* All of it is the worker's: this program does nothing meanwhile. */
static int do_worker(const char *proc, uint64_t interval_ms, uint64_t seconds)
{
	uint64_t n_profiles = 0, start_ns;
	const struct go_profiler_config profiler = {.heap = true};
	struct runtime_worker_config cfg = {
		.ops = &go_runtime_ops,
		.config = &profiler,
		.proc_root = proc,
		.interval_ns = interval_ms * NS_PER_MS,
		.on_profile = on_profile,
		.ctx = &n_profiles,
	};
	struct runtime_worker *worker = NULL;
	struct process_table *processes = NULL;
	struct metrics *ms = NULL;
	struct loop_source *end;
	struct loop *loop = NULL;
	struct err err = {""};
	struct timespec cpu;
	int r = loop_new(&loop);

	if (r == 0)
		r = metrics_new(&ms);
	if (r == 0)
		r = process_table_new(&processes, &(struct process_table_config){.proc_root = proc},
				      &err);
	if (r == 0)
		r = process_table_scan(processes) < 0 ? -EIO : 0;
	cfg.processes = processes;
	if (r == 0)
		r = runtime_worker_new(&worker, loop, ms, &cfg, &err);
	if (r == 0)
		r = loop_add_timer(loop, on_end, loop, &end);
	for (int i = 0; r == 0 && i < 2; i++) { /* the first profiles are not what each costs */
		uint64_t before = n_profiles;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
		start_ns = (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec;
		loop_set_timer(end, i == 0 ? 2 * interval_ms * NS_PER_MS : seconds * NS_PER_S);
		r = loop_run(loop);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
		printf("%.3f %llu %ld\n",
		       (double)((uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec -
				start_ns) /
			       1e6,
		       (unsigned long long)(n_profiles - before), status_kib("VmRSS"));
	}
	runtime_worker_free(worker);
	process_table_free(processes);
	loop_free(loop);
	metrics_free(ms);
	return r;
}

static int run(int argc, char **argv)
{
	uint64_t interval_ms, seconds;

	if (argc == 3 && strcmp(argv[1], "floor") == 0)
		return do_floor(argv[2]);
	if (argc == 4 && strcmp(argv[1], "rounds") == 0)
		return do_rounds(argv[2], argv[3]);
	if (argc == 4 && strcmp(argv[1], "every") == 0)
		return do_every(argv[2], argv[3]);
	if (argc == 5 && strcmp(argv[1], "worker") == 0 &&
	    parse_u64(argv[3], strlen(argv[3]), 1, 1000000, &interval_ms) == 0 &&
	    parse_u64(argv[4], strlen(argv[4]), 1, 1000000, &seconds) == 0)
		return do_worker(argv[2], interval_ms, seconds);
	fprintf(stderr, "usage: go_cost floor PID | rounds PID N | every PID MS | worker PROC "
			"INTERVAL_MS SECONDS\n");
	return -EINVAL;
}

int main(int argc, char **argv)
{
	int r;

	allocator_setup();
	r = run(argc, argv);

	if (r < 0)
		fprintf(stderr, "go_cost: %s\n", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
