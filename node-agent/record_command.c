/*
 * Standard output is for the file (-o -), or else for the table. With a command it is the
 * command's, and the table goes to standard error, where the line of progress and all messages are.
 * The file is written before the end of the command is waited for, which may take long after
 * Ctrl-C.
 */
#include "node-agent/record_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/flame/flame_tree.h"
#include "common/flame/pprof_stacks.h"
#include "common/limits.h"
#include "common/pprof/pprof_decode.h"
#include "common/system/clock.h"
#include "common/system/open_files.h"
#include "common/telemetry/log.h"
#include "node-agent/procfs/procfs.h"
#include "node-agent/record/record_go.h"
#include "node-agent/record/record_options.h"
#include "node-agent/record/record_session.h"
#include "node-agent/record/record_writer.h"

#define OUTPUT_MAX_BYTES ((size_t)1024 << 20)
#define ARENA_MAX_BYTES ((size_t)1024 << 20)
#define VIEW_NODES 100000u
#define VIEW_FUNCTIONS 2000u
#define TITLE_BYTES 160u
#define DEFAULT_COLUMNS 100u

/* One run of the command. */
struct recorder {
	struct record_options o;
	struct record_child child;
	struct record_result result;
	int columns;   /* of the terminal that shows progress; 0: there is none */
	bool progress; /* a line of it is on the screen */
	char title[TITLE_BYTES];
	char subtitle[TITLE_BYTES];
	struct arena arena;
	struct profile profile;
	struct record_type type;
	struct flame_tree *tree;
	struct flame_view view;
};

/* ---- progress ---- */

static int columns_of(int fd)
{
	struct winsize size;

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
								    : (int)DEFAULT_COLUMNS;
}

static void clear_progress(struct recorder *c)
{
	if (c->progress)
		fprintf(stderr, "\r\033[K");
	c->progress = false;
}

static void show_progress(void *ctx, const struct record_progress *p)
{
	static const char *const phases[] = {
		[RECORD_PREPARING] = "building unwinding tables",
		[RECORD_RECORDING] = "recording",
		[RECORD_NAMING] = "naming",
		[RECORD_DONE] = "done",
	};
	struct recorder *c = ctx;
	char line[160];
	int n = 0;

	if (c->columns == 0)
		return;
	n = snprintf(line, sizeof(line), "%s", phases[p->phase]);
	if (p->phase == RECORD_RECORDING && c->o.duration_ns != UINT64_MAX)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ": %.1f of %.1f s",
			      (double)p->elapsed_ns / (double)NS_PER_S,
			      (double)c->o.duration_ns / (double)NS_PER_S);
	else if (p->phase == RECORD_RECORDING)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ": %.1f s",
			      (double)p->elapsed_ns / (double)NS_PER_S);
	if (p->phase == RECORD_RECORDING)
		n += snprintf(line + n, sizeof(line) - (size_t)n,
			      ", %" PRIu64 " samples. Ctrl-C ends it", p->n_samples);
	if (p->phase == RECORD_NAMING && p->n_received > 0)
		n += snprintf(line + n, sizeof(line) - (size_t)n,
			      ": %.1f MiB from debuginfod. Ctrl-C ends that",
			      (double)p->n_received / (double)MIB);
	fprintf(stderr, "\r\033[K%.*s", n < c->columns ? n : c->columns - 1, line);
	fflush(stderr);
	c->progress = true;
}

/* ---- what was recorded ---- */

static void name_process(pid_t pid, char comm[static PROCESS_COMM_BYTES])
{
	AUTO_CLOSE int root = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = root >= 0 ? procfs_open_process(root, pid) : -1;
	struct proc_stat st;

	comm[0] = '\0';
	if (fd >= 0 && procfs_read_stat(fd, &st) == 0)
		memcpy(comm, st.comm, PROCESS_COMM_BYTES);
}

static void make_title(struct recorder *c)
{
	const struct record_options *o = &c->o;
	char comm[PROCESS_COMM_BYTES];

	if (o->n_pids == 1) {
		name_process(o->pids[0], comm);
		snprintf(c->title, TITLE_BYTES, "%s (process %d)", comm[0] ? comm : "?",
			 (int)o->pids[0]);
	} else if (o->n_pids > 1) {
		snprintf(c->title, TITLE_BYTES, "%zu processes", o->n_pids);
	} else if (o->comm || o->container) {
		snprintf(c->title, TITLE_BYTES, "%s", o->comm ? o->comm : o->container);
	} else if (o->command) {
		snprintf(c->title, TITLE_BYTES, "%s", o->command[0]);
	} else if (gethostname(c->title, TITLE_BYTES) < 0) {
		snprintf(c->title, TITLE_BYTES, "this machine");
	}
	c->title[TITLE_BYTES - 1] = '\0';
}

