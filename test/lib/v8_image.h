/*
 * Memory of a process with a function of V8 13: total(), of /srv/shop.mjs, as bytecode and as
 * optimised code, into which small() is inlined. Change what differs between releases in
 * v8_image_layout.
 */
#ifndef TEST_LIB_V8_IMAGE_H
#define TEST_LIB_V8_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/script_lines.h"
#include "node-agent/interpreter/v8_layout.h"

#include "bpf/frame_chain.h"

#define V8_IMAGE_BASE UINT64_C(0x100000)
#define V8_IMAGE_BYTES 8192u

enum v8_image_place {
	V8_IMAGE_MAPS = 0, /* 32 bytes each; by enum v8_image_type */
	V8_IMAGE_SFI = 0x200,
	V8_IMAGE_SCOPE = 0x280,
	V8_IMAGE_SCRIPT = 0x300,
	V8_IMAGE_BYTECODE = 0x400,
	V8_IMAGE_BYTECODE_POSITIONS = 0x500,
	V8_IMAGE_NAME = 0x600,
	V8_IMAGE_FILE = 0x640,
	V8_IMAGE_SOURCE = 0x700,
	V8_IMAGE_CODE = 0x800,
	V8_IMAGE_DEOPT = 0x900,
	V8_IMAGE_LITERALS = 0xa00,
	V8_IMAGE_INLINED = 0xb00, /* a SharedFunctionInfo */
	V8_IMAGE_INLINED_NAME = 0xb80,
	V8_IMAGE_INLINING = 0xc00,
	V8_IMAGE_POSITIONS = 0xd00,
	V8_IMAGE_SIZES = 0xe00, /* three rows of 4 bytecodes */
	V8_IMAGE_SPARE = 0xf00,
	V8_IMAGE_STREAM = 0x1000,
	V8_IMAGE_START = V8_IMAGE_STREAM + 32,
};

enum v8_image_type {
	V8_TYPE_SFI,
	V8_TYPE_SCRIPT,
	V8_TYPE_SCOPE,
	V8_TYPE_ARRAY,
	V8_TYPE_BYTECODE,
	V8_TYPE_STREAM,
	V8_TYPE_CODE,
	V8_TYPE_BYTES,
	V8_TYPE_STRING,
	V8_TYPE_CONS,
	V8_TYPE_WIDE,
	V8_TYPE_MAX,
};

static const uint16_t v8_image_types[V8_TYPE_MAX] = {
	200, 201, 202, 203, 204, 205, 206, 207, 8, 9, 0,
};

static const struct v8_layout v8_image_layout = {
	.release = 1306,
	.string_mask = 0xff80,
	.type_function = 199,
	.type_stream = 205,
	.type_code = 206,
	.type_sfi = 200,
	.type_script = 201,
	.type_scope = 202,
	.type_array = 203,
	.type_bytecode = 204,
	.type_trampoline = 198,
	.sfi_data = 8,
	.sfi_name = 24,
	.sfi_script = 40,
	.scope_words = 8,
	.scope_names = 5,
	.scope_has_table = true,
	.bytecode_data = 64,
	.bytecode_positions = 24,
	.stream_start = 32,
	.stream_code = 8,
	.code_start = 40,
	.code_size = 56,
	.code_flags = 52,
	.code_data = 8,
	.code_positions = 16,
	.table_from_entry = true,
	.kind_mask = 15,
	.kind_baseline = 10,
	.kind_regexp = 3,
	.deopt_literals = 3,
	.deopt_sfi = 7,
	.deopt_inlining = 8,
	.wrapper_sfi = 8,
	.n_bytecodes = 4,
	.bytecode_sizes = V8_IMAGE_SIZES,
};

struct v8_image {
	uint8_t bytes[V8_IMAGE_BYTES];
	size_t n_bytes;
	unsigned n_reads;
	uint64_t n_read;
	struct script_lines lines;
};

static inline uint64_t v8_image_at(unsigned place)
{
	return V8_IMAGE_BASE + place;
}

static inline uint64_t v8_image_object(unsigned place)
{
	return v8_image_at(place) | 1;
}

static inline int v8_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct v8_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (at < V8_IMAGE_BASE || at - V8_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - V8_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - V8_IMAGE_BASE), n);
	return 0;
}

static inline void v8_image_word(struct v8_image *image, unsigned place, uint64_t word)
{
	memcpy(image->bytes + place, &word, sizeof(word));
}

static inline uint64_t v8_image_integer(int32_t value)
{
	return (uint64_t)(uint32_t)value << 32;
}

static inline void v8_image_type(struct v8_image *image, unsigned place, enum v8_image_type type)
{
	v8_image_word(image, place, v8_image_object(V8_IMAGE_MAPS + 32 * type));
}

