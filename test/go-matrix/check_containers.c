/*
 * check_containers PROC PROGRAM OUTPUT: runs the agent's thread with PROC, an empty folder, for
 * /proc, then starts PROGRAM, which is test/go-matrix/counters and writes to OUTPUT what its
 * counters should be. Checks that the metrics have these values, and that gauges of the process
 * disappear when it exits.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/system/clock.h"
#include "common/system/fs.h"
#include "common/system/loop.h"
#include "common/telemetry/metrics.h"
#include "node-agent/go/profile/go_profiler.h"
#include "node-agent/process/process_table.h"
#include "node-agent/runtime/runtime_worker.h"

#define POLL_NS (100 * NS_PER_MS)
#define START_AFTER_POLLS 25 /* the agent has scanned /proc twice */
#define GIVE_UP_AFTER_POLLS 300
#define TEXT_MAX_BYTES ((size_t)1 << 20)
#define SAMPLED_SLACK 0.2 /* of the profile of 200 MB by 512 KiB: four standard deviations */
#define SPANS_SLACK 0.02  /* before 1.19 a span counts in full as soon as it is in use */

struct watch {
	struct loop *loop;
	struct loop_source *timer;
	struct metrics *ms;
	struct process_table *processes;
	const char *proc, *program, *output;
	int polls;
	pid_t pid;
	int in; /* standard input of the program, which exits when this is closed */
	double got, want;
	enum {
		BEFORE,
		RUNS,
		STOPPED,
		GOOD,
	} state;
};

static int start_program(struct watch *w)
{
	char name[64], target[64];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	w->pid = fork();
	if (w->pid == 0) {
		int out = open(w->output, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fds[0], 0);
		dup2(out, 1);
		execl(w->program, w->program, (char *)NULL);
		_exit(127);
	}
	close(fds[0]);
	w->in = fds[1];
	(void)snprintf(name, sizeof(name), "%s/%d", w->proc, (int)w->pid);
	(void)snprintf(target, sizeof(target), "/proc/%d", (int)w->pid);
	return w->pid < 0 || symlink(target, name) < 0 ? -errno : 0;
}

static void stop_program(struct watch *w)
{
	char name[64];

	close(w->in);
	waitpid(w->pid, NULL, 0);
	(void)snprintf(name, sizeof(name), "%s/%d", w->proc, (int)w->pid);
	(void)unlink(name);
	w->pid = 0;
}

/* Returns the number after name, whose end is a blank, or -1 if name is not in text. */
static double value_in(const char *text, const char *name)
{
	const char *at = text ? strstr(text, name) : NULL;
	const char *blank = at ? strchr(at, ' ') : NULL;

	return blank ? strtod(blank, NULL) : -1;
}

static double metric_now(const struct watch *w, const char *name)
{
	CLEANUP(buf_fini) struct buf text;
	char line[96];

	buf_init(&text, TEXT_MAX_BYTES);
	if (metrics_write(w->ms, &text) < 0)
		return -1;
	(void)snprintf(line, sizeof(line), "\n%s{", name);
	return value_in(text.data, line);
}

/* Returns the value that the program printed, or -1 if it has not yet printed all. */
static double printed(const struct watch *w, const char *name)
{
	CLEANUP(buf_fini) struct buf text;

	buf_init(&text, TEXT_MAX_BYTES);
	return fs_read_at(AT_FDCWD, w->output, &text) < 0 || !text.data ||
			       !strstr(text.data, "ready")
		       ? -1
		       : value_in(text.data, name);
}

static double slack(const char *program)
{
	const char *minor = strstr(program, "/1.");
	long n = minor ? strtol(minor + 3, NULL, 10) : 19; /* Debian's is 1.19 */

	return n < 16 ? SAMPLED_SLACK : n < 19 ? SPANS_SLACK : 0;
}

static bool is_near(struct watch *w, const char *metric, const char *name, double most)
{
	w->got = metric_now(w, metric);
	w->want = printed(w, name);
	return w->want > 0 && w->got >= w->want * (1 - most) && w->got <= w->want * (1 + most);
}

static bool is_reported(struct watch *w)
{
	double most = slack(w->program);

	return is_near(w, "container_go_gc_cycles_total", "cycles ", 0) &&
	       is_near(w, "container_go_alloc_bytes_total", "alloc_bytes ", most) &&
	       (most == SAMPLED_SLACK ||
		is_near(w, "container_go_alloc_objects_total", "alloc_objects ", most)) &&
	       metric_now(w, "container_go_goroutines") == 1;
}

static void on_poll(void *ctx)
{
	struct watch *w = ctx;

	w->polls++;
	if (process_table_scan(w->processes) < 0)
		w->polls = GIVE_UP_AFTER_POLLS;
	if (w->state == BEFORE && w->polls == START_AFTER_POLLS) {
		w->state = RUNS;
		if (start_program(w) < 0)
			w->polls = GIVE_UP_AFTER_POLLS;
	} else if (w->state == RUNS && is_reported(w)) {
		stop_program(w);
		w->state = STOPPED;
	} else if (w->state == STOPPED && metric_now(w, "container_go_goroutines") < 0 &&
		   metric_now(w, "container_go_gc_cycles_total") > 0) {
		w->state = GOOD;
	}
	if (w->state == GOOD || w->polls >= GIVE_UP_AFTER_POLLS)
		loop_stop(w->loop);
	else
		loop_set_timer(w->timer, POLL_NS);
}

static void on_profile(void *ctx, const struct runtime_upload *u)
{
	(void)ctx;
	(void)u;
}

static int run(struct watch *w)
{
	const struct go_profiler_config profiler = {.heap = true};
	struct runtime_worker_config cfg = {
		.ops = &go_runtime_ops,
		.config = &profiler,
		.proc_root = w->proc,
		.interval_ns = NS_PER_S,
		.on_profile = on_profile,
	};
	struct runtime_worker *worker = NULL;
	struct err err = {""};
	int r = loop_new(&w->loop);

	if (r == 0)
		r = metrics_new(&w->ms);
	if (r == 0)
		r = process_table_new(&w->processes,
				      &(struct process_table_config){.proc_root = w->proc}, &err);
	if (r == 0)
		r = process_table_scan(w->processes) < 0 ? -EIO : 0;
	cfg.processes = w->processes;
	if (r == 0)
		r = runtime_worker_new(&worker, w->loop, w->ms, &cfg, &err);
	if (r == 0)
		r = loop_add_timer(w->loop, on_poll, w, &w->timer);
	if (r == 0) {
		loop_set_timer(w->timer, POLL_NS);
		r = loop_run(w->loop);
	}
	runtime_worker_free(worker);
	process_table_free(w->processes);
	loop_remove(w->timer);
	loop_free(w->loop);
	metrics_free(w->ms);
	return r;
}

int main(int argc, char **argv)
{
	struct watch w = {0};
	int r;

	if (argc != 4) {
		fprintf(stderr, "usage: check_containers PROC PROGRAM OUTPUT\n");
		return 2;
	}
	w.proc = argv[1];
	w.program = argv[2];
	w.output = argv[3];
	r = run(&w);
	if (w.pid > 0)
		stop_program(&w);
	if (r == 0 && w.state == GOOD) {
		printf("reported within %d ms\n", w.polls * 100);
		return 0;
	}
	printf("%s: state %d, %.0f instead of %.0f\n", strerror(-r), (int)w.state, w.got, w.want);
	return 1;
}
