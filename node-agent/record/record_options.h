/*
 * The arguments of "coroot-node-agent record" → what to record, for how long, and where to. Pure.
 */
#ifndef NODE_AGENT_RECORD_RECORD_OPTIONS_H
#define NODE_AGENT_RECORD_RECORD_OPTIONS_H

#include <sys/types.h>

#include "common/base.h"
#include "common/err.h"

/* The files that a recording can become, and how their names tell. Pure. */

enum recording_format {
	RECORDING_FORMAT_NONE,
	RECORDING_FORMAT_PPROF,
	RECORDING_FORMAT_FOLDED,
	RECORDING_FORMAT_SPEEDSCOPE,
	RECORDING_FORMAT_SVG,
	RECORDING_FORMAT_HTML,
};

/* By its name as in --format: "pprof". RECORDING_FORMAT_NONE if there is none. */
enum recording_format recording_format_named(const char *name);
/* By the end of a file's name: "x.pb.gz". Likewise. */
enum recording_format recording_format_of_file(const char *path);

/* For messages. */
#define RECORDING_FORMAT_NAMES "pprof, folded, speedscope, svg or html"
#define RECORDING_FORMAT_ENDINGS ".pb.gz, .folded, .speedscope.json, .svg or .html"

#define RECORD_PIDS_MAX 64u

#define RECORD_ARGUMENTS                                                                \
	"[-p PID[,PID]... | --comm NAME | --container ID | -- CMD [ARG]...] [-d TIME] " \
	"[-F HZ] [--heap | --goroutine] [-o FILE] [--format FORMAT] [--for go-pgo] "    \
	"[--include-excluded] [--debuginfod-time TIME] [--python-async-callers]"

enum record_kind {
	RECORD_CPU,
	RECORD_HEAP,      /* what a Go process holds, at this moment */
	RECORD_GOROUTINE, /* where its goroutines are */
};

/* Texts are borrowed from the arguments. */
struct record_options {
	pid_t pids[RECORD_PIDS_MAX];
	size_t n_pids;
	const char *comm;      /* NULL: any */
	const char *container; /* likewise: an id, or its first digits; a systemd unit */
	char **command;        /* with its arguments, up to NULL; NULL: none */
	enum record_kind kind;
	uint64_t duration_ns; /* UINT64_MAX: until the command ends */
	unsigned hz;
	const char *output; /* NULL: the table only; "-": standard output */
	enum recording_format format;
	bool for_go_pgo;
	uint64_t debuginfod_ns; /* for debug files from debuginfod servers; 0: none is asked */
	bool python_async_callers;
	bool include_excluded; /* also what the user excluded from profiling */
};

/*
 * args: what follows the name of the command, up to NULL. Returns 0, or -EINVAL with one line in
 * err.
 */
int record_options_parse(char **args, struct record_options *ret, struct err *err) MUST_CHECK;

/* Whether nothing says whose samples to take, so all are. */
static inline bool record_options_is_whole_machine(const struct record_options *o)
{
	return o->n_pids == 0 && !o->comm && !o->container && !o->command;
}

#endif /* NODE_AGENT_RECORD_RECORD_OPTIONS_H */
