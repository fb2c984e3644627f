/*
 * Memory of a process with Erlang: the module shop with the functions pay/1 and 'größe'/0, whose
 * code is in src/shop.erl.
 */
#ifndef TEST_LIB_ERLANG_IMAGE_H
#define TEST_LIB_ERLANG_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/erlang/erlang_offsets.h"
#include "node-agent/interpreter/erlang_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

#include "bpf/frame_chain.h"

#define ERLANG_IMAGE_BASE UINT64_C(0x10000)
#define ERLANG_IMAGE_BIAS UINT64_C(0x8000)
#define ERLANG_IMAGE_BYTES 4096u
#define ERLANG_IMAGE_FUNCTIONS 96u /* in the header */

enum erlang_image_place {
	ERLANG_IMAGE_TABLES = 0, /* of ranges, by code index */
	ERLANG_IMAGE_CODE_INDEX = 96,
	ERLANG_IMAGE_ATOM_TABLE = 128,
	ERLANG_IMAGE_RANGES = 256, /* three modules, of which the second one is shop */
	ERLANG_IMAGE_PIECES = 320,
	ERLANG_IMAGE_PIECE = 512, /* pointers to atoms */
	ERLANG_IMAGE_ATOM = 576,  /* 48 bytes each */
	ERLANG_IMAGE_TEXT = 768,  /* 32 bytes each */
	ERLANG_IMAGE_MODULE = 1024,
	ERLANG_IMAGE_PAY = 1152, /* a function and its code */
	ERLANG_IMAGE_SIZE = 1280,
	ERLANG_IMAGE_SHARED = 1408, /* code behind the last function */
	ERLANG_IMAGE_MODULE_END = 1472,
	ERLANG_IMAGE_LINES = 1536,
	ERLANG_IMAGE_ADDRESSES = 1600, /* that have places */
	ERLANG_IMAGE_PLACES = 1664,
	ERLANG_IMAGE_FILES = 1728,
	ERLANG_IMAGE_CELLS = 1792,
};

enum erlang_image_atom {
	ERLANG_IMAGE_SHOP,
	ERLANG_IMAGE_PAY_NAME,
	ERLANG_IMAGE_SIZE_NAME,
	ERLANG_IMAGE_ATOMS
};

#define ERLANG_IMAGE_LINE 42u /* from the 64th byte of pay/1 on; before that 41 */
#define ERLANG_IMAGE_FILE "src/shop.erl"

static const struct erlang_layout erlang_image_layout = {
	.ranges = ERLANG_IMAGE_BASE - ERLANG_IMAGE_BIAS + ERLANG_IMAGE_TABLES,
	.code_index = ERLANG_IMAGE_BASE - ERLANG_IMAGE_BIAS + ERLANG_IMAGE_CODE_INDEX,
	.atoms = ERLANG_IMAGE_BASE - ERLANG_IMAGE_BIAS + ERLANG_IMAGE_ATOM_TABLE,
	.functions = ERLANG_IMAGE_FUNCTIONS,
};

struct erlang_image {
	uint8_t bytes[ERLANG_IMAGE_BYTES];
	size_t n_bytes; /* that there are */
	unsigned n_reads;
	size_t n_read;
	unsigned index_changes_at; /* the read before which modules are loaded; 0: never */
};

static inline void erlang_image_half(struct erlang_image *image, unsigned at, uint32_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline int erlang_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct erlang_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (image->index_changes_at == image->n_reads)
		erlang_image_half(image, ERLANG_IMAGE_CODE_INDEX, 2);
	if (at < ERLANG_IMAGE_BASE || at - ERLANG_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - ERLANG_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - ERLANG_IMAGE_BASE), n);
	return 0;
}

