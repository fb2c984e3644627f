/*
 * Memory of a process with one frame of CPython: a code object, its type, its strings and its table
 * of lines, as 3.12 has them on 64-bit machines.
 */
#ifndef TEST_LIB_PYTHON_IMAGE_H
#define TEST_LIB_PYTHON_IMAGE_H

#include <errno.h>
#include <linux/types.h>

#include "node-agent/interpreter/interpreter_frame.h"
#include "node-agent/interpreter/python/python_offsets.h"

#define PYTHON_IMAGE_BASE UINT64_C(0x10000)
#define PYTHON_IMAGE_BYTES 4096u

enum python_image_place {
	IMAGE_CODE = 0,
	IMAGE_NAME = 512,
	IMAGE_FILE = 1024,
	IMAGE_LINES = 2048,
	IMAGE_TYPES = 3072, /* code, str, bytes */
	IMAGE_TYPE_BYTES = 64,
	IMAGE_TYPE_NAMES = 3500,
};

struct python_image {
	uint8_t bytes[PYTHON_IMAGE_BYTES];
	size_t n_bytes; /* that there are */
	unsigned n_reads;
	size_t n_read;
	/* Called before each read. */
	void (*on_read)(struct python_image *image);
};

static inline int python_image_read(void *ctx, uint64_t at, void *to, size_t n)
{
	struct python_image *image = ctx;

	image->n_reads++;
	image->n_read += n;
	if (image->on_read)
		image->on_read(image);
	if (at < PYTHON_IMAGE_BASE || at - PYTHON_IMAGE_BASE > image->n_bytes ||
	    n > image->n_bytes - (at - PYTHON_IMAGE_BASE))
		return -EFAULT;
	memcpy(to, image->bytes + (at - PYTHON_IMAGE_BASE), n);
	return 0;
}

static inline uint64_t python_image_at(unsigned place)
{
	return PYTHON_IMAGE_BASE + place;
}

static inline void python_image_word(struct python_image *image, unsigned at, uint64_t v)
{
	memcpy(image->bytes + at, &v, sizeof(v));
}

static inline void python_image_str(struct python_image *image, unsigned at,
				    const struct python_layout *l, const char *text)
{
	python_image_word(image, at + l->object_type, l->str_type);
	python_image_word(image, at + l->str_length, strlen(text));
	python_image_word(image, at + l->str_state, 1 << 2 | 1 << 5 | 1 << 6);
	memcpy(image->bytes + at + l->str_ascii, text, strlen(text) + 1);
}

static inline void python_image_type(struct python_image *image, unsigned i, const char *name)
{
	unsigned at = IMAGE_TYPES + i * IMAGE_TYPE_BYTES, text = IMAGE_TYPE_NAMES + i * 16;

	python_image_word(image, at + 24, python_image_at(text));
	memcpy(image->bytes + text, name, strlen(name) + 1);
}

/* "Shop.pay" in shop.py from line 40 on: two units of line 40, then line 42. */
static inline void python_image_fill(struct python_image *image, struct python_layout *l)
{
	static const uint8_t lines[] = {0x80 | 13 << 3 | 1, 0, 0x80 | 13 << 3 | 7, 4};
	struct python_offsets o;

	*image = (struct python_image){.n_bytes = PYTHON_IMAGE_BYTES};
	(void)!python_offsets_of_release(12, &o);
	*l = o.objects;
	l->code_type = python_image_at(IMAGE_TYPES);
	l->str_type = python_image_at(IMAGE_TYPES + IMAGE_TYPE_BYTES);
	l->bytes_type = python_image_at(IMAGE_TYPES + 2 * IMAGE_TYPE_BYTES);
	python_image_type(image, 0, "code");
	python_image_type(image, 1, "str");
	python_image_type(image, 2, "bytes");
	python_image_str(image, IMAGE_NAME, l, "Shop.pay");
	python_image_str(image, IMAGE_FILE, l, "/srv/shop.py");
	python_image_word(image, IMAGE_LINES + l->object_type, l->bytes_type);
	python_image_word(image, IMAGE_LINES + l->bytes_size, sizeof(lines));
	memcpy(image->bytes + IMAGE_LINES + l->bytes_data, lines, sizeof(lines));
	python_image_word(image, IMAGE_CODE + l->object_type, l->code_type);
	python_image_word(image, IMAGE_CODE + l->code_units, 10);
	python_image_word(image, IMAGE_CODE + l->code_firstlineno, 40);
	python_image_word(image, IMAGE_CODE + l->code_check, UINT64_C(77) << 32);
	python_image_word(image, IMAGE_CODE + l->code_qualname, python_image_at(IMAGE_NAME));
	python_image_word(image, IMAGE_CODE + l->code_filename, python_image_at(IMAGE_FILE));
	python_image_word(image, IMAGE_CODE + l->code_lines, python_image_at(IMAGE_LINES));
}

static inline struct interpreter_frame python_image_frame(const struct python_layout *l,
							  unsigned offset)
{
	return (struct interpreter_frame){
		.code = python_image_at(IMAGE_CODE),
		.check = chain_check(UINT64_C(77) << 32),
		.at = python_image_at(IMAGE_CODE) + l->code_bytecode + offset,
	};
}

#endif /* TEST_LIB_PYTHON_IMAGE_H */