static void make_subtitle(struct recorder *c)
{
	const struct record_result *r = &c->result;
	char total[FLAME_SVG_VALUE_BYTES];

	c->type.format(c->view.node_total[0], total);
	if (c->o.kind == RECORD_CPU)
		snprintf(c->subtitle, TITLE_BYTES,
			 "%s of CPU time: %" PRIu64 " samples in %.2f s, %u a second of each CPU",
			 total, r->n_samples, (double)r->duration_ns / (double)NS_PER_S, c->o.hz);
	else
		snprintf(c->subtitle, TITLE_BYTES, "%s %s", total, c->type.what);
}

/* A profile without samples has its types all the same. */
static void make_empty(struct profile *p, struct arena *arena)
{
	static struct profile_value_type types[] = {{{"samples", 7}, {"count", 5}},
						    {{"cpu", 3}, {"nanoseconds", 11}}};

	*p = (struct profile){.arena = arena, .types = types, .n_types = ARRAY_SIZE(types)};
	p->period_type = types[1];
}

static int add_to_tree(void *ctx, const struct flame_frame *frames, size_t n,
		       struct stack_value value)
{
	return flame_tree_add(ctx, frames, n, value);
}

static int read_recording(struct recorder *c, struct err *err)
{
	const struct flame_view_limits limits = {VIEW_NODES, VIEW_FUNCTIONS, 0};
	int r = 0;

	if (c->result.pprof.len > 0)
		r = pprof_decode(&c->profile, &c->arena, c->result.pprof.data, c->result.pprof.len,
				 err);
	else
		make_empty(&c->profile, &c->arena);
	if (r < 0)
		return r;
	record_type_find(&c->profile, &c->type);
	r = flame_tree_new(&c->tree, NULL);
	if (r == 0)
		r = pprof_stacks_each(&c->profile, c->type.index, add_to_tree, c->tree);
	if (r == 0)
		r = flame_tree_view(c->tree, &limits, &c->view);
	return r;
}

/* ---- output ---- */

/*
 * Whether a file of this name could be written, without opening or making it: what the name stands
 * for may be a FIFO, and the recording may fail.
 */
static int check_writable(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	struct stat st;
	int r = 0;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path);
	if (stat(path, &st) == 0)
		r = S_ISDIR(st.st_mode) ? -EISDIR : access(path, W_OK) < 0 ? -errno : 0;
	else if (errno != ENOENT || access(folder, W_OK | X_OK) < 0)
		r = -errno;
	return r < 0 ? err_set(err, r, "open %s: %s", path, strerror(-r)) : 0;
}

