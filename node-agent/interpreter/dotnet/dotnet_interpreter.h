/* .NET 9 and newer (CoreCLR), as a library or in an executable that has all in one file. */
#ifndef NODE_AGENT_INTERPRETER_DOTNET_INTERPRETER_H
#define NODE_AGENT_INTERPRETER_DOTNET_INTERPRETER_H

#include "node-agent/interpreter/interpreter_ops.h"

extern const struct interpreter_ops dotnet_interpreter_ops;

#endif /* NODE_AGENT_INTERPRETER_DOTNET_INTERPRETER_H */
