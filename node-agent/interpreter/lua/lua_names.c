#include "node-agent/interpreter/lua/lua_names.h"

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/lua/lua_code.h"

#include "bpf/frame_chain.h"

#define CALLED_BYTES 256u /* of a name that a caller calls a function by */

static uint32_t check_of(const struct lua_code *c)
{
	uint64_t lines, more;

	memcpy(&lines, c->bytes + c->layout->first_line, sizeof(lines));
	memcpy(&more, c->bytes + c->layout->check_more, sizeof(more));
	return chain_check(lines) ^ chain_check(more);
}

/* What the caller calls the function. Returns 0 or -ENOENT. */
static int read_called(const struct lua_layout *layout, const struct interpreter_memory *memory,
		       const struct interpreter_frame *f, char *to, size_t cap)
{
	struct lua_code caller;
	uint32_t index;

	if (f->caller_code == 0 || f->at & CHAIN_AT_TAIL || f->caller_at & CHAIN_AT_NATIVE ||
	    lua_code_read(&caller, layout, memory, f->caller_code) < 0 ||
	    !lua_code_index(&caller, f->caller_at & ~UINT64_C(3), &index))
		return -ENOENT;
	return lua_called_name(&caller, index, to, cap);
}

static const char *last_part(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash && slash[1] ? slash + 1 : file;
}

/* The source begins with "@" if it is a file, with "=" if it has a name; else it is the code. */
static int read_file(const struct lua_code *c, char *to, size_t cap)
{
	char text[INTERPRETER_FILE_BYTES];
	int r = lua_string_read(c, lua_code_source(c), text, sizeof(text));

	if (r < 0)
		return r;
	if (text[0] == '@' || text[0] == '=')
		snprintf(to, cap, "%s", text + 1);
	else
		snprintf(to, cap, "[string \"%.60s\"]", text);
	return 0;
}

static void name_function(const char *called, struct interpreter_name *ret)
{
	const char *file = last_part(ret->file);

	if (ret->start_line == 0)
		snprintf(ret->function, sizeof(ret->function), "%.*s",
			 (int)sizeof(ret->function) - 1, file[0] ? file : "main chunk");
	else if (called[0])
		snprintf(ret->function, sizeof(ret->function), "%s", called);
	else
		snprintf(ret->function, sizeof(ret->function), "function <%.400s:%u>", file,
			 ret->start_line);
}

/* Generated code, whose caller is the function that runs it. */
static bool is_trace(const struct lua_layout *layout, const struct interpreter_frame *f)
{
	return layout->minor == LUA_MINOR_JIT && (f->at & CHAIN_AT_TRACE) == CHAIN_AT_TRACE;
}

static void name_trace(struct interpreter_name *ret)
{
	snprintf(ret->function, sizeof(ret->function), "(trace %.400s:%u)", last_part(ret->file),
		 ret->line);
}

int lua_name_read(const struct lua_layout *layout, const struct interpreter_memory *memory,
		  const struct interpreter_frame *frame, struct interpreter_name *ret)
{
	char called[CALLED_BYTES] = "";
	struct lua_code code;
	uint32_t index;
	int named, r;

	*ret = (struct interpreter_name){0};
	named = read_called(layout, memory, frame, called, sizeof(called));
	if (frame->at & CHAIN_AT_NATIVE && !is_trace(layout, frame)) {
		snprintf(ret->function, sizeof(ret->function), "%s", called);
		return named < 0 ? -ENODATA : 0;
	}
	r = lua_code_read(&code, layout, memory, frame->code);
	if (r < 0)
		return r;
	if (check_of(&code) != frame->check)
		return -ESTALE;
	r = read_file(&code, ret->file, sizeof(ret->file));
	if (r < 0)
		return r;
	ret->start_line = lua_code_first_line(&code);
	ret->line = ret->start_line;
	if (lua_code_index(&code, frame->at & ~UINT64_C(3), &index))
		ret->line = lua_code_line(&code, index);
	if (is_trace(layout, frame))
		name_trace(ret);
	else
		name_function(called, ret);
	return 0;
}
