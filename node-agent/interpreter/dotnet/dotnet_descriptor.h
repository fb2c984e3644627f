/*
 * What .NET's runtime says of its own structures, from release 9 on: a text in JSON, with offsets
 * of fields, constants, and numbers of variables whose addresses are beside it. Pure.
 *
 * Source: contract-descriptor.md and data_descriptor.md in docs/design/datacontracts of
 * dotnet/runtime.
 */
#ifndef NODE_AGENT_INTERPRETER_DOTNET_DESCRIPTOR_H
#define NODE_AGENT_INTERPRETER_DOTNET_DESCRIPTOR_H

#include "common/base.h"
#include "node-agent/interpreter/dotnet_layout.h"

#define DOTNET_DESCRIPTION_BYTES 65536u /* 3 KB in .NET 9, 10 KB in .NET 10 */
#define DOTNET_POINTERS_MAX 256u

struct dotnet_description {
	bool has_code;         /* the fields of code heaps are among those that it has */
	int code_map_variable; /* number of the variable; -1: it does not say */
};

/*
 * Sets those fields of *layout that the text has, which has n bytes. Returns 0, -EBADMSG if that is
 * no description, -ENOTSUP if it is of a kind that is not known, or -ENOMEM. On failure, *layout
 * may be changed.
 */
int dotnet_description_parse(struct dotnet_layout *layout, const char *text, size_t n,
			     struct dotnet_description *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_DOTNET_DESCRIPTOR_H */
