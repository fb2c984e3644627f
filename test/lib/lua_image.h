/*
 * Memory of a process with a release of Lua: the function total(), of line 40 of /srv/shop.lua, at
 * line 42, and the main chunk of that file, whose instructions call functions in several ways.
 */
#ifndef TEST_LIB_LUA_IMAGE_H
#define TEST_LIB_LUA_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/lua/lua_release.h"

#include "bpf/frame_chain.h"

#define LUA_IMAGE_BASE UINT64_C(0x10000)
#define LUA_IMAGE_BYTES 4096u /* a page */
#define LUA_IMAGE_START 40u
#define LUA_IMAGE_LINE 42u
#define LUA_IMAGE_INSTRUCTIONS 11u

enum lua_image_place {
	LUA_IMAGE_TOTAL = 0, /* code objects */
	LUA_IMAGE_MAIN = 128,
	LUA_IMAGE_CODE = 256, /* of total() */
	LUA_IMAGE_MAIN_CODE = 320,
	LUA_IMAGE_LINES = 384,
	LUA_IMAGE_MARKS = 448,
	LUA_IMAGE_CONSTANTS = 512, /* of the main chunk, as the following */
	LUA_IMAGE_UPVALUES = 640,
	LUA_IMAGE_LOCALS = 704,
	LUA_IMAGE_TEXTS = 1024, /* 64 bytes each */
	LUA_IMAGE_END = 1536,
};

enum lua_image_text { FILE_NAME, ENV, UPVALUE, LOCAL, SHOP, FIELD, TEXTS };

/* What the calls of the main chunk say, by the index of the instruction. */
enum lua_image_call {
	LUA_IMAGE_FIELD = 2,
	LUA_IMAGE_LOCAL = 4,
	LUA_IMAGE_METHOD = 6,
	LUA_IMAGE_UPVALUE = 8,
	LUA_IMAGE_ADD = 9,
	LUA_IMAGE_ITERATOR = 10,
};

struct lua_image {
	const struct lua_release *release;
	uint8_t bytes[LUA_IMAGE_BYTES];
	size_t n_bytes; /* that there are */
	unsigned n_reads;
};

static inline int lua_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct lua_image *image = ctx;

	image->n_reads++;
	if (at < LUA_IMAGE_BASE || at - LUA_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - LUA_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - LUA_IMAGE_BASE), n);
	return 0;
}

static inline void lua_image_put(struct lua_image *i, unsigned at, uint64_t v, size_t n)
{
	memcpy(i->bytes + at, &v, n);
}

static inline void lua_image_address(struct lua_image *i, unsigned at, unsigned place)
{
	lua_image_put(i, at, LUA_IMAGE_BASE + place, 8);
}

static inline void lua_image_text(struct lua_image *i, enum lua_image_text number, const char *text)
{
	unsigned at = LUA_IMAGE_TEXTS + 64 * number;

	if (i->release->layout.minor >= 5 && number == FILE_NAME) { /* a long one is elsewhere */
		i->bytes[at + 8] = 20;
		lua_image_put(i, at + 16, strlen(text), 8);
		lua_image_address(i, at + 24, at + 40);
		memcpy(i->bytes + at + 40, text, strlen(text));
		return;
	}
	i->bytes[at + 8] = 4;
	lua_image_put(i, at + 11, strlen(text), 1);
	lua_image_put(i, at + 16, i->release->layout.minor >= 3 ? 0 : strlen(text), 8);
	memcpy(i->bytes + at + 24, text, strlen(text));
}

static inline void lua_image_array(struct lua_image *i, unsigned code, struct lua_array array,
				   unsigned place, uint32_t n)
{
	lua_image_address(i, code + array.at, place);
	lua_image_put(i, code + array.size_at, n, 4);
}

static inline uint32_t lua_image_word(const struct lua_image *i, unsigned op, unsigned a,
				      unsigned b, unsigned c)
{
	if (i->release->layout.minor >= 4)
		return op | a << 7 | b << 16 | c << 24;
	return op | a << 6 | b << 23 | c << 14;
}

/* Opcodes of 5.1 to 5.5. */
static inline void lua_image_code(struct lua_image *i)
{
	static const uint8_t opcodes[5][8] = {
		/* global, field, call, move, self, upvalue, add, iterator */
		{5, 6, 28, 0, 11, 4, 12, 33},   {6, 7, 29, 0, 12, 5, 13, 34},
		{6, 7, 36, 0, 12, 5, 13, 41},   {11, 14, 68, 0, 20, 9, 46, 76},
		{11, 14, 68, 0, 20, 9, 46, 76},
	};
	const unsigned minor = i->release->layout.minor, k = minor >= 4 ? 0 : 256;
	const uint8_t *op = opcodes[minor - 1];
	uint32_t words[LUA_IMAGE_INSTRUCTIONS] = {
		lua_image_word(i, op[0], 0, 0, k), /* constant 0 of upvalue 0 */
		lua_image_word(i, op[1], 0, 0, k | 1), lua_image_word(i, op[2], 0, 1, 1),
		lua_image_word(i, op[3], 3, 2, 0),     lua_image_word(i, op[2], 3, 1, 1),
		lua_image_word(i, op[4], 3, 1, k | 1), lua_image_word(i, op[2], 3, 1, 1),
		lua_image_word(i, op[5], 3, 1, 0),     lua_image_word(i, op[2], 3, 1, 1),
		lua_image_word(i, op[6], 1, 2, 6),     lua_image_word(i, op[7], 1, 0, 2),
	};

	if (minor == 1)
		words[0] = op[0]; /* register 0 = global variable with the name of constant 0 */
	if (minor == 4)
		words[5] |= 1u << 15;
	memcpy(i->bytes + LUA_IMAGE_MAIN_CODE, words, sizeof(words));
}

