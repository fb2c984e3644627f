/*
 * A file has LuaJIT if it has luaJIT_setmode(), whatever it is called: luajit, libluajit, or a
 * program that it is linked into, such as nginx of OpenResty.
 *
 * Frames are values in the array of a state (lua_State): see struct chain_slots. A list of frames
 * as other interpreters have (CHAIN_NEXT_WORD) it is not: where the caller is depends on the kind
 * of a frame, and for most on an operand of the instruction that has called it. Which state runs is
 * said by the C frame of the loop.
 *
 * Generated code (traces) runs within that C frame, and without frames of its own: what a trace has
 * inlined is not in the array until it leaves. So the innermost function is the one that the trace
 * has begun in, and its callers are as they are. The trace is shown as what it is, with the line
 * that it was made from.
 */
#include "node-agent/interpreter/lua/luajit_interpreter.h"

#include <errno.h>

#include "node-agent/interpreter/interpreter_symbols.h"
#include "node-agent/interpreter/lua/lua_names.h"
#include "node-agent/interpreter/lua/luajit_code.h"
#include "node-agent/interpreter/lua/luajit_vm.h"

#define MARK "luaJIT_setmode"

static int recognise(const struct elf_layout *layout, const struct byte_source *src,
		     struct interpreter_image *ret)
{
	const char *const names[] = {MARK};
	uint64_t symbol;
	int r = interpreter_symbols_find(layout, src, names, &symbol, 1);

	if (r < 0)
		return r;
	if (symbol == 0)
		return -ENOENT;
	*ret = (struct interpreter_image){
		.language = INTERPRETER_LUAJIT,
		.roots = {{.kind = INTERPRETER_ROOT_CALL}},
		.frames = {.next_is = CHAIN_NEXT_SLOT,
			   .check = LUAJIT_FIRST_LINE,
			   .check_more = LUAJIT_SOURCE},
		.n_loops = 1,
		.flags = CHAIN_ANONYMOUS_IS_LOOP,
		.lua = {.minor = LUA_MINOR_JIT,
			.source = LUAJIT_SOURCE,
			.first_line = LUAJIT_FIRST_LINE,
			.check_more = LUAJIT_SOURCE},
	};
	return luajit_vm_find(layout, src, &ret->loops[0], &ret->slots);
}

static int name_frame(const struct interpreter_image *image, uint64_t bias,
		      const struct interpreter_memory *memory, const struct interpreter_frame *f,
		      struct interpreter_name *ret)
{
	(void)bias;
	return lua_name_read(&image->lua, memory, f, ret);
}

const struct interpreter_ops luajit_interpreter_ops = {"luajit", MARK, recognise, name_frame};
