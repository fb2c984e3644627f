/* The name of a frame in code that .NET's runtime has made. Pure. */
#ifndef NODE_AGENT_INTERPRETER_DOTNET_FRAME_H
#define NODE_AGENT_INTERPRETER_DOTNET_FRAME_H

#include "node-agent/interpreter/dotnet_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

/* As interpreter_ops.name_frame. */
int dotnet_frame_name(const struct dotnet_layout *layout, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_DOTNET_FRAME_H */
