/*
 * coroot-node-agent goroutines PID: where the goroutines of a Go process are, on standard output. For a look at
 * a program that hangs, from outside, without its help; the process is not stopped, and nothing is written to it.
 */
#ifndef NODE_AGENT_GOROUTINES_COMMAND_H
#define NODE_AGENT_GOROUTINES_COMMAND_H

#include "common/base.h"
#include "common/err.h"

#define GOROUTINES_COMMAND "goroutines"
#define GOROUTINES_COMMAND_HELP                                                                 \
	"  goroutines PID [--pprof FILE]\n"                                                     \
	"        print where the goroutines of a Go process are, the most common place first, " \
	"and exit; or write that to FILE as a pprof\n"

/* args: what follows the word, up to NULL. 0; -errno with one line in err. */
int goroutines_command(char **args, struct err *err) MUST_CHECK;

#endif /* NODE_AGENT_GOROUTINES_COMMAND_H */
