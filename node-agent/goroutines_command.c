/*
 * A process can have several Go runtimes: a Go program has exactly one, its own, but any
 * other program may have loaded libraries built with -buildmode=c-shared, each with a
 * runtime. So the executable is tried first, and if it is not Go's, all libraries.
 *
 * With several files, some may fail while others succeed. What to print depends on the whole:
 * if the only Go file fails, its error is the command's; if one of several fails, that is a
 * warning. The first failure is therefore held back until another file follows or the end is
 * reached.
 */
#include "node-agent/goroutines_command.h"

#include <errno.h>
#include <inttypes.h>

#include "common/system/clock.h"
#include "common/text/parse.h"
#include "node-agent/go/goroutine/goroutine_reader.h"
#include "node-agent/go/image/go_reader.h"
#include "node-agent/procfs/proc_maps.h"
#include "node-agent/procfs/procfs.h"

#define TEXT_MAX_BYTES ((size_t)256 * 1024 * 1024)
#define MAPS_MAX_BYTES ((size_t)16 * 1024 * 1024)
#define NAME_BYTES 256u
#define ARGUMENTS "PID [--pprof FILE]"

struct command {
	pid_t pid;
	const char *pprof; /* path of the pprof to write; NULL to print text */
};

/* The files of the process, one after the other. */
struct search {
	const struct command *command;
	struct go_reader *reader;
	struct program_id id; /* with the file that is being read */
	size_t n_read;        /* files whose runtime was read */
	size_t n_failed;      /* files whose runtime could not be read */
	/* the first one of these, held back */
	struct program_id failed;
	int error;
};

static int parse(char **args, struct command *ret, struct err *err)
{
	bool has_file = args[0] && args[1] && strcmp(args[1], "--pprof") == 0 && args[2];
	uint64_t pid = 0;

	if (!args[0] || (args[1] && (!has_file || args[3])))
		return err_set(err, -EINVAL, "usage: goroutines " ARGUMENTS);
	if (parse_u64(args[0], strlen(args[0]), 1, INT32_MAX, &pid) < 0)
		return err_set(err, -EINVAL, "\"%s\" is not a process id", args[0]);
	*ret = (struct command){.pid = (pid_t)pid, .pprof = has_file ? args[2] : NULL};
	return 0;
}

/* ---- messages ---- */

struct naming {
	uint64_t ino;
	char *to; /* NAME_BYTES */
};

/*
 * Copies the path of the file. The process chooses it, so control characters must not reach a
 * terminal.
 */
static int on_map(void *ctx, const char *line, size_t len)
{
	struct naming *n = ctx;
	struct proc_map m;
	size_t i;

	if (proc_map_parse(line, len, &m) < 0 || m.ino != n->ino || m.path_len == 0)
		return 0;
	for (i = 0; i < m.path_len && i < NAME_BYTES - 1; i++)
		n->to[i] = m.path[i] >= ' ' && m.path[i] != 0x7f ? m.path[i] : '?';
	n->to[i] = '\0';
	return 1;
}

static void name_file(struct search *s, const struct program_id *id, char to[static NAME_BYTES])
{
	AUTO_CLOSE int fd = procfs_open_process(go_reader_root(s->reader), id->pid);
	struct naming naming = {id->library.ino, to};

	if (id->library.ino == 0)
		snprintf(to, NAME_BYTES, "executable");
	else if (fd < 0 || procfs_each_map(fd, MAPS_MAX_BYTES, on_map, &naming) <= 0)
		snprintf(to, NAME_BYTES, "library with inode %" PRIu64, id->library.ino);
}

static void print_failure(struct search *s, const struct program_id *id, int error)
{
	char name[NAME_BYTES];

	name_file(s, id, name);
	fprintf(stderr, "process %d, %s: %s\n", (int)id->pid, name, go_reader_error(error));
}

static void add_failed(struct search *s, int error)
{
	if (s->n_failed == 1)
		print_failure(s, &s->failed, s->error);
	if (s->n_failed++ > 0) {
		print_failure(s, &s->id, error);
		return;
	}
	s->failed = s->id;
	s->error = error;
}