/* A sequential string of one byte a character. */
static inline void v8_image_string(struct v8_image *image, unsigned place, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);

	v8_image_type(image, place, V8_TYPE_STRING);
	memcpy(image->bytes + place + 12, &length, sizeof(length));
	memcpy(image->bytes + place + 16, text, length);
}

static inline void v8_image_byte_array(struct v8_image *image, unsigned place, const void *bytes,
				       size_t n)
{
	v8_image_type(image, place, V8_TYPE_BYTES);
	v8_image_word(image, place + 8, v8_image_integer((int32_t)n));
	memcpy(image->bytes + place + 16, bytes, n);
}

static inline void v8_image_code(struct v8_image *image)
{
	const uint32_t flags = 12, size = 64; /* optimised */
	/* from the entry of the function on: at 0 position 6; at 16 position 20, inlined in 0 */
	uint8_t positions[] = {2, 28, 32, 0, 0, 0, 0, 0, 0};
	uint64_t inlined = (UINT64_C(1) << 31 | 21 << 1) - (7 << 1), number = inlined << 1;
	const struct {
		uint64_t position;
		int32_t function, pad;
	} inlining = {.position = 10 << 1};
	size_t n = 3;

	for (; number > 0; number >>= 7)
		positions[n++] = (uint8_t)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
	v8_image_type(image, V8_IMAGE_STREAM, V8_TYPE_STREAM);
	v8_image_word(image, V8_IMAGE_STREAM + 8, v8_image_object(V8_IMAGE_CODE));
	v8_image_type(image, V8_IMAGE_CODE, V8_TYPE_CODE);
	v8_image_word(image, V8_IMAGE_CODE + 8, v8_image_object(V8_IMAGE_DEOPT));
	v8_image_word(image, V8_IMAGE_CODE + 16, v8_image_object(V8_IMAGE_POSITIONS));
	v8_image_word(image, V8_IMAGE_CODE + 40, v8_image_at(V8_IMAGE_START));
	memcpy(image->bytes + V8_IMAGE_CODE + 52, &flags, sizeof(flags));
	memcpy(image->bytes + V8_IMAGE_CODE + 56, &size, sizeof(size));
	v8_image_type(image, V8_IMAGE_DEOPT, V8_TYPE_ARRAY);
	v8_image_word(image, V8_IMAGE_DEOPT + 8, v8_image_integer(12));
	v8_image_word(image, V8_IMAGE_DEOPT + 16 + 3 * 8, v8_image_object(V8_IMAGE_LITERALS));
	v8_image_word(image, V8_IMAGE_DEOPT + 16 + 7 * 8, v8_image_object(V8_IMAGE_SFI));
	v8_image_word(image, V8_IMAGE_DEOPT + 16 + 8 * 8, v8_image_object(V8_IMAGE_INLINING));
	v8_image_type(image, V8_IMAGE_LITERALS, V8_TYPE_ARRAY);
	v8_image_word(image, V8_IMAGE_LITERALS + 8, v8_image_integer(1));
	v8_image_word(image, V8_IMAGE_LITERALS + 16, v8_image_object(V8_IMAGE_INLINED) | 2);
	v8_image_byte_array(image, V8_IMAGE_INLINING, &inlining, sizeof(inlining));
	v8_image_byte_array(image, V8_IMAGE_POSITIONS, positions, n);
}

/*
 * Without positions, as Maglev makes it: a call in total() returns to 12, one in small(), which is
 * inlined, to 24, and one that cannot be left to 32.
 */
static inline void v8_image_maglev(struct v8_image *image)
{
	/* stack slots, entries, their form, tagged slots; address, entry + 1, address, registers */
	static const uint8_t safepoints[] = {
		4,  0, 0, 0, 3, 0, 0, 0, 0xa1, 0, 0, 0, 2, 0, 0, 0, /* */
		12, 0, 1, 0, 0, 0,                                  /* */
		24, 0, 2, 0, 0, 0,                                  /* */
		32, 0, 0, 0, 0, 0,
	};
	/* a frame of total() at 5; one of it at 0, two values as before, and one of small() at 5 */
	static const uint8_t translations[] = {
		14, 0,  2, 2, 1, 10, 2, 0, 4, 38, 6, 37, /* */
		14, 12, 4, 4, 1, 0,  2, 0, 4, 47, 1, 10, 0, 0, 4,
	};

	memcpy(image->bytes + V8_IMAGE_START + 64, safepoints, sizeof(safepoints));
	v8_image_byte_array(image, V8_IMAGE_POSITIONS, "", 0);
	v8_image_byte_array(image, V8_IMAGE_SPARE, translations, sizeof(translations));
	v8_image_word(image, V8_IMAGE_DEOPT + 8, v8_image_integer(12 + 2 * 3));
	v8_image_word(image, V8_IMAGE_DEOPT + 16, v8_image_object(V8_IMAGE_SPARE));
	v8_image_word(image, V8_IMAGE_DEOPT + 16 + 13 * 8, v8_image_integer(0));
	v8_image_word(image, V8_IMAGE_DEOPT + 16 + 16 * 8, v8_image_integer(12));
	v8_image_word(image, V8_IMAGE_LITERALS + 8, v8_image_integer(2));
	v8_image_word(image, V8_IMAGE_LITERALS + 24, v8_image_object(V8_IMAGE_SFI));
}

