/*
 * Offsets are those of lstate.h and lobject.h on 64-bit machines. Within a minor release they have
 * not changed, nor has what the bits of CallInfo.callstatus mean, but for 5.3: from 5.3.3 on.
 */
#include "node-agent/interpreter/lua/lua_release.h"

#include <errno.h>

#define IDENT_BYTES 64u
#define THREAD 8u       /* LUA_TTHREAD */
#define FUNCTION 6u     /* LUA_TFUNCTION */
#define LIGHT_C 0x16u   /* a C function without upvalues; since 5.2 */
#define C_CLOSURE 0x20u /* a bit of a closure's kind; since 5.2 */
#define KIND_AT 8u      /* in a state, a value and a closure */

/* Opcodes of 5.1: OP_CALL, OP_TAILCALL */
#define CALLS_OF_5_1 (UINT64_C(1) << 28 | UINT64_C(1) << 29)

static const struct lua_release releases[] = {
	{
		.layout = {.minor = 1,
			   .constants = {16, 76},
			   .code = {24, 80},
			   .lines = {40, 84},
			   .locals = {48, 92},
			   .upvalues = {56, 72},
			   .source = 64,
			   .first_line = 96,
			   .check_more = 24,
			   .n_parameters = 113},
		.frames = {.next_is = CHAIN_NEXT_CALL,
			   .n_bytes = 40,
			   .at = 24,
			   .next = -40,
			   .end = 32,
			   .check = 96,
			   .check_more = 24},
		.calls = {.frame = 40,
			  .at = 48,
			  .kind = KIND_AT,
			  .code = 32,
			  .value = 8,
			  .size = 80,
			  .state_kind = THREAD,
			  .function_kind = FUNCTION,
			  .light = 0xff,
			  .is_array = 1,
			  .native = 0xff0000, /* isC */
			  .tail = UINT64_C(0xffffffff) << 32,
			  .call_codes = CALLS_OF_5_1},
		.stored_at = 48,
	},
	{
		.layout = {.minor = 2,
			   .constants = {16, 84},
			   .code = {24, 88},
			   .lines = {40, 92},
			   .locals = {48, 100},
			   .upvalues = {56, 80},
			   .source = 72,
			   .first_line = 104,
			   .check_more = 24,
			   .n_parameters = 120},
		.frames = {.next_is = CHAIN_NEXT_CALL,
			   .n_bytes = 64,
			   .at = 56,
			   .next = 16,
			   .end = 32,
			   .check = 104,
			   .check_more = 24,
			   .end_mask = 0x04 << 16}, /* not CIST_REENTRY */
		.calls = {.frame = 32,
			  .kind = KIND_AT,
			  .code = 24,
			  .size = 88,
			  .state_kind = THREAD,
			  .function_kind = FUNCTION,
			  .light = LIGHT_C,
			  .native = C_CLOSURE,
			  .tail = 0x40 << 16},
	},
	{
		.layout = {.minor = 3,
			   .constants = {48, 20},
			   .code = {56, 24},
			   .lines = {72, 28},
			   .locals = {80, 36},
			   .upvalues = {88, 16},
			   .source = 104,
			   .first_line = 40,
			   .check_more = 56,
			   .n_parameters = 10},
		.frames = {.next_is = CHAIN_NEXT_CALL,
			   .n_bytes = 72,
			   .at = 40,
			   .next = 16,
			   .end = 64,
			   .check = 40,
			   .check_more = 56,
			   .end_mask = 0x08 << 16, /* CIST_FRESH */
			   .end_value = 0x08 << 16},
		.calls = {.frame = 32,
			  .kind = KIND_AT,
			  .code = 24,
			  .size = 24,
			  .state_kind = THREAD,
			  .function_kind = FUNCTION,
			  .light = LIGHT_C,
			  .native = C_CLOSURE,
			  .tail = 0x20 << 16},
		.mark_at = 66,
		.mark = 0x08,
	},
	{
		.layout = {.minor = 4,
			   .constants = {56, 20},
			   .code = {64, 24},
			   .lines = {88, 28},
			   .locals = {104, 36},
			   .upvalues = {80, 16},
			   .line_marks = {96, 40},
			   .source = 112,
			   .first_line = 44,
			   .check_more = 64,
			   .n_parameters = 10},
		.frames = {.next_is = CHAIN_NEXT_CALL,
			   .n_bytes = 64,
			   .at = 32,
			   .next = 16,
			   .end = 56,
			   .check = 44,
			   .check_more = 64,
			   .end_mask = UINT64_C(0x04) << 48, /* CIST_FRESH */
			   .end_value = UINT64_C(0x04) << 48},
		.calls = {.frame = 32,
			  .kind = KIND_AT,
			  .code = 24,
			  .size = 24,
			  .state_kind = THREAD,
			  .function_kind = FUNCTION,
			  .light = LIGHT_C,
			  .native = C_CLOSURE,
			  .tail = UINT64_C(0x20) << 48},
		.stored_at = 32,
	},
	{
		.layout = {.minor = 5,
			   .constants = {56, 20},
			   .code = {64, 24},
			   .lines = {88, 28},
			   .locals = {104, 36},
			   .upvalues = {80, 16},
			   .line_marks = {96, 40},
			   .source = 112,
			   .first_line = 44,
			   .check_more = 64,
			   .n_parameters = 10},
		.frames = {.next_is = CHAIN_NEXT_CALL,
			   .n_bytes = 64,
			   .at = 32,
			   .next = 16,
			   .end = 56,
			   .check = 44,
			   .check_more = 64,
			   .end_mask = UINT64_C(0x10000) << 32, /* CIST_FRESH */
			   .end_value = UINT64_C(0x10000) << 32},
		.calls = {.frame = 32,
			  .kind = KIND_AT,
			  .code = 24,
			  .size = 24,
			  .state_kind = THREAD,
			  .function_kind = FUNCTION,
			  .light = LIGHT_C,
			  .native = C_CLOSURE,
			  .tail = UINT64_C(0x400000) << 32},
		.stored_at = 32,
	},
};

const struct lua_release *lua_release_of(const char *text)
{
	const char *found = strstr(text, "Lua 5.");
	unsigned minor, patch = 0;

	if (!found || found[6] < '0' || found[6] > '9')
		return NULL;
	minor = (unsigned)(found[6] - '0');
	if (found[7] == '.' && found[8] >= '0' && found[8] <= '9')
		patch = (unsigned)(found[8] - '0');
	if (minor == 3 && patch < 3)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		if (releases[i].layout.minor == minor)
			return &releases[i];
	}
	return NULL;
}

const struct lua_release *lua_release_find(const struct elf_layout *layout,
					   const struct byte_source *src, uint64_t vaddr,
					   int *error)
{
	char text[IDENT_BYTES + 1] = "";
	uint64_t offset;
	int r = elf_layout_offset(layout, vaddr, &offset);

	if (r == 0)
		r = byte_source_read(src, offset, text, IDENT_BYTES);
	*error = r == 0 || r == -ENOENT ? -ENOTSUP : r;
	return r < 0 ? NULL : lua_release_of(text);
}
