/* The source line of a frame in code that .NET's runtime has compiled. Pure. */
#ifndef NODE_AGENT_INTERPRETER_DOTNET_LINE_H
#define NODE_AGENT_INTERPRETER_DOTNET_LINE_H

#include "node-agent/dotnet/pe_image.h"
#include "node-agent/interpreter/dotnet/dotnet_code.h"
#include "node-agent/interpreter/interpreter_frame.h"

struct dotnet_place {
	const struct dotnet_code *code; /* a body; borrowed */
	uint64_t at;                    /* an address in it */
	uint64_t base;                  /* of its assembly's image */
	uint32_t row;                   /* of MethodDef */
};

/* Sets file and line of *ret if the assembly, which is pe, has a PDB; else they stay. */
void dotnet_line_add(const struct dotnet_reader *k, const struct dotnet_place *place,
		     const struct pe_image *pe, const struct byte_source *image,
		     struct interpreter_name *ret);

#endif /* NODE_AGENT_INTERPRETER_DOTNET_LINE_H */
