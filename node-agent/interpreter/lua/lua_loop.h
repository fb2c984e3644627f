/*
 * Where the loop of Lua is in a file, luaV_execute(), and how those who call it keep the state that
 * they call it for. x86-64. Pure.
 */
#ifndef NODE_AGENT_INTERPRETER_LUA_LUA_LOOP_H
#define NODE_AGENT_INTERPRETER_LUA_LUA_LOOP_H

#include "common/base.h"
#include "common/elf/elf_layout.h"
#include "node-agent/interpreter/interpreter_ops.h"
#include "node-agent/interpreter/lua/lua_release.h"

struct lua_loop_search {
	uint64_t call;   /* lua_call() or lua_callk(), in the file */
	uint64_t resume; /* lua_resume() */
	uint64_t loop;   /* luaV_execute(); 0: the file does not say */
	const struct lua_release *release;
};

/*
 * Sets *ret_loop, and of *calls the registers and sites. Returns 0; -ENOTSUP if the instructions
 * are not understood; -ENOMEM; or an error of byte_source_read().
 */
int lua_loop_find(const struct elf_layout *layout, const struct byte_source *src,
		  const struct lua_loop_search *search, uint64_t *ret_loop,
		  struct chain_calls *calls) MUST_CHECK;

#endif /* NODE_AGENT_INTERPRETER_LUA_LUA_LOOP_H */
