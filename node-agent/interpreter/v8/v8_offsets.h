/* Which release of V8 a file has, and where that keeps what. Pure. */
#ifndef NODE_AGENT_INTERPRETER_V8_OFFSETS_H
#define NODE_AGENT_INTERPRETER_V8_OFFSETS_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/v8_layout.h"

/* What the walk needs of it. */
struct v8_offsets {
	struct v8_layout layout;
	uint8_t function_shared; /* in a JSFunction */
	uint8_t frame_bytecode;  /* below the frame pointer: the offset in the bytecode */
	uint64_t builtins;       /* code that is part of the file: its address */
	uint64_t builtins_bytes;
};

/*
 * For a file with V8. Returns 0; -ENOTSUP if its release is not known, or it has none of the
 * symbols by which V8 describes itself; or an error of interpreter_symbols_find().
 */
int v8_offsets_find(const struct elf_layout *layout, const struct byte_source *src,
		    struct v8_offsets *ret) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_V8_OFFSETS_H */