static inline void lua_image_lines(struct lua_image *i)
{
	const uint32_t lines[4] = {41, 41, LUA_IMAGE_LINE, 43};
	const int8_t deltas[4] = {1, -128, 0, 1};
	const uint32_t mark[2] = {1, LUA_IMAGE_LINE};
	const struct lua_layout *l = &i->release->layout;

	lua_image_array(i, LUA_IMAGE_TOTAL, l->lines, LUA_IMAGE_LINES, 4);
	if (l->line_marks.at == 0) {
		memcpy(i->bytes + LUA_IMAGE_LINES, lines, sizeof(lines));
		return;
	}
	memcpy(i->bytes + LUA_IMAGE_LINES, deltas, sizeof(deltas));
	memcpy(i->bytes + LUA_IMAGE_MARKS, mark, sizeof(mark));
	lua_image_array(i, LUA_IMAGE_TOTAL, l->line_marks, LUA_IMAGE_MARKS, 1);
}

/* release: "Lua 5.4.6" */
static inline void lua_image_fill(struct lua_image *i, const char *release)
{
	static const char *const texts[TEXTS] = {"@/srv/shop.lua", "_ENV", "up",
						 "burn",           "Shop", "total"};
	const struct lua_layout *l;

	*i = (struct lua_image){.release = lua_release_of(release), .n_bytes = LUA_IMAGE_BYTES};
	l = &i->release->layout;
	for (unsigned n = 0; n < TEXTS; n++)
		lua_image_text(i, (enum lua_image_text)n, texts[n]);
	for (unsigned n = 0; n < 2; n++) {
		unsigned code = n * LUA_IMAGE_MAIN;

		i->bytes[code + 8] = l->minor >= 4 ? 10 : 9;
		lua_image_address(i, code + l->source, LUA_IMAGE_TEXTS + 64 * FILE_NAME);
		lua_image_address(i, LUA_IMAGE_CONSTANTS + 16 * n,
				  LUA_IMAGE_TEXTS + 64 * (SHOP + n));
		lua_image_address(i, LUA_IMAGE_UPVALUES + (l->minor == 1 ? 8 : 16) * n,
				  LUA_IMAGE_TEXTS + 64 * (ENV + n));
	}
	lua_image_array(i, LUA_IMAGE_TOTAL, l->code, LUA_IMAGE_CODE, 4);
	lua_image_array(i, LUA_IMAGE_MAIN, l->code, LUA_IMAGE_MAIN_CODE, LUA_IMAGE_INSTRUCTIONS);
	lua_image_array(i, LUA_IMAGE_MAIN, l->constants, LUA_IMAGE_CONSTANTS, 2);
	lua_image_array(i, LUA_IMAGE_MAIN, l->upvalues, LUA_IMAGE_UPVALUES, 2);
	lua_image_array(i, LUA_IMAGE_MAIN, l->locals, LUA_IMAGE_LOCALS, 3);
	lua_image_put(i, LUA_IMAGE_TOTAL + l->first_line, LUA_IMAGE_START, 4);
	/* up to instruction 2 there are no local variables */
	for (unsigned n = 0; n < 3; n++) {
		unsigned local = LUA_IMAGE_LOCALS + 16 * n;

		lua_image_address(i, local, LUA_IMAGE_TEXTS + 64 * (n < 2 ? UPVALUE : LOCAL));
		lua_image_put(i, local + 8, 3, 4);
		lua_image_put(i, local + 12, 100, 4);
	}
	lua_image_code(i);
	lua_image_lines(i);
}

static inline uint64_t lua_image_word_at(const struct lua_image *i, unsigned at)
{
	uint64_t word;

	memcpy(&word, i->bytes + at, sizeof(word));
	return word;
}

/* A frame of total() as the walk sends it, called by an instruction of the main chunk. */
static inline struct interpreter_frame lua_image_frame(const struct lua_image *i,
						       unsigned called_at)
{
	const struct lua_layout *l = &i->release->layout;

	return (struct interpreter_frame){
		.code = LUA_IMAGE_BASE + LUA_IMAGE_TOTAL,
		.at = LUA_IMAGE_BASE + LUA_IMAGE_CODE + 3 * 4,
		.check = chain_check(lua_image_word_at(i, LUA_IMAGE_TOTAL + l->first_line)) ^
			 chain_check(lua_image_word_at(i, LUA_IMAGE_TOTAL + l->code.at)),
		.caller_code = LUA_IMAGE_BASE + LUA_IMAGE_MAIN,
		.caller_at = LUA_IMAGE_BASE + LUA_IMAGE_MAIN_CODE + (called_at + 1) * 4,
	};
}

#endif /* TEST_LIB_LUA_IMAGE_H */
