/*
 * Memory of a JVM with a compiled method, shop.Cart.total(), that another one is inlined into,
 * shop.Item.price(). Change what differs between releases in hotspot_image_layout.
 */
#ifndef TEST_LIB_HOTSPOT_IMAGE_H
#define TEST_LIB_HOTSPOT_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/hotspot_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

#define HOTSPOT_IMAGE_BASE UINT64_C(0x10000)
#define HOTSPOT_IMAGE_BYTES 2048u

enum hotspot_image_place {
	HOTSPOT_IMAGE_NMETHOD = 0,
	HOTSPOT_IMAGE_KIND = 128, /* its name */
	HOTSPOT_IMAGE_CODE = 192,
	HOTSPOT_IMAGE_PCS = 256, /* four */
	HOTSPOT_IMAGE_SCOPES = 320,
	HOTSPOT_IMAGE_METADATA = 384,
	HOTSPOT_IMAGE_TOTAL = 448, /* Methods */
	HOTSPOT_IMAGE_PRICE = 480,
	HOTSPOT_IMAGE_TOTAL_CONST = 512,
	HOTSPOT_IMAGE_PRICE_CONST = 640,
	HOTSPOT_IMAGE_CART_POOL = 768,
	HOTSPOT_IMAGE_ITEM_POOL = 832,
	HOTSPOT_IMAGE_CART = 896, /* classes */
	HOTSPOT_IMAGE_ITEM = 928,
	HOTSPOT_IMAGE_CALL_STUB = 960, /* a variable */
	HOTSPOT_IMAGE_SYMBOLS = 1024,  /* 64 bytes each */
};

#define HOTSPOT_IMAGE_ID 77u
#define HOTSPOT_IMAGE_NAME 3u /* index in the pools */
#define HOTSPOT_IMAGE_CODE_BYTES 10u

/* As in HotSpot's own headers, but closer together. */
static const struct hotspot_layout hotspot_image_layout = {
	.complete = true,
	.walk = {.blob_name = 8, .compile_id = 16, .blob_code = 24, .const_method = 8},
	.call_stub = HOTSPOT_IMAGE_CALL_STUB,
	.nmethod_method = 32,
	.nmethod_scopes_pcs = 40,
	.nmethod_pcs_end = 44,
	.nmethod_scopes_data = 48,
	.scopes_pointer = true,
	.nmethod_metadata = 56,
	.const_constants = 8,
	.const_words = 16,
	.const_flags = 20,
	.const_code_bytes = 24,
	.const_name = 26,
	.const_bytes = 32,
	.pool_holder = 16,
	.pool_bytes = 24,
	.klass_name = 8,
	.symbol_length = 0,
	.symbol_body = 2,
	.lines_flag = 1,
	.byte_excess = 1,
};

struct hotspot_image {
	uint8_t bytes[HOTSPOT_IMAGE_BYTES];
	size_t n_bytes; /* that there are */
	unsigned n_reads;
	size_t n_read;
};

static inline uint64_t hotspot_image_at(unsigned place)
{
	return HOTSPOT_IMAGE_BASE + place;
}

static inline int hotspot_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct hotspot_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (at < HOTSPOT_IMAGE_BASE || at - HOTSPOT_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - HOTSPOT_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - HOTSPOT_IMAGE_BASE), n);
	return 0;
}

static inline void hotspot_image_put(struct hotspot_image *image, unsigned at, uint64_t v, size_t n)
{
	memcpy(image->bytes + at, &v, n);
}

static inline void hotspot_image_word(struct hotspot_image *image, unsigned at, uint64_t v)
{
	hotspot_image_put(image, at, v, sizeof(v));
}

static inline void hotspot_image_address(struct hotspot_image *image, unsigned at, unsigned place)
{
	hotspot_image_word(image, at, hotspot_image_at(place));
}

/* Returns its place. */
static inline unsigned hotspot_image_symbol(struct hotspot_image *image, unsigned n,
					    const char *text)
{
	unsigned at = HOTSPOT_IMAGE_SYMBOLS + n * 64;

	hotspot_image_put(image, at, strlen(text), 2);
	memcpy(image->bytes + at + 2, text, strlen(text));
	return at;
}

/* A method whose first line is `line`, and whose bytecodes from the second on are at the next. */
static inline void hotspot_image_method(struct hotspot_image *image, unsigned method,
					unsigned constant, unsigned pool, uint8_t line)
{
	const uint8_t lines[] = {0xff, 1, (uint8_t)(2 * line + 1), 2 << 3 | 1, 0};

	hotspot_image_address(image, method + 8, constant);
	hotspot_image_address(image, constant + 8, pool);
	hotspot_image_put(image, constant + 16, 8, 4);
	hotspot_image_put(image, constant + 20, 1, 4);
	hotspot_image_put(image, constant + 24, HOTSPOT_IMAGE_CODE_BYTES, 2);
	hotspot_image_put(image, constant + 26, HOTSPOT_IMAGE_NAME, 2);
	memcpy(image->bytes + constant + 32 + HOTSPOT_IMAGE_CODE_BYTES, lines, sizeof(lines));
}

