/*
 * As ldebug.c of each release: the instruction that calls has a register, whose name is that of a
 * local variable, or follows from the instruction that has set it last.
 */
#include <errno.h>

#include "node-agent/interpreter/lua/lua_code.h"
#include "node-agent/interpreter/lua/lua_opcodes.h"

#define SEARCH_MAX 65536u /* instructions in front of the one that calls */
#define DEPTH 4u          /* registers that are set from registers */
#define AT_ONCE 256u
#define NOT_SET UINT32_MAX

struct search {
	const struct lua_code *code;
	unsigned depth;
	char *to;
	size_t cap;
};

static int instruction_at(const struct lua_code *c, uint32_t index, struct lua_instruction *ret)
{
	struct lua_elements code = c->dialect->instructions(c);
	uint32_t word;

	if (index >= code.n ||
	    interpreter_read(c->memory, code.at + (uint64_t)index * 4, &word, sizeof(word)) < 0)
		return -ENOENT;
	*ret = c->dialect->instruction(c->layout->minor, word);
	return 0;
}

/* ---- names of what is not in a register ---- */

static int constant_name(const struct search *s, uint32_t number)
{
	return s->code->dialect->constant_name(s->code, number, s->to, s->cap);
}

static int upvalue_name(const struct search *s, uint32_t number)
{
	return s->code->dialect->upvalue_name(s->code, number, s->to, s->cap);
}

static int local_name(const struct search *s, uint32_t reg, uint32_t index)
{
	return s->code->dialect->local_name(s->code, reg, index, s->to, s->cap);
}

/* ---- the instruction that has set a register ---- */

struct setter {
	uint32_t index; /* NOT_SET */
	uint32_t joins; /* up to here, what is executed depends on a condition */
};

static bool sets(const struct lua_instruction *i, uint32_t reg)
{
	switch (i->kind) {
	case LUA_OP_LOADNIL:
		return i->a <= reg && reg <= i->b;
	case LUA_OP_FOR_CALL:
		return reg >= i->a + 2;
	case LUA_OP_CALL:
		return reg >= i->a;
	case LUA_OP_JUMP:
	case LUA_OP_OTHER:
		return false;
	default:
		return reg == i->a;
	}
}

static void look_at(struct setter *s, const struct lua_instruction *i, uint32_t at, uint32_t reg,
		    uint32_t until)
{
	if (i->kind == LUA_OP_JUMP) {
		int64_t to = (int64_t)at + 1 + i->jump;

		if (to > (int64_t)at && to <= (int64_t)until && to > (int64_t)s->joins)
			s->joins = (uint32_t)to;
	}
	if (sets(i, reg))
		s->index = at < s->joins ? NOT_SET : at;
}

static uint32_t find_setter(const struct lua_code *c, uint32_t reg, uint32_t until)
{
	struct lua_elements code = c->dialect->instructions(c);
	struct setter s = {.index = NOT_SET};
	uint32_t words[AT_ONCE];

	if (until > SEARCH_MAX || until > code.n)
		return NOT_SET;
	for (uint32_t at = 0; at < until; at += AT_ONCE) {
		uint32_t n = until - at < AT_ONCE ? until - at : AT_ONCE;

		if (interpreter_read(c->memory, code.at + (uint64_t)at * 4, words, n * 4) < 0)
			return NOT_SET;
		for (uint32_t i = 0; i < n; i++) {
			struct lua_instruction instruction =
				c->dialect->instruction(c->layout->minor, words[i]);

			look_at(&s, &instruction, at + i, reg, until);
		}
	}
	return s.index;
}

/* ---- names of registers ---- */

static int register_name(struct search *s, uint32_t reg, uint32_t index);

/* Whether the table of a field is the one of global variables. */
static bool is_globals(struct search *s, const struct lua_instruction *i, uint32_t index)
{
	char name[8];
	struct search table = {s->code, s->depth, name, sizeof(name)};
	int r = i->kind == LUA_OP_UPVALUE_FIELD ? upvalue_name(&table, i->b)
						: local_name(&table, i->b, index);

	return r == 0 && strcmp(name, "_ENV") == 0;
}

/* If the register has a global variable: its name and a dot. Returns the length. */
static size_t global_name(struct search *s, uint32_t reg, uint32_t index)
{
	struct lua_instruction i;
	uint32_t at;
	size_t len;
	int r = -ENOENT;

	if (local_name(s, reg, index) == 0)
		return 0;
	at = find_setter(s->code, reg, index);
	if (at == NOT_SET || instruction_at(s->code, at, &i) < 0)
		return 0;
	if (i.kind == LUA_OP_GLOBAL)
		r = constant_name(s, i.b);
	else if (i.kind == LUA_OP_UPVALUE_FIELD && is_globals(s, &i, at))
		r = constant_name(s, i.c);
	len = r == 0 ? strlen(s->to) : 0;
	if (len == 0 || len + 2 > s->cap)
		return 0;
	memcpy(s->to + len, ".", 2);
	return len + 1;
}

static int field_name(struct search *s, const struct lua_instruction *i, uint32_t index)
{
	struct search key = *s;
	struct lua_instruction setter;
	size_t len = 0;

	if (i->kind == LUA_OP_FIELD && !is_globals(s, i, index))
		len = global_name(s, i->b, index);
	key.to += len;
	key.cap -= len;
	if (i->c_is_constant)
		return constant_name(&key, i->c);
	/* a register, which has a constant if its operand has no room for that one */
	index = find_setter(s->code, i->c, index);
	if (index == NOT_SET || instruction_at(s->code, index, &setter) < 0 ||
	    setter.kind != LUA_OP_CONSTANT)
		return -ENOENT;
	return constant_name(&key, setter.b);
}

static int name_by_setter(struct search *s, const struct lua_instruction *i, uint32_t at)
{
	switch (i->kind) {
	case LUA_OP_MOVE:
		return i->b < i->a ? register_name(s, i->b, at) : -ENOENT;
	case LUA_OP_UPVALUE:
		return upvalue_name(s, i->b);
	case LUA_OP_GLOBAL:
	case LUA_OP_CONSTANT:
		return constant_name(s, i->b);
	case LUA_OP_UPVALUE_FIELD:
	case LUA_OP_FIELD:
	case LUA_OP_SELF:
		return field_name(s, i, at);
	default:
		return -ENOENT;
	}
}

/* Of what a register has in front of the instruction with this index. */
static int register_name(struct search *s, uint32_t reg, uint32_t index)
{
	struct lua_instruction i;
	uint32_t at;
	int r;

	if (local_name(s, reg, index) == 0)
		return 0;
	if (s->depth++ == DEPTH)
		return -ENOENT;
	at = find_setter(s->code, reg, index);
	if (at == NOT_SET || instruction_at(s->code, at, &i) < 0)
		return -ENOENT;
	r = name_by_setter(s, &i, at);
	return r < 0 || s->to[0] == '\0' ? -ENOENT : 0;
}

int lua_called_name(const struct lua_code *c, uint32_t index, char *to, size_t cap)
{
	struct search s = {.code = c, .to = to, .cap = cap};
	struct lua_instruction i;
	const char *event;
	int r = -ENOENT;

	*to = '\0';
	if (instruction_at(c, index, &i) < 0)
		return -ENOENT;
	event = c->dialect->event_name(c->layout->minor, &i);
	if (i.kind == LUA_OP_CALL) {
		r = register_name(&s, i.a, index);
	} else if (event) {
		snprintf(to, cap, "%s", event);
		r = 0;
	}
	if (r < 0)
		*to = '\0';
	return r;
}
