#include "node-agent/goroutines_command.h"

#include <errno.h>
#include <inttypes.h>

#include "common/parse.h"
#include "node-agent/go/go_reader.h"
#include "node-agent/goroutine/goroutine_reader.h"

#define TEXT_MAX_BYTES ((size_t)256 * 1024 * 1024)

struct command {
	pid_t pid;
	const char *pprof; /* NULL: text to standard output */
};

static int parse(char **args, struct command *ret, struct err *err)
{
	bool has_file = args[0] && args[1] && strcmp(args[1], "--pprof") == 0 && args[2];
	uint64_t pid = 0;

	if (!args[0] || (args[1] && (!has_file || args[3])))
		return err_set(err, -EINVAL, "usage: %s PID [--pprof FILE]", GOROUTINES_COMMAND);
	if (parse_u64(args[0], strlen(args[0]), 1, INT32_MAX, &pid) < 0)
		return err_set(err, -EINVAL, "\"%s\" is not a process id", args[0]);
	*ret = (struct command){(pid_t)pid, has_file ? args[2] : NULL};
	return 0;
}

/* ---- what went wrong, in words ---- */

static const struct {
	int error;
	const char *text;
} reasons[] = {
	{-ESRCH, "there is no such process"},
	{-ENODATA, "it has ended"},
	{-EACCES, "it may not be read: that needs the same user, or CAP_SYS_PTRACE"},
	{-EPERM, "it may not be read: that needs the same user, or CAP_SYS_PTRACE"},
	{-ENOENT, "it is not a Go program, or one that cannot be understood"},
	{-ENOEXEC, "it is not a Go program"},
	{-ENOTSUP, "its release of Go is not known here: 1.13 to 1.27 are"},
	{-EBADMSG, "its memory cannot be understood"},
	{-E2BIG, "it has more than 1,000,000 goroutines"},
	{-ETIME, "it takes too long"},
	{-ENOBUFS, "it has too many different stacks"},
	{-EFBIG, "it has too many different stacks"},
};

static int explain(const struct command *c, int error, struct err *err)
{
	const char *text = strerror(-error);

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error == error)
			text = reasons[i].text;
	}
	return err_set(err, error, "process %d: %s", (int)c->pid, text);
}

/* ---- reading ---- */

static int read_goroutines(const struct command *c, struct buf *out, struct goroutine_reading *ret)
{
	const struct goroutine_reader_config cfg = {.wait_reasons = true};
	CLEANUP(go_reader_freep) struct go_reader *reader = NULL;
	CLEANUP(go_opened_closep) struct go_opened *o = NULL;
	struct go_process_id id;
	int r = go_reader_new(&reader, NULL);

	if (r == 0)
		r = go_reader_find(reader, c->pid, &id);
	if (r < 0)
		return r;
	r = go_reader_open(reader, &id, &o);
	if (r < 0)
		return r;
	return c->pprof ? goroutine_reader_read(o->runtime, &cfg, out, ret)
			: goroutine_reader_text(o->runtime, out, ret);
}

/* What somebody who counts wants to know. */
static void print_losses(const struct goroutine_reading *r)
{
	const struct {
		uint64_t n;
		const char *text;
	} losses[] = {
		{r->n_running, "without a stack: they run"},
		{r->n_moved, "without a stack: they moved while they were read"},
		{r->n_limited, "without a stack: there are too many bytes of stacks"},
		{r->n_unreadable, "without a stack: it cannot be read"},
		{r->n_broken, "with a part of their stack: the rest is not understood"},
		{r->n_cut, "with a part of their stack: it is too deep"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(losses); i++) {
		if (losses[i].n > 0)
			printf(", %" PRIu64 " %s", losses[i].n, losses[i].text);
	}
}

static int print(const struct buf *text, const struct goroutine_reading *r, struct err *err)
{
	printf("%" PRIu64 " %s", r->n_goroutines,
	       r->n_goroutines == 1 ? "goroutine" : "goroutines");
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

int goroutines_command(char **args, struct err *err)
{
	CLEANUP(buf_fini) struct buf out;
	struct goroutine_reading reading = {0};
	struct command c = {0};
	int r;

	buf_init(&out, TEXT_MAX_BYTES);
	r = parse(args, &c, err);
	if (r < 0)
		return r;
	r = read_goroutines(&c, &out, &reading);
	if (r < 0)
		return explain(&c, r, err);
	return c.pprof ? write_file(c.pprof, &out, err) : print(&out, &reading, err);
}