static inline void hotspot_image_class(struct hotspot_image *image, unsigned pool, unsigned class,
				       unsigned n_symbol, const char *name, const char *method)
{
	hotspot_image_address(image, pool + 16, class);
	hotspot_image_address(image, pool + 24 + 8 * HOTSPOT_IMAGE_NAME,
			      hotspot_image_symbol(image, n_symbol, method));
	hotspot_image_address(image, class + 8, hotspot_image_symbol(image, n_symbol + 1, name));
}

static inline void hotspot_image_pc(struct hotspot_image *image, unsigned n, int32_t offset,
				    uint32_t scope)
{
	hotspot_image_put(image, HOTSPOT_IMAGE_PCS + n * 16, (uint32_t)offset, 4);
	hotspot_image_put(image, HOTSPOT_IMAGE_PCS + n * 16 + 4, scope, 4);
}

static inline void hotspot_image_fill(struct hotspot_image *image)
{
	/* each: of the caller, method, bytecode; all by one too large, and the last by another */
	static const uint8_t scopes[] = {0, 1, 2, 5, 2, 3, 2};

	memset(image, 0, sizeof(*image));
	image->n_bytes = sizeof(image->bytes);
	hotspot_image_address(image, 8, HOTSPOT_IMAGE_KIND);
	memcpy(image->bytes + HOTSPOT_IMAGE_KIND, "nmethod", 8);
	hotspot_image_put(image, 16, HOTSPOT_IMAGE_ID, 4);
	hotspot_image_address(image, 24, HOTSPOT_IMAGE_CODE);
	hotspot_image_address(image, 32, HOTSPOT_IMAGE_TOTAL);
	hotspot_image_put(image, 40, HOTSPOT_IMAGE_PCS, 4);
	hotspot_image_put(image, 44, HOTSPOT_IMAGE_SCOPES, 4);
	hotspot_image_address(image, 48, HOTSPOT_IMAGE_SCOPES);
	hotspot_image_put(image, 56, HOTSPOT_IMAGE_METADATA, 4);
	hotspot_image_pc(image, 0, -1, 0);
	hotspot_image_pc(image, 1, 16, 1);
	hotspot_image_pc(image, 2, 32, 4);
	hotspot_image_pc(image, 3, INT32_MAX, 0);
	memcpy(image->bytes + HOTSPOT_IMAGE_SCOPES, scopes, sizeof(scopes));
	hotspot_image_address(image, HOTSPOT_IMAGE_METADATA, HOTSPOT_IMAGE_TOTAL);
	hotspot_image_address(image, HOTSPOT_IMAGE_METADATA + 8, HOTSPOT_IMAGE_PRICE);
	hotspot_image_method(image, HOTSPOT_IMAGE_TOTAL, HOTSPOT_IMAGE_TOTAL_CONST,
			     HOTSPOT_IMAGE_CART_POOL, 20);
	hotspot_image_method(image, HOTSPOT_IMAGE_PRICE, HOTSPOT_IMAGE_PRICE_CONST,
			     HOTSPOT_IMAGE_ITEM_POOL, 30);
	hotspot_image_class(image, HOTSPOT_IMAGE_CART_POOL, HOTSPOT_IMAGE_CART, 0, "shop/Cart",
			    "total");
	hotspot_image_class(image, HOTSPOT_IMAGE_ITEM_POOL, HOTSPOT_IMAGE_ITEM, 2, "shop/Item",
			    "price");
}

/* In the compiled code. */
static inline struct interpreter_frame hotspot_image_frame(uint64_t offset, uint32_t level)
{
	return (struct interpreter_frame){
		.code = hotspot_image_at(HOTSPOT_IMAGE_NMETHOD),
		.check = chain_check(HOTSPOT_IMAGE_ID),
		.at = hotspot_image_at(HOTSPOT_IMAGE_CODE) + offset,
		.level = level,
	};
}

/* In a method that is interpreted, at this bytecode. */
static inline struct interpreter_frame hotspot_image_interpreted(uint64_t bytecode)
{
	return (struct interpreter_frame){
		.code = hotspot_image_at(HOTSPOT_IMAGE_TOTAL),
		.check = chain_check(hotspot_image_at(HOTSPOT_IMAGE_TOTAL_CONST)),
		.at = (hotspot_image_at(HOTSPOT_IMAGE_TOTAL_CONST) + 32 + bytecode) |
		      CHAIN_JVM_INTERPRETED,
	};
}

#endif /* TEST_LIB_HOTSPOT_IMAGE_H */
