/*
 * Memory of a process with .NET: a heap of code with the dynamic methods "Pay" and "Long" and a
 * stub, a range of stubs, and one of an assembly that was compiled before. All of it lies in one
 * list of fragments, so that of each table of the map only the first entry is there.
 */
#ifndef TEST_LIB_DOTNET_MEMORY_H
#define TEST_LIB_DOTNET_MEMORY_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/dotnet_layout.h"
#include "node-agent/interpreter/interpreter_frame.h"

#include "bpf/frame_chain.h"

#define DOTNET_IMAGE_BASE UINT64_C(0x10000)
#define DOTNET_IMAGE_BIAS UINT64_C(0x8000)
#define DOTNET_IMAGE_BYTES 16384u
#define DOTNET_IMAGE_TABLE_BYTES 8u /* that are there of a table of the map */

enum dotnet_image_place {
	DOTNET_IMAGE_MAP = 0,
	DOTNET_IMAGE_FRAGMENTS = 64, /* 32 bytes each */
	DOTNET_IMAGE_SECTIONS = 192, /* 64 bytes each */
	DOTNET_IMAGE_HEAP = 384,
	DOTNET_IMAGE_UNITS = 448,
	DOTNET_IMAGE_HEADERS = 512, /* 32 bytes each */
	DOTNET_IMAGE_CHUNK = 640,
	DOTNET_IMAGE_METHODS = DOTNET_IMAGE_CHUNK + 24, /* 48 bytes each */
	DOTNET_IMAGE_TYPE = 768,
	DOTNET_IMAGE_GENERIC = 832, /* the type of which that one is an instance */
	DOTNET_IMAGE_CLASS = 896,
	DOTNET_IMAGE_MODULE = 1024,
	DOTNET_IMAGE_NAMES = 1344, /* 32 bytes each */
	DOTNET_IMAGE_CODE = 2048,
	DOTNET_IMAGE_PAY = DOTNET_IMAGE_CODE + 40,
	DOTNET_IMAGE_STUB = DOTNET_IMAGE_CODE + 128,
	DOTNET_IMAGE_LONG = DOTNET_IMAGE_CODE + 208, /* to the end */
	DOTNET_IMAGE_CODE_END = 6144,
	DOTNET_IMAGE_STUBS = 8192,
	DOTNET_IMAGE_ASSEMBLY = 12288,
};

/* As .NET 9 has it. */
static const struct dotnet_layout dotnet_image_layout = {
	.code_map = DOTNET_IMAGE_BASE - DOTNET_IMAGE_BIAS + DOTNET_IMAGE_MAP,
	.complete = true,
	.token_bits = 12,
	.at =
		{
			[DOTNET_FRAGMENT_BEGIN] = 8,
			[DOTNET_FRAGMENT_END] = 16,
			[DOTNET_FRAGMENT_SECTION] = 24,
			[DOTNET_SECTION_FLAGS] = 16,
			[DOTNET_SECTION_HEAP] = 40,
			[DOTNET_HEAP_BASE] = 32,
			[DOTNET_HEAP_MAP] = 40,
			[DOTNET_CODE_METHOD] = 24,
			[DOTNET_METHOD_INDEX] = 2,
			[DOTNET_METHOD_FLAGS] = 6,
			[DOTNET_METHOD_NAME] = 32,
			[DOTNET_CHUNK_TOKEN] = 18,
			[DOTNET_CHUNK_BYTES] = 24,
			[DOTNET_TABLE_MODULE] = 24,
			[DOTNET_TABLE_CLASS] = 40,
			[DOTNET_CLASS_TABLE] = 16,
			[DOTNET_MODULE_BASE] = 288,
		},
};

struct dotnet_image {
	uint8_t bytes[DOTNET_IMAGE_BYTES];
	unsigned n_reads;
	size_t n_read;
	unsigned code_changes_at; /* the read before which other code is at all places; 0: never */
};

