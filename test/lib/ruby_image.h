/*
 * Memory of a process with a block of Ruby 3.3: in Shop#pay(), at line 12 of /srv/shop.rb. Change
 * what differs between releases in ruby_image_layout.
 */
#ifndef TEST_LIB_RUBY_IMAGE_H
#define TEST_LIB_RUBY_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/ruby_layout.h"

#include "bpf/frame_chain.h"

#define RUBY_IMAGE_BASE UINT64_C(0x10000)
#define RUBY_IMAGE_BYTES 6144u

enum ruby_image_place {
	RUBY_IMAGE_CODE = 0,
	RUBY_IMAGE_BODY = 64,
	RUBY_IMAGE_LINES = 256, /* three */
	RUBY_IMAGE_INDEX = 320, /* the first words, and a block */
	RUBY_IMAGE_METHOD = 512,
	RUBY_IMAGE_DEFINITION = 576,
	RUBY_IMAGE_CLASS = 640,
	RUBY_IMAGE_SINGLETON = 832,
	RUBY_IMAGE_IDS = 1016, /* a word */
	RUBY_IMAGE_ALL = 1024, /* arrays */
	RUBY_IMAGE_SOME = 1088,
	RUBY_IMAGE_PATH = 1152,
	RUBY_IMAGE_ELEMENTS = 1216, /* of the second one: up to the ID's name */
	RUBY_IMAGE_NAME = 1600,
	RUBY_IMAGE_CLASS_NAME = 1664,
	RUBY_IMAGE_BASE_LABEL = 1728,
	RUBY_IMAGE_LABEL = 1792,
	RUBY_IMAGE_FILE = 1856,
	RUBY_IMAGE_REAL = 1920,
	RUBY_IMAGE_FIELDS = 2048, /* of a class until 3.1, and its table of variables */
	RUBY_IMAGE_TABLE = 2112,
	RUBY_IMAGE_ENTRIES = 2176,
	RUBY_IMAGE_MACHINE = 2800, /* of Ruby 3.2; and its shapes and the values of two classes */
	RUBY_IMAGE_SHAPES = 5120,
	RUBY_IMAGE_VALUES = 5632,
};

#define RUBY_IMAGE_ID (20u << 4)
#define RUBY_IMAGE_INDEX_AT 8u /* the frame's: of the word behind the instruction */

static const struct ruby_layout ruby_image_layout = {.frame_bytes = 56,
						     .instructions = 112,
						     .line_bytes = 12,
						     .class_names = RUBY_CLASS_FIELDS,
						     .singleton = 12,
						     .string_length = true,
						     .ids = RUBY_IMAGE_IDS};

struct ruby_image {
	uint8_t bytes[RUBY_IMAGE_BYTES];
	size_t n_bytes; /* that there are */
	unsigned n_reads;
	size_t n_read;
};

static inline uint64_t ruby_image_at(unsigned place)
{
	return RUBY_IMAGE_BASE + place;
}

static inline int ruby_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct ruby_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (at < RUBY_IMAGE_BASE || at - RUBY_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - RUBY_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - RUBY_IMAGE_BASE), n);
	return 0;
}

