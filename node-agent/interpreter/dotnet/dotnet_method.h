/*
 * Names of the methods of .NET, read from the memory of a process: from the runtime's description
 * of the method to the metadata of its assembly. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_DOTNET_METHOD_H
#define NODE_AGENT_INTERPRETER_DOTNET_METHOD_H

#include "node-agent/interpreter/dotnet/dotnet_code.h"
#include "node-agent/interpreter/interpreter_frame.h"

/*
 * code is a body, at an address in it. Sets function, file and line of *ret. Returns 0, -EBADMSG if
 * the code has no MethodDesc, or an error of interpreter_read().
 */
int dotnet_method_read(const struct dotnet_reader *k, const struct dotnet_code *code, uint64_t at,
		       struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_DOTNET_METHOD_H */