static inline void dotnet_image_word(struct dotnet_image *image, unsigned at, uint64_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline void dotnet_image_half(struct dotnet_image *image, unsigned at, uint32_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline void dotnet_image_address(struct dotnet_image *image, unsigned at, unsigned place)
{
	dotnet_image_word(image, at, DOTNET_IMAGE_BASE + place);
}

static inline int dotnet_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct dotnet_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (image->code_changes_at == image->n_reads)
		memset(image->bytes + DOTNET_IMAGE_CODE, 0xcc,
		       DOTNET_IMAGE_CODE_END - DOTNET_IMAGE_CODE);
	if (at < DOTNET_IMAGE_BASE || at - DOTNET_IMAGE_BASE > DOTNET_IMAGE_BYTES ||
	    n > DOTNET_IMAGE_BYTES - (at - DOTNET_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - DOTNET_IMAGE_BASE), n);
	return 0;
}

static inline void dotnet_image_range(struct dotnet_image *image, unsigned i, unsigned begin,
				      unsigned end, uint32_t flags)
{
	unsigned fragment = DOTNET_IMAGE_FRAGMENTS + i * 32, section = DOTNET_IMAGE_SECTIONS;

	section += i * 64;
	if (i > 0) /* of memory that can be freed, which a bit says */
		dotnet_image_address(image, fragment - 32, fragment + 1);
	dotnet_image_address(image, fragment + 8, begin);
	dotnet_image_address(image, fragment + 16, end);
	dotnet_image_address(image, fragment + 24, section);
	dotnet_image_half(image, section + 16, flags);
	dotnet_image_address(image, section + 40, DOTNET_IMAGE_HEAP);
}

static inline void dotnet_image_method(struct dotnet_image *image, unsigned i, unsigned code,
				       const char *name)
{
	unsigned header = DOTNET_IMAGE_HEADERS + i * 32, method = DOTNET_IMAGE_METHODS + i * 48;
	unsigned text = DOTNET_IMAGE_NAMES + i * 32;

	dotnet_image_address(image, code - 8, header);
	dotnet_image_address(image, header + 24, method);
	image->bytes[method + 2] = (uint8_t)(i * 48 / 8);
	image->bytes[method + 6] = 7; /* dynamic */
	dotnet_image_address(image, method + 32, text);
	memcpy(image->bytes + text, name, strlen(name) + 1);
}

/* Sets the entry of a method in the map. */
static inline void dotnet_image_entry(struct dotnet_image *image, unsigned code)
{
	unsigned offset = code - DOTNET_IMAGE_CODE, at = DOTNET_IMAGE_UNITS + offset / 256 * 4;
	uint32_t unit;

	memcpy(&unit, image->bytes + at, sizeof(unit));
	unit |= (offset % 32 / 4 + 1) << (7 - offset / 32 % 8) * 4;
	dotnet_image_half(image, at, unit);
}

/* Of a direct map: the unit of a place in which a method continues. */
static inline void dotnet_image_reference(struct dotnet_image *image, unsigned place, unsigned code)
{
	unsigned offset = code - DOTNET_IMAGE_CODE;

	dotnet_image_half(image, DOTNET_IMAGE_UNITS + (place - DOTNET_IMAGE_CODE) / 256 * 4,
			  (offset & ~15U) + (offset & 15) / 4 + 9);
}

static inline void dotnet_image_fill(struct dotnet_image *i)
{
	memset(i, 0, sizeof(*i));
	memset(i->bytes + DOTNET_IMAGE_CODE, 0x90, DOTNET_IMAGE_CODE_END - DOTNET_IMAGE_CODE);
	for (unsigned level = 0; level < 5; level++)
		dotnet_image_address(i, DOTNET_IMAGE_MAP + level * DOTNET_IMAGE_TABLE_BYTES,
				     level < 4 ? DOTNET_IMAGE_MAP +
							 (level + 1) * DOTNET_IMAGE_TABLE_BYTES
					       : DOTNET_IMAGE_FRAGMENTS);
	dotnet_image_range(i, 0, DOTNET_IMAGE_ASSEMBLY, DOTNET_IMAGE_BYTES, 0);
	dotnet_image_range(i, 1, DOTNET_IMAGE_STUBS, DOTNET_IMAGE_STUBS + 4096, 4);
	dotnet_image_range(i, 2, DOTNET_IMAGE_CODE, DOTNET_IMAGE_CODE_END, 2);
	dotnet_image_address(i, DOTNET_IMAGE_HEAP + 32, DOTNET_IMAGE_CODE);
	dotnet_image_address(i, DOTNET_IMAGE_HEAP + 40, DOTNET_IMAGE_UNITS);
	dotnet_image_method(i, 0, DOTNET_IMAGE_PAY, "Pay");
	dotnet_image_method(i, 1, DOTNET_IMAGE_LONG, "Long");
	dotnet_image_word(i, DOTNET_IMAGE_STUB - 8, 6);
	dotnet_image_entry(i, DOTNET_IMAGE_PAY);
	dotnet_image_entry(i, DOTNET_IMAGE_STUB);
	dotnet_image_entry(i, DOTNET_IMAGE_LONG);
	dotnet_image_address(i, DOTNET_IMAGE_CHUNK, DOTNET_IMAGE_TYPE);
	dotnet_image_address(i, DOTNET_IMAGE_TYPE + 24, DOTNET_IMAGE_MODULE);
	dotnet_image_address(i, DOTNET_IMAGE_TYPE + 40, DOTNET_IMAGE_GENERIC + 1);
	dotnet_image_address(i, DOTNET_IMAGE_GENERIC + 40, DOTNET_IMAGE_CLASS);
	dotnet_image_address(i, DOTNET_IMAGE_CLASS + 16, DOTNET_IMAGE_GENERIC);
}

/* A frame at this place, as the walk sends it. */
static inline struct interpreter_frame dotnet_image_frame(const struct dotnet_image *image,
							  unsigned place)
{
	uint64_t word;

	memcpy(&word, image->bytes + place / 8 * 8, sizeof(word));
	return (struct interpreter_frame){.code = DOTNET_IMAGE_BASE + place / 8 * 8,
					  .check = chain_check(word),
					  .at = DOTNET_IMAGE_BASE + place};
}

#endif /* TEST_LIB_DOTNET_MEMORY_H */