static inline void ruby_image_word(struct ruby_image *image, unsigned at, uint64_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline void ruby_image_string(struct ruby_image *image, unsigned at, const char *text)
{
	ruby_image_word(image, at, 5);
	ruby_image_word(image, at + 16, strlen(text));
	memcpy(image->bytes + at + 24, text, strlen(text) + 1);
}

/* An array whose elements are elsewhere. */
static inline void ruby_image_array(struct ruby_image *image, unsigned at, uint64_t n,
				    unsigned elements)
{
	ruby_image_word(image, at, 7);
	ruby_image_word(image, at + 16, n);
	ruby_image_word(image, at + 32, ruby_image_at(elements));
}

static inline void ruby_image_class(struct ruby_image *image, unsigned at, bool singleton)
{
	ruby_image_word(image, at, 2 | (uint64_t)singleton << 12);
	ruby_image_word(image, at + 32 + 120, singleton ? 0 : ruby_image_at(RUBY_IMAGE_CLASS_NAME));
	ruby_image_word(image, at + 32 + 96, singleton ? ruby_image_at(RUBY_IMAGE_CLASS) : 0);
}

/* Lines 10, 12 and 14, from positions 0, 5 and 60 on. */
static inline void ruby_image_lines(struct ruby_image *image)
{
	static const uint32_t lines[] = {10, 0, 0, 12, 0, 0, 14, 0, 0};

	memcpy(image->bytes + RUBY_IMAGE_LINES, lines, sizeof(lines));
	for (unsigned word = 0; word < 6; word++) {
		uint64_t v = 0;

		for (unsigned i = 0; i < 9; i++)
			v |= (uint64_t)(word * 9 + i < 5 ? 1 : 2) << i * 7;
		ruby_image_word(image, RUBY_IMAGE_INDEX + word * 8, v);
	}
	ruby_image_word(image, RUBY_IMAGE_INDEX + 48, 2);              /* before the block */
	ruby_image_word(image, RUBY_IMAGE_INDEX + 56, 1);              /* in its first word */
	ruby_image_word(image, RUBY_IMAGE_INDEX + 64, 1 << (60 - 54)); /* position 60 */
}

static inline void ruby_image_code(struct ruby_image *image)
{
	const unsigned body = RUBY_IMAGE_BODY;

	ruby_image_word(image, RUBY_IMAGE_CODE, 0x701a);
	ruby_image_word(image, RUBY_IMAGE_CODE + 16, ruby_image_at(body));
	ruby_image_word(image, body, UINT64_C(200) << 32);
	ruby_image_word(image, body + 8, 0x7000);
	ruby_image_word(image, body + 64, ruby_image_at(RUBY_IMAGE_PATH));
	ruby_image_word(image, body + 72, ruby_image_at(RUBY_IMAGE_BASE_LABEL));
	ruby_image_word(image, body + 80, ruby_image_at(RUBY_IMAGE_LABEL));
	ruby_image_word(image, body + 88, 9);
	ruby_image_word(image, body + 112, ruby_image_at(RUBY_IMAGE_LINES));
	ruby_image_word(image, body + 128, 3);
	ruby_image_word(image, body + 136, ruby_image_at(RUBY_IMAGE_INDEX));
	ruby_image_string(image, RUBY_IMAGE_BASE_LABEL, "pay");
	ruby_image_string(image, RUBY_IMAGE_LABEL, "block in pay");
	ruby_image_word(image, RUBY_IMAGE_PATH, 7 | 1 << 13);
	ruby_image_word(image, RUBY_IMAGE_PATH + 16, ruby_image_at(RUBY_IMAGE_FILE));
	ruby_image_word(image, RUBY_IMAGE_PATH + 24, ruby_image_at(RUBY_IMAGE_REAL));
	ruby_image_string(image, RUBY_IMAGE_FILE, "shop.rb");
	ruby_image_string(image, RUBY_IMAGE_REAL, "/srv/shop.rb");
}

static inline void ruby_image_fill(struct ruby_image *image)
{
	*image = (struct ruby_image){.n_bytes = RUBY_IMAGE_BYTES};
	ruby_image_code(image);
	ruby_image_lines(image);
	ruby_image_word(image, RUBY_IMAGE_METHOD, 0x601a);
	ruby_image_word(image, RUBY_IMAGE_METHOD + 8, ruby_image_at(RUBY_IMAGE_CLASS));
	ruby_image_word(image, RUBY_IMAGE_METHOD + 16, ruby_image_at(RUBY_IMAGE_DEFINITION));
	ruby_image_word(image, RUBY_IMAGE_DEFINITION + 32, RUBY_IMAGE_ID);
	ruby_image_class(image, RUBY_IMAGE_CLASS, false);
	ruby_image_class(image, RUBY_IMAGE_SINGLETON, true);
	ruby_image_string(image, RUBY_IMAGE_NAME, "pay");
	ruby_image_string(image, RUBY_IMAGE_CLASS_NAME, "Shop");
	ruby_image_word(image, RUBY_IMAGE_IDS, ruby_image_at(RUBY_IMAGE_ALL));
	ruby_image_array(image, RUBY_IMAGE_ALL, 1, RUBY_IMAGE_ELEMENTS);
	ruby_image_word(image, RUBY_IMAGE_ELEMENTS, ruby_image_at(RUBY_IMAGE_SOME));
	ruby_image_array(image, RUBY_IMAGE_SOME, 1024, RUBY_IMAGE_ELEMENTS);
	ruby_image_word(image, RUBY_IMAGE_ELEMENTS + 40 * 8, ruby_image_at(RUBY_IMAGE_NAME));
}

/* A class that has its name, and what it is of, in a table of variables: Ruby 3.1. */
static inline void ruby_image_variables(struct ruby_image *image)
{
	static const unsigned classes[] = {RUBY_IMAGE_CLASS, RUBY_IMAGE_SINGLETON};
	const uint64_t entries[] = {
		/* removed; @name; __classpath__ */
		UINT64_MAX,
		RUBY_IMAGE_ID,
		ruby_image_at(RUBY_IMAGE_LABEL),
		1,
		RUBY_IMAGE_ID | 2,
		ruby_image_at(RUBY_IMAGE_LABEL),
		2,
		RUBY_IMAGE_ID,
		ruby_image_at(RUBY_IMAGE_CLASS_NAME),
		/* __attached__ */
		3,
		RUBY_IMAGE_ID,
		ruby_image_at(RUBY_IMAGE_CLASS),
	};

	memcpy(image->bytes + RUBY_IMAGE_ENTRIES, entries, sizeof(entries));
	for (unsigned i = 0; i < 2; i++) {
		unsigned fields = RUBY_IMAGE_FIELDS + 16 * i, table = RUBY_IMAGE_TABLE + 512 * i;

		ruby_image_word(image, classes[i] + 24, ruby_image_at(fields));
		ruby_image_word(image, fields + 8, ruby_image_at(table));
		ruby_image_word(image, table + 32, i == 0 ? 0 : 3);
		ruby_image_word(image, table + 40, i == 0 ? 3 : 4);
		ruby_image_word(image, table + 48, ruby_image_at(RUBY_IMAGE_ENTRIES));
	}
}

/*
 * A class that has its name, and what it is of, where its shape says: Ruby 3.2. Shape 1 is the
 * variable @name, 2 is __classpath__ behind it, 3 is that it is frozen, and 4 is __attached__.
 */
static inline void ruby_image_shapes(struct ruby_image *image)
{
	static const struct {
		uint64_t edges, id;
		uint32_t n, capacity;
		uint8_t type, pool;
		uint32_t parent;
	} shapes[] = {
		{.parent = UINT32_MAX},
		{.id = RUBY_IMAGE_ID | 2, .n = 1, .type = 1, .parent = 0},
		{.id = RUBY_IMAGE_ID, .n = 2, .type = 1, .parent = 1},
		{.id = 1234, .n = 2, .type = 2, .parent = 2},
		{.id = RUBY_IMAGE_ID, .n = 1, .type = 1, .parent = 0},
	};
	const unsigned class = RUBY_IMAGE_CLASS, singleton = RUBY_IMAGE_SINGLETON;
	const unsigned values = RUBY_IMAGE_VALUES;

	memcpy(image->bytes + RUBY_IMAGE_SHAPES, shapes, sizeof(shapes));
	ruby_image_word(image, RUBY_IMAGE_MACHINE, ruby_image_at(RUBY_IMAGE_MACHINE + 8));
	/* two words that are the same, but no shapes */
	ruby_image_word(image, RUBY_IMAGE_MACHINE + 24, ruby_image_at(RUBY_IMAGE_SOME));
	ruby_image_word(image, RUBY_IMAGE_MACHINE + 32, ruby_image_at(RUBY_IMAGE_SOME));
	ruby_image_word(image, RUBY_IMAGE_MACHINE + 48, ruby_image_at(RUBY_IMAGE_SHAPES));
	ruby_image_word(image, RUBY_IMAGE_MACHINE + 56, ruby_image_at(RUBY_IMAGE_SHAPES));
	ruby_image_word(image, class, UINT64_C(3) << 32 | 2);
	ruby_image_word(image, class + 32, ruby_image_at(values));
	ruby_image_word(image, values, ruby_image_at(RUBY_IMAGE_LABEL));
	ruby_image_word(image, values + 8, ruby_image_at(RUBY_IMAGE_CLASS_NAME));
	ruby_image_word(image, singleton, UINT64_C(4) << 32 | 2 | 1 << 12);
	ruby_image_word(image, singleton + 32, ruby_image_at(values + 16));
	ruby_image_word(image, values + 16, ruby_image_at(RUBY_IMAGE_CLASS));
}

static inline struct interpreter_frame ruby_image_frame(void)
{
	return (struct interpreter_frame){
		.code = ruby_image_at(RUBY_IMAGE_CODE),
		.check = chain_check_at(RUBY_IMAGE_INDEX_AT, ruby_image_at(RUBY_IMAGE_BODY)),
		.at = ruby_image_at(RUBY_IMAGE_METHOD),
	};
}

/* Of the method itself, as if it were a C function. */
static inline struct interpreter_frame ruby_image_method_frame(void)
{
	return (struct interpreter_frame){
		.code = ruby_image_at(RUBY_IMAGE_METHOD),
		.check = chain_check(ruby_image_at(RUBY_IMAGE_DEFINITION)),
	};
}

#endif /* TEST_LIB_RUBY_IMAGE_H */