static int write_all(int fd, const struct buf *b)
{
	for (size_t at = 0; at < b->len;) {
		ssize_t n = write(fd, b->data + at, b->len - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int write_output(const struct recorder *c, const struct buf *b, struct err *err)
{
	bool is_stdout = strcmp(c->o.output, "-") == 0;
	int fd = is_stdout ? STDOUT_FILENO
			   : open(c->o.output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int r;

	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", c->o.output);
	r = write_all(fd, b);
	if (!is_stdout && close(fd) < 0 && r == 0)
		r = -errno;
	if (is_stdout && r == -EPIPE)
		return 0; /* "| head" has seen enough */
	return r < 0 ? err_set(err, r, "write %s: %s", is_stdout ? "standard output" : c->o.output,
			       strerror(-r))
		     : 0;
}

static int write_file(struct recorder *c, struct err *err)
{
	const struct record_document d = {
		.pprof = &c->result.pprof,
		.profile = &c->profile,
		.type = c->type,
		.title = c->title,
		.subtitle = c->subtitle,
		.start_ns = (int64_t)(c->result.end_ns - c->result.duration_ns),
		.end_ns = (int64_t)c->result.end_ns,
		.view = &c->view,
	};
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, OUTPUT_MAX_BYTES);
	r = record_writer_write(&out, &d, c->o.format, c->o.for_go_pgo, err);
	return r == 0 ? write_output(c, &out, err) : r;
}

static void say_losses(const struct recorder *c)
{
	const struct record_result *r = &c->result;
	struct record_stacks stacks;

	record_stacks_count(&c->profile, &stacks);
	if (stacks.n_cut > 0)
		fprintf(stderr,
			"%" PRIu64 " of %" PRIu64
			" stacks are not known to be whole: they have a frame [truncated]\n",
			stacks.n_cut, stacks.n);
	if (r->n_early > 0)
		fprintf(stderr,
			"%" PRIu64 " %s before the unwinding tables of the process were there\n",
			r->n_early, r->n_early == 1 ? "stack was taken" : "stacks were taken");
	if (r->tables_late)
		fprintf(stderr, "unwinding tables were still being built when this began; a longer "
				"recording has more whole stacks\n");
	if (r->unknown_language)
		fprintf(stderr, "functions of %s are not shown: its release is not known (%s)\n",
			r->unknown_language, LOG_QUOTED(r->unknown_file));
	if (r->debuginfod_problem[0])
		fprintf(stderr, "debuginfod: %s\n", LOG_QUOTED(r->debuginfod_problem));
	if (r->debuginfod.is_late)
		fprintf(stderr, "debuginfod: the time was up before all debug files were there; "
				"--debuginfod-time 10m waits longer, and what came is kept\n");
	if (r->n_lost > 0)
		fprintf(stderr, "%" PRIu64 " samples were lost\n", r->n_lost);
}

static void say_empty(const struct recorder *c)
{
	const char *what = c->o.comm ? c->o.comm : c->o.container;

	if (!c->result.target_seen && what)
		fprintf(stderr, "no samples: no process %s %s was running\n",
			c->o.comm ? "named" : "of container", what);
	else
		fprintf(stderr, "no samples: what was recorded used no CPU in this time\n");
}

static int print_table(const struct recorder *c)
{
	bool stdout_is_taken = c->o.command || (c->o.output && strcmp(c->o.output, "-") == 0);
	int fd = stdout_is_taken ? STDERR_FILENO : STDOUT_FILENO, columns = columns_of(fd);
	CLEANUP(buf_fini) struct buf text;
	int r;

	buf_init(&text, OUTPUT_MAX_BYTES);
	r = buf_addf(&text, "%s: %s\n", c->title, c->subtitle);
	if (r == 0 && c->view.node_total[0] > 0)
		r = record_report_write(&text, &c->view, &c->type,
					columns > 0 ? (unsigned)columns : DEFAULT_COLUMNS);
	return r == 0 ? write_all(fd, &text) : r;
}

static int finish(struct recorder *c, struct err *err)
{
	int r = read_recording(c, err), e;

	if (r < 0)
		return r;
	make_subtitle(c);
	clear_progress(c);
	r = print_table(c);
	if (r == -EPIPE)
		r = 0; /* as in write_output() */
	if (c->view.node_total[0] == 0)
		say_empty(c);
	say_losses(c);
	/* last: what it needs of the profile it may change */
	e = c->o.output ? write_file(c, err) : 0;
	if (e < 0 || r == 0)
		return e;
	return err_set(err, r, "write the table: %s", strerror(-r));
}

/* ---- run ---- */

static int record_cpu(struct recorder *c, struct err *err)
{
	const struct record_session_config cfg = {&c->o, &c->child, show_progress, c};
	CLEANUP(record_session_freep) struct record_session *s = NULL;
	int r = open_files_require(err);

	if (r == 0)
		r = record_session_new(&s, &cfg, err);
	if ((r == -EPERM || r == -EACCES) && err->msg[0])
		return err_wrap(err, r,
				"recording CPU time needs more rights (--heap and "
				"--goroutine of your own Go programs do not)");
	return r == 0 ? record_session_run(s, &c->result, err) : r;
}

static int record_go(struct recorder *c, struct err *err)
{
	c->result.end_ns = clock_realtime_ns();
	return record_go_read(c->o.pids[0], c->o.kind, &c->result.pprof, err);
}

/* The exit status: that of the command, if there is one. */
static int status_of(struct recorder *c, int r)
{
	if (r < 0)
		return r;
	if (c->child.pid > 0)
		(void)record_child_has_ended(&c->child, true);
	if (c->child.pid == 0 && !c->result.target_seen && (c->o.comm || c->o.container))
		return EXIT_FAILURE;
	return c->child.status;
}

static void recorder_fini(struct recorder *c)
{
	clear_progress(c);
	record_child_fini(&c->child);
	if (c->tree)
		flame_view_fini(&c->view);
	flame_tree_free(c->tree);
	arena_fini(&c->arena);
	buf_fini(&c->result.pprof);
}

static int run(char **args, struct err *err)
{
	CLEANUP(recorder_fini) struct recorder c = {.child = {.go_fd = -1}};
	int r = record_options_parse(args, &c.o, err);

	if (r == 0 && c.o.output && strcmp(c.o.output, "-") != 0)
		r = check_writable(c.o.output, err);
	if (r < 0)
		return r;
	log_set_level(LOG_LEVEL_ERROR);
	signal(SIGPIPE, SIG_IGN);
	/* if the parent ignored it, waitpid(2) would know nothing of a command that has ended */
	signal(SIGCHLD, SIG_DFL);
	arena_init(&c.arena, ARENA_MAX_BYTES);
	buf_init(&c.result.pprof, LIMIT_UPLOAD_BYTES);
	c.columns = columns_of(STDERR_FILENO);
	make_title(&c);
	r = c.o.kind == RECORD_CPU ? record_cpu(&c, err) : record_go(&c, err);
	if (r < 0 && c.child.ended && c.child.status > 0) {
		clear_progress(&c);
		fprintf(stderr, "coroot-node-agent: %s\n", err->msg);
		return c.child.status;
	}
	if (r == 0)
		r = finish(&c, err);
	return status_of(&c, r);
}

const struct agent_command record_command = {
	.name = "record",
	.arguments = RECORD_ARGUMENTS,
	.help = "profile a process, those with a name, a container, a command or the whole machine "
		"without a server, print the functions that took most, and write a pprof, an SVG, "
		"or an HTML, folded or speedscope file",
	.run = run,
};