/* Appends to the line with the number of goroutines how many of them lack something. */
static void print_losses(const struct goroutine_reading *r)
{
	const struct {
		uint64_t n;
		const char *text;
	} losses[] = {
		{r->n_running, "running and therefore without a stack"},
		{r->n_moved, "without a stack because they kept moving while they were read"},
		{r->n_limited, "without a stack because all stacks together are too large"},
		{r->n_unreadable, "without a stack because it cannot be read"},
		{r->n_broken, "with a part of their stack because the rest cannot be unwound"},
		{r->n_cut, "with a part of their stack because it is too deep"},
		{r->n_bad, "more not counted because they are invalid"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		if (losses[i].n > 0)
			printf(", %" PRIu64 " %s", losses[i].n, losses[i].text);
	}
}

static int print(struct search *s, const struct buf *text, const struct goroutine_reading *r,
		 struct err *err)
{
	char name[NAME_BYTES];

	printf("%s%" PRIu64 " %s", s->n_read > 0 ? "\n" : "", r->n_goroutines,
	       r->n_goroutines == 1 ? "goroutine" : "goroutines");
	if (s->id.library.ino != 0) {
		name_file(s, &s->id, name);
		printf(" of %s", name);
	}
	print_losses(r);
	printf("\n\n");
	(void)fwrite(text->data, 1, text->len, stdout);
	if (fflush(stdout) != 0 || ferror(stdout))
		return err_set(err, errno ? -errno : -EIO, "standard output: %m");
	return 0;
}

static int write_file(const char *path, const struct buf *pprof, struct err *err)
{
	FILE *f = fopen(path, "we");
	int r = 0;

	if (!f)
		return err_set(err, -errno, "open %s: %m", path);
	if (fwrite(pprof->data, 1, pprof->len, f) != pprof->len)
		r = err_set(err, -EIO, "write %s: %m", path);
	if (fclose(f) != 0 && r == 0)
		r = err_set(err, -errno, "write %s: %m", path);
	return r;
}

/* ---- files of the process ---- */

static int read_runtime(struct search *s, struct buf *out, struct goroutine_reading *ret)
{
	const struct goroutine_reader_config cfg = {.wait_reasons = true};
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	uint64_t now_ns;
	int r = go_reader_detect(s->reader, &s->id);

	if (r <= 0)
		return r < 0 ? r : -ENOEXEC;
	r = go_reader_open(s->reader, &s->id, &o);
	if (r < 0)
		return r;
	if (s->command->pprof)
		return goroutine_reader_read(o->runtime, &cfg, out, ret);
	now_ns = program_target_shares_clock(&o->target) ? clock_monotonic_ns() : 0;
	return goroutine_reader_text(o->runtime, now_ns, out, ret);
}

/*
 * Reads s->id's file and prints or writes its goroutines. Returns 0, also if it is not a Go
 * file or cannot be read, or the error of writing.
 */
static int read_file(struct search *s, struct err *err)
{
	struct goroutine_reading reading = {0};
	CLEANUP(buf_fini) struct buf out;
	int r;

	buf_init(&out, TEXT_MAX_BYTES);
	r = read_runtime(s, &out, &reading);
	if (r == -ENOEXEC)
		return 0;
	if (r < 0) {
		add_failed(s, r);
		return 0;
	}
	r = s->command->pprof ? write_file(s->command->pprof, &out, err)
			      : print(s, &out, &reading, err);
	s->n_read++;
	return r;
}

static int read_libraries(struct search *s, struct err *err)
{
	AUTO_FREE struct file_id *ids = calloc(GO_READER_LIBRARIES_MAX, sizeof(*ids));
	int n = -ENOMEM, r = 0;

	if (ids)
		n = go_reader_libraries(s->reader, &s->id, ids, GO_READER_LIBRARIES_MAX);
	if (n < 0)
		return err_set(err, n, "process %d: %s", (int)s->id.pid, go_reader_error(n));
	for (int i = 0; r == 0 && i < n; i++) {
		s->id.library = ids[i];
		/* a pprof is of one runtime: the first that can be read */
		if (s->n_read == 0 || !s->command->pprof)
			r = read_file(s, err);
	}
	return r;
}

static int conclude(struct search *s, struct err *err)
{
	char name[NAME_BYTES];
	int pid = (int)s->id.pid;

	if (s->n_read > 0) {
		if (s->n_failed == 1)
			print_failure(s, &s->failed, s->error);
		return 0;
	}
	if (s->n_failed == 0)
		return err_set(err, -ENOEXEC, "process %d: %s", pid, go_reader_error(-ENOEXEC));
	if (s->n_failed > 1)
		return err_set(err, s->error, "process %d: none of its Go runtimes can be read",
			       pid);
	if (s->failed.library.ino == 0)
		return err_set(err, s->error, "process %d: %s", pid, go_reader_error(s->error));
	name_file(s, &s->failed, name);
	return err_set(err, s->error, "process %d, %s: %s", pid, name, go_reader_error(s->error));
}

static int run(char **args, struct err *err)
{
	CLEANUP(go_reader_freep) struct go_reader *reader = NULL;
	struct command c = {0};
	struct search s = {.command = &c};
	int r = parse(args, &c, err);

	if (r < 0)
		return r;
	r = go_reader_new(&reader, NULL);
	if (r == 0)
		r = go_reader_identify(reader, c.pid, &s.id);
	if (r < 0)
		return err_set(err, r, "process %d: %s", (int)c.pid, go_reader_error(r));
	s.reader = reader;
	r = read_file(&s, err);
	if (r == 0 && s.n_read == 0)
		r = read_libraries(&s, err);
	return r < 0 ? r : conclude(&s, err);
}

const struct agent_command goroutines_command = {
	.name = "goroutines",
	.arguments = ARGUMENTS,
	.help = "print where the goroutines of a Go process are, the most common place first, or "
		"write them to FILE as a pprof",
	.run = run,
};
