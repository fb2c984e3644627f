/*
 * A file has Lua if it has lua_ident, which says the release, whatever it is called: lua, liblua,
 * or a program that it is linked into.
 *
 * Frames (CallInfo) are a linked list, in 5.1 an array, of a state (lua_State). Each coroutine is a
 * state, and nothing but the C stack says which one runs: see lua_loop.c and struct chain_calls.
 * Those of C functions stand between the others. A function that C code calls, be it for a
 * metamethod, is the last one of a run (CIST_FRESH).
 *
 * A code object (Proto) stays as long as a function that was made of it. It has no name: functions
 * are values, and their name is what their caller calls them, as in tracebacks of Lua.
 */
#include "node-agent/interpreter/lua/lua_interpreter.h"

#include <errno.h>

#include "node-agent/interpreter/interpreter_loops.h"
#include "node-agent/interpreter/interpreter_symbols.h"
#include "node-agent/interpreter/lua/lua_loop.h"
#include "node-agent/interpreter/lua/lua_names.h"
#include "node-agent/interpreter/lua/lua_release.h"

enum symbol {
	SYMBOL_IDENT,
	SYMBOL_CALL,
	SYMBOL_CALL_5_1,
	SYMBOL_CALL_CXX,
	SYMBOL_RESUME,
	SYMBOL_RESUME_CXX,
	SYMBOL_LOOP,
	SYMBOLS
};

/* Also of libraries that were compiled as C++, so that errors are exceptions. */
static const char *const symbol_names[SYMBOLS] = {
	[SYMBOL_IDENT] = "lua_ident",   [SYMBOL_CALL] = "lua_callk",
	[SYMBOL_CALL_5_1] = "lua_call", [SYMBOL_CALL_CXX] = "_Z9lua_callkP9lua_StateiilPFiS0_ilE",
	[SYMBOL_RESUME] = "lua_resume", [SYMBOL_RESUME_CXX] = "_Z10lua_resumeP9lua_StateS0_iPi",
	[SYMBOL_LOOP] = "luaV_execute",
};

static bool is_loop(const char *name)
{
	return interpreter_is_part(name, symbol_names[SYMBOL_LOOP]);
}

/* Sites are relative to the first range, so that is to begin with the function. */
static int find_ranges(const struct elf_layout *layout, const struct byte_source *src,
		       uint64_t loop, struct interpreter_image *ret)
{
	int r = interpreter_loops_find(layout, src, &loop, 1, is_loop, ret->loops);

	if (r < 0)
		return r == -ENOENT ? -ENOTSUP : r;
	ret->n_loops = (uint32_t)r;
	for (size_t i = 0; i < CHAIN_SITES; i++) {
		struct chain_site *site = &ret->calls.sites[i];

		site->start += (uint32_t)(loop - ret->loops[0].start);
	}
	/* its first instructions are only known if it is not split before them */
	if (ret->loops[0].start != loop)
		ret->calls.entry_bytes = ret->calls.mark_bytes = 0;
	return 0;
}

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	const struct lua_release *release;
	struct lua_loop_search search;
	uint64_t symbols[SYMBOLS], loop;
	int r = interpreter_symbols_find(layout, src, symbol_names, symbols, SYMBOLS), error;

	if (r < 0)
		return r;
	if (symbols[SYMBOL_IDENT] == 0)
		return -ENOENT;
	release = lua_release_find(layout, src, symbols[SYMBOL_IDENT], &error);
	if (!release)
		return error;
	search = (struct lua_loop_search){
		.call = symbols[SYMBOL_CALL]      ?:
			symbols[SYMBOL_CALL_5_1] ?: symbols[SYMBOL_CALL_CXX],
		.resume = symbols[SYMBOL_RESUME] ?: symbols[SYMBOL_RESUME_CXX],
		.loop = symbols[SYMBOL_LOOP],
		.release = release,
	};
	if (search.call == 0 && search.loop == 0)
		return -ENOTSUP;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_LUA,
		.roots = {{.kind = INTERPRETER_ROOT_CALL}},
		.frames = release->frames,
		.calls = release->calls,
		.lua = release->layout,
	};
	r = lua_loop_find(layout, src, &search, &loop, &ret->calls);
	return r < 0 ? r : find_ranges(layout, src, loop, ret);
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	(void)bias;
	return lua_name_read(&image->lua, memory, f, ret);
}

const struct interpreter_ops lua_interpreter_ops = {"lua", "lua_ident", recognise, name_frame};
