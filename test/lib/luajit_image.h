/*
 * Memory of a process with LuaJIT, as lua_image.h has that of Lua: the function total(), of line 40
 * of /srv/shop.lua, at line 42, and the main chunk of that file.
 */
#ifndef TEST_LIB_LUAJIT_IMAGE_H
#define TEST_LIB_LUAJIT_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/lua/lua_names.h"
#include "node-agent/interpreter/lua/luajit_code.h"

#include "bpf/frame_chain.h"

#define LUAJIT_IMAGE_BASE UINT64_C(0x20000)
#define LUAJIT_IMAGE_BYTES 4096u
#define LUAJIT_IMAGE_START 40u
#define LUAJIT_IMAGE_LINE 42u
#define LUAJIT_IMAGE_PROTO 104u

enum luajit_image_place {
	LUAJIT_IMAGE_TOTAL = 0, /* code objects, which instructions follow */
	LUAJIT_IMAGE_MAIN = 256,
	LUAJIT_IMAGE_LINES = 512,
	LUAJIT_IMAGE_UPVALUES = 528,
	LUAJIT_IMAGE_LOCALS = 544,
	LUAJIT_IMAGE_CONSTANTS = 640, /* behind the first one */
	LUAJIT_IMAGE_TEXTS = 704,     /* 64 bytes each: the file, and the constants */
};

/* What the calls of the main chunk say, by the index of the instruction. */
enum luajit_image_call {
	LUAJIT_IMAGE_FIELD = 3,
	LUAJIT_IMAGE_LOCAL = 5,
	LUAJIT_IMAGE_UPVALUE = 7,
	LUAJIT_IMAGE_ADD = 8,
	LUAJIT_IMAGE_ITERATOR = 9,
	LUAJIT_IMAGE_INSTRUCTIONS = 10,
};

struct luajit_image {
	uint8_t bytes[LUAJIT_IMAGE_BYTES];
	unsigned n_reads;
};

static const struct lua_layout luajit_image_layout = {
	.minor = LUA_MINOR_JIT,
	.source = LUAJIT_SOURCE,
	.first_line = LUAJIT_FIRST_LINE,
	.check_more = LUAJIT_SOURCE,
};

static inline int luajit_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct luajit_image *image = ctx;

	image->n_reads++;
	if (at < LUAJIT_IMAGE_BASE || at - LUAJIT_IMAGE_BASE > LUAJIT_IMAGE_BYTES ||
	    n > LUAJIT_IMAGE_BYTES - (at - LUAJIT_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - LUAJIT_IMAGE_BASE), n);
	return 0;
}

static inline void luajit_image_put(struct luajit_image *i, unsigned at, uint64_t v, size_t n)
{
	memcpy(i->bytes + at, &v, n);
}

static inline void luajit_image_text(struct luajit_image *i, unsigned number, const char *text)
{
	unsigned at = LUAJIT_IMAGE_TEXTS + 64 * number;

	i->bytes[at + 9] = 4;
	memcpy(i->bytes + at + 24, text, strlen(text) + 1);
}

static inline void luajit_image_fill(struct luajit_image *i)
{
	static const uint32_t code[LUAJIT_IMAGE_INSTRUCTIONS] = {
		89,                      /* FUNCF */
		54,                      /* GGET: register 0 = Shop */
		57 | 1u << 16,           /* TGETS: its field total */
		66,                      /* CALL */
		18 | 5u << 8 | 1u << 16, /* MOV: register 5 = register 1 */
		66 | 5u << 8,            /* CALL */
		45 | 6u << 8,            /* UGET */
		66 | 6u << 8,            /* CALL */
		32 | 1u << 8 | 2u << 24, /* ADDVV */
		69 | 8u << 8,            /* ITERC */
	};
	static const uint8_t lines[] = {1, 2, 3};

	*i = (struct luajit_image){0};
	luajit_image_text(i, 0, "@/srv/shop.lua");
	luajit_image_text(i, 1, "Shop");
	luajit_image_text(i, 2, "total");
	for (unsigned n = 0; n < 2; n++) {
		unsigned proto = n * LUAJIT_IMAGE_MAIN;

		i->bytes[proto + 9] = 7;
		luajit_image_put(i, proto + 12, n ? LUAJIT_IMAGE_INSTRUCTIONS : 4, 4);
		luajit_image_put(i, proto + 32, LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_CONSTANTS, 8);
		luajit_image_put(i, proto + 48, 2, 4);
		luajit_image_put(i, proto + 60, 1, 1);
		luajit_image_put(i, proto + 64, LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_TEXTS, 8);
		luajit_image_put(i, proto + 88, LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_UPVALUES, 8);
		luajit_image_put(i, proto + 96, LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_LOCALS, 8);
		luajit_image_put(i, LUAJIT_IMAGE_CONSTANTS - 8 * (n + 1),
				 LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_TEXTS + 64 * (n + 1), 8);
	}
	luajit_image_put(i, LUAJIT_IMAGE_TOTAL + 72, LUAJIT_IMAGE_START, 4);
	luajit_image_put(i, LUAJIT_IMAGE_TOTAL + 76, 5, 4);
	luajit_image_put(i, LUAJIT_IMAGE_TOTAL + 80, LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_LINES, 8);
	memcpy(i->bytes + LUAJIT_IMAGE_LINES, lines, sizeof(lines));
	memcpy(i->bytes + LUAJIT_IMAGE_UPVALUES, "up", 3);
	/* from instruction 4 on: x in register 0, burn in register 1 */
	memcpy(i->bytes + LUAJIT_IMAGE_LOCALS,
	       "x\0\x04\x64"
	       "burn\0\0\x64",
	       12);
	memcpy(i->bytes + LUAJIT_IMAGE_MAIN + LUAJIT_IMAGE_PROTO, code, sizeof(code));
}

/* A frame of total() as the walk sends it, called by an instruction of the main chunk. */
static inline struct interpreter_frame luajit_image_frame(const struct luajit_image *i,
							  unsigned called_at)
{
	uint64_t lines, source;

	memcpy(&lines, i->bytes + LUAJIT_FIRST_LINE, sizeof(lines));
	memcpy(&source, i->bytes + LUAJIT_SOURCE, sizeof(source));
	return (struct interpreter_frame){
		.code = LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_TOTAL,
		.at = LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_TOTAL + LUAJIT_IMAGE_PROTO + 3 * 4,
		.check = chain_check(lines) ^ chain_check(source),
		.caller_code = LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_MAIN,
		.caller_at = LUAJIT_IMAGE_BASE + LUAJIT_IMAGE_MAIN + LUAJIT_IMAGE_PROTO +
			     (called_at + 1) * 4,
	};
}

#endif /* TEST_LIB_LUAJIT_IMAGE_H */