static inline void erlang_image_word(struct erlang_image *image, unsigned at, uint64_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline void erlang_image_address(struct erlang_image *image, unsigned at, unsigned place)
{
	erlang_image_word(image, at, ERLANG_IMAGE_BASE + place);
}

static inline uint64_t erlang_image_term(enum erlang_image_atom atom)
{
	return (uint64_t)atom << ERLANG_ATOM_SHIFT | ERLANG_ATOM;
}

static inline void erlang_image_atom(struct erlang_image *image, enum erlang_image_atom atom,
				     const char *text)
{
	unsigned at = ERLANG_IMAGE_ATOM + atom * 48u, to = ERLANG_IMAGE_TEXT + atom * 32u;
	uint16_t length = (uint16_t)strlen(text);

	erlang_image_address(image, ERLANG_IMAGE_PIECE + atom * 8u, at);
	memcpy(image->bytes + at + ERLANG_ATOM_LENGTH, &length, sizeof(length));
	erlang_image_address(image, at + ERLANG_ATOM_TEXT, to);
	memcpy(image->bytes + to, text, length);
}

static inline void erlang_image_function(struct erlang_image *image, unsigned i, unsigned place,
					 enum erlang_image_atom name, unsigned arity)
{
	erlang_image_address(image, ERLANG_IMAGE_MODULE + ERLANG_IMAGE_FUNCTIONS + i * 8, place);
	erlang_image_word(image, place + ERLANG_FUNCTION_MODULE,
			  erlang_image_term(ERLANG_IMAGE_SHOP));
	erlang_image_word(image, place + ERLANG_FUNCTION_NAME, erlang_image_term(name));
	erlang_image_word(image, place + ERLANG_FUNCTION_ARITY, arity);
}

/* Whose cells lie in any order, `step` cells from each other. */
static inline void erlang_image_text(struct erlang_image *image, unsigned at, unsigned step,
				     const char *text)
{
	erlang_image_word(image, at, ERLANG_IMAGE_BASE + ERLANG_IMAGE_CELLS + ERLANG_LIST);
	for (unsigned i = 0; text[i] != '\0'; i++) {
		unsigned cell = ERLANG_IMAGE_CELLS + i * step * 16;

		erlang_image_word(image, cell,
				  (uint64_t)(uint8_t)text[i] << ERLANG_SMALL_SHIFT | ERLANG_SMALL);
		erlang_image_word(image, cell + 8,
				  text[i + 1] == '\0'
					  ? 0x3b /* [] */
					  : ERLANG_IMAGE_BASE + cell + step * 16 + ERLANG_LIST);
	}
}

static inline void erlang_image_lines(struct erlang_image *image, unsigned place_bytes)
{
	static const uint32_t places[] = {41, ERLANG_IMAGE_LINE, 50};
	const unsigned addresses[] = {ERLANG_IMAGE_PAY + 40, ERLANG_IMAGE_PAY + 64,
				      ERLANG_IMAGE_SIZE + 64};

	erlang_image_address(image, ERLANG_IMAGE_MODULE + ERLANG_CODE_LINES, ERLANG_IMAGE_LINES);
	erlang_image_address(image, ERLANG_IMAGE_LINES + ERLANG_LINES_FILES, ERLANG_IMAGE_FILES);
	erlang_image_half(image, ERLANG_IMAGE_LINES + ERLANG_LINES_PLACE_BYTES, place_bytes);
	erlang_image_address(image, ERLANG_IMAGE_LINES + ERLANG_LINES_PLACES, ERLANG_IMAGE_PLACES);
	for (unsigned i = 0; i < 3; i++) { /* of pay/1 two, of the other one, and the end */
		erlang_image_address(image, ERLANG_IMAGE_LINES + ERLANG_LINES_FUNCTIONS + i * 8,
				     ERLANG_IMAGE_ADDRESSES + (i == 0 ? 0 : i + 1) * 8);
		erlang_image_address(image, ERLANG_IMAGE_ADDRESSES + i * 8, addresses[i]);
		memcpy(image->bytes + ERLANG_IMAGE_PLACES + i * place_bytes, &places[i],
		       place_bytes);
	}
	erlang_image_text(image, ERLANG_IMAGE_FILES, 1, ERLANG_IMAGE_FILE);
}

static inline void erlang_image_fill(struct erlang_image *i)
{
	const unsigned table = ERLANG_IMAGE_TABLES + ERLANG_RANGES_BYTES; /* of index 1 */

	*i = (struct erlang_image){.n_bytes = ERLANG_IMAGE_BYTES};
	erlang_image_half(i, ERLANG_IMAGE_CODE_INDEX, 1);
	erlang_image_address(i, table, ERLANG_IMAGE_RANGES);
	erlang_image_word(i, table + ERLANG_RANGES_N, 3);
	erlang_image_word(i, ERLANG_IMAGE_RANGES, 0x1000);
	erlang_image_word(i, ERLANG_IMAGE_RANGES + 8, 0x2000);
	erlang_image_address(i, ERLANG_IMAGE_RANGES + 16, ERLANG_IMAGE_MODULE);
	erlang_image_address(i, ERLANG_IMAGE_RANGES + 24, ERLANG_IMAGE_MODULE_END);
	erlang_image_word(i, ERLANG_IMAGE_RANGES + 32, 0x100000);
	erlang_image_word(i, ERLANG_IMAGE_RANGES + 40, 0x200000);
	erlang_image_address(i, ERLANG_IMAGE_ATOM_TABLE + ERLANG_ATOMS_PIECES, ERLANG_IMAGE_PIECES);
	erlang_image_address(i, ERLANG_IMAGE_PIECES, ERLANG_IMAGE_PIECE);
	erlang_image_atom(i, ERLANG_IMAGE_SHOP, "shop");
	erlang_image_atom(i, ERLANG_IMAGE_PAY_NAME, "pay");
	erlang_image_atom(i, ERLANG_IMAGE_SIZE_NAME, "größe");
	erlang_image_word(i, ERLANG_IMAGE_MODULE, 2);
	erlang_image_function(i, 0, ERLANG_IMAGE_PAY, ERLANG_IMAGE_PAY_NAME, 1);
	erlang_image_function(i, 1, ERLANG_IMAGE_SIZE, ERLANG_IMAGE_SIZE_NAME, 0);
	erlang_image_address(i, ERLANG_IMAGE_MODULE + ERLANG_IMAGE_FUNCTIONS + 16,
			     ERLANG_IMAGE_SHARED);
	erlang_image_lines(i, 2);
}

/* A frame at this place, as the walk sends it. */
static inline struct interpreter_frame erlang_image_frame(const struct erlang_image *image,
							  unsigned place)
{
	uint64_t word;

	memcpy(&word, image->bytes + place / 8 * 8, sizeof(word));
	return (struct interpreter_frame){.code = ERLANG_IMAGE_BASE + place / 8 * 8,
					  .check = chain_check(word),
					  .at = ERLANG_IMAGE_BASE + place};
}

#endif /* TEST_LIB_ERLANG_IMAGE_H */
