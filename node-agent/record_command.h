/*
 * "coroot-node-agent record": profiles a process, a container, a command or the whole machine for a
 * while, without a server, and prints or writes what it found.
 */
#ifndef NODE_AGENT_RECORD_COMMAND_H
#define NODE_AGENT_RECORD_COMMAND_H

#include "common/agent/agent_main.h"

extern const struct agent_command record_command;

#endif /* NODE_AGENT_RECORD_COMMAND_H */