static inline void v8_image_function(struct v8_image *image, unsigned sfi, uint64_t name)
{
	v8_image_type(image, sfi, V8_TYPE_SFI);
	v8_image_word(image, sfi + 8, v8_image_object(V8_IMAGE_BYTECODE));
	v8_image_word(image, sfi + 24, name);
	v8_image_word(image, sfi + 40, v8_image_object(V8_IMAGE_SCRIPT));
}

static inline void v8_image_fill(struct v8_image *image)
{
	static const uint8_t sizes[12] = {1, 1, 2, 3, 1, 1, 3, 5, 1, 1, 5, 9};
	/* from the entry on: at 0 position 6, at 5 position 14 */
	static const uint8_t positions[] = {2, 28, 10, 32};

	script_lines_fini(&image->lines);
	memset(image, 0, sizeof(*image));
	image->n_bytes = sizeof(image->bytes);
	for (unsigned i = 0; i < V8_TYPE_MAX; i++)
		memcpy(image->bytes + V8_IMAGE_MAPS + 32 * i + 12, &v8_image_types[i],
		       sizeof(v8_image_types[i]));
	v8_image_function(image, V8_IMAGE_SFI, v8_image_object(V8_IMAGE_SCOPE));
	v8_image_type(image, V8_IMAGE_SCOPE, V8_TYPE_SCOPE);
	v8_image_word(image, V8_IMAGE_SCOPE + 8, 3u << 12 | 1u << 14);
	v8_image_word(image, V8_IMAGE_SCOPE + 32, v8_image_integer(6));
	v8_image_word(image, V8_IMAGE_SCOPE + 48, v8_image_object(V8_IMAGE_NAME));
	v8_image_word(image, V8_IMAGE_SCOPE + 56, v8_image_integer(-1));
	v8_image_type(image, V8_IMAGE_SCRIPT, V8_TYPE_SCRIPT);
	v8_image_word(image, V8_IMAGE_SCRIPT + 8, v8_image_object(V8_IMAGE_SOURCE));
	v8_image_word(image, V8_IMAGE_SCRIPT + 16, v8_image_object(V8_IMAGE_FILE));
	v8_image_string(image, V8_IMAGE_NAME, "total");
	v8_image_string(image, V8_IMAGE_FILE, "file:///srv/shop.mjs");
	/* lines begin at 0, 4, 10, 18 */
	v8_image_string(image, V8_IMAGE_SOURCE, "abc\nabcde\nabcdefg\nabcdefg\n");
	v8_image_type(image, V8_IMAGE_BYTECODE, V8_TYPE_BYTECODE);
	v8_image_word(image, V8_IMAGE_BYTECODE + 8, v8_image_integer(8));
	v8_image_word(image, V8_IMAGE_BYTECODE + 24, v8_image_object(V8_IMAGE_BYTECODE_POSITIONS));
	memcpy(image->bytes + V8_IMAGE_BYTECODE + 64, "\x03\0\0\x02\0\x03\0\0", 8);
	v8_image_byte_array(image, V8_IMAGE_BYTECODE_POSITIONS, positions, sizeof(positions));
	v8_image_function(image, V8_IMAGE_INLINED, v8_image_object(V8_IMAGE_INLINED_NAME));
	v8_image_string(image, V8_IMAGE_INLINED_NAME, "small");
	memcpy(image->bytes + V8_IMAGE_SIZES, sizes, sizeof(sizes));
	v8_image_code(image);
}

/* At an offset in the bytecode. */
static inline struct interpreter_frame v8_image_frame(uint32_t offset)
{
	return (struct interpreter_frame){
		.code = v8_image_at(V8_IMAGE_SFI),
		.check = chain_check(v8_image_object(V8_IMAGE_SCOPE)),
		.at = CHAIN_AT_BYTECODE | (offset + 63),
	};
}

#endif /* TEST_LIB_V8_IMAGE_H */
