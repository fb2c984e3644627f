/* Releases of Lua: how a state, frames and code objects look. Pure. */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUA_RELEASE_H
#define NODE_AGENT_INTERPRETER_LUA_LUA_RELEASE_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"

struct lua_release {
	struct chain_frames frames;
	struct chain_calls calls; /* without registers and sites */
	/* In a frame, where the loop stores its next instruction now and then; 0: always. */
	uint8_t stored_at;
	/* Where and how the loop marks a frame as the last one of a run; 0: others do. */
	uint8_t mark_at;
	uint8_t mark;
	struct lua_layout layout;
};

/* The release with this text in lua_ident, as "Lua 5.4.6"; NULL: it is not known. */
const struct lua_release *lua_release_of(const char *text);

/*
 * Returns the release that the text at vaddr (lua_ident) says; NULL, and sets *error to -ENOTSUP if
 * it is not known, or to an error of byte_source_read().
 */
const struct lua_release *lua_release_find(const struct elf_layout *layout,
					   const struct byte_source *src, uint64_t vaddr,
					   int *error);

#endif /* NODE_AGENT_INTERPRETER_LUA_LUA_RELEASE_H */
