/*
 * main() of either agent: its commands, options, --help, log level, error line and exit status.
 *
 * "coroot-node-agent goroutines 812" runs a command of the table; everything else are options, with
 * which the agent serves until it is stopped. A command is either a one-shot tool, without options
 * and log and with arguments of its own, or a whole program with options and commands of its own
 * ("coroot-cluster-agent operator --help").
 */
#ifndef COMMON_AGENT_AGENT_MAIN_H
#define COMMON_AGENT_AGENT_MAIN_H

#include "common/base.h"
#include "common/err.h"
#include "common/options/ignored_flags.h"
#include "common/options/option_def.h"
#include "common/telemetry/log.h"

struct agent_program;

struct agent_command {
	const char *name;      /* NULL ends the table */
	const char *arguments; /* as --help shows them: "PID [--pprof FILE]" */
	const char *help;      /* one sentence without a full stop */
	/*
	 * args: what follows the name, up to NULL. Returns the exit status, or -errno with one line
	 * in err.
	 */
	int (*run)(char **args, struct err *err);
	const struct agent_program *program; /* run instead of it; NULL: none */
	bool hidden;                         /* not in --help: for the agent itself */
};

struct agent_program {
	const char *name; /* "coroot-node-agent", "coroot-cluster-agent operator" */
	const char *version;
	const struct agent_command *commands;
	const struct option_def *options;
	void *opts;                      /* the struct of the options, zeroed */
	const enum log_level *log_level; /* in opts */
	/* Serves until the agent is stopped. Returns 0, or -errno with one line in err. */
	int (*serve)(const void *opts, struct err *err);
	const struct ignored_flag *ignored; /* accepted with a warning; NULL: none */
};

/* Returns the exit status of the process. Errors are one line on stderr. */
int agent_main(const struct agent_program *p, char **argv) MUST_CHECK;

#endif /* COMMON_AGENT_AGENT_MAIN_H */
