/*
 * coroot-node-agent goroutines PID: prints where the goroutines of a Go process are. For a program
 * that hangs: from outside and without its help; the process is not stopped and nothing is written
 * to it.
 */
#ifndef NODE_AGENT_GOROUTINES_COMMAND_H
#define NODE_AGENT_GOROUTINES_COMMAND_H

#include "common/agent/agent_main.h"

extern const struct agent_command goroutines_command;

#endif /* NODE_AGENT_GOROUTINES_COMMAND_H */
