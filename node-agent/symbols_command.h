/* The command "symbols": sends names of functions to where profiles are kept (docs/symbols.md). */
#ifndef NODE_AGENT_SYMBOLS_COMMAND_H
#define NODE_AGENT_SYMBOLS_COMMAND_H

#include "common/agent/agent_main.h"

extern const struct agent_command symbols_command;

#endif /* NODE_AGENT_SYMBOLS_COMMAND_H */
