/* What code at an address is that .NET's runtime has made or loaded. Pure. */
#ifndef NODE_AGENT_INTERPRETER_DOTNET_CODE_H
#define NODE_AGENT_INTERPRETER_DOTNET_CODE_H

#include "common/base.h"
#include "node-agent/interpreter/dotnet_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

/* What names are read from: the memory of a process, and how it is laid out. */
struct dotnet_reader {
	const struct dotnet_layout *layout;
	uint64_t bias; /* to be added to addresses of the layout */
	const struct interpreter_memory *memory;
};

int dotnet_read_word(const struct dotnet_reader *k, uint64_t at, uint64_t *ret) MUST_CHECK;
/* The word in a field of the object at an address. */
int dotnet_read_field(const struct dotnet_reader *k, uint64_t object, enum dotnet_field field,
		      uint64_t *ret) MUST_CHECK;

enum dotnet_code_kind {
	DOTNET_CODE_METHOD_BODY, /* compiled at run time */
	DOTNET_CODE_STUB,
	DOTNET_CODE_IMAGE, /* of an assembly that was compiled before (ReadyToRun) */
};

struct dotnet_code {
	enum dotnet_code_kind kind;
	uint64_t start;  /* of a body; else 0 */
	uint64_t method; /* of a body: its MethodDesc */
	uint64_t header; /* of a body: RealCodeHeader */
	uint8_t stub;    /* StubCodeBlockKind of the runtime; 0: not known */
};

/* STUB_CODE_BLOCK_LAST: what is in front of code is a kind up to here, and an address above. */
#define DOTNET_STUBS_MAX 15u

/*
 * Returns 0, -ENOENT if the address is in no range that the runtime has code in, -EBADMSG if what
 * is there is damaged, or an error of interpreter_read().
 */
int dotnet_code_find(const struct dotnet_reader *k, uint64_t address,
		     struct dotnet_code *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_DOTNET_CODE_H */
